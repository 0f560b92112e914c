"""Conversations that end in exactly the expected JSON, which is spelt out here and not by the code under test."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from assistants.hippocrates import checks
from assistants.hippocrates.cohort import build_cohort
from assistants.hippocrates.grammar import Grammar
from assistants.hippocrates.read_back import describe
from assistants.hippocrates.study import fold
from assistants.hippocrates.terms import MOST_CANDIDATES
from assistants.hippocrates.vocabulary import Vocabulary

Json = dict[str, Any]
DIALOGUES: list[Json] = yaml.safe_load((Path(__file__).parent / "dialogues.yaml").read_text(encoding="utf-8"))


def concept_set(n: int, spec: Any, vocabulary: Vocabulary) -> Json:
    if isinstance(spec, dict):  # numbers of a list that was offered
        offered = [match.concept.concept_id for match in vocabulary.find(spec["name"], (), MOST_CANDIDATES)]
        ids = [offered[abs(place) - 1] * (1 if place > 0 else -1) for place in spec["candidates"]]
        name, descendants = spec["name"], not spec.get("alone")
    else:
        (name, ids), descendants = spec, True
    items = []
    for one in ids:
        concept = vocabulary.get(abs(one))
        assert concept is not None
        described = {
            "CONCEPT_ID": abs(one),
            "CONCEPT_NAME": concept.name,
            "STANDARD_CONCEPT": "S" if concept.standard else "N",
            "CONCEPT_CODE": "",
            "DOMAIN_ID": concept.domain_id,
            "VOCABULARY_ID": concept.vocabulary_id,
        }
        flags = {"isExcluded": one < 0, "includeDescendants": descendants, "includeMapped": False}
        items.append({"concept": described, **flags})
    return {"id": n, "name": name, "expression": {"items": items}}


def criterion(spec: list[Any]) -> Json:
    kind, *rest = spec
    body: Json = {"CodesetId": rest[0]} if rest else {}
    return {kind: body | ({"First": True} if rest[1:] else {})}


def day(days: int | None, side: int) -> Json:
    if days is None:
        return {"Coeff": side}
    return {"Days": abs(days), "Coeff": 1 if days > 0 else -1}


def rule(spec: Json) -> Json:
    demographic = []
    if "age" in spec:
        demographic = [{"Age": spec["age"]}]
    if "sex" in spec:
        concept_id, name = spec["sex"]
        gender = {"CONCEPT_ID": concept_id, "CONCEPT_NAME": name, "STANDARD_CONCEPT": "S", "CONCEPT_CODE": name[0]}
        demographic = [{"Gender": [{**gender, "DOMAIN_ID": "Gender", "VOCABULARY_ID": "Gender"}]}]
    criteria = []
    for one in spec.get("of", []):
        start, end = spec["days"]
        window = {"Start": day(start, -1), "End": day(end, 1), "UseIndexEnd": False, "UseEventEnd": False}
        occurrence = dict(zip(("Type", "Count"), spec["n"], strict=True))
        criteria.append({"Criteria": criterion(one), "StartWindow": window, "Occurrence": occurrence})
    lists = {"CriteriaList": criteria, "DemographicCriteriaList": demographic, "Groups": []}
    return {"name": spec["name"], "expression": {"Type": "ANY" if spec.get("any") else "ALL", **lists}}


def expression(spec: Json, vocabulary: Vocabulary) -> Json:
    limit = {"Type": "All" if spec.get("every") else "First"}
    primary = {
        "CriteriaList": [criterion(one) for one in spec["entry"]],
        "ObservationWindow": {"PriorDays": spec.get("prior", 0), "PostDays": spec.get("post", 0)},
        "PrimaryCriteriaLimit": {"Type": "All"},
    }
    whole = {
        "cdmVersionRange": ">=5.0.0",
        "ConceptSets": [concept_set(n, one, vocabulary) for n, one in enumerate(spec["sets"])],
        "PrimaryCriteria": primary,
        "QualifiedLimit": limit,
        "ExpressionLimit": limit,
        "InclusionRules": [rule(one) for one in spec.get("rules", [])],
        "CensoringCriteria": [criterion(one) for one in spec.get("censoring", [])],
        "CollapseSettings": {"CollapseType": "ERA", "EraPad": spec.get("gap", 0)},
        "CensorWindow": {},
    }
    return whole | ({"EndStrategy": spec["exit"]} if "exit" in spec else {})


def test_there_are_fifty_and_more() -> None:
    """As promised."""
    assert len(DIALOGUES) >= 50


@pytest.mark.parametrize("spec", DIALOGUES, ids=lambda spec: " | ".join(spec["say"])[:70])
def test_a_dialogue_ends_in_exactly_the_expected_json(vocabulary: Vocabulary, spec: Json) -> None:
    """Valid by the schema of OHDSI, without an error of our own checks, and with concepts of the vocabulary alone."""
    grammar = Grammar(vocabulary)
    messages: list[Json] = []
    for text in spec["say"]:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "..."}]
    if "edit" in spec:
        fold(messages, grammar.read)
        for turn, text in spec["edit"].items():
            messages[2 * turn] = {"role": "user", "content": text}
    built = build_cohort(fold(messages, grammar.read))
    assert built == expression(spec, vocabulary)
    assert [one for one in checks.check(built, vocabulary) if one.severity == "error"] == []
    assert describe(built)

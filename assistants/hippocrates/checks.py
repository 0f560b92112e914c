"""Is a cohort expression valid, and does it mean something? By the schema of OHDSI's expressions, and by checks of our own."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from assistants.hippocrates.cohort import CRITERIA, Json, day_of
from assistants.hippocrates.vocabulary import Vocabulary

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its models are configured as pydantic 1 wanted it
    from ohdsi_cohort_schemas import CohortExpression
    from ohdsi_cohort_schemas.validation import BusinessLogicValidator

_DOMAIN_OF = {criterion: domain for domain, criterion in CRITERIA.items()} | {"DrugEra": "Drug", "Death": "Condition"}


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with an expression, or worth a second look."""

    severity: Literal["error", "warning"]
    """An error keeps the cohort from being sent."""
    where: str
    text: str


def check(expression: Json, vocabulary: Vocabulary) -> list[Problem]:
    """Return all problems of an expression; none of the other checks runs where the schema already fails."""
    if problems := check_schema(expression):
        return problems
    return [
        *_check_concepts(expression, vocabulary),
        *_check_sets(expression),
        *_check_domains(expression),
        *_check_windows(expression),
    ]


def check_schema(expression: Json) -> list[Problem]:
    """Check an expression by the models of ohdsi-cohort-schemas."""
    try:
        cohort = CohortExpression.model_validate(expression)
    except ValidationError as error:
        return [Problem("error", ".".join(map(str, one["loc"])), one["msg"]) for one in error.errors()]
    return [Problem("error", one.field_path, one.message) for one in BusinessLogicValidator().validate(cohort)]


def _criteria(expression: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield where each criterion stands, its type and its body."""
    for place, criterion in enumerate(expression["PrimaryCriteria"]["CriteriaList"]):
        yield from ((f"entry event {place + 1}", name, body) for name, body in criterion.items())
    for rule in expression.get("InclusionRules", []):
        for one in rule["expression"]["CriteriaList"]:
            yield from ((f"rule “{rule['name']}”", name, body) for name, body in one["Criteria"].items())
    for criterion in expression.get("CensoringCriteria") or []:
        yield from (("censoring", name, body) for name, body in criterion.items())


def _exit_set(expression: Json) -> int | None:
    era: Json = (expression.get("EndStrategy") or {}).get("CustomEra") or {}
    return era.get("DrugCodesetId")


def _check_concepts(expression: Json, vocabulary: Vocabulary) -> Iterator[Problem]:
    for concept_set in expression["ConceptSets"]:
        where = f"concept set “{concept_set['name']}”"
        for item in concept_set["expression"]["items"]:
            concept_id, domain = item["concept"]["CONCEPT_ID"], item["concept"]["DOMAIN_ID"]
            concept = vocabulary.get(concept_id)
            if concept is None:
                yield Problem("error", where, f"Concept {concept_id} is not in the vocabulary.")
            elif (concept.name, concept.domain_id) != (item["concept"]["CONCEPT_NAME"], domain):
                text = f"Concept {concept_id} is {concept.name!r} of the domain {concept.domain_id} in the vocabulary."
                yield Problem("error", where, text)
            elif not concept.standard and not item["includeMapped"]:
                text = f"Concept {concept_id} ({concept.name}) is not standard: records of a CDM seldom use it."
                yield Problem("warning", where, text)


def _check_sets(expression: Json) -> Iterator[Problem]:
    used = {body["CodesetId"] for _, _, body in _criteria(expression) if body.get("CodesetId") is not None}
    used.add(_exit_set(expression))
    if not expression["PrimaryCriteria"]["CriteriaList"]:
        yield Problem("error", "entry events", "No event starts the cohort.")
    for concept_set in expression["ConceptSets"]:
        where, items = f"concept set “{concept_set['name']}”", concept_set["expression"]["items"]
        if concept_set["id"] not in used:
            yield Problem("error", where, "Nothing uses this concept set.")
        if all(item["isExcluded"] for item in items):
            yield Problem("error", where, "It includes no concept.")
    for where, name, body in _criteria(expression):
        if body.get("CodesetId") is None and name != "Death":
            yield Problem("error", where, f"The criterion {name} has no concepts, so any record at all would do.")


def _check_domains(expression: Json) -> Iterator[Problem]:
    sets = {one["id"]: one["expression"]["items"] for one in expression["ConceptSets"]}
    used = [(where, name, body.get("CodesetId")) for where, name, body in _criteria(expression)]
    used += [("exit", "DrugEra", _exit_set(expression))]
    for where, name, set_id in used:
        if name not in _DOMAIN_OF:
            yield Problem("error", where, f"The criterion {name} is none that is built here.")
            continue
        for item in sets.get(set_id, []) if set_id is not None else []:
            domain = item["concept"]["DOMAIN_ID"]
            if domain != _DOMAIN_OF[name]:
                text = (
                    f"{item['concept']['CONCEPT_NAME']} belongs to the domain {domain}, at which {name} does not look."
                )
                yield Problem("error", where, text)


def _check_windows(expression: Json) -> Iterator[Problem]:
    observed = expression["PrimaryCriteria"]["ObservationWindow"]
    primary = {
        (name, body.get("CodesetId"))
        for one in expression["PrimaryCriteria"]["CriteriaList"]
        for name, body in one.items()
    }
    for rule in expression.get("InclusionRules", []):
        where = f"rule “{rule['name']}”"
        for criterion in rule["expression"]["CriteriaList"]:
            start, end = (day_of(criterion["StartWindow"][side]) for side in ("Start", "End"))
            if start is not None and -start > observed["PriorDays"]:
                text = f"It looks {-start} days back, but only {observed['PriorDays']} days of prior observation are required."
                yield Problem("warning", where, text)
            if end is not None and end > observed["PostDays"]:
                text = f"It looks {end} days ahead, but only {observed['PostDays']} days of later observation are required."
                yield Problem("warning", where, text)
            covers_entry = (start is None or start <= 0) and (end is None or end >= 0)
            same = {(name, body.get("CodesetId")) for name, body in criterion["Criteria"].items()}
            if criterion["Occurrence"] == {"Type": 0, "Count": 0} and covers_entry and same == primary:
                yield Problem("error", where, "It excludes the very event that starts the cohort, so nobody is left.")

"""Is a cohort expression valid, and does it mean something? By the schema of OHDSI's expressions, and by checks of our own."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from assistants.hippocrates.cohort import CRITERIA, Json, counted, criteria_of
from assistants.hippocrates.render import day_of
from assistants.hippocrates.vocabulary import Vocabulary

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its models are configured as pydantic 1 wanted it
    from ohdsi_cohort_schemas import CohortExpression
    from ohdsi_cohort_schemas.validation import BusinessLogicValidator

_DOMAIN_OF = {criterion: domain for domain, criterion in CRITERIA.items()} | {"DrugEra": "Drug", "Death": "Condition"}
_ENTRY_DAY = {"Start": {"Days": 0, "Coeff": -1}, "End": {"Days": 0, "Coeff": 1}}


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
        *_check_units(expression),
        *_check_windows(expression),
        *contradictions(expression, vocabulary),
    ]


def check_schema(expression: Json) -> list[Problem]:
    """Check an expression by the models of ohdsi-cohort-schemas."""
    try:
        cohort = CohortExpression.model_validate(expression)
    except ValidationError as error:
        return [Problem("error", ".".join(map(str, one["loc"])), one["msg"]) for one in error.errors()]
    return [Problem("error", one.field_path, one.message) for one in BusinessLogicValidator().validate(cohort)]


def _exit_set(expression: Json) -> int | None:
    era: Json = (expression.get("EndStrategy") or {}).get("CustomEra") or {}
    return era.get("DrugCodesetId")


def _check_concepts(expression: Json, vocabulary: Vocabulary) -> Iterator[Problem]:
    sets = [(f"concept set “{one['name']}”", one["expression"]["items"]) for one in expression["ConceptSets"]]
    used = [(where, item["concept"], item["includeMapped"]) for where, items in sets for item in items]
    for where, _, body in criteria_of(expression):
        used += [(where, concept, False) for key in ("VisitType", "Unit") for concept in body.get(key) or []]
    for where, named, mapped in used:
        concept = vocabulary.get(named["CONCEPT_ID"])
        if concept is None:
            yield Problem("error", where, f"Concept {named['CONCEPT_ID']} is not in the vocabulary.")
        elif (concept.name, concept.domain_id) != (named["CONCEPT_NAME"], named["DOMAIN_ID"]):
            text = (
                f"Concept {concept.concept_id} is {concept.name!r} of the domain {concept.domain_id} in the vocabulary."
            )
            yield Problem("error", where, text)
        elif not concept.standard and not mapped:
            text = f"Concept {concept.concept_id} ({concept.name}) is not standard: records of a CDM seldom use it."
            yield Problem("warning", where, text)


def _check_sets(expression: Json) -> Iterator[Problem]:
    used = {body.get("CodesetId") for _, _, body in criteria_of(expression)} | {_exit_set(expression)}
    if not expression["PrimaryCriteria"]["CriteriaList"]:
        yield Problem("error", "entry events", "No event starts the cohort.")
    for concept_set in expression["ConceptSets"]:
        where, items = f"concept set “{concept_set['name']}”", concept_set["expression"]["items"]
        if concept_set["id"] not in used:
            yield Problem("error", where, "Nothing uses this concept set.")
        if all(item["isExcluded"] for item in items):
            yield Problem("error", where, "It includes no concept.")
    for where, name, body in criteria_of(expression):
        if body.get("CodesetId") is None and name != "Death":
            yield Problem("error", where, f"The criterion {name} has no concepts, so any record at all would do.")


def _check_domains(expression: Json) -> Iterator[Problem]:
    sets = {one["id"]: one["expression"]["items"] for one in expression["ConceptSets"]}
    used = [(where, name, body.get("CodesetId")) for where, name, body in criteria_of(expression)]
    used += [("exit", "DrugEra", _exit_set(expression))]
    for where, name, set_id in used:
        if name not in _DOMAIN_OF:
            yield Problem("error", where, f"The criterion {name} is none that is built here.")
            continue
        for concept in (item["concept"] for item in sets.get(set_id, [])):
            if concept["DOMAIN_ID"] != _DOMAIN_OF[name]:
                text = f"{concept['CONCEPT_NAME']} belongs to the domain {concept['DOMAIN_ID']}, at which {name} does not look."
                yield Problem("error", where, text)


def _check_units(expression: Json) -> Iterator[Problem]:
    for where, _, body in criteria_of(expression):
        if "ValueAsNumber" in body and not body.get("Unit"):
            why = "The vocabulary does not have the unit that was named" if "Unit" in body else "No unit is named"
            yield Problem("warning", where, f"{why}, so values are compared in whatever unit they were recorded.")


def _check_windows(expression: Json) -> Iterator[Problem]:
    observed = expression["PrimaryCriteria"]["ObservationWindow"]
    for rule in expression.get("InclusionRules", []):
        where = f"rule “{rule['name']}”"
        for one in counted(rule["expression"]):
            start, end = _days(one)
            prior, later = ((observed["PriorDays"], "back", "prior"), (observed["PostDays"], "ahead", "later"))
            for days, (required, way, when) in ((-(start or 0), prior), (end or 0, later)):
                if days > required:
                    text = f"It looks {days} days {way}, but only {required} days of {when} observation are required."
                    yield Problem("warning", where, text)


def contradictions(expression: Json, vocabulary: Vocabulary) -> Iterator[Problem]:
    """Look for rules that ask for records which other rules forbid to everybody."""
    ids = {one["id"]: _concept_ids(one, vocabulary) for one in expression["ConceptSets"]}
    rules = [(f"rule “{one['name']}”", one["expression"]) for one in expression.get("InclusionRules", [])]
    limits = [(where, one) for where, group in rules for one in _needed(group) if one["Occurrence"]["Type"] != 2]
    one_at_entry = {"StartWindow": _ENTRY_DAY, "Occurrence": {"Type": 2, "Count": 1}, "RestrictVisit": True}
    entry = [{"Criteria": one, **one_at_entry} for one in expression["PrimaryCriteria"]["CriteriaList"]]
    for where, group in [("", {"Type": "ANY", "CriteriaList": entry}), *rules]:
        if _is_impossible(group, [limit for _, limit in limits], ids):
            at_odds = [one for one, limit in limits if any(_clash(asked, limit, ids) for asked in counted(group))]
            others = " and ".join(dict.fromkeys(at_odds))
            fault = f"contradicts {'itself' if others == where else others}"
            fault = fault if where else "excludes the very event that starts the cohort"
            yield Problem("error", where or others, f"It {fault}, so nobody is left.")


def _needed(group: Json) -> Iterator[Json]:
    """Yield the criteria of a group that hold wherever the group does."""
    if group["Type"] == "ALL":
        yield from group["CriteriaList"]
        for one in group.get("Groups") or []:
            yield from _needed(one)


def _is_impossible(group: Json, limits: Iterable[Json], ids: Mapping[int, Set[int]]) -> bool:
    """Tell whether limits that hold for everybody keep a group from ever holding."""
    impossible = [any(_clash(one, limit, ids) for limit in limits) for one in group["CriteriaList"]]
    impossible += [_is_impossible(one, limits, ids) for one in group.get("Groups") or []]
    needed = {"ALL": len(impossible), "ANY": 1, "AT_LEAST": group.get("Count", 0)}.get(group["Type"], 0)
    return bool(impossible) and impossible.count(False) < needed


def _clash(asked: Json, limit: Json, ids: Mapping[int, Set[int]]) -> bool:
    """Tell whether a criterion asks for more records than a limit allows where it looks."""
    least, most = asked["Occurrence"], limit["Occurrence"]
    (start, end), (first, last) = _days(asked), _days(limit)
    ((name, body),), ((limited, narrower),) = asked["Criteria"].items(), limit["Criteria"].items()
    mine, its = body.get("CodesetId"), narrower.get("CodesetId")
    return (
        (least["Type"] != 1 and least["Count"] > most["Count"] and name == limited)
        # Many records may be of few concepts.
        and (not most.get("IsDistinct") or most["Count"] == 0 or bool(least.get("IsDistinct")))
        and (first is None or (start is not None and start >= first))
        and (last is None or (end is not None and end <= last))
        and (not limit.get("RestrictVisit") or bool(asked.get("RestrictVisit")))
        and all(body.get(key) == value for key, value in narrower.items() if key != "CodesetId")
        # The first record of some concepts need not be the first of more of them.
        and (its is None or mine == its or (mine is not None and "First" not in narrower and ids[mine] <= ids[its]))
    )


def _concept_ids(concept_set: Json, vocabulary: Vocabulary) -> Set[int]:
    """Return the concepts of a set; mapped concepts, which are source codes, stand for none that records are found by."""
    ids: dict[bool, set[int]] = {True: set(), False: set()}
    for item in concept_set["expression"]["items"]:
        concept_id = item["concept"]["CONCEPT_ID"]
        ids[item["isExcluded"]] |= vocabulary.descendants(concept_id) if item["includeDescendants"] else {concept_id}
    return ids[False] - ids[True]


def _days(criterion: Json) -> tuple[int | None, int | None]:
    window = criterion["StartWindow"]
    return day_of(window["Start"]), day_of(window["End"])

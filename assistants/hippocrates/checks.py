"""Is a cohort expression valid, and does it mean something? By the schema of OHDSI's expressions, and by checks of our own."""

import warnings
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from math import inf
from typing import Any, Literal

from pydantic import ValidationError

from assistants.hippocrates.cohort import CRITERIA, counted, criteria_of
from assistants.hippocrates.render import day_of
from assistants.hippocrates.study import Json
from assistants.hippocrates.vocabulary import Vocabulary

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its models are configured as pydantic 1 wanted it
    from ohdsi_cohort_schemas import CohortExpression

_DOMAINS = {criterion: domain for domain, criterion in CRITERIA.items()} | {"DrugEra": "Drug", "Death": "Condition"}
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
    problems = [*_check_sets(expression), *_check_units(expression), *_check_windows(expression)]
    return [*dict.fromkeys(problems), *contradictions(expression, vocabulary)]


def check_schema(expression: Json) -> list[Problem]:
    """Check an expression by the models of ohdsi-cohort-schemas."""
    try:
        CohortExpression.model_validate(expression)
    except ValidationError as error:
        return [Problem("error", ".".join(map(str, one["loc"])), one["msg"]) for one in error.errors()]
    return []


def _check_sets(expression: Json) -> Iterator[Problem]:
    """Look for concept sets that nothing uses, concepts that no criterion looks at, and those that records seldom have."""
    uses = [(where, name, body.get("CodesetId")) for where, name, body in criteria_of(expression)]
    if era := expression.get("EndStrategy", {}).get("CustomEra"):
        uses.append(("exit", "DrugEra", era["DrugCodesetId"]))
    for one in expression["ConceptSets"]:
        where = f"concept set “{one['name']}”"
        of_set = [(user, name) for user, name, set_id in uses if set_id == one["id"]]
        if not of_set:
            yield Problem("error", where, "Nothing uses this concept set.")
        for item in one["expression"]["items"]:
            concept, domain = item["concept"], item["concept"]["DOMAIN_ID"]
            named = f"{concept['CONCEPT_NAME']} ({concept['CONCEPT_ID']})"
            for user, name in of_set:
                if _DOMAINS.get(name) != domain:
                    yield Problem("error", user, f"{name} does not look at {named}, which is of the domain {domain}.")
            if concept["STANDARD_CONCEPT"] != "S" and not item["includeMapped"]:
                yield Problem("warning", where, f"{named} is not a standard concept: records of a CDM seldom use it.")


def _check_units(expression: Json) -> Iterator[Problem]:
    for where, _, body in criteria_of(expression):
        if "ValueAsNumber" in body and not body.get("Unit"):
            why = "The vocabulary does not have the unit that was named" if "Unit" in body else "No unit is named"
            yield Problem("warning", where, f"{why}, so values are compared in whatever unit they were recorded.")


def _check_windows(expression: Json) -> Iterator[Problem]:
    """Look for rules on days that nobody has to be observed on: Circe finds no record outside of a person's observation."""
    prior, post = (expression["PrimaryCriteria"]["ObservationWindow"][side] for side in ("PriorDays", "PostDays"))
    for rule in expression["InclusionRules"]:
        for start, end in map(_days, counted(rule["expression"])):
            for days, required, side in ((-start, prior, "before"), (end, post, "after")):
                if required < days < inf:
                    text = (
                        f"It reaches {days} days {side} entry, but only {required} days of observation {side} entry are "
                        f"required. Require {days}, or accept that days without observation count as days without records."
                    )
                    yield Problem("warning", f"rule “{rule['name']}”", text)


def contradictions(expression: Json, vocabulary: Vocabulary) -> Iterator[Problem]:
    """Look for rules that ask for records which other rules forbid to everybody."""
    ids = {one["id"]: _concept_ids(one, vocabulary) for one in expression["ConceptSets"]}
    rules = [(f"rule “{one['name']}”", one["expression"]) for one in expression["InclusionRules"]]
    limits = [(where, one) for where, group in rules for one in _needed(group) if one["Occurrence"]["Type"] != 2]
    at_entry = {"StartWindow": _ENTRY_DAY, "Occurrence": {"Type": 2, "Count": 1}, "RestrictVisit": True}
    entry = [{"Criteria": one, **at_entry} for one in expression["PrimaryCriteria"]["CriteriaList"]]
    for where, group in [("entry event", {"Type": "ANY", "CriteriaList": entry, "Groups": []}), *rules]:
        others = dict.fromkeys("itself" if other == where else other for other in _at_odds(group, limits, ids))
        if others:
            yield Problem("error", where, f"It contradicts {' and '.join(others)}, so nobody is left.")


def _needed(group: Json) -> Iterator[Json]:
    """Yield the criteria of a group that hold wherever the group does."""
    if group["Type"] == "ALL":
        yield from group["CriteriaList"]
        for one in group["Groups"]:
            yield from _needed(one)


def _at_odds(group: Json, limits: Sequence[tuple[str, Json]], ids: Mapping[int, Set[int]]) -> list[str]:
    """Return the rules whose limits keep a group from ever holding; none if it may hold."""
    members = [[where for where, limit in limits if _clash(one, limit, ids)] for one in group["CriteriaList"]]
    members += [_at_odds(one, limits, ids) for one in group["Groups"]]
    needed = {"ALL": len(members), "ANY": 1, "AT_LEAST": group.get("Count", 0)}.get(group["Type"], 0)
    return [where for rules in members for where in rules] if members.count([]) < needed else []


def _clash(asked: Json, limit: Json, ids: Mapping[int, Set[int]]) -> bool:
    """Return whether a criterion asks for more records than a limit allows where it looks."""
    (start, end), (first, last) = _days(asked), _days(limit)
    (mine, traits), (its, limited) = _records(asked), _records(limit)
    # Concepts that are still to be chosen are part of none; and the first record of some need not be the first of more.
    is_part = its is None or (bool(ids.get(mine)) and ids[mine] <= ids[its] and "First" not in limited)
    return (
        asked["Occurrence"]["Type"] != 1
        and asked["Occurrence"]["Count"] > limit["Occurrence"]["Count"]
        and (first <= start and end <= last)
        and (mine == its or is_part)
        and limited.items() <= traits.items()
    )


def _records(criterion: Json) -> tuple[Any, Json]:
    """Return the concept set of the records that a criterion counts, and what else limits them."""
    ((name, body),) = criterion["Criteria"].items()
    traits = {**criterion, **criterion["Occurrence"], **body, "Criteria": name}
    others = ("StartWindow", "Occurrence", "Type", "Count", "CodesetId")
    return body.get("CodesetId"), {key: value for key, value in traits.items() if key not in others}


def _concept_ids(concept_set: Json, vocabulary: Vocabulary) -> Set[int]:
    """Return the concepts of a set; mapped concepts, which are source codes, stand for none that records are found by."""
    ids: dict[bool, set[int]] = {True: set(), False: set()}
    for item in concept_set["expression"]["items"]:
        concept_id = item["concept"]["CONCEPT_ID"]
        ids[item["isExcluded"]] |= vocabulary.descendants(concept_id) if item["includeDescendants"] else {concept_id}
    return ids[False] - ids[True]


def _days(criterion: Json) -> tuple[float, float]:
    start, end = (day_of(criterion["StartWindow"][side]) for side in ("Start", "End"))
    return -inf if start is None else start, inf if end is None else end

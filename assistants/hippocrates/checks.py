"""Checks a cohort expression against OHDSI's schema, and finds rules that have no effect or contradict each other."""

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
    warnings.simplefilter("ignore", DeprecationWarning)  # the package configures its models in the style of pydantic 1
    from ohdsi_cohort_schemas import CohortExpression

_DOMAINS = {criterion: domain for domain, criterion in CRITERIA.items()} | {"DrugEra": "Drug", "Death": "Condition"}
_ENTRY_DAY = {"Start": {"Days": 0, "Coeff": -1}, "End": {"Days": 0, "Coeff": 1}}


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a cohort expression: an error, or a warning."""

    severity: Literal["error", "warning"]
    """A cohort with an error cannot be sent; a cohort with a warning can."""
    where: str
    text: str


def check(expression: Json, vocabulary: Vocabulary) -> list[Problem]:
    """Return all problems of a cohort expression. If it does not fit the schema, the other checks do not run."""
    if problems := check_schema(expression):
        return problems
    problems = [*_check_sets(expression), *_check_units(expression), *_check_windows(expression)]
    return [*dict.fromkeys(problems), *contradictions(expression, vocabulary)]


def check_schema(expression: Json) -> list[Problem]:
    """Check a cohort expression with the pydantic models of ohdsi-cohort-schemas."""
    try:
        CohortExpression.model_validate(expression)
    except ValidationError as error:
        return [Problem("error", ".".join(map(str, one["loc"])), one["msg"]) for one in error.errors()]
    return []


def _check_sets(expression: Json) -> Iterator[Problem]:
    """Yield problems of concept sets: unused sets, concepts outside their criterion's domain, and non-standard concepts."""
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
            yield Problem("warning", where, f"{why}, so values are compared in the unit in which they were recorded.")


def _check_windows(expression: Json) -> Iterator[Problem]:
    """Yield warnings for rules on days without required observation, on which Circe (OHDSI's SQL generator) finds no records."""
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
    """Yield an error for each rule that requires records which another rule forbids."""
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
    """Yield the criteria that every person who meets a group must meet."""
    if group["Type"] == "ALL":
        yield from group["CriteriaList"]
        for one in group["Groups"]:
            yield from _needed(one)


def _at_odds(group: Json, limits: Sequence[tuple[str, Json]], ids: Mapping[int, Set[int]]) -> list[str]:
    """Return the names of the rules whose limits nobody in a group can meet; [] if a person may meet both."""
    members = [[where for where, limit in limits if _clash(one, limit, ids)] for one in group["CriteriaList"]]
    members += [_at_odds(one, limits, ids) for one in group["Groups"]]
    needed = {"ALL": len(members), "ANY": 1, "AT_LEAST": group.get("Count", 0)}.get(group["Type"], 0)
    return [where for rules in members for where in rules] if members.count([]) < needed else []


def _clash(asked: Json, limit: Json, ids: Mapping[int, Set[int]]) -> bool:
    """Return whether a criterion requires more records than another criterion, the limit, allows in the same window."""
    (start, end), (first, last) = _days(asked), _days(limit)
    (mine, traits), (its, limited) = _records(asked), _records(limit)
    # A set without concepts does not count as a subset. A subset's first record may not be the first of the whole set.
    is_part = its is None or (bool(ids.get(mine)) and ids[mine] <= ids[its] and "First" not in limited)
    return (
        asked["Occurrence"]["Type"] != 1
        and asked["Occurrence"]["Count"] > limit["Occurrence"]["Count"]
        and (first <= start and end <= last)
        and (mine == its or is_part)
        and limited.items() <= traits.items()
    )


def _records(criterion: Json) -> tuple[Any, Json]:
    """Return the id of the concept set whose records a criterion counts, and the other limits on these records."""
    ((name, body),) = criterion["Criteria"].items()
    traits = {**criterion, **criterion["Occurrence"], **body, "Criteria": name}
    others = ("StartWindow", "Occurrence", "Type", "Count", "CodesetId")
    return body.get("CodesetId"), {key: value for key, value in traits.items() if key not in others}


def _concept_ids(concept_set: Json, vocabulary: Vocabulary) -> Set[int]:
    """Return the concept ids of a set. Mapped concepts are left out: they are source codes, by which no record is found."""
    ids: dict[bool, set[int]] = {True: set(), False: set()}
    for item in concept_set["expression"]["items"]:
        concept_id = item["concept"]["CONCEPT_ID"]
        ids[item["isExcluded"]] |= vocabulary.descendants(concept_id) if item["includeDescendants"] else {concept_id}
    return ids[False] - ids[True]


def _days(criterion: Json) -> tuple[float, float]:
    start, end = (day_of(criterion["StartWindow"][side]) for side in ("Start", "End"))
    return -inf if start is None else start, inf if end is None else end

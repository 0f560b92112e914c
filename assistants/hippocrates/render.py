"""Describes a cohort expression in plain English, lists changes to it, and writes the next question. All functions are pure.

The lines describe the expression, and not the study, so that the researcher confirms exactly what is sent. Each line ends with
the researcher's own words in quotes.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from assistants.hippocrates.names import content_words
from assistants.hippocrates.study import Json, ObservationExit, State, Term

OPEN = "Record"
"""Placeholder for the type of a criterion whose concepts are not chosen yet. The concepts determine the type."""
REFUSED = "Refused"
"""Key in an unfinished expression that lists the requests that Circe cannot express."""
_BOUNDS = ("exactly", "at most", "at least")
_TO_CHOOSE = "still to be chosen."
_NO_RULES, _TO_THE_END = "No further rules.", "Persons leave when their observation ends."
_ONCE = "A person enters once: with the earliest such event that meets all of the following."
_EARLIEST = f"{_ONCE} (Say “every event” if each counts.)"
_EVERY = "Every such event that meets all of the following is an entry."
_NO_OBSERVATION, _OVERLAP = "No observation before or after entry is required.", "Only periods that overlap are joined."
_DEFAULTS = {_NO_RULES, _TO_THE_END, _ONCE, _EARLIEST, _NO_OBSERVATION, _OVERLAP}
_BY_DOMAIN = "condition|drug exposure|procedure|measurement|observation|device exposure|visit|specimen|record"
_INCIDENTAL = re.compile(rf"(?<=^Rule )\d+|\b(?:an? )?(?:{_BY_DOMAIN})(?=s? of “)")
"""Matches parts of a line that may change although the cohort does not: a rule's number, and the type of record."""
_QUESTIONS = {
    "entry": "Which event starts the cohort? Such as “patients with gastrointestinal bleeding”, “new users of celecoxib”.",
    "observation": "How many days of observation before entry are required? (For example 365, or “none”.)",
    "rules": "Are there inclusion or exclusion rules, or limits of age or sex? (“No” if there are none.)",
    "exit": "When do persons leave the cohort? (For example “after 30 days”, or “at the end of observation”.)",
}


def describe(state: State, expression: Json) -> list[str]:
    """Return a line for each slot and rule of a cohort expression, finished or not, that `build_cohort` built from a state."""
    study = state.study
    names = {one["id"]: one["name"] for one in expression["ConceptSets"]}
    primary = expression["PrimaryCriteria"]
    lines = []
    if primary["CriteriaList"]:
        entry = f"Persons enter on {_either(primary['CriteriaList'], names)}."
        lines.append(_beside(entry, [event.words for event in study.entry]))
        unsaid = study.entries is None and not all(event.first for event in study.entry)
        lines.append(_EVERY if expression["ExpressionLimit"]["Type"] == "All" else _EARLIEST if unsaid else _ONCE)
    prior, post = (primary["ObservationWindow"][side] for side in ("PriorDays", "PostDays"))
    if prior or post:
        parts = [f"{_days(days)} {side}" for days, side in ((prior, "before"), (post, "after")) if days]
        lines.append(f"Observation: at least {' and '.join(parts)} entry.")
    elif study.prior_days is not None or "observation" in study.left_open:
        lines.append(_NO_OBSERVATION)
    rules = [(rule["expression"], group_text(rule["expression"], names)) for rule in expression["InclusionRules"]]
    lines += [f"{text}." for group, text in rules if group["DemographicCriteriaList"]]
    texts = [text for group, text in rules if not group["DemographicCriteriaList"]]
    for n, (text, rule) in enumerate(zip(texts, study.rules, strict=True), start=1):
        lines.append(_beside(f"Rule {n}: {text}.", [rule.words]))
    if not texts and ("rules" in study.left_open or state.question is None):
        lines.append(_NO_RULES)
    lines += _exit(state, expression, names)
    if censoring := expression["CensoringCriteria"]:
        line = f"A person's time also ends at {_either(censoring, names)} after entry."
        lines.append(_beside(line, [event.words for event in study.censoring]))
    if window := expression["CensorWindow"]:
        dates = _dates(window.get("StartDate"), window.get("EndDate"))
        lines.append(f"Only the part of a person's time counts that lies {dates}.")
    pad = expression["CollapseSettings"]["EraPad"]
    lines.append(f"Periods of a person that are {_days(pad)} or less apart are joined." if pad else _OVERLAP)
    lines += [_concepts(one) for one in expression["ConceptSets"]]
    chosen = [state.chosen[words] for words in study.concepts if words in state.chosen]
    lines += [line for term in chosen if term.unmatched for line in _unmatched(term)]
    return lines + [f"This cannot be built: {why}" for why in expression.get(REFUSED, ())]


def difference(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Compare two descriptions of a cohort. Return the removed and added lines, without removed lines about default values."""
    removed = [one for one in _without(before, after) if one not in _DEFAULTS and not one.endswith(_TO_CHOOSE)]
    return [f"Removed: {one}" for one in removed] + [f"Added: {one}" for one in _without(after, before)]


def ask(state: State) -> str:
    """Return the text of all open questions; "" if the cohort is complete and can be confirmed."""
    return "\n".join([*map(ask_about, state.open_terms), *ask_slots(state)])


def ask_slots(state: State) -> list[str]:
    """Return the open questions about slots of the study. Questions about concepts are left out."""
    return [_QUESTIONS[one] for one in state.questions if one != "concept"]


def ask_about(term: Term) -> str:
    """Return the question which concepts the researcher's words mean, with the candidates."""
    if not term.candidates:
        return f"The vocabulary has no concept like “{term.words}”. Which other words or concept id do you mean?"
    listed = [
        f"{n}. {concept.name} ({concept.concept_id}, {concept.domain_id}, {concept.vocabulary_id})"
        for n, concept in enumerate(term.candidates, start=1)
    ]
    asked = f"Which concepts are meant by “{term.words}”? Answer with numbers, such as “1, 3; exclude 4”, or “none”."
    return "\n".join([asked, *listed])


def group_text(group: Json, names: Mapping[int, str]) -> str:
    """Describe a group of criteria in English, such as `no conditions of “stroke” any time before the day of entry`."""
    criteria: list[Json] = group["CriteriaList"]
    first = criteria[0] if criteria else {}
    count = (first["Occurrence"]["Type"], first["Occurrence"]["Count"]) if first else None
    # "No record of A, and no record of B" is written as "no record of A or B".
    as_one = len(criteria) > 1 and count == {"ALL": (0, 0), "ANY": (2, 1)}.get(group["Type"])
    if as_one and not group["Groups"] and all({**one, "Criteria": 0} == {**first, "Criteria": 0} for one in criteria):
        return _counted(criteria, names)
    parts = [_demographic(one) for one in group["DemographicCriteriaList"]]
    parts += [_counted([one], names) for one in criteria] + [group_text(one, names) for one in group["Groups"]]
    if len(parts) == 1 and group["Type"] in ("ALL", "ANY"):
        return parts[0]
    match = group["Type"].casefold().replace("_", " ") + (f" {group['Count']}" if "Count" in group else "")
    return f"{match} of ({'; '.join(parts)})"


def day_of(bound: Json) -> int | None:
    """Return the day of a window's start or end, relative to entry; None if this side of the window is open."""
    return None if bound.get("Days") is None else int(bound["Days"]) * int(bound["Coeff"])


def _without(lines: Iterable[str], others: Iterable[str]) -> list[str]:
    rest = Counter(_INCIDENTAL.sub("", one) for one in others)
    left = []
    for line in lines:
        key = _INCIDENTAL.sub("", line)
        if not rest[key]:
            left.append(line)
        rest[key] -= rest[key] > 0
    return left


def _beside(line: str, said: Iterable[str]) -> str:
    """Append to a line, in quotes, the texts of the researcher that the line does not contain."""
    present = set(content_words(line))
    words = [one for one in said if not present.issuperset(content_words(one))]
    return f"{line} You wrote: “{'”, “'.join(words)}”." if words else line


def _either(criteria: Iterable[Json], names: Mapping[int, str], many: bool | None = None) -> str:
    return " or ".join(dict.fromkeys(_criterion(one, names, many) for one in criteria))


def _criterion(criterion: Json, names: Mapping[int, str], many: bool | None = None) -> str:
    """Describe a criterion in English. The noun gets an article if `many` is None, and is in the plural if it is True."""
    ((name, body),) = criterion.items()
    record = re.sub("(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Occurrence")).casefold()
    limits = _limits(body)
    if many is None:
        article = "a person's first" if body.get("First") else "an" if record[0] in "aeiou" else "a"
        record = f"{article} {record}"
    elif body.get("First"):
        limits = ["the first in the person's history", *limits]
    text = record + ("s" if many else "")
    if body.get("CodesetId") is not None:
        text += f" {'from' if name == 'Death' else 'of'} “{names[body['CodesetId']]}”"
    return text + (f" ({'; '.join(limits)})" if limits else "")


def _limits(body: Json) -> list[str]:
    limits = []
    if value := body.get("ValueAsNumber"):
        units = " or ".join(unit["CONCEPT_NAME"] for unit in body.get("Unit", ()))
        no_unit = " in any unit, since the vocabulary does not have the one named" if "Unit" in body else ""
        limits.append(f"value {_range(value)}{f' {units}' if units else no_unit}")
    if age := body.get("Age") or body.get("AgeAtStart"):
        limits.append(f"age {_range(age)}")
    if dates := body.get("OccurrenceStartDate") or body.get("EraStartDate"):
        start = None if dates["Op"] == "lte" else dates["Value"]
        limits.append(f"starts {_dates(start, dates.get('Extent') if start else dates['Value'])}")
    if visits := body.get("VisitType"):
        limits.append("visit: " + " or ".join(visit["CONCEPT_NAME"] for visit in visits))
    return limits


def _range(limits: Json) -> str:
    if limits["Op"] == "bt":
        return f"{limits['Value']} to {limits['Extent']}"
    words = {"gte": "at least", "lte": "at most", "gt": "above", "lt": "below"}
    return f"{words[limits['Op']]} {limits['Value']}"


def _dates(start: str | None, end: str | None) -> str:
    if start and end:
        return f"from {start} to {end}"
    return f"on or after {start}" if start else f"on or before {end}"


def _counted(criteria: Sequence[Json], names: Mapping[int, str]) -> str:
    first = criteria[0]
    bound, n = _BOUNDS[first["Occurrence"]["Type"]], first["Occurrence"]["Count"]
    bound = "no" if (bound, n) == ("exactly", 0) else f"{bound} {n}"
    bound += " different" if first["Occurrence"].get("IsDistinct") else ""
    records = _either((one["Criteria"] for one in criteria), names, many=n != 1)
    visit = " in the visit of entry" if first.get("RestrictVisit") else ""
    window = _window(*(day_of(first["StartWindow"][side]) for side in ("Start", "End")))
    return f"{bound} {records}{visit} {window}"


def _window(start: int | None, end: int | None) -> str:
    """Describe a window in English. The text states whether the window includes the day of entry."""
    if start is None:
        ends = {None: "at any time", -1: "any time before the day of entry"}
        return ends.get(end) or f"any time up to {_day(end or 0)}"
    if end is None:
        return "any time after the day of entry" if start == 1 else f"any time from {_day(start)} on"
    if start == end:
        return "on the day of entry" if start == 0 else f"exactly {_day(start)}"
    return f"from {_day(start)} to {_day(end)}"


def _day(day: int) -> str:
    return f"{_days(abs(day))} {'after' if day > 0 else 'before'} entry" if day else "the day of entry"


def _days(n: int) -> str:
    return "1 day" if n == 1 else f"{n} days"


def _demographic(criterion: Json) -> str:
    if age := criterion.get("Age"):
        return f"Age at entry: {_range(age)}"
    return "Sex: " + " or ".join(concept["CONCEPT_NAME"].casefold() for concept in criterion["Gender"])


def _exit(state: State, expression: Json, names: Mapping[int, str]) -> list[str]:
    match expression.get("EndStrategy"):
        case {"DateOffset": {"DateField": field, "Offset": offset}}:
            return [
                f"Persons leave {_days(offset)} after the entry event {'starts' if field == 'StartDate' else 'ends'}."
            ]
        case {"CustomEra": {"DrugCodesetId": set_id, "GapDays": gap, "Offset": offset}}:
            drugs = "the drugs of entry" if set_id is None else f"“{names[set_id]}”"
            later = f", plus {_days(offset)}" if offset else ""
            return [f"Persons leave when exposure to {drugs} ends (gaps of up to {_days(gap)} do not end it){later}."]
    said = isinstance(state.study.exit, ObservationExit) or "exit" in state.study.left_open
    return [_TO_THE_END] if said else []


def _concepts(concept_set: Json) -> str:
    listed = [
        ("except " if item["isExcluded"] else "")
        + f"{item['concept']['CONCEPT_NAME']} ({item['concept']['CONCEPT_ID']}, {item['concept']['DOMAIN_ID']}"
        + ("" if item["includeDescendants"] else ", without descendants")
        + (", with mapped concepts)" if item["includeMapped"] else ")")
        for item in concept_set["expression"]["items"]
    ]
    name = f"“{concept_set['name']}”"
    return f"Concepts for {name}: {', '.join(listed)}." if listed else f"Concepts for {name} {_TO_CHOOSE}"


def _unmatched(term: Term) -> list[str]:
    """Describe how a term was read, in a list of texts: the words that no chosen concept contains, or the term's English name."""
    if {*term.unmatched} == {*content_words(term.name or term.words)}:
        return [f"“{term.words}” was read as {' or '.join(one.concept.name for one in term.choices)}."]
    return [f"“{word}” is not in the name of the chosen concept for “{term.words}”." for word in term.unmatched]

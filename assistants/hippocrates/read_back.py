"""Pure: a cohort expression in plain English, for the researcher to confirm, and the next question.

It is read from the expression, not from the study: what is confirmed is what would be sent.
"""

from collections.abc import Mapping
from typing import Any

from assistants.hippocrates.cohort import Json, day_of
from assistants.hippocrates.slots import Age, Bound, Count, Days
from assistants.hippocrates.study import Study
from assistants.hippocrates.wording import age_words, day_words, rule_words

_RECORDS = {
    "ConditionOccurrence": "condition",
    "DrugExposure": "drug exposure",
    "DrugEra": "drug era",
    "ProcedureOccurrence": "procedure",
    "Measurement": "measurement",
    "Observation": "observation",
    "DeviceExposure": "device exposure",
    "VisitOccurrence": "visit",
    "Specimen": "specimen",
    "Death": "death",
}
_BOUNDS: Mapping[int, Bound] = {0: "exactly", 1: "at most", 2: "at least"}


def describe(expression: Json) -> str:
    """Return the cohort as a text: entry, observation, age and sex, numbered rules, exit, censoring, eras, concept sets."""
    names = {one["id"]: one["name"] for one in expression["ConceptSets"]}
    primary, rules = expression["PrimaryCriteria"], expression["InclusionRules"]
    observed = primary["ObservationWindow"]
    lines = [
        f"Persons enter on {_or([_criterion(one, names) for one in primary['CriteriaList']])}.",
        "Every such event that meets all of the following is an entry."
        if expression["ExpressionLimit"]["Type"] == "All"
        else "A person enters once: with the earliest such event that meets all of the following.",
        f"Observation: at least {day_words(observed['PriorDays'])} before and {day_words(observed['PostDays'])} after entry.",
    ]
    lines += [_demographic(one) for rule in rules for one in rule["expression"]["DemographicCriteriaList"]]
    numbered = [rule for rule in rules if rule["expression"]["CriteriaList"]]
    lines += [f"Rule {n}: {_rule(rule, names)}" for n, rule in enumerate(numbered, start=1)] or ["No further rules."]
    lines.append(_exit(expression, names))
    if censoring := expression.get("CensoringCriteria"):
        lines.append(f"A person's time also ends at {_or([_criterion(one, names) for one in censoring])} after entry.")
    pad = expression["CollapseSettings"]["EraPad"]
    lines.append(
        f"Periods of a person that are {day_words(pad)} or less apart are joined."
        if pad
        else "Only periods that overlap are joined."
    )
    lines += [f"Concept set “{one['name']}”: {_concepts(one)}." for one in expression["ConceptSets"]]
    return "\n".join(lines)


def ask(study: Study) -> str:
    """Return what to ask next; "" when the cohort can be confirmed."""
    term = study.open_term
    match study.question:
        case "entry":
            return "Which event starts the cohort? Such as “patients with gastrointestinal bleeding”, “new users of celecoxib”."
        case "concept" if term:
            listed = [
                f"{n}. {concept.name} ({concept.concept_id}, {concept.domain_id}, {concept.vocabulary_id})"
                for n, concept in enumerate(term.candidates, start=1)
            ]
            question = f"Which concepts are meant by “{term.words}”? Answer with numbers, such as “1, 3; exclude 4”, or “none”."
            return "\n".join([question, *listed])
        case "prior_days":
            return "How many days of observation before entry are required? (For example 365, or “none”.)"
        case "rules":
            return "Are there inclusion or exclusion rules, or limits of age or sex? (“No” if there are none.)"
        case "exit":
            return "When do persons leave the cohort? (For example “after 30 days”, or “at the end of observation”.)"
    return ""


def _criterion(criterion: Json, names: dict[int, str], many: bool | None = None) -> str:
    """Name a criterion: with an article, or as something that is counted, one or many."""
    ((name, body),) = criterion.items()
    record = _RECORDS[name]
    noun = f"{record}s" if many else record
    if many is None:
        article = "an" if record[0] in "aeiou" else "a"
        noun = f"a person's first {record}" if body.get("First") else f"{article} {record}"
    if body.get("CodesetId") is None:
        return noun
    return f"{noun} {'from' if name == 'Death' else 'of'} “{names[body['CodesetId']]}”"


def _rule(rule: Json, names: dict[int, str]) -> str:
    criteria = rule["expression"]["CriteriaList"]
    first = criteria[0]
    count = Count(_BOUNDS[first["Occurrence"]["Type"]], first["Occurrence"]["Count"])
    window = Days(*(day_of(first["StartWindow"][side]) for side in ("Start", "End")))
    records = _or([_criterion(one["Criteria"], names, many=count.n != 1) for one in criteria])
    return f"{rule_words(count, records, window)}."


def _demographic(criterion: dict[str, Any]) -> str:
    if age := criterion.get("Age"):
        least = age["Value"] if age["Op"] in ("gte", "bt") else None
        most = age["Extent"] if age["Op"] == "bt" else age["Value"] if age["Op"] == "lte" else None
        return f"{age_words(Age(least, most))}."
    return f"The sex is {_or([concept['CONCEPT_NAME'].lower() for concept in criterion['Gender']])}."


def _exit(expression: Json, names: dict[int, str]) -> str:
    match expression.get("EndStrategy"):
        case {"DateOffset": {"DateField": field, "Offset": offset}}:
            return f"Persons leave {day_words(offset)} after the entry event {'starts' if field == 'StartDate' else 'ends'}."
        case {"CustomEra": {"DrugCodesetId": set_id, "GapDays": gap, "Offset": offset}}:
            later = f", plus {day_words(offset)}" if offset else ""
            return f"Persons leave when exposure to “{names[set_id]}” ends (gaps of up to {day_words(gap)} do not end it){later}."
    return "Persons leave when their observation ends."


def _concepts(concept_set: Json) -> str:
    return ", ".join(
        ("except " if item["isExcluded"] else "")
        + f"{item['concept']['CONCEPT_NAME']} ({item['concept']['CONCEPT_ID']}"
        + ("" if item["includeDescendants"] else ", without descendants")
        + (", with mapped concepts" if item["includeMapped"] else "")
        + ")"
        for item in concept_set["expression"]["items"]
    )


def _or(words: list[str]) -> str:
    return " or ".join(dict.fromkeys(words))

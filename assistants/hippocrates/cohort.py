"""Pure: a study to the cohort expression that ATLAS takes (OHDSI's Circe).

The domain of a concept decides the criterion: a drug becomes a DrugExposure (or DrugEra) wherever it stands, never a
ConditionOccurrence.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from assistants.hippocrates.slots import NONE, ONE_OR_MORE, Age, Choice, DrugEraExit, Event, FixedExit, Rule, Sex, Term
from assistants.hippocrates.study import Study
from assistants.hippocrates.wording import age_words, rule_words

Json = dict[str, Any]
CRITERIA = {
    "Condition": "ConditionOccurrence",
    "Drug": "DrugExposure",
    "Procedure": "ProcedureOccurrence",
    "Measurement": "Measurement",
    "Observation": "Observation",
    "Device": "DeviceExposure",
    "Visit": "VisitOccurrence",
    "Specimen": "Specimen",
}
"""The criterion of each domain; deaths are a `Death`, whose concepts are conditions."""
SEXES: dict[Sex, tuple[int, str]] = {"female": (8532, "FEMALE"), "male": (8507, "MALE")}
"""The two concept ids that do not come from the vocabulary: the CDM's specification fixes them for person.gender_concept_id."""
_BOUNDS = {"exactly": 0, "at most": 1, "at least": 2}


class CannotBuild(ValueError):
    """The study is no cohort yet, or one that cannot be expressed: why, addressed to the researcher."""


def build_cohort(study: Study) -> Json:
    """Return the cohort expression of a study; what nobody filled has the default that the read-back states.

    Raises:
        CannotBuild: no entry event, concepts still to be chosen, a domain without a criterion, or a count over several domains.
    """
    if not study.entry:
        raise CannotBuild("No event starts the cohort yet. Which persons should it hold?")
    if term := study.open_term:
        raise CannotBuild(f"The concepts for “{term.words}” are still to be chosen.")
    sets = ConceptSets()
    every = study.events_per_person is not None and study.events_per_person.value == "all"
    primary = [one for event in study.entry for one in criteria(event, sets)]
    rules = [*_demographic_rules(study), *(_rule(rule, sets) for rule in study.rules)]
    end = _end_strategy(study, sets)
    censoring = [one for event in study.censoring for one in criteria(event, sets)]
    limit = "All" if every else "First"
    return {
        "cdmVersionRange": ">=5.0.0",
        "ConceptSets": sets.as_json(),
        "PrimaryCriteria": {
            "CriteriaList": primary,
            "ObservationWindow": {
                "PriorDays": study.prior_days.value if study.prior_days else 0,
                "PostDays": study.post_days.value if study.post_days else 0,
            },
            # The earliest event that meets the rules may not be a person's earliest: which one it is, ExpressionLimit says.
            "PrimaryCriteriaLimit": {"Type": "All"},
        },
        "QualifiedLimit": {"Type": limit},
        "ExpressionLimit": {"Type": limit},
        "InclusionRules": rules,
        **({"EndStrategy": end} if end else {}),
        "CensoringCriteria": censoring,
        "CollapseSettings": {"CollapseType": "ERA", "EraPad": study.gap.value if study.gap else 0},
        "CensorWindow": {},
    }


class ConceptSets:
    """The concept sets of an expression: one for the same concepts, however often they are used."""

    def __init__(self) -> None:
        self._ids: dict[frozenset[Choice], int] = {}
        self._sets: list[Json] = []

    def id_of(self, name: str, choices: Sequence[Choice]) -> int:
        key = frozenset(choices)
        if key not in self._ids:
            self._ids[key] = len(self._sets)
            items = [_item(choice) for choice in dict.fromkeys(choices)]
            self._sets.append({"id": len(self._sets), "name": name, "expression": {"items": items}})
        return self._ids[key]

    def as_json(self) -> list[Json]:
        return self._sets


def _item(choice: Choice) -> Json:
    concept = choice.concept
    return {
        "concept": {
            "CONCEPT_ID": concept.concept_id,
            "CONCEPT_NAME": concept.name,
            "STANDARD_CONCEPT": "S" if concept.standard else "N",
            "CONCEPT_CODE": "",
            "DOMAIN_ID": concept.domain_id,
            "VOCABULARY_ID": concept.vocabulary_id,
        },
        "isExcluded": choice.excluded,
        "includeDescendants": choice.descendants,
        "includeMapped": choice.mapped,
    }


def criteria(event: Event, sets: ConceptSets) -> list[Json]:
    """Return a criterion for each domain that an event's concepts belong to.

    Raises:
        CannotBuild: no criterion looks at a domain.
    """
    if event.death:
        causes = _by_domain(event.terms)
        if causes.keys() - {"Condition"}:
            raise CannotBuild(f"The cause of a death is a condition, and “{_name(event.terms)}” is none.")
        return [{"Death": {"CodesetId": sets.id_of(_name(event.terms), causes["Condition"])} if causes else {}}]
    domains = _by_domain(event.terms)
    parts = []
    for domain, choices in domains.items():
        if domain not in CRITERIA:
            raise CannotBuild(
                f"No criterion looks at the domain {domain!r} of “{_name(event.terms)}”. Please choose another concept."
            )
        name = _name(event.terms) + (f" ({domain})" if len(domains) > 1 else "")
        criterion: Json = {"CodesetId": sets.id_of(name, choices)}
        if event.first:
            criterion["First"] = True
        parts.append({"DrugEra" if domain == "Drug" and event.era else CRITERIA[domain]: criterion})
    return parts


def _by_domain(terms: Iterable[Term]) -> dict[str, list[Choice]]:
    """Return the choices by the domain of their concepts; one that only excludes goes where there is something to exclude from."""
    domains: dict[str, list[Choice]] = {}
    choices = [choice for term in terms for choice in term.choices]
    for choice in sorted(choices, key=lambda choice: choice.excluded):
        domain = choice.concept.domain_id
        if domain in domains or not choice.excluded:
            domains.setdefault(domain, []).append(choice)
    return domains


def _name(terms: Iterable[Term]) -> str:
    return " or ".join(dict.fromkeys(term.words for term in terms)) or "death"


def _demographic_rules(study: Study) -> list[Json]:
    rules = []
    if study.age:
        rules.append(_demographic(age_words(study.age.value), {"Age": _age(study.age.value)}))
    if study.sex:
        concept_id, name = SEXES[study.sex.value]
        concept = {
            "CONCEPT_ID": concept_id,
            "CONCEPT_NAME": name,
            "STANDARD_CONCEPT": "S",
            "CONCEPT_CODE": name[0],
            "DOMAIN_ID": "Gender",
            "VOCABULARY_ID": "Gender",
        }
        rules.append(_demographic(f"Sex: {study.sex.value}", {"Gender": [concept]}))
    return rules


def _demographic(name: str, criterion: Json) -> Json:
    expression = {"Type": "ALL", "CriteriaList": [], "DemographicCriteriaList": [criterion], "Groups": []}
    return {"name": name, "expression": expression}


def _age(age: Age) -> Json:
    if age.least is not None and age.most is not None:
        return {"Value": age.least, "Extent": age.most, "Op": "bt"}
    return {"Value": age.least, "Op": "gte"} if age.least is not None else {"Value": age.most, "Op": "lte"}


def _rule(rule: Rule, sets: ConceptSets) -> Json:
    parts = criteria(rule.event, sets)
    if len(parts) > 1 and rule.count not in (NONE, ONE_OR_MORE):
        raise CannotBuild(
            f"“{_name(rule.event.terms)}” is looked for in several domains, which cannot be counted together. "
            "Please give each a rule of its own."
        )
    window = {
        "Start": _bound(rule.window.start, -1),
        "End": _bound(rule.window.end, 1),
        "UseIndexEnd": False,
        "UseEventEnd": False,
    }
    occurrence = {"Type": _BOUNDS[rule.count.bound], "Count": rule.count.n}
    return {
        "name": rule_words(rule.count, _name(rule.event.terms), rule.window),
        "expression": {
            "Type": "ALL" if rule.count.n == 0 else "ANY" if len(parts) > 1 else "ALL",
            "CriteriaList": [{"Criteria": one, "StartWindow": window, "Occurrence": occurrence} for one in parts],
            "DemographicCriteriaList": [],
            "Groups": [],
        },
    }


def _bound(day: int | None, open_side: int) -> Json:
    if day is None:
        return {"Coeff": open_side}
    return {"Days": abs(day), "Coeff": 1 if day > 0 else -1}


def day_of(bound: Json) -> int | None:
    """Return the day of an end of a window; None: it has none."""
    return None if bound.get("Days") is None else int(bound["Days"]) * int(bound["Coeff"])


def _end_strategy(study: Study, sets: ConceptSets) -> Json | None:
    match study.exit.value if study.exit else None:
        case FixedExit(n, after):
            return {"DateOffset": {"DateField": "StartDate" if after == "start" else "EndDate", "Offset": n}}
        case DrugEraExit(terms, gap, offset):
            drugs = terms or tuple(term for event in study.entry if not event.death for term in event.terms)
            choices = _by_domain(drugs).get("Drug")
            if not choices:
                raise CannotBuild(
                    "The exit follows a drug, but no drug starts the cohort. Say “exit at the end of treatment with” and its name."
                )
            of_drugs = [term for term in drugs if any(choice.concept.domain_id == "Drug" for choice in term.choices)]
            return {
                "CustomEra": {"DrugCodesetId": sets.id_of(_name(of_drugs), choices), "GapDays": gap, "Offset": offset}
            }
    return None

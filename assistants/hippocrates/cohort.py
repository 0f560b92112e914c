"""Converts a study to a cohort expression, the JSON format of OHDSI's ATLAS and Circe. All functions are pure.

The domain of a concept determines the criterion: a drug always becomes a DrugExposure (or DrugEra), never a
ConditionOccurrence. If Circe cannot express a request, the study is refused; no part of it is silently left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from assistants.hippocrates.render import OPEN, REFUSED, group_text
from assistants.hippocrates.study import (
    Choice,
    Criterion,
    Event,
    FixedExit,
    Group,
    Json,
    Rule,
    State,
    Study,
    SubGroup,
    Term,
    TreatmentExit,
    Window,
)
from assistants.hippocrates.vocabulary import Concept, Vocabulary

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
"""By domain, the criterion for records of the domain. A death has the criterion `Death`, with its causes as conditions."""
SEXES = {
    "female": Concept(8532, "FEMALE", "Gender", "Gender", True),
    "male": Concept(8507, "MALE", "Gender", "Gender", True),
}
"""By sex, the concept that the CDM specification fixes for person.gender_concept_id. Other concepts are in the vocabulary."""
VISITS = {"inpatient": (9201, 262), "outpatient": (9202,), "emergency room": (9203, 262)}
"""By kind of visit, the concept ids. 262 is an emergency visit that became an inpatient visit."""
NO_VISIT = {"DrugEra", "Death", "Specimen"}
"""Criteria whose records Circe does not link to a visit."""
_KINDS = {"record": OPEN, "drug era": "DrugEra", "death": "Death"}
_BOUNDS = {"exactly": 0, "at most": 1, "at least": 2}
_LONGEST_NAME = 255
"""Maximum length of a rule's name in WebAPI's result tables."""


class CannotBuild(ValueError):
    """A study is unfinished, or Circe cannot express it. The message tells the researcher the reason."""


def build_cohort(state: State, vocabulary: Vocabulary, *, partial: bool = False) -> Json:
    """Return the cohort expression of a study. Empty slots get default values, which the description of the cohort states.

    Args:
        state: The study, with the chosen concepts.
        vocabulary: The vocabulary with the concepts of visits and units.
        partial: Whether to accept an unfinished study, for display only. Words without concepts become empty concept sets, and the
            key `REFUSED` lists the requests that Circe cannot express.

    Raises:
        CannotBuild: The study is unfinished, or Circe cannot express it.
    """
    study = state.study
    if not partial and not study.entry:
        raise CannotBuild("No event starts the cohort yet. Which event should start it?")
    if not partial and state.open_terms:
        raise CannotBuild(f"The concepts for “{state.open_terms[0].words}” are still to be chosen.")
    builder = _Builder(state, vocabulary)
    primary = [one for event in study.entry for one in builder.criteria(event)]
    same_visit = any(criterion.same_visit for rule in study.rules for criterion in rule.criteria)
    if same_visit and primary and NO_VISIT.issuperset(name for one in primary for name in one):
        builder.refuse("A rule asks for the visit of entry, but the entry events belong to no visit.")
    rules = [*_demographic_rules(study), *map(builder.rule, study.rules)]
    end = builder.end_strategy()
    limit = "All" if study.entries == "all" else "First"
    days = {"StartDate": study.dates.start, "EndDate": study.dates.end} if study.dates else {}
    expression = {
        "cdmVersionRange": ">=5.0.0",
        "PrimaryCriteria": {
            "CriteriaList": primary,
            "ObservationWindow": {"PriorDays": study.prior_days or 0, "PostDays": study.post_days or 0},
            # Keep all events here. ExpressionLimit later selects the earliest event that meets the rules.
            "PrimaryCriteriaLimit": {"Type": "All"},
        },
        "QualifiedLimit": {"Type": limit},
        "ExpressionLimit": {"Type": limit},
        "InclusionRules": rules,
        **({"EndStrategy": end} if end else {}),
        "CensoringCriteria": [one for event in study.censoring for one in builder.criteria(event)],
        "CollapseSettings": {"CollapseType": "ERA", "EraPad": study.gap or 0},
        "CensorWindow": {side: day.isoformat() for side, day in days.items() if day},
        "ConceptSets": builder.sets,
    }
    if builder.refused and not partial:
        raise CannotBuild(" ".join(builder.refused))
    return {**expression, REFUSED: list(builder.refused)} if builder.refused else expression


def criteria_of(expression: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield each criterion in a cohort expression: a description of its position, its type, and its body."""
    for place, criterion in enumerate(expression["PrimaryCriteria"]["CriteriaList"], start=1):
        yield from ((f"entry event {place}", name, body) for name, body in criterion.items())
    for rule in expression.get("InclusionRules", []):
        for one in counted(rule["expression"]):
            yield from ((f"rule “{rule['name']}”", name, body) for name, body in one["Criteria"].items())
    for criterion in expression.get("CensoringCriteria") or []:
        yield from (("censoring", name, body) for name, body in criterion.items())


def counted(group: Json) -> Iterator[Json]:
    """Yield all criteria of a group, including those of its subgroups."""
    yield from group["CriteriaList"]
    for one in group.get("Groups") or []:
        yield from counted(one)


class _Builder:
    """Builds the criteria of a study. It collects their concept sets, and the reasons why requests cannot be expressed."""

    def __init__(self, state: State, vocabulary: Vocabulary) -> None:
        self.sets: list[Json] = []
        self.refused: dict[str, None] = {}
        self._ids: dict[frozenset[Choice] | str, int] = {}
        self._state, self._vocabulary = state, vocabulary

    def refuse(self, why: str) -> None:
        self.refused[why] = None

    def criteria(self, event: Event) -> list[Json]:
        """Return the criteria for an event: one for each domain of the event's concepts."""
        if not event.concepts:
            return [self._criterion(event, "Death", None)]
        terms = self._terms(event.concepts)
        domains = _by_domain(terms)
        named = {domain: _name(terms, domain) for domain in domains}
        parts = []
        for domain, choices in domains.items():
            of_many = f" ({domain})" if list(named.values()).count(named[domain]) > 1 else ""
            type_name = self._criterion_type(event, domain)
            parts.append(self._criterion(event, type_name, self._set(named[domain] + of_many, choices)))
        still_open = [term.words for term in terms if term.is_open]
        if not domains and not still_open:
            self.refuse(f"All concepts of “{_words(event)}” are excluded. Which ones should it have?")
        return parts + [self._criterion(event, _KINDS[event.kind], self._set(words)) for words in still_open]

    def rule(self, rule: Rule) -> Json:
        expression = self._group(rule.group) if rule.group is not None else {}
        if rule.criterion is not None:
            expression = self._count(rule.criterion)
        name = group_text(expression, {one["id"]: one["name"] for one in self.sets})
        return {"name": name[:_LONGEST_NAME], "expression": expression}

    def end_strategy(self) -> Json | None:
        study = self._state.study
        if isinstance(study.exit, FixedExit):
            field = "StartDate" if study.exit.after == "start" else "EndDate"
            return {"DateOffset": {"DateField": field, "Offset": study.exit.days}}
        if not isinstance(study.exit, TreatmentExit):
            return None
        of_entry = tuple(words for event in study.entry if event.kind != "death" for words in event.concepts)
        terms = self._terms(study.exit.drugs or of_entry)
        still_open = [term.words for term in terms if term.is_open]
        set_id = None
        if choices := _by_domain(terms).get("Drug"):
            set_id = self._set(_name(terms, "Drug"), choices)
        elif study.exit.drugs and still_open:
            set_id = self._set(" or ".join(still_open))
        elif study.exit.drugs:
            self.refuse(f"The exit follows a drug, and “{' or '.join(study.exit.drugs)}” is not a drug. Which drug?")
        elif study.entry and not still_open:
            self.refuse("The exit follows a drug, but no drug starts the cohort. At the end of which treatment?")
        return {"CustomEra": {"DrugCodesetId": set_id, "GapDays": study.exit.gap, "Offset": study.exit.later}}

    def _set(self, name: str, choices: Sequence[Choice] = ()) -> int:
        """Return the id of the concept set with these choices, and add the set if needed. Without choices, the set is empty."""
        set_id = self._ids.setdefault(frozenset(choices) or name, len(self.sets))
        if set_id == len(self.sets):
            items = [
                {
                    "concept": _concept(choice.concept),
                    "isExcluded": choice.excluded,
                    "includeDescendants": choice.descendants,
                    "includeMapped": choice.mapped,
                }
                for choice in dict.fromkeys(choices)
            ]
            self.sets.append({"id": set_id, "name": name, "expression": {"items": items}})
        return set_id

    def _terms(self, words: Iterable[str]) -> list[Term]:
        return [self._state.chosen.get(one) or Term(one) for one in dict.fromkeys(words)]

    def _criterion(self, event: Event, name: str, set_id: int | None) -> Json:
        era, words = name == "DrugEra", _words(event)
        body: Json = {} if set_id is None else {"CodesetId": set_id}
        if event.first and name != "Death":  # a person dies once
            body["First"] = True
        if event.value is not None:
            if name not in ("Measurement", "Observation", OPEN):
                self.refuse(f"Only measurements and observations have values, and “{words}” is neither.")
            low, high = event.value.low, event.value.high
            if any(one is not None and round(one, 4) != one for one in (low, high)):
                self.refuse(
                    f"Values have at most four decimal places, and one of “{words}” has more. Which do you mean?"
                )
            if event.value.strict and low is not None and high is not None:
                self.refuse("A value above one limit and below another cannot be asked for. Which limits belong to it?")
            body["ValueAsNumber"] = _range(low, high, strict=event.value.strict)
            if event.value.unit:
                body["Unit"] = self._unit(event.value.unit)
        if event.age is not None:
            body["AgeAtStart" if era else "Age"] = _range(event.age.least, event.age.most)
        if event.dates is not None:
            body["EraStartDate" if era else "OccurrenceStartDate"] = _range(event.dates.start, event.dates.end)
        if event.visit is not None:
            if name in NO_VISIT:
                self.refuse(f"“{words}” cannot be limited to a kind of visit: its records belong to no visit.")
            body["VisitType"] = self._visits(event.visit)
        return {name: body}

    def _criterion_type(self, event: Event, domain: str) -> str:
        words, kind = _words(event), event.kind
        if kind == "record" and domain not in CRITERIA:
            self.refuse(f"No criterion looks at the domain {domain!r} of “{words}”. Please choose another concept.")
        elif kind == "death" and domain != "Condition":
            self.refuse(f"The cause of a death is a condition, and “{words}” is not one.")
        elif kind == "drug era" and domain != "Drug":
            self.refuse(f"A drug era is of a drug, and “{words}” is not one.")
        return CRITERIA.get(domain, OPEN) if kind == "record" else _KINDS[kind]

    def _unit(self, unit: str) -> list[Json]:
        """Return a list with the concept of a unit. It is empty if the vocabulary has no such unit, which checks.py reports."""
        of_units = [match.concept for match in self._vocabulary.lookup(unit) if match.concept.domain_id == "Unit"]
        return [_concept(concept) for concept in of_units[:1]]

    def _visits(self, visit: str) -> list[Json]:
        main, *others = (self._vocabulary.get(concept_id) for concept_id in VISITS[visit])
        if main is None:
            self.refuse(f"The vocabulary has no concept of {visit} visits, so they cannot be distinguished.")
        return [_concept(concept) for concept in (main, *others) if concept is not None]

    def _count(self, criterion: Criterion) -> Json:
        """Return the expression's group for a criterion, with an entry for each domain of the criterion's concepts."""
        parts, words = self.criteria(criterion.event), _words(criterion.event)
        if criterion.bound == "at least" and criterion.count == 0:
            self.refuse(f"“At least 0” of “{words}” is true of everybody. How many do you mean?")
        if criterion.same_visit and any(name in NO_VISIT for part in parts for name in part):
            self.refuse(f"“{words}” cannot be looked for in the visit of entry: its records belong to no visit.")
        one_will_do = criterion.bound == "at least" and criterion.count == 1
        if len(parts) > 1 and not (criterion.excludes or one_will_do or any(OPEN in part for part in parts)):
            self.refuse(f"“{words}” is of several domains, which cannot be counted together. Make it several rules.")
        occurrence: Json = {"Type": 0 if criterion.excludes else _BOUNDS[criterion.bound], "Count": criterion.count}
        if criterion.distinct and not criterion.excludes:
            occurrence["IsDistinct"] = True
        more = {"RestrictVisit": True} if criterion.same_visit else {}
        window = _window(criterion.window)
        records = [{"Criteria": one, "StartWindow": window, "Occurrence": occurrence, **more} for one in parts]
        return _as_group("ANY" if len(parts) > 1 and not criterion.excludes else "ALL", records)

    def _group(self, group: SubGroup) -> Json:
        counts = [self._count(one) for one in group.criteria]
        records = [one["CriteriaList"][0] for one in counts if len(one["CriteriaList"]) == 1]
        groups = [one for one in counts if len(one["CriteriaList"]) > 1]
        if isinstance(group, Group):
            groups += map(self._group, group.groups)
        json = _as_group(group.match.upper().replace(" ", "_"), records, groups)
        if group.match in ("at least", "at most"):
            members = len(records) + len(groups)
            least, most = (1, members) if group.match == "at least" else (0, members - 1)
            if not least <= group.n <= most:
                of = f"“{group.match} {group.n}” of {members} criteria"
                self.refuse(f"{of} keeps everybody or nobody. How many should hold?")
            json["Count"] = group.n
        return json


def _by_domain(terms: Iterable[Term]) -> dict[str, list[Choice]]:
    """Group chosen concepts by domain. Excluded concepts are dropped if their domain has no included concepts."""
    domains: dict[str, list[Choice]] = {}
    choices = [choice for term in terms for choice in term.choices]
    for choice in sorted(choices, key=lambda choice: choice.excluded):
        domain = choice.concept.domain_id
        if domain in domains or not choice.excluded:
            domains.setdefault(domain, []).append(choice)
    return domains


def _name(terms: Iterable[Term], domain: str) -> str:
    return " or ".join(term.words for term in terms if any(one.concept.domain_id == domain for one in term.choices))


def _words(event: Event) -> str:
    return " or ".join(event.concepts) or "death"


def _concept(concept: Concept) -> Json:
    return {
        "CONCEPT_ID": concept.concept_id,
        "CONCEPT_NAME": concept.name,
        "STANDARD_CONCEPT": "S" if concept.standard else "N",
        "CONCEPT_CODE": "",
        "DOMAIN_ID": concept.domain_id,
        "VOCABULARY_ID": concept.vocabulary_id,
    }


def _demographic_rules(study: Study) -> list[Json]:
    demographics: list[Json] = []
    if study.age:
        demographics.append({"Age": _range(study.age.least, study.age.most)})
    if study.sex:
        demographics.append({"Gender": [_concept(SEXES[study.sex])]})
    groups = [{**_as_group("ALL", []), "DemographicCriteriaList": [one]} for one in demographics]
    return [{"name": group_text(group, {}), "expression": group} for group in groups]


def _as_group(match: str, records: list[Json], groups: Sequence[Json] = ()) -> Json:
    return {"Type": match, "CriteriaList": records, "DemographicCriteriaList": [], "Groups": list(groups)}


def _range(low: float | date | None, high: float | date | None, *, strict: bool = False) -> Json:
    first, last = (
        one.isoformat() if isinstance(one, date) else int(one) if isinstance(one, float) and one.is_integer() else one
        for one in (low, high)
    )
    if first is not None and last is not None:
        return {"Value": first, "Extent": last, "Op": "bt"}
    equal = "" if strict else "e"
    return {"Value": first, "Op": f"gt{equal}"} if first is not None else {"Value": last, "Op": f"lt{equal}"}


def _window(window: Window) -> Json:
    start, end = (
        {"Coeff": side} if day is None else {"Days": abs(day), "Coeff": 1 if day > 0 else -1}
        for day, side in ((window.start, -1), (window.end, 1))
    )
    return {"Start": start, "End": end, "UseIndexEnd": False, "UseEventEnd": False}

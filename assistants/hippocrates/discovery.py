"""Find the databases that can answer a question, or run a cohort: ranked by how many patients they have of what it asks for."""

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assistants.assistant import Document
from assistants.hippocrates.catalogue import Catalogue, Database, show_count
from assistants.hippocrates.estimates import Patients, estimate, roots, sizes, together
from assistants.hippocrates.places import place_name, places_around
from assistants.hippocrates.query import ConceptTerm, MatchKind, ResolvedQuery
from assistants.hippocrates.study import Criterion, Event, Rule, State, Study, Term, Window
from assistants.hippocrates.vocabulary import Vocabulary

_TAKEN: Mapping[MatchKind, str] = {"name": "is", "misspelt": "was read as"}
_SOME_CONCEPTS = 5
"""How many concepts a document names of those that words were taken for."""


@dataclass(frozen=True, slots=True)
class ConceptCount:
    """One row of a database's counts."""

    concept_id: int
    name: str
    persons: int
    """`SUPPRESSED` for fewer than `SMALL_CELL`."""


@dataclass(frozen=True, slots=True)
class DatabaseMatch:
    """A database that has patients of at least one wanted concept."""

    database: Database
    patients: tuple[Patients | None, ...]
    """Of each wanted concept, None where it has none."""
    all_wanted: Patients | None
    """Persons with every wanted concept and no excluded one, None where it lacks one, or none is wanted."""
    score: float
    """How many persons it is expected to have with all that it covers; what it is ranked by, after coverage."""
    counts: tuple[ConceptCount, ...] = ()
    """The detail: its count of every concept. Empty without the permission."""

    @property
    def covered(self) -> int:
        """How many of the wanted concepts it has."""
        return sum(one is not None for one in self.patients)


@dataclass(frozen=True, slots=True)
class Databases:
    """What was found."""

    query: ResolvedQuery
    matches: tuple[DatabaseMatch, ...]
    searched: int
    """How many databases the catalogue has."""
    warnings: tuple[str, ...] = ()
    notice: str = ""

    @property
    def complete(self) -> tuple[DatabaseMatch, ...]:
        """The databases that have every wanted concept."""
        return tuple(match for match in self.matches if match.covered == len(match.patients))

    def documents(self, limit: int | None = None) -> list[Document]:
        """Write what was found as documents: one of the search, then one for each database, the first `limit` of them."""
        return [_search_document(self), *(_document(match, self.query) for match in self.matches[:limit])]


def find_databases(
    catalogue: Catalogue, vocabulary: Vocabulary, query: ResolvedQuery, *, detail: bool = False
) -> Databases:
    """Return all databases that have patients of any wanted concept: by coverage, then by expected patients, then by size.

    Args:
        catalogue: Of databases.
        vocabulary: The hierarchy of concepts.
        query: What is asked for.
        detail: Whether the asker may see the counts of every concept.
    """
    matches = sorted(_matches(catalogue, vocabulary, query, detail), key=_order)
    warnings = (*catalogue.warnings, *vocabulary.warnings, *compare_versions(catalogue, vocabulary))
    return Databases(query, tuple(matches), len(catalogue.databases), warnings, catalogue.notice)


def cohort_query(state: State, query: ResolvedQuery | None = None) -> ResolvedQuery:
    """Return the query for the databases that could run a cohort; its notes say what counts cannot tell.

    Args:
        state: The cohort.
        query: Countries, sizes and further concepts that are asked for.
    """
    study, query = state.study, query or ResolvedQuery()
    if not study.entry:
        notes = (*query.notes, "No event starts the cohort yet.")
        return replace(query, unknown=(*query.unknown, "entry"), notes=notes, of_cohort=True)
    wanted, excluded, untold = [_words(study.entry)], [], _untold(study)
    for criteria in (one for rule in study.rules for one in _alternatives(rule)):
        words = _words(one.event for one in criteria)
        if all(one.count > 0 and one.bound != "at most" and one.event.kind != "death" for one in criteria):
            wanted.append(words)
        elif len(criteria) == 1 and _is_absent_for_ever(criteria[0]):
            excluded.append(words)
        else:
            untold.append(f'who falls under the rule on "{" or ".join(words) or "death"}"')
    asked = dict.fromkeys(one for words in (*wanted, *excluded) for one in words)
    open_ = [one for one in asked if (state.chosen.get(one) or Term(one)).is_open]
    notes = tuple(f'The concepts for "{one}" are not chosen yet; they were not searched for.' for one in open_)
    if untold:
        notes += (f"The catalogue counts persons per concept; it cannot tell: {', '.join(untold)}.",)
    return replace(
        query,
        concepts=(*query.concepts, *_chosen(state, wanted)),
        excluded=(*query.excluded, *_chosen(state, excluded)),
        unknown=(*query.unknown, *open_),
        notes=query.notes + notes,
        of_cohort=True,
        at_most=bool(untold),
    )


@functools.lru_cache(maxsize=8)  # both are read once and never change
def compare_versions(catalogue: Catalogue, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Say where databases took their concepts from another version of the vocabulary, or have some that it does not know."""
    warnings = []
    versions = {one.vocabulary_version for one in catalogue.databases} - {"", vocabulary.version}
    if versions and vocabulary.version:
        count = sum(one.vocabulary_version in versions for one in catalogue.databases)
        warnings.append(
            f"{count} of {len(catalogue.databases)} databases use another version of the vocabulary "
            f"({', '.join(sorted(versions))}) than the one in use here ({vocabulary.version}): "
            "concepts may be missing or named otherwise; "
            "point to an export of that version (achilles_results, analysis 5000, column stratum_5 says which)"
        )
    unknown = [one for one in catalogue.concept_ids if vocabulary.get(one) is None]
    if unknown:
        warnings.append(
            f"{len(unknown)} of {len(catalogue.concept_ids)} concepts of the catalogue are not in the vocabulary, such as "
            f"{unknown[0]} (achilles_results, column stratum_1): they cannot be found by name; point to a vocabulary that has them"
        )
    return tuple(warnings)


def _matches(
    catalogue: Catalogue, vocabulary: Vocabulary, query: ResolvedQuery, detail: bool
) -> Iterator[DatabaseMatch]:
    """Yield the databases that are in the right place, large enough and have a wanted concept.

    Where no concept is wanted, all databases in the right place and of the right size.
    """
    narrowed = query.countries is not None or query.not_countries or query.min_persons
    if not query.concepts and (query.unknown or not narrowed):
        return
    wanted, excluded = (
        [estimate(catalogue, vocabulary, one) for one in some] for some in (query.concepts, query.excluded)
    )
    persons = sizes(catalogue)
    for place, database in enumerate(catalogue.databases):
        covered = [one for one in wanted if one.high[place] > 0]
        if (wanted and not covered) or not _fits(database, query):
            continue
        patients, absent = (
            tuple(Patients(int(one.low[place]), int(one.high[place])) if one.high[place] > 0 else None for one in some)
            for some in (wanted, excluded)
        )
        shares = [float(one.expected[place] / persons[place]) for one in covered]
        # Where the size is not known, independent concepts would have next to nobody in common.
        share = min(shares, default=1.0) if database.persons is None else math.prod(shares)
        share *= math.prod(1 - float(one.expected[place] / persons[place]) for one in excluded)
        everything = together(patients, persons[place], absent)
        if everything is not None and query.at_most:
            everything = Patients(0, everything.high)
        if query.min_patients and (everything is None or everything.high < query.min_patients):
            continue
        counts = _counts(place, catalogue, vocabulary, (*query.concepts, *query.excluded)) if detail else ()
        yield DatabaseMatch(database, patients, everything, round(share * float(persons[place]), 3), counts)


def _counts(
    place: int, catalogue: Catalogue, vocabulary: Vocabulary, terms: Sequence[ConceptTerm]
) -> tuple[ConceptCount, ...]:
    """Return a database's count of every concept that was taken into account."""
    below = {one for term in terms for _, concepts, _ in roots(vocabulary, term) for one in concepts}
    rows = []
    for concept_id in sorted(below):
        counts = catalogue.counts(concept_id)
        if counts is not None and len(here := counts.persons[counts.places == place]):
            concept = vocabulary.get(concept_id)
            rows.append(ConceptCount(concept_id, concept.name if concept else f"concept {concept_id}", int(here[0])))
    return tuple(sorted(rows, key=lambda row: (-row.persons, row.concept_id)))


def _fits(database: Database, query: ResolvedQuery) -> bool:
    around = places_around(database.country, database.continent)
    here = query.countries is None or not around.isdisjoint(query.countries)
    return here and around.isdisjoint(query.not_countries) and (database.persons or 0) >= query.min_persons


def _order(match: DatabaseMatch) -> tuple[float, float, float, str, int]:
    return -match.covered, -match.score, -(match.database.persons or 0), match.database.name, match.database.id


def _document(match: DatabaseMatch, query: ResolvedQuery) -> Document:
    database = match.database
    named = f"{database.name} ({database.acronym})" if database.acronym else database.name
    size = "size not given" if database.persons is None else f"{show_count(database.persons)} persons"
    lines = [f"{named}: {database.country or 'country not given'}, {size}."]
    for term, patients in zip(query.concepts, match.patients, strict=True):
        read_as = "" if term.match_kind == "name" else f" ({_concepts(term)})"
        lines.append(f"Patients with {_quote(term)}{read_as}: {patients or '0 recorded'}.")
    if match.all_wanted and (len(query.concepts) > 1 or query.excluded or query.of_cohort):
        absent = f" and without {_list(query.excluded)}" if query.excluded else ""
        whom = f"who {'may ' * query.at_most}fit the cohort" if query.of_cohort else f"with all of these{absent}"
        lines.append(f"Patients {whom}: {match.all_wanted}.")
    if match.counts:
        listed = "; ".join(f"{row.name} ({row.concept_id}) {show_count(row.persons)}" for row in match.counts)
        lines.append(f"By concept: {listed}.")
    return Document(f"database-{database.id}", database.name, " ".join(lines))


def _quote(term: ConceptTerm) -> str:
    return f'"{term.words}"'


def _list(terms: Iterable[ConceptTerm]) -> str:
    return " or ".join(_quote(term) for term in terms)


def _search_document(results: Databases) -> Document:
    query = results.query
    lines = [results.notice] if results.notice else []
    lines += [f"{_quote(one)} {_TAKEN[one.match_kind]} {_concepts(one)}." for one in (*query.concepts, *query.excluded)]
    lines += query.notes
    if query.countries is not None:
        listed = " or ".join(map(place_name, query.countries)) or "places that are not known"
        lines.append(f"Only databases in {listed}.")
    if query.not_countries:
        lines.append(f"Databases in {' or '.join(map(place_name, query.not_countries))} are left out.")
    if query.min_persons:
        lines.append(f"Only databases of {query.min_persons:,} persons or more.")
    if query.min_patients:
        lines.append(f"Only databases that may have {query.min_patients:,} such patients or more.")
    verb = f"have patients with {_list(query.concepts)}" if query.concepts else "fit"
    more = f", {len(results.complete)} of them with each" if len(query.concepts) > 1 else ""
    count = f"{len(results.matches)} of {results.searched} databases {verb}{more}."
    lines.append("No database was searched." if query.unknown and not query.concepts else count)
    return Document("search", "The search", " ".join(lines))


def _concepts(term: ConceptTerm) -> str:
    named = [
        f"{'not ' * one.excluded}{one.concept.name} ({one.concept.domain_id} {one.concept.concept_id})"
        f"{' alone' * (not one.descendants)}"
        for one in term.matches
    ]
    more = len(named) - _SOME_CONCEPTS
    listed = ", ".join(named[:_SOME_CONCEPTS]) + (f" and {more} more" if more > 0 else "")
    return f"{listed}, with descendants" if any(one.descendants for one in term.matches) else listed


def _alternatives(rule: Rule) -> Iterator[Sequence[Criterion]]:
    """Yield criteria of a rule of which one at least has to hold, as far as that follows from it."""
    if rule.group is None:
        yield tuple(rule.criteria)
        return
    inner = rule.group.groups
    for group, within in ((rule.group, inner), *((one, ()) for one in inner if rule.group.match == "all")):
        if group.match == "all":
            yield from ((one,) for one in group.criteria)
        elif all(one.match in ("all", "any") or (one.match == "at least" and one.n > 0) for one in (group, *within)):
            yield (*group.criteria, *(criterion for one in within for criterion in one.criteria))


def _is_absent_for_ever(criterion: Criterion) -> bool:
    event = Event(concepts=criterion.event.concepts, kind=criterion.event.kind, words=criterion.event.words)
    return criterion.excludes and criterion == Criterion(event=event, bound=criterion.bound, count=0)


def _untold(study: Study) -> list[str]:
    """Return what a cohort asks for that the counts of a catalogue cannot tell."""
    criteria = [one for rule in study.rules for one in rule.criteria]
    events = [*study.entry, *(one.event for one in criteria)]
    is_asked: dict[str, object] = {
        "sex": study.sex,
        "age": study.age or any(event.age for event in events),
        "calendar dates": study.dates or any(event.dates for event in events),
        "values": any(event.value for event in events),
        "visits": any(event.visit for event in events) or any(one.same_visit for one in criteria),
        "numbers of records": any(one.count > 1 or one.distinct or one.bound == "at most" for one in criteria),
        "what comes before or after entry": any(one.window != Window() for one in criteria),
        "how long persons were observed": study.prior_days or study.post_days,
        "which alternatives of a rule hold": any(rule.group and rule.group.match != "all" for rule in study.rules),
        "deaths": any(event.kind == "death" for event in events),
    }
    return [what for what, asked in is_asked.items() if asked]


def _words(events: Iterable[Event]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for event in events if event.kind != "death" for word in event.concepts))


def _chosen(state: State, groups: Iterable[tuple[str, ...]]) -> Iterator[ConceptTerm]:
    for group in dict.fromkeys(groups):
        if terms := [term for words in group if (term := state.chosen.get(words)) and not term.is_open]:
            words = " or ".join(term.words for term in terms)
            yield ConceptTerm(words, tuple(choice for term in terms for choice in term.choices))

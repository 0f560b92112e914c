"""Finds the databases that match a question or a cohort, and ranks them by their number of matching patients."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assistants.assistant import Document
from assistants.hippocrates.catalogue import Catalogue, Database, show_count
from assistants.hippocrates.estimates import NO_SIZE, Patients, added_concepts, bounds, together
from assistants.hippocrates.places import place, place_name, places_around
from assistants.hippocrates.query import Query, ResolvedQuery, any_of
from assistants.hippocrates.study import Criterion, Group, State, SubGroup, Term
from assistants.hippocrates.vocabulary import Concept, Vocabulary

_UNTOLD = (
    "Counts of persons by concept only bound the cohort from above: they cannot tell ages, sexes, dates, values, visits, deaths, "
    "numbers of records, which of several criteria hold, how long persons were observed, or what comes before or after entry."
)


@dataclass(frozen=True, slots=True)
class DatabaseMatch:
    """A database that has patients of at least one wanted concept."""

    database: Database
    patients: tuple[Patients | None, ...]
    """For each wanted concept, bounds on the number of patients; None if the database has no patients with the concept."""
    all_wanted: Patients | None
    """Bounds on the persons with all wanted and no excluded concepts; None if a wanted concept is missing or none is wanted."""
    counts: tuple[tuple[Concept, int], ...] = ()
    """The concepts with their number of persons, largest first. Empty unless the API key may see counts of concepts."""

    @property
    def rank(self) -> tuple[int, int, int, str, int]:
        """Sort key of the database: by number of wanted concepts covered, upper bound on their patients, and size."""
        covered = [one.high for one in self.patients if one]
        most = self.all_wanted.high if self.all_wanted else min(covered, default=0)
        return -len(covered), -most, -(self.database.persons or 0), self.database.name, self.database.id


@dataclass(frozen=True, slots=True)
class Databases:
    """The result of a search for databases."""

    query: ResolvedQuery
    matches: tuple[DatabaseMatch, ...]
    searched: int
    """Number of databases that were searched: all in the catalogue."""
    warnings: tuple[str, ...] = ()
    notice: str = ""

    @property
    def complete(self) -> tuple[DatabaseMatch, ...]:
        """The databases that have every wanted concept."""
        return tuple(match for match in self.matches if all(match.patients))

    def documents(self, limit: int | None = None) -> list[Document]:
        """Return a document about the search, and one for each of the first `limit` databases (None: of all)."""
        return [_search_document(self), *(_document(match, self.query) for match in self.matches[:limit])]


def find_databases(
    catalogue: Catalogue, vocabulary: Vocabulary, query: ResolvedQuery, *, detail: bool = False
) -> Databases:
    """Return the databases that match a query, best match first. With `detail`, include the number of persons per concept."""
    narrowed = query.asked.countries or query.asked.not_countries or query.asked.min_persons
    searches = query.concepts or (narrowed and not query.unknown)
    matches = sorted(_matches(catalogue, vocabulary, query, detail), key=lambda match: match.rank) if searches else []
    warnings = (*catalogue.warnings, *vocabulary.warnings, *_compare_versions(catalogue, vocabulary))
    return Databases(query, tuple(matches), len(catalogue.databases), warnings, catalogue.notice)


def cohort_query(state: State, query: ResolvedQuery) -> ResolvedQuery:
    """Add the concepts of a cohort to a query. Notes name the cohort's criteria that counts per concept cannot answer."""
    if not state.study.entry:
        return replace(query, unknown=("entry",), notes=(*query.notes, "No event starts the cohort yet."))
    clauses = [tuple(Criterion(event=event) for event in state.study.entry)]
    for rule in state.study.rules:
        clauses += _clauses(rule.group or Group(criteria=tuple(rule.criteria)))
    wanted, excluded, left_out = [*query.concepts], [*query.excluded], list[Term]()
    for clause in clauses:
        is_wanted = all(one.bound == "at least" and one.count > 0 and one.event.kind != "death" for one in clause)
        is_excluded = len(clause) == 1 and _is_absent_for_ever(clause[0])
        group = wanted if is_wanted else excluded if is_excluded else left_out
        words = dict.fromkeys(one for criterion in clause for one in criterion.event.concepts)
        term = any_of(state.chosen.get(one, Term(one)) for one in words)
        if not term.is_open and term not in group:
            group.append(term)
    open_words = [term.words for term in state.open_terms]
    told = [f'The concepts for "{one}" are not chosen yet; they were not searched for.' for one in open_words]
    if left_out:
        told.append(f"The search leaves out criteria on {_words(left_out)}.")
    unknown, notes = (*query.unknown, *open_words), (*query.notes, *told, _UNTOLD)
    return ResolvedQuery(query.asked, tuple(wanted), tuple(excluded), unknown, notes)


def _clauses(group: SubGroup) -> list[tuple[Criterion, ...]]:
    """Convert a group of criteria to clauses (tuples of criteria). A person in the group meets a criterion of every clause."""
    parts: list[list[tuple[Criterion, ...]]] = [[(one,)] for one in group.criteria]
    if isinstance(group, Group):
        parts += map(_clauses, group.groups)
    if group.match == "all":
        return [clause for part in parts for clause in part]
    if group.match == "at most" or group.n == 0 or not all(parts):
        return []
    return [tuple(one for part in parts for clause in part for one in clause)]


def _is_absent_for_ever(criterion: Criterion) -> bool:
    slots = criterion.model_dump(exclude_defaults=True)
    return criterion.excludes and {*slots, *slots["event"]} <= {"event", "bound", "count", "concepts", "words"}


def _compare_versions(catalogue: Catalogue, vocabulary: Vocabulary) -> list[str]:
    versions = sorted({one.vocabulary_version for one in catalogue.databases} - {"", vocabulary.version})
    unknown = sum(vocabulary.get(one) is None for one in catalogue.counts)
    if not unknown and not (versions and vocabulary.version):
        return []
    other, own = ", ".join(versions) or "not given", vocabulary.version or "not given"
    lacks = f", which lacks {unknown} of its concepts" if unknown else ""
    return [f"The catalogue may use another version of the vocabulary ({other}) than this service ({own}){lacks}."]


def _matches(
    catalogue: Catalogue, vocabulary: Vocabulary, query: ResolvedQuery, detail: bool
) -> Iterator[DatabaseMatch]:
    """Yield the databases that have a requested place and size, and if the query wants concepts, patients with one of them."""
    wanted = [bounds(catalogue, vocabulary, term) for term in query.concepts]
    excluded = [bounds(catalogue, vocabulary, term) for term in query.excluded]
    for number, database in enumerate(catalogue.databases):
        patients = tuple(one[number] for one in wanted)
        if (patients and not any(patients)) or not _fits(database, query.asked):
            continue
        everything = together(patients, [one[number] for one in excluded], database.persons or NO_SIZE)
        if everything and query.asked.of_cohort:
            everything = Patients(0, everything.high)
        if query.asked.min_patients <= (everything.high if everything else 0):
            counts = _counts(catalogue, vocabulary, (*query.concepts, *query.excluded), number) if detail else []
            yield DatabaseMatch(database, patients, everything, tuple(counts))


def _fits(database: Database, asked: Query) -> bool:
    around = places_around(database.country, database.continent)
    here = not asked.countries or not around.isdisjoint(map(place, asked.countries))
    return here and around.isdisjoint(map(place, asked.not_countries)) and (database.persons or 0) >= asked.min_persons


def _counts(
    catalogue: Catalogue, vocabulary: Vocabulary, terms: Sequence[Term], number: int
) -> list[tuple[Concept, int]]:
    """Return the concepts of these terms with their number of persons in the database at index `number`, largest first."""
    rows = []
    for concept_id in {one for term in terms for added in added_concepts(vocabulary, term).values() for one in added}:
        if (concept := vocabulary.get(concept_id)) and (counts := catalogue.counts.get(concept_id)):
            rows += [(concept, persons) for persons in counts.persons[counts.places == number].tolist()]
    return sorted(rows, key=lambda row: (-row[1], row[0].concept_id))


def _document(match: DatabaseMatch, query: ResolvedQuery) -> Document:
    database = match.database
    named = f"{database.name} ({database.acronym})" if database.acronym else database.name
    size = "size not given" if database.persons is None else f"{show_count(database.persons)} persons"
    lines = [f"{named}: {database.country or 'country not given'}, {size}."]
    for term, patients in zip(query.concepts, match.patients, strict=True):
        read_as = f" ({_concepts(term)})" if term.unmatched else ""
        lines.append(f'Patients with "{term.words}"{read_as}: {patients or "0 recorded"}.')
    if match.all_wanted and (len(query.concepts) > 1 or query.excluded or query.asked.of_cohort):
        absent = f" and without {_words(query.excluded)}" if query.excluded else ""
        whom = "who may fit the cohort" if query.asked.of_cohort else f"with all of these{absent}"
        lines.append(f"Patients {whom}: {match.all_wanted}.")
    if match.counts:
        listed = "; ".join(f"{one.name} ({one.concept_id}) {show_count(persons)}" for one, persons in match.counts)
        lines.append(f"By concept: {listed}.")
    return Document(f"database-{database.id}", database.name, " ".join(lines))


def _search_document(results: Databases) -> Document:
    query, asked = results.query, results.query.asked
    narrowed = {
        f"in {' or '.join(map(place_name, asked.countries))}": asked.countries,
        f"not in {' or '.join(map(place_name, asked.not_countries))}": asked.not_countries,
        f"of {asked.min_persons:,} persons or more": asked.min_persons,
        f"that may have {asked.min_patients:,} such patients or more": asked.min_patients,
    }
    terms = (*query.concepts, *query.excluded)
    verb = f"have patients with {_words(query.concepts)}" if query.concepts else "fit"
    more = f", {len(results.complete)} of them with each" if len(query.concepts) > 1 else ""
    count = f"{len(results.matches)} of {results.searched} databases {verb}{more}."
    lines = [
        results.notice,
        *(f'"{one.words}" {"was read as" if one.unmatched else "is"} {_concepts(one)}.' for one in terms),
        *query.notes,
        *(f"Only databases {which}." for which, is_asked in narrowed.items() if is_asked),
        "No database was searched." if query.unknown and not query.concepts else count,
    ]
    return Document("search", "The search", " ".join(filter(None, lines)))


def _words(terms: Sequence[Term]) -> str:
    return " or ".join(f'"{term.words}"' for term in terms)


def _concepts(term: Term) -> str:
    named = [
        f"{'not ' * one.excluded}{one.concept.name} ({one.concept.domain_id} {one.concept.concept_id})"
        f"{' alone' * (not one.descendants)}"
        for one in term.choices
    ]
    return ", ".join([*named, *["with descendants"] * any(one.descendants for one in term.choices)])

"""Find the databases that can answer a question: ranked by how many patients they have of what it asks for."""

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assistants.assistant import Document
from assistants.hippocrates.catalogue import Catalogue, Database, show_count
from assistants.hippocrates.estimates import Patients, estimate, roots, sizes, together
from assistants.hippocrates.query import ConceptTerm, MatchKind, Query, parse_query
from assistants.hippocrates.vocabulary import Vocabulary

_TAKEN: Mapping[MatchKind, str] = {
    "name": "is",
    "words": "stands in the names of",
    "misspelt": "was read as",
    "nearest": "is not in the vocabulary; the nearest is",
}
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
    """Persons with every wanted concept, None where it lacks one, or none is wanted."""
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

    query: Query
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
        return [_search_document(self), *(_document(match, self.query.concepts) for match in self.matches[:limit])]


def find_databases(
    catalogue: Catalogue,
    vocabulary: Vocabulary,
    question: str | Query,
    *,
    detail: bool = False,
) -> Databases:
    """Return all databases that have patients of any wanted concept: by coverage, then by expected patients, then by size.

    Args:
        catalogue: of databases.
        vocabulary: what names mean.
        question: in plain words, or as read and then changed by the user.
        detail: whether the asker may see the counts of every concept.
    """
    query = question if isinstance(question, Query) else parse_query(question, vocabulary, catalogue.locations)
    matches = sorted(_matches(catalogue, vocabulary, query, detail), key=_order)
    warnings = (*catalogue.warnings, *vocabulary.warnings, *compare_versions(catalogue, vocabulary))
    return Databases(query, tuple(matches), len(catalogue.databases), warnings, catalogue.notice)


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


def _matches(catalogue: Catalogue, vocabulary: Vocabulary, query: Query, detail: bool) -> Iterator[DatabaseMatch]:
    """Yield the databases that are in the right place, large enough and have a wanted concept.

    Where no concept is wanted, all databases in the right place and of the right size.
    """
    if not query.concepts and (query.unknown or not (query.countries or query.min_persons)):
        return
    estimates = [estimate(catalogue, vocabulary, term) for term in query.concepts]
    persons = sizes(catalogue)
    for place, database in enumerate(catalogue.databases):
        covered = [one for one in estimates if one.high[place] > 0]
        if (estimates and not covered) or not _fits(database, query):
            continue
        patients = tuple(
            Patients(int(one.low[place]), int(one.high[place])) if one.high[place] > 0 else None for one in estimates
        )
        shares = [float(one.expected[place] / persons[place]) for one in covered]
        # Where the size is not known, independent concepts would have next to nobody in common.
        share = min(shares, default=1.0) if database.persons is None else math.prod(shares)
        everything = together(patients, persons[place])
        if query.min_patients and (everything is None or everything.high < query.min_patients):
            continue
        counts = _counts(place, catalogue, vocabulary, query.concepts) if detail else ()
        yield DatabaseMatch(database, patients, everything, round(share * float(persons[place]), 3), counts)


def _counts(
    place: int, catalogue: Catalogue, vocabulary: Vocabulary, terms: Sequence[ConceptTerm]
) -> tuple[ConceptCount, ...]:
    """Return a database's count of every concept that was taken into account."""
    below = {one for all_ in terms for _, concepts in roots(vocabulary, all_) for one in concepts}
    rows = []
    for concept_id in sorted(below):
        counts = catalogue.counts(concept_id)
        if counts is not None and len(here := counts.persons[counts.places == place]):
            concept = vocabulary.get(concept_id)
            rows.append(ConceptCount(concept_id, concept.name if concept else f"concept {concept_id}", int(here[0])))
    return tuple(sorted(rows, key=lambda row: (-row.persons, row.concept_id)))


def _fits(database: Database, query: Query) -> bool:
    here = not query.countries or {database.country, database.continent} & set(query.countries)
    return bool(here) and (not query.min_persons or (database.persons or 0) >= query.min_persons)


def _order(match: DatabaseMatch) -> tuple[float, float, float, str, int]:
    return -match.covered, -match.score, -(match.database.persons or 0), match.database.name, match.database.id


def _document(match: DatabaseMatch, terms: Sequence[ConceptTerm]) -> Document:
    database = match.database
    named = f"{database.name} ({database.acronym})" if database.acronym else database.name
    lines = [f"{named}: {database.country or 'country not given'}, {_size(database)}."]
    for term, patients in zip(terms, match.patients, strict=True):
        lines.append(f"Patients with {_quote(term)}: {patients or '0 recorded'}.")
    if len(terms) > 1 and match.all_wanted:
        lines.append(f"Patients with all of these: {match.all_wanted}.")
    if match.counts:
        listed = "; ".join(f"{row.name} ({row.concept_id}) {show_count(row.persons)}" for row in match.counts)
        lines.append(f"By concept: {listed}.")
    return Document(f"database-{database.id}", database.name, " ".join(lines))


def _size(database: Database) -> str:
    return "size not given" if database.persons is None else f"{show_count(database.persons)} persons"


def _quote(term: ConceptTerm) -> str:
    return f'"{term.words}"'


def _search_document(results: Databases) -> Document:
    query = results.query
    lines = [results.notice] if results.notice else []
    lines += [f"{_quote(one)} {_TAKEN[one.match_kind]} {_concepts(one)}, with descendants." for one in query.concepts]
    lines += [
        f"That patients have no {_quote(one)} ({_concepts(one)}) did not narrow the search: counts cannot show it."
        for one in query.excluded
    ]
    lines += [f'The vocabulary does not know "{words}".' for words in query.unknown]
    if query.countries:
        lines.append(f"Only databases in {' or '.join(query.countries)}.")
    if query.min_persons:
        lines.append(f"Only databases of {query.min_persons:,} persons or more.")
    if query.min_patients:
        lines.append(f"Only databases that may have {query.min_patients:,} such patients or more.")
    count = len(results.matches)
    verb = "have such patients" if query.concepts else "fit"
    more = f", {len(results.complete)} of them all of these" if len(query.concepts) > 1 else ""
    lines.append(f"{count} of {results.searched} databases {verb}{more}.")
    return Document("search", "The search", " ".join(lines))


def _concepts(term: ConceptTerm) -> str:
    named = [f"{one.concept.name} ({one.concept.domain_id} {one.concept.concept_id})" for one in term.matches]
    more = len(named) - _SOME_CONCEPTS
    return ", ".join(named[:_SOME_CONCEPTS]) + (f" and {more} more" if more > 0 else "")

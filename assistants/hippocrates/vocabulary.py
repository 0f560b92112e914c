"""Looks up concepts, synonyms and descendants in a vocabulary: an OMOP CDM in a DuckDB file, or an Athena export (CSV files).

The vocabulary is the only source of concept ids.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import structlog
from numpy.typing import ArrayLike

from assistants.hippocrates.names import NameIndex, read_name
from assistants.hippocrates.tables import DataError, Table, read_tables

log = structlog.get_logger()
REMEDY = "point to an OMOP CDM in a DuckDB file, or to a folder with an export of https://athena.ohdsi.org"
_ID, _TEXT = "BIGINT NOT NULL", "VARCHAR NOT NULL"
_CONCEPT = f"concept_id {_ID}, concept_name {_TEXT}, domain_id {_TEXT}, vocabulary_id {_TEXT}, standard_concept VARCHAR"
_SYNONYM = f"concept_id {_ID}, concept_synonym_name {_TEXT}"
_RELATIONSHIP = f"concept_id_1 {_ID}, concept_id_2 {_ID}"
_TABLES = (
    Table("concept", f"{_CONCEPT}, PRIMARY KEY (concept_id)"),
    Table("concept_ancestor", f"ancestor_concept_id {_ID}, descendant_concept_id {_ID}"),
    Table("concept_synonym", _SYNONYM, "concept_synonym_name <> ''", optional=True),
    Table("concept_relationship", _RELATIONSHIP, "relationship_id = 'Maps to'", optional=True),
    # Athena writes the version of the whole vocabulary to the row whose id is `None`.
    Table("vocabulary", "vocabulary_version VARCHAR", "vocabulary_id = 'None'", optional=True),
    Table("cdm_source", "vocabulary_version VARCHAR", optional=True),
)
_LONGEST = 500
"""Maximum length of a search text, in characters. Few names are longer."""


@dataclass(frozen=True, slots=True)
class Concept:
    """A concept: an entry of the vocabulary, such as a condition or a drug."""

    concept_id: int
    name: str
    domain_id: str
    vocabulary_id: str
    standard: bool


@dataclass(frozen=True, slots=True)
class ConceptMatch:
    """A concept that a search has found, with its score."""

    concept: Concept
    score: float
    """Score from 0 to 1: at least `EXACT_SYNONYM` if the query is a name, at least `ALL_WORDS` if a name has all its words."""
    matched: str
    """The name or synonym that matches the query."""


class Vocabulary:
    """An immutable vocabulary. It finds concepts by name, by id, and by hierarchy."""

    def __init__(
        self,
        concepts: Iterable[Concept],
        synonyms: Iterable[tuple[int, str]] = (),
        *,
        maps_to: Mapping[int, int] | None = None,
        hierarchy: Iterable[ArrayLike] = ((), ()),
        version: str = "",
        warnings: tuple[str, ...] = (),
    ) -> None:
        """Index the concepts and their names.

        Args:
            synonyms: Pairs of a concept id and another name of the concept. Synonyms of unknown concepts are ignored.
            maps_to: By id of a non-standard concept, the id of its standard concept.
            hierarchy: Two arrays of concept ids: ancestors, in ascending order, and a descendant of each.
            warnings: Warnings about the data, which are shown to users.
        """
        self.version, self.warnings = version, warnings
        self.concepts = {concept.concept_id: concept for concept in concepts}
        self._maps_to = maps_to or {}
        self._ancestors, self._descendants = (np.asarray(ids, np.int64) for ids in hierarchy)
        own = ((concept.concept_id, concept.name, True) for concept in self.concepts.values())
        other = ((one, name, False) for one, name in synonyms if one in self.concepts)
        self._names = [read_name(one, text, own=is_own) for names in (own, other) for one, text, is_own in names]
        domains = [self._standard(name.concept_id).domain_id.casefold() for name in self._names]
        self._index = NameIndex(self._names, domains)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a vocabulary read-only.

        Args:
            path: A DuckDB file with a CDM database, or a folder with an Athena export.

        Raises:
            DataError: A file, table or column is missing, an id is not a number, or there are no concepts.
        """
        with read_tables(path, _TABLES, remedy=REMEDY) as tables:
            rows = tables.sql("FROM concept").fetchall()
            synonyms = tables.sql("FROM concept_synonym").fetchall()
            maps_to = dict(tables.sql("FROM concept_relationship").fetchall())
            hierarchy = tables.sql("FROM concept_ancestor ORDER BY ALL").fetchnumpy().values()
            versions = tables.sql("FROM vocabulary UNION ALL FROM cdm_source").fetchall()
        concepts = [Concept(one, name, domain, of, flag == "S") for one, name, domain, of, flag in rows]
        version = next((version for (version,) in versions if version), "")
        if not concepts:
            raise DataError(f"{path}: the table concept has no rows; {REMEDY}")
        needed = {"concept_synonym": synonyms, "the version, in the row 'None' of vocabulary": version}
        if lacks := [what for what, rows in needed.items() if not rows]:
            log.warning("vocabulary_incomplete", path=str(path), lacks=lacks)
        warnings = () if synonyms else ("The vocabulary has no synonyms; concepts are found by their names alone.",)
        return cls(concepts, synonyms, maps_to=maps_to, hierarchy=hierarchy, version=version, warnings=warnings)

    def get(self, concept_id: int) -> Concept | None:
        return self.concepts.get(concept_id)

    def synonyms(self, concept_id: int) -> list[str]:
        """Return the names of a concept other than its main name."""
        return [name.text for name in self._names if name.concept_id == concept_id and not name.own]

    def find(self, words: str, domains: Collection[str] = (), limit: int = 10) -> list[ConceptMatch]:
        """Return the concepts whose names match words, best match first: exact names, then shared words, then misspellings.

        A non-standard concept is replaced by its standard concept, if the vocabulary maps one to the other.

        Args:
            domains: Domains of the concepts to find (`Condition`, `Drug`, ...). Empty means all domains.
            limit: Maximum number of concepts.
        """
        words, domain_ids = words[:_LONGEST], {domain.casefold() for domain in domains}
        # A concept may have many matching names, so search for 20 names per requested concept.
        similar = self._index.search(words, domain_ids, limit * 20)
        matches = self._matches(similar | self._index.look_up(words))
        if domain_ids:
            matches = [match for match in matches if match.concept.domain_id.casefold() in domain_ids]
        return matches[:limit]

    def lookup(self, words: str) -> list[ConceptMatch]:
        """Return the concepts with a name or synonym that equals `words`, or contains exactly these words in another order."""
        return self._matches(self._index.look_up(words))

    def _matches(self, scores: Mapping[int, float]) -> list[ConceptMatch]:
        """Return the concepts of these names, each with its best name. `scores` are the scores of names, by their index."""
        matches: dict[int, ConceptMatch] = {}
        for place, score in sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])):
            concept = self._standard(self._names[place].concept_id)
            matches.setdefault(concept.concept_id, ConceptMatch(concept, round(score, 4), self._names[place].text))
        return sorted(matches.values(), key=_order)

    def descendants(self, concept_id: int) -> frozenset[int]:
        """Return the ids of a concept and of all its descendants."""
        first, last = self._ancestors.searchsorted([concept_id, concept_id + 1])
        return frozenset(self._descendants[first:last].tolist()) | {concept_id}

    def _standard(self, concept_id: int) -> Concept:
        concept = self.concepts[concept_id]
        return concept if concept.standard else self.concepts.get(self._maps_to.get(concept_id, concept_id), concept)


def _order(match: ConceptMatch) -> tuple[float, bool, int, int]:
    return -match.score, not match.concept.standard, len(match.concept.name), match.concept.concept_id

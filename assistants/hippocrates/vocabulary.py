"""Concepts, their synonyms and descendants: of an OMOP CDM in a DuckDB file, or of an Athena export (a folder of CSV files).

The only place that concept ids come from.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from assistants.hippocrates.names import NameIndex, read_name
from assistants.hippocrates.tables import DataError, Tables

REMEDY = "point to an OMOP CDM in a DuckDB file, or to a folder with an export of https://athena.ohdsi.org"
_NAMES_OF_A_CONCEPT = 20
_LONGEST = 500
"""Letters of what is searched for; hardly a name has more."""


@dataclass(frozen=True, slots=True)
class Concept:
    """An entry of the vocabulary."""

    concept_id: int
    name: str
    domain_id: str
    vocabulary_id: str
    standard: bool


@dataclass(frozen=True, slots=True)
class ConceptMatch:
    """A concept that words may mean."""

    concept: Concept
    score: float
    """0 to 1; `EXACT_SYNONYM` and more are the concept's own names, `ALL_WORDS` and more have all words of the query."""
    matched: str
    """The name or synonym that the words are like."""


class Vocabulary:
    """Concepts by name, id and hierarchy. Reading it changes nothing."""

    def __init__(
        self,
        concepts: Iterable[Concept],
        synonyms: Iterable[tuple[int, str]] = (),
        *,
        maps_to: Mapping[int, int] | None = None,
        ancestors: Iterable[int] = (),
        descendants: Iterable[int] = (),
        version: str = "",
        warnings: tuple[str, ...] = (),
    ) -> None:
        """Index the names.

        Args:
            concepts: all concepts.
            synonyms: concept ids with other names; those of unknown concepts are left out.
            maps_to: the standard concept for each one that is not.
            ancestors: a concept for each pair of the hierarchy, in rising order,
            descendants: and the one below it.
            version: of the vocabulary, "" if unknown.
            warnings: what a user should know of what was read.
        """
        self.version = version
        self.warnings = warnings
        self._concepts = {concept.concept_id: concept for concept in concepts}
        self._maps_to = maps_to or {}
        self._ancestors, self._descendants = np.asarray(ancestors, np.int64), np.asarray(descendants, np.int64)
        own = ((concept.concept_id, concept.name, True) for concept in self._concepts.values())
        other = ((one, name, False) for one, name in synonyms if one in self._concepts)
        self._names = [read_name(one, text, own=is_own) for names in (own, other) for one, text, is_own in names]
        domains = [self._standard(name.concept_id).domain_id.casefold() for name in self._names]
        self._index = NameIndex(self._names, domains)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a vocabulary read-only.

        Args:
            path: a DuckDB file with a CDM, or a folder with an Athena export.

        Raises:
            DataError: a file, table or column is missing, an id is no number, or there are no concepts.
        """
        with Tables(path, remedy=REMEDY) as tables:
            return cls._read(tables)

    @classmethod
    def _read(cls, tables: Tables) -> Self:
        columns: tuple[str, ...] = ("concept_id", "concept_name", "domain_id", "vocabulary_id", "standard_concept")
        rows = tables.load("concept", columns, ids=columns[:1], filled=columns[:2]).fetchall()
        if not rows:
            raise DataError(f"{tables.place('concept')}: it has no concepts; {REMEDY}")
        concepts = [Concept(one, name, domain or "", of or "", flag == "S") for one, name, domain, of, flag in rows]
        warnings = []
        synonyms: list[tuple[int, str]] = []
        if "concept_synonym" in tables:
            columns = ("concept_id", "concept_synonym_name")
            loaded = tables.load("concept_synonym", columns, ids=columns[:1], filled=columns[:1])
            synonyms = loaded.filter("concept_synonym_name <> ''").fetchall()
        else:
            warnings.append(
                f"{tables.path}: it has no table concept_synonym, so concepts are found by their names alone"
            )
        pairs: dict[int, int] = {}
        if "concept_relationship" in tables:
            columns, where = ("concept_id_1", "concept_id_2", "relationship_id"), "relationship_id = 'Maps to'"
            loaded = tables.load("concept_relationship", columns, ids=columns[:2], filled=columns[:2], where=where)
            pairs = {one: other for one, other, _ in loaded.fetchall()}
        columns = ("ancestor_concept_id", "descendant_concept_id")
        loaded = tables.load("concept_ancestor", columns, ids=columns, filled=columns)
        ancestors, descendants = loaded.order(columns[0]).fetchnumpy().values()
        version = _version(tables)
        if not version:
            warnings.append(f"{tables.path}: it does not say the vocabulary's version (table vocabulary, row 'None')")
        return cls(
            concepts,
            synonyms,
            maps_to=pairs,
            ancestors=ancestors,
            descendants=descendants,
            version=version,
            warnings=tuple(warnings),
        )

    def get(self, concept_id: int) -> Concept | None:
        return self._concepts.get(concept_id)

    @property
    def concept_ids(self) -> Collection[int]:
        """All concepts."""
        return self._concepts.keys()

    def synonyms(self, concept_id: int) -> list[str]:
        """Return the other names of a concept."""
        return [name.text for name in self._names if name.concept_id == concept_id and not name.own]

    def find(self, words: str, domains: Collection[str] = (), limit: int = 10) -> list[ConceptMatch]:
        """Return the concepts that words may mean: exact names and synonyms first, then shared words, then misspellings.

        A concept that is not standard gives its standard one where the vocabulary maps it.

        Args:
            words: as a person writes them.
            domains: of these alone (`Condition`, `Drug`, ...); empty: of all.
            limit: at most so many.
        """
        words = words[:_LONGEST]
        domain_ids = {domain.casefold() for domain in domains}
        # A concept may have many names that match: more of them are looked at than concepts are asked for.
        similar = self._index.search(words, domain_ids, limit * _NAMES_OF_A_CONCEPT)
        matches = self._matches(similar | self._index.look_up(words))
        return [match for match in matches if not domain_ids or match.concept.domain_id.casefold() in domain_ids][
            :limit
        ]

    def lookup(self, words: str) -> list[ConceptMatch]:
        """Return the concepts that have exactly this name or synonym, or the same words in another order."""
        return self._matches(self._index.look_up(words))

    def _matches(self, scores: Mapping[int, float]) -> list[ConceptMatch]:
        """Return the concepts of names by their places, each under its best name."""
        matches: dict[int, ConceptMatch] = {}
        for place, score in sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])):
            concept = self._standard(self._names[place].concept_id)
            matches.setdefault(concept.concept_id, ConceptMatch(concept, round(score, 4), self._names[place].text))
        return sorted(matches.values(), key=_order)

    def descendants(self, concept_id: int) -> frozenset[int]:
        """Return a concept with all below it; just itself where the vocabulary knows none."""
        first, last = self._ancestors.searchsorted([concept_id, concept_id + 1])
        return frozenset(self._descendants[first:last].tolist()) | {concept_id}

    def _standard(self, concept_id: int) -> Concept:
        concept = self._concepts[concept_id]
        if concept.standard:
            return concept
        return self._concepts.get(self._maps_to.get(concept_id, concept_id), concept)


def _order(match: ConceptMatch) -> tuple[float, bool, int, int]:
    return -match.score, not match.concept.standard, len(match.concept.name), match.concept.concept_id


def _version(tables: Tables) -> str:
    """Return what the vocabulary calls its version; Athena writes it to the row of the vocabulary `None`."""
    for table, columns, where in (
        ("vocabulary", ("vocabulary_version", "vocabulary_id"), "vocabulary_id = 'None'"),
        ("cdm_source", ("vocabulary_version",), "true"),
    ):
        if table in tables and "vocabulary_version" in tables.columns(table):
            version = next((row[0] for row in tables.load(table, columns, where=where).fetchall()), None)
            if version:
                return str(version)
    return ""

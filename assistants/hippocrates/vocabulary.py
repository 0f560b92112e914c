"""Concepts, their synonyms and descendants: of an OMOP CDM in a DuckDB file, or of an Athena export (a folder of CSV files).

The only place that concept ids come from. A name is compared by its words: without letter case, accents, plural endings, British
spelling and the tags of SNOMED (`(disorder)`).
"""

import functools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA

from assistants.hippocrates.tables import DataError, Kind, Tables

REMEDY = "point to an OMOP CDM in a DuckDB file, or to a folder with an export of https://athena.ohdsi.org"
EXACT_NAME, EXACT_SYNONYM, SAME_WORDS = 1.0, 0.98, 0.95
ALL_WORDS = 0.6
"""The least score of a name that has all words of the query."""
SIMILAR = 0.7
"""How alike (1 - edits / length) a word must be to stand for a misspelt one: two edits in a word of seven letters."""
COMPLETE = ALL_WORDS * SIMILAR
"""The least score of a name that has all words of the query, some of them perhaps misspelt; those that have some score below."""
_LEAST = 0.15
"""What scores less shares too little with the query to be offered."""
_NAMES_OF_A_CONCEPT = 20
_LONGEST = 500
"""Letters of what is searched for; hardly a name has more."""
_STOP = frozenset("a an and as at by due for from in into nos of on or other the to unspecified with".split())
_TAGS = re.compile(
    r"\s*\((?:disorder|finding|procedure|morphologic abnormality|situation|event|observable entity|substance|product|"
    r"clinical drug|regime/therapy|medicinal product|organism|person|body structure|specimen|assessment scale)\)\s*$",
    re.IGNORECASE,
)
"""What SNOMED ends its full names with."""
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")


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


class _Name(NamedTuple):
    concept_id: int
    text: str
    words: frozenset[str]
    key: str
    own: bool
    """The concept's name rather than a synonym."""


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
        self._names = [_name(*name) for pair in (own, other) for name in pair]
        self._exact: dict[str, list[int]] = defaultdict(list)
        self._same: dict[frozenset[str], list[int]] = defaultdict(list)
        postings: dict[str, list[int]] = defaultdict(list)
        self._synonyms: dict[int, list[int]] = defaultdict(list)
        for place, name in enumerate(self._names):
            if not name.own:
                self._synonyms[name.concept_id].append(place)
            self._exact[name.key].append(place)
            self._same[name.words].append(place)
            for word in name.words:
                postings[word].append(place)
        self._index = _Index(
            postings, self._names, [self._standard(name.concept_id).domain_id.casefold() for name in self._names]
        )

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
        rows = tables.rows(
            "concept",
            {
                "concept_id": "id",
                "concept_name": "text",
                "domain_id": "text",
                "vocabulary_id": "text",
                "standard_concept": "text",
            },
            filled=("concept_id", "concept_name"),
        )
        if not rows:
            raise DataError(f"{tables.place('concept')}: it has no concepts; {REMEDY}")
        concepts = [Concept(one, name, domain or "", of or "", flag == "S") for one, name, domain, of, flag in rows]
        warnings = []
        synonyms: list[tuple[int, str]] = []
        if "concept_synonym" in tables:
            kinds: dict[str, Kind] = {"concept_id": "id", "concept_synonym_name": "text"}
            read = tables.rows("concept_synonym", kinds, filled=("concept_id",))
            synonyms = [(concept_id, name) for concept_id, name in read if name]
        else:
            warnings.append(
                f"{tables.path}: it has no table concept_synonym, so concepts are found by their names alone"
            )
        pairs: dict[int, int] = {}
        if "concept_relationship" in tables:
            kinds = {"concept_id_1": "id", "concept_id_2": "id"}
            rows = tables.rows("concept_relationship", kinds, filled=kinds, where="relationship_id = 'Maps to'")
            pairs = dict(rows)
        ancestors, descendants = tables.ids(
            "concept_ancestor", ("ancestor_concept_id", "descendant_concept_id"), order="ancestor_concept_id"
        )
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

    def __len__(self) -> int:
        return len(self._concepts)

    def get(self, concept_id: int) -> Concept | None:
        return self._concepts.get(concept_id)

    @property
    def concept_ids(self) -> Collection[int]:
        """All concepts."""
        return self._concepts.keys()

    def synonyms(self, concept_id: int) -> list[str]:
        """Return the other names of a concept."""
        return [self._names[place].text for place in self._synonyms.get(concept_id, ())]

    def find(self, words: str, domains: Collection[str] = (), limit: int = 10) -> list[ConceptMatch]:
        """Return the concepts that words may mean: exact names and synonyms first, then shared words, then misspellings.

        A concept that is not standard gives its standard one where the vocabulary maps it.

        Args:
            words: as a person writes them.
            domains: of these alone (`Condition`, `Drug`, ...); empty: of all.
            limit: at most so many.
        """
        words = words[:_LONGEST]
        wanted = {domain.casefold() for domain in domains}
        # A concept may have many names that match: more of them are looked at than concepts are asked for.
        similar = self._index.search(_name(0, words, True).words, wanted, limit * _NAMES_OF_A_CONCEPT)
        scores = dict(similar) | dict(self._own_names(words))
        matches: dict[int, ConceptMatch] = {}
        for place, score in sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])):
            concept = self._standard(self._names[place].concept_id)
            if concept.concept_id not in matches and (not wanted or concept.domain_id.casefold() in wanted):
                matches[concept.concept_id] = ConceptMatch(concept, round(score, 4), self._names[place].text)
        return sorted(matches.values(), key=_order)[:limit]

    def lookup(self, words: str) -> list[ConceptMatch]:
        """Return the concepts that have exactly this name or synonym, or the same words in another order."""
        matches: dict[int, ConceptMatch] = {}
        for place, score in sorted(self._own_names(words), key=lambda pair: (-pair[1], pair[0])):
            concept = self._standard(self._names[place].concept_id)
            matches.setdefault(concept.concept_id, ConceptMatch(concept, score, self._names[place].text))
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

    def _own_names(self, words: str) -> list[tuple[int, float]]:
        asked = _name(0, words, True)
        if not asked.key:
            return []
        same = [(place, SAME_WORDS) for place in self._same.get(asked.words, ())] if asked.words else []
        exact = [
            (place, EXACT_NAME if self._names[place].own else EXACT_SYNONYM) for place in self._exact.get(asked.key, ())
        ]
        return list({**dict(same), **dict(exact)}.items())


class _Index:
    """The names that share words, or misspelt words, with a query."""

    def __init__(self, postings: Mapping[str, list[int]], names: list[_Name], domains: Sequence[str]) -> None:
        """Args: domains: of each name's concept, in small letters."""
        self._names = names
        self._words = list(postings)
        self._similar = functools.lru_cache(maxsize=4096)(self._find_similar)
        self._domains = {one: number for number, one in enumerate(sorted(set(domains)))}
        self._domain_of = np.array([self._domains[one] for one in domains], np.int16)
        self._postings = {word: np.array(places, np.int32) for word, places in postings.items()}
        self._rarity = {word: float(np.log1p(len(names) / len(places))) for word, places in postings.items()}
        self._weight = np.array([sum(self._rarity[word] for word in name.words) or 1.0 for name in names], np.float32)

    def search(self, words: Collection[str], domains: Collection[str], limit: int) -> list[tuple[int, float]]:
        """Return places of the names that score highest, with their scores.

        A name that has all words scores `ALL_WORDS` and more, the more the less else it says; one that has some, their share of the
        query's weight below that. Misspelt words count by how alike they are.
        """
        if not words or not self._names:
            return []
        total = 0.0
        asked: NDArray[np.float32] = np.zeros(len(self._names), np.float32)
        covered: NDArray[np.float32] = np.zeros(len(self._names), np.float32)
        shared: NDArray[np.int16] = np.zeros(len(self._names), np.int16)
        for word in words:
            alike = {word: 1.0} if word in self._postings else self._similar(word)
            rarity = max((self._rarity[one] for one in alike), default=float(np.log1p(len(self._names))))
            total += rarity
            best: NDArray[np.float32] = np.zeros(len(self._names), np.float32)
            for one, similarity in sorted(alike.items(), key=lambda pair: pair[1]):
                best[self._postings[one]] = similarity
                covered[self._postings[one]] += similarity * self._rarity[one]
            asked += rarity * best
            shared += best > 0
        share = asked / total
        of_name = np.minimum(covered / self._weight, 1.0)
        complete = shared == len(words)
        score = np.where(complete, share * (ALL_WORDS + 0.3 * of_name), share * (0.3 + 0.1 * of_name))
        if domains:
            score *= np.isin(self._domain_of, [self._domains[one] for one in domains if one in self._domains])
        places = np.flatnonzero(score >= _LEAST)
        if len(places) > limit:
            places = places[np.argsort(-score[places], kind="stable")[:limit]]
        return [(int(place), float(score[place])) for place in places]

    def _find_similar(self, word: str) -> dict[str, float]:
        if word.isdigit() or len(word) < 4:  # 81 is not 80, and three letters are like too many others
            return {}
        alike = process.extract(
            word, self._words, scorer=OSA.normalized_similarity, processor=None, score_cutoff=SIMILAR, limit=5
        )
        best = max((similarity for _, similarity, _ in alike), default=0.0)
        return {one: similarity for one, similarity, _ in alike if similarity >= best - 0.1 and not one.isdigit()}


def content_words(text: str) -> list[str]:
    """Return the words of a text as names are compared by, in order."""
    return [_fold(word) for word in _WORD.findall(_plain(text)) if word not in _STOP]


def _name(concept_id: int, text: str, own: bool) -> _Name:
    words = _WORD.findall(_plain(_TAGS.sub("", text) if text.endswith(")") else text))
    folded = [_fold(word) for word in words]
    content = frozenset(fold for fold, word in zip(folded, words, strict=True) if word not in _STOP)
    return _Name(concept_id, text, content, " ".join(folded), own)


def _plain(text: str) -> str:
    if text.isascii():
        return text.casefold()
    letters = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()


@functools.lru_cache(maxsize=1 << 16)
def _fold(word: str) -> str:
    """Write haemorrhage, oedema and tumours as hemorrhage, edema and tumor."""
    word = word.replace("ae", "e").replace("oe", "e")
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return f"{word[:-3]}or" if len(word) > 4 and word.endswith("our") else word


def _order(match: ConceptMatch) -> tuple[float, bool, int, int]:
    return -match.score, not match.concept.standard, len(match.concept.name), match.concept.concept_id


def _version(tables: Tables) -> str:
    """Return what the vocabulary calls its version; Athena writes it to the row of the vocabulary `None`."""
    if "vocabulary" in tables and "vocabulary_version" in tables.columns("vocabulary"):
        kinds: dict[str, Kind] = {"vocabulary_id": "text", "vocabulary_version": "text"}
        rows = tables.rows("vocabulary", kinds, where="vocabulary_id = 'None'")
        if rows and rows[0][1]:
            return str(rows[0][1])
    if "cdm_source" in tables and "vocabulary_version" in tables.columns("cdm_source"):
        rows = tables.rows("cdm_source", {"vocabulary_version": "text"})
        if rows and rows[0][0]:
            return str(rows[0][0])
    return ""

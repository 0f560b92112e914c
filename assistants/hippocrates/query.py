"""What a question asks of databases. A model or the form fills in a `Query`; `resolve` gives its words a meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from rapidfuzz import fuzz

from assistants.hippocrates.catalogue import Catalogue
from assistants.hippocrates.names import COMPLETE, content_words
from assistants.hippocrates.places import is_listed, place
from assistants.hippocrates.study import Choice
from assistants.hippocrates.terms import CONCEPT_ID
from assistants.hippocrates.vocabulary import ConceptMatch, Vocabulary

MatchKind = Literal["name", "misspelt"]
NEAR_NAME = 85
"""How alike (of 100) words must be to a name to be that name misspelt."""
MOST_NAMES = 20
"""How many similar names are looked at."""


class Query(BaseModel):
    """What a question asks for, in the researcher's words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    concepts: tuple[tuple[str, ...], ...] = ()
    """Every group is wanted; any word of a group will do."""
    excluded: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    """Any of these countries or continents will do; empty: all."""
    not_countries: tuple[str, ...] = ()
    min_persons: int = Field(0, ge=0)
    """Persons that the database must have."""
    min_patients: int = Field(0, ge=0)
    """Patients with the concepts that it must have."""
    of_cohort: bool = False
    """Whether it asks about the cohort at hand: its concepts are wanted, too."""


@dataclass(frozen=True, slots=True)
class ConceptTerm:
    """Words for concepts, and what they mean."""

    words: str
    matches: tuple[Choice, ...]
    """Any of them will do."""
    match_kind: MatchKind = "name"
    """`name`: it is called so, or was chosen. `misspelt`: it is called almost so."""


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A query whose words have a meaning."""

    concepts: tuple[ConceptTerm, ...] = ()
    excluded: tuple[ConceptTerm, ...] = ()
    countries: tuple[str, ...] | None = None
    """Codes of `places`, any of which will do; None: all."""
    not_countries: tuple[str, ...] = ()
    min_persons: int = 0
    min_patients: int = 0
    unknown: tuple[str, ...] = ()
    """Words for concepts that the vocabulary does not know."""
    notes: tuple[str, ...] = ()
    """Sentences on what was not understood, or cannot be told from counts."""
    of_cohort: bool = False
    at_most: bool = False
    """Whether more is asked for than counts can tell, so that they bound the patients from above alone."""


def resolve(
    query: Query, vocabulary: Vocabulary, catalogue: Catalogue, english: Mapping[str, str] | None = None
) -> ResolvedQuery:
    """Return what a query's words mean; the notes name those that nobody knows.

    Args:
        query: In the researcher's words.
        vocabulary: What names mean.
        catalogue: Its countries are known, beside all that have a code.
        english: What words are called in the vocabulary's language, if that is another.
    """
    names = {words: (english or {}).get(words) or words for words in chain(*query.concepts, query.excluded)}
    terms = {words: _read(words, name, vocabulary) for words, name in names.items()}
    unknown = tuple(words for words, term in terms.items() if term is None)
    groups = [[term for words in group if (term := terms[words])] for group in query.concepts]
    codes = {name: place(name) for name in query.countries + query.not_countries}
    here = {place(location) for location in catalogue.locations}
    nowhere = [name for name, code in codes.items() if code not in here and not is_listed(code)]
    return ResolvedQuery(
        tuple(_any(group) for group in groups if group),
        tuple(term for words in query.excluded if (term := terms[words])),
        tuple(codes[one] for one in query.countries if one not in nowhere) if query.countries else None,
        tuple(codes[one] for one in query.not_countries if one not in nowhere),
        query.min_persons,
        query.min_patients,
        unknown,
        (
            *(_unknown_note(words, names[words], vocabulary) for words in unknown),
            *(f'No country or continent is known by the name "{name}".' for name in nowhere),
        ),
    )


def _read(words: str, name: str, vocabulary: Vocabulary) -> ConceptTerm | None:
    """Return the concepts that are called so, or almost so: with as many words, each of them alike."""
    if (by_id := CONCEPT_ID.fullmatch(name)) and (concept := vocabulary.get(int(by_id[1]))):
        return ConceptTerm(words, (Choice(concept),))
    if exact := vocabulary.lookup(name):
        return ConceptTerm(words, _best(exact))
    said = content_words(name)
    near = {}
    for match in vocabulary.find(name, limit=MOST_NAMES):
        named = content_words(match.matched)
        if match.score >= COMPLETE and len(named) == len(said):
            near[match] = max(scorer(" ".join(said), " ".join(named)) for scorer in (fuzz.ratio, fuzz.token_sort_ratio))
    best = max(near.values(), default=0.0)
    if best < NEAR_NAME:
        return None
    return ConceptTerm(words, tuple(Choice(one.concept) for one, alike in near.items() if alike == best), "misspelt")


def _best(matches: Sequence[ConceptMatch]) -> tuple[Choice, ...]:
    return tuple(Choice(match.concept) for match in matches if match.score == matches[0].score)


def _any(terms: Sequence[ConceptTerm]) -> ConceptTerm:
    kind: MatchKind = "name" if all(term.match_kind == "name" for term in terms) else "misspelt"
    words = " or ".join(term.words for term in terms)
    return ConceptTerm(words, tuple(one for term in terms for one in term.matches), kind)


def _unknown_note(words: str, name: str, vocabulary: Vocabulary) -> str:
    nearest = [
        f"{one.concept.name}{f' (called {one.matched})' * (one.matched != one.concept.name)} "
        f"({one.concept.domain_id} {one.concept.concept_id})"
        for one in vocabulary.find(name, limit=3)
        if one.concept.concept_id
    ]
    offer = f" The nearest names are: {'; '.join(nearest)}." if nearest else ""
    return f'The vocabulary does not know "{words}", which was not searched for.{offer}'

"""Defines a question about databases. A model or the form fills in a `Query`, and `resolve` maps its words to concepts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from pydantic import BaseModel, ConfigDict, Field

from assistants.hippocrates.catalogue import Catalogue
from assistants.hippocrates.names import content_words
from assistants.hippocrates.places import is_listed, place
from assistants.hippocrates.study import Choice, Term
from assistants.hippocrates.terms import choose, find_term
from assistants.hippocrates.vocabulary import Vocabulary

NEAR_NAME = 0.72
"""Minimum score at which a name counts as the correct spelling of misspelt words."""


class Query(BaseModel):
    """What a question asks for, in the researcher's words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    concepts: tuple[tuple[str, ...], ...] = ()
    """Groups of concepts that patients must have: from every group, at least one concept."""
    excluded: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    """Countries or continents. A database must be in one of them. Empty means anywhere."""
    not_countries: tuple[str, ...] = ()
    min_persons: int = Field(0, ge=0)
    """Minimum number of persons in a database."""
    min_patients: int = Field(0, ge=0)
    """Minimum number of patients in a database who have the concepts."""
    of_cohort: bool = False
    """Whether the question is about the current cohort. If so, the cohort's concepts are added to `concepts`."""


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A query whose words are mapped to concepts."""

    asked: Query
    concepts: tuple[Term, ...] = ()
    """Terms that patients must have: of every term, at least one choice. The words in `Term.unmatched` were misspelt."""
    excluded: tuple[Term, ...] = ()
    unknown: tuple[str, ...] = ()
    """Words of the query for which the vocabulary has no concept."""
    notes: tuple[str, ...] = ()
    """Sentences for the user about unknown words and places, and about criteria that counts per concept cannot answer."""


def resolve(
    query: Query, vocabulary: Vocabulary, catalogue: Catalogue, english: Mapping[str, str] | None = None
) -> ResolvedQuery:
    """Map the words of a query to concepts. `english` has English names for words in other languages."""
    asked = dict.fromkeys(chain(*query.concepts, query.excluded))
    terms = {words: _find_near(vocabulary, words, (english or {}).get(words, "")) for words in asked}
    unknown = [term for term in terms.values() if term.is_open]
    groups = (any_of(terms[words] for words in group) for group in query.concepts)
    here = {place(location) for location in catalogue.locations}
    places = query.countries + query.not_countries
    nowhere = [name for name in places if place(name) not in here and not is_listed(place(name))]
    notes = [f'No country or continent is known by the name "{name}".' for name in nowhere]
    return ResolvedQuery(
        query,
        tuple(group for group in groups if not group.is_open),
        tuple(terms[words] for words in query.excluded if not terms[words].is_open),
        tuple(term.words for term in unknown),
        (*map(_unknown_note, unknown), *notes),
    )


def any_of(terms: Iterable[Term]) -> Term:
    """Join several terms to one term that matches any of their concepts. Terms without chosen concepts are left out."""
    closed = [term for term in terms if not term.is_open]
    return Term(
        " or ".join(term.words for term in closed),
        tuple(choice for term in closed for choice in term.choices),
        unmatched=tuple(word for term in closed for word in term.unmatched),
    )


def _find_near(vocabulary: Vocabulary, words: str, name: str) -> Term:
    """Return a term with the concepts that words name exactly, or else of the most similar name with the same number of words."""
    term = find_term(vocabulary, words, name)
    if term.choices:
        return term
    matches = (match for match in vocabulary.find(term.name) if match.score >= NEAR_NAME)
    near = [match for match in matches if len(content_words(match.matched)) == len(content_words(term.name))]
    best = [Choice(match.concept) for match in near if match.score == near[0].score]
    return choose(vocabulary, term, best) if best else term


def _unknown_note(term: Term) -> str:
    nearest = [f"{one.name} ({one.domain_id} {one.concept_id})" for one in term.candidates[:3] if one.concept_id]
    offer = f" The nearest names are: {'; '.join(nearest)}." if nearest else ""
    return f'The vocabulary does not know "{term.words}", which was not searched for.{offer}'

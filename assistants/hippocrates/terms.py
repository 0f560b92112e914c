"""Maps words to concepts of the vocabulary. A concept whose name is unique is chosen; others are offered as candidates."""

import re
from collections.abc import Collection
from dataclasses import replace

from assistants.hippocrates.names import EXACT_SYNONYM, content_words
from assistants.hippocrates.study import Choice, Term
from assistants.hippocrates.vocabulary import Vocabulary

MOST_CANDIDATES = 10
CONCEPT_ID = re.compile(r"(?:omop )?concept(?: id)? (\d+)", re.I)


def find_term(vocabulary: Vocabulary, words: str, name: str = "", domains: Collection[str] = ()) -> Term:
    """Return a term for the researcher's words. It has a chosen concept if they name exactly one, or else candidates, if any.

    Args:
        vocabulary: The vocabulary to search.
        words: The researcher's words.
        name: The words in the vocabulary's language. If empty, `words` is used.
        domains: Domains of the concepts to find, such as `Drug`. Empty means all domains.
    """
    name = name or words
    term = Term(words, name=name)
    if by_id := CONCEPT_ID.fullmatch(name):
        concept = vocabulary.get(int(by_id[1]))
        return replace(term, choices=(Choice(concept),)) if concept else term
    matches = [match for match in vocabulary.lookup(name) if match.score >= EXACT_SYNONYM]
    matches = [match for match in matches if not domains or match.concept.domain_id in domains]
    standard = [match for match in matches if match.concept.standard]
    by_name = [match.concept for match in standard if match.score > EXACT_SYNONYM]
    concepts = by_name or [match.concept for match in standard]
    if len(concepts) == 1:
        return replace(term, choices=(Choice(concepts[0]),))
    found = matches or vocabulary.find(name, domains, MOST_CANDIDATES)
    return replace(term, candidates=tuple(match.concept for match in found)[:MOST_CANDIDATES])


def choose(vocabulary: Vocabulary, term: Term, choices: Collection[Choice]) -> Term:
    """Return a term with chosen concepts. `Term.unmatched` lists its words that occur in no name of a chosen concept."""
    concepts = [choice.concept for choice in choices]
    names = [name for one in concepts for name in (one.name, one.domain_id, *vocabulary.synonyms(one.concept_id))]
    known = {word for name in names for word in content_words(name)}
    unmatched = tuple(word for word in dict.fromkeys(content_words(term.name or term.words)) if word not in known)
    return replace(term, choices=tuple(choices), unmatched=unmatched)

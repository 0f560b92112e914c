"""What a documented set of phrases (docs/hippocrates.md) makes of a study, without a model.

A sentence is read whole or not at all: what is not understood to its last word changes nothing and is asked back.
"""

import re
from dataclasses import replace
from typing import NamedTuple

from assistants.hippocrates import answers
from assistants.hippocrates.amounts import count, days
from assistants.hippocrates.assembly import assemble
from assistants.hippocrates.heads import (
    ALONE,
    ARTICLE,
    COUNTED,
    DEATH,
    DRUG_EXIT,
    FIRST,
    KIND,
    KINDS,
    PAST,
    RESERVED,
    Head,
)
from assistants.hippocrates.sentence import NoConcept, Phrase, Sentence, Unclear
from assistants.hippocrates.slots import DrugEraExit, Event, Origin, Term
from assistants.hippocrates.study import Ask, Reading, Study
from assistants.hippocrates.terms import Terms
from assistants.hippocrates.vocabulary import Vocabulary

LONGEST_SENTENCE = 600
"""Characters; a longer one is asked back."""
_LONGEST_NAME = 8
"""Words of a phrase for a concept that is no name of the vocabulary."""
_MOST_READINGS = 64
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "≥": ">=", "–": "-", "\u00a0": " "})


class Grammar:
    """Reads messages by the documented phrases."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.terms = Terms(vocabulary)

    def read(self, study: Study, turn: int, text: str) -> Reading:
        """Return the study after a message, sentence by sentence, and what of it has to be asked back."""
        asks: list[Ask] = []
        for words in sentences(text):
            if words.endswith("?"):
                asks.append(Ask("question", words, ""))
            elif answers.is_undo(words):
                return Reading(study, asks, undo=True)
            else:
                try:
                    study = self._read_sentence(study, Origin(turn, words))
                except Unclear as problem:
                    asks.append(Ask(problem.kind, words, str(problem)))
        return Reading(study, asks)

    def _read_sentence(self, study: Study, origin: Origin) -> Study:
        if len(origin.words) > LONGEST_SENTENCE:
            raise Unclear(f"That sentence is longer than {LONGEST_SENTENCE} characters. Please say it in shorter ones.")
        if (answered := answers.read(study, origin, self.terms)) is not None:
            return answered
        problem: Unclear | None = None
        sentence = Sentence(origin.words, self._phrase)
        for n, pieces in enumerate(sentence.readings()):
            try:
                return assemble(study, pieces, origin)
            except Unclear as error:
                problem = problem or error
            if n > _MOST_READINGS:
                break
        if problem is None and sentence.without_concept:
            raise NoConcept(f"I know no concept like “{sentence.without_concept}”. What else is it called?")
        raise problem or Unclear(
            f"I did not understand “{origin.words}”, and took nothing of it. Please say it in other words, one thing at a time."
        )

    def _phrase(self, head: Head, words: str) -> Phrase | None:
        """Read what follows a head; None if it is no phrase for concepts.

        Raises:
            NoConcept: it looks like one, but is like no name.
        """
        if head.role == "drug_exit":
            return self._drug_exit(head, words)
        how_many, past = None, False
        if head.role in ("with", "rule") and (counted := COUNTED.match(words)):
            how_many, words = count(counted[0]), words[counted.end() :]
        if head.role in ("with", "rule", "exclude") and (before := PAST.match(words)):
            past, words = True, words[before.end() :]
        if (concepts := self._event(words, head.domains)) is None:
            return None
        event = replace(concepts.event, first=concepts.event.first or head.first)
        return Phrase(head, event, how_many, past, concepts.every, by_name=concepts.by_name)

    def _drug_exit(self, head: Head, words: str) -> Phrase | None:
        if (match := DRUG_EXIT.fullmatch(words)) is None:
            return None
        concepts = self._event(match["what"], ("Drug",)) if match["what"] else _Concepts(Event((), _NOWHERE), True)
        if concepts is None:
            return None
        gap = days(match["gap"]) if match["gap"] else DrugEraExit().gap
        offset = days(match["offset"]) if match["offset"] else 0
        end = DrugEraExit(concepts.event.terms, gap, offset)
        return Phrase(head, concepts.event, end=end, by_name=concepts.by_name)

    def _event(self, words: str, domains: tuple[str, ...]) -> "_Concepts | None":
        alone = ALONE.search(words)
        words = (words[: alone.start()] if alone else words).strip()
        first = every = False
        if self.terms.look_up(words, domains) is None and (prefix := FIRST.match(words)):
            every = prefix["how"].casefold() in ("every", "all")
            first = not every
            words = words[prefix.end() :]
        if death := DEATH.fullmatch(words):
            cause = death["cause"] or death["of"]
            causes = self._terms(cause, ("Condition",)) if cause else _Terms((), True)
            return causes and _Concepts(Event(causes.terms, _NOWHERE, first, death=True), causes.by_name, every)
        if (read := self._terms(words, domains)) is None:
            return None
        terms = tuple(_without_descendants(term) for term in read.terms) if alone else read.terms
        return _Concepts(Event(terms, _NOWHERE, first, era=read.era), read.by_name, every)

    def _terms(self, words: str, domains: tuple[str, ...]) -> "_Terms | None":
        """Return a term for each of the alternatives; the kind of record before one holds for those after it."""
        if term := self.terms.look_up(words, domains):
            return _Terms((term,), True)
        terms, by_name, era, kinds = [], True, False, domains
        for part in map(_without_article, _alternatives(words)):
            if (kind := KIND.match(part)) and self.terms.look_up(part, domains) is None:
                name = kind["kind"].casefold()
                kinds, era = KINDS.get(name[:7], domains), era or name.startswith("drug era")
                if domains and kinds != domains:
                    return None
                part = _without_article(part[kind.end() :])
            term = self.terms.look_up(part, kinds)
            if term is None:
                by_name = False
                if not _is_phrase(part):
                    return None
                term = self.terms.search(part, kinds)
                if term is None:
                    raise NoConcept(part)
            terms.append(term)
        return _Terms((*terms,), by_name, era)


class _Concepts(NamedTuple):
    event: Event
    by_name: bool
    every: bool = False
    """Every such event is meant."""


class _Terms(NamedTuple):
    terms: tuple[Term, ...]
    by_name: bool
    """The vocabulary has all their names."""
    era: bool = False


_NOWHERE = Origin(0, "")


def sentences(text: str) -> list[str]:
    """Split a message into sentences; a question keeps its mark."""
    text = re.sub(r"[ \t]+", " ", text.translate(_QUOTES))
    parts = re.split(
        r"\n+|(?<=\?)\s+|(?<![.!])[.!]++(?=\s|$)|;(?!\s*(?:exclude \d|without desc|including mapped))", text
    )
    joined: list[str] = []
    for part in parts:
        if joined and joined[-1].count('"') % 2:
            joined[-1] += f" {part}"
        else:
            joined.append(part)
    return [part.strip() for part in joined if part and re.search(r"\w", part)]


def _alternatives(words: str) -> list[str]:
    parts = re.split(
        r"(?:(?<!\s)\s++)?,\s*(?:or\s+)?|(?<!\s)\s++or\s+",
        re.sub(r'"[^"]*"', lambda m: re.sub(r"[ ,]", _hidden, m[0]), words),
    )
    return [part.replace("\x00", " ").replace("\x01", ",") for part in parts]


def _hidden(match: re.Match[str]) -> str:
    return "\x00" if match[0] == " " else "\x01"


def _without_article(words: str) -> str:
    return words if words.startswith('"') else ARTICLE.sub("", words, count=1) if ARTICLE.match(words) else words


def _is_phrase(words: str) -> bool:
    """Tell whether words can stand for a concept that the vocabulary calls otherwise."""
    if words.startswith('"') and words.endswith('"'):
        return True
    tokens = re.findall(r"[^\W_]+", words.casefold())
    return 0 < len(tokens) <= _LONGEST_NAME and not RESERVED & {*tokens} and any(len(word) > 1 for word in tokens)


def _without_descendants(term: Term) -> Term:
    choices = tuple(replace(choice, descendants=False) for choice in term.choices)
    return replace(term, choices=choices, descendants=False)

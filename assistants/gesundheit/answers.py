"""Decides how to answer a question: with a stored pair, an offer ("Did you mean ...?"), or a reason for having no answer."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assistants.gesundheit.dialogue import State
from assistants.gesundheit.language import Language
from assistants.gesundheit.matcher import Match, Matcher
from assistants.gesundheit.settings import Sources
from knowledge_base.bm25 import stems
from knowledge_base.pairs.pair import Pair

Band = Literal[
    "direct", "offer", "fallback", "what_of_focus", "which_diseases", "no_diagnosis", "rephrase",
    "uncovered_health", "other",
]  # fmt: skip
RIVALS = 8
"""Number of other candidates to check before a direct answer. A word that the question shares only with them rules it out."""
MOST_OVERVIEW_STEMS = 3
"""Maximum number of word stems, besides the focus' name, in a question that asks about a focus in general."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Answer:
    """How to answer a question. `band` names the kind of answer; the other fields depend on it."""

    band: Band
    pairs: tuple[Pair, ...] = ()
    """The pairs to answer with (band `direct`), or to offer (band `offer`)."""
    also_offered: Pair | None = None
    """The pair to offer for the second question, if a message asks two and only the first has a direct answer."""
    sentences: tuple[str, ...] = ()
    """Verbatim sentences of `document` that answer the question (band `fallback`)."""
    document: str = ""
    """Id of the document with `sentences`."""
    subject: str = ""
    """The focus that the question is about (band `what_of_focus`), or the topic (band `which_diseases`; "" for all)."""


class Answers:
    """Finds answers to questions in a knowledge base of question-answer pairs and documents."""

    def __init__(self, sources: Sources, language: Language) -> None:
        self._sources, self._language = sources, language
        self._matcher = Matcher(sources.pairs, sources.taxonomy, sources.weights, language, sources.encode)
        self.pairs, self.foci_in = self._matcher.pairs, self._matcher.foci_in
        self.is_stored = self._matcher.is_stored
        served = {pair.focus for pair in self.pairs}
        self._foci = {focus.id: focus for focus in sources.taxonomy.foci if focus.id in served}
        self.sentences = {document: [*_sentences(source.text)] for document, source in sources.documents.items()}
        """By document id, the sentences of each document, without headings."""
        self._vocabulary = {stem for source in sources.documents.values() for stem in self._stems(source.text)}
        self._vocabulary |= {stem for pair in self.pairs for stem in self._stems(pair.question)}
        self.focus_names = [focus.name for focus in self._foci.values()]
        self.areas = self._list(topic.name for topic in sources.taxonomy.topics)

    def names_of_foci(self) -> list[tuple[str, str]]:
        """Return the id and name of each focus that has pairs."""
        return [(focus.id, focus.name) for focus in self._foci.values()]

    def sentences_on(self, focus: str) -> list[tuple[str, str]]:
        """Return the sentences of the documents about a focus, as pairs of document id and sentence.

        Args:
            focus: The focus' name, not its id. An unknown name gives an empty list.
        """
        found = next((one for one in self._foci.values() if one.name == focus), None)
        documents = (found.documents or (found.id,)) if found else ()
        return [(document, text) for document in documents for text in self.sentences.get(document, ())]

    def candidates(self, state: State, question: str) -> list[Pair]:
        """Return the pairs that a question may ask, most probable first. A model chooses from them."""
        return [match.pair for match in self._match(state, question)]

    def is_on_emergency(self, pair: Pair) -> bool:
        """Return whether a pair's answer describes signs of an emergency, so that a reply must name the emergency number."""
        return self._foci[pair.focus].emergency and pair.aspect in self._sources.taxonomy.danger

    def say_aspects(self, focus: str) -> tuple[str, str]:
        """Return the name of a focus, and a phrase that lists the aspects that its pairs cover."""
        aspects = dict.fromkeys(pair.aspect for pair in self.pairs if pair.focus == focus)
        return self._foci[focus].name, self._list(aspects)

    def say_foci(self, topic: str) -> str:
        """Return a phrase that lists the foci of a topic, given by its name; "" lists the foci of all topics."""
        places = self._sources.taxonomy.places()
        return self._list(focus.name for one, _, focus in places if topic in ("", one.name) and focus.id in self._foci)

    def _list(self, names: Iterable[str]) -> str:
        *first, last = [*names] or [""]
        return f"{', '.join(first)} {self._language.texts['and']} {last}" if first else last

    def find(self, state: State, question: str, *, offers_only: bool = False) -> Answer:
        """Return the answer to a question.

        Args:
            state: The conversation before the question.
            offers_only: Whether to offer pairs instead of answering with them, because the user rejected the last answer or offer.
        """
        named = self.foci_in(question)
        if named and self._language.diagnosis.search(question):
            return Answer("no_diagnosis")
        parts = self._divide(question)
        if len(parts) == 2 and not offers_only and (both := self._find_both(state, parts)):
            return both
        matches = self._matcher.match(question, state.focus, exact=not offers_only)
        weights = self._sources.weights
        best = matches[0] if matches else None
        if best and not offers_only and self._is_direct(question, matches):
            return Answer("direct", (best.pair,))
        if subject := self._overview(question, named):
            return subject
        is_about_focus = bool(named or (state.focus and self._language.refers_back.search(question)))
        left = 1 - sum(one.probability for one in matches if one.pair.cluster in state.denied)
        least = left * (weights.offer if is_about_focus else weights.offer_unnamed)
        about = named or {state.focus}
        offered = [one for one in matches if one.pair.cluster not in state.denied and one.probability >= least]
        offered.sort(key=lambda one: one.pair.focus not in about)
        if offered and (offered[0].pair.focus in about or not is_about_focus):
            return Answer("offer", (offered[0].pair,))
        if is_about_focus:
            return Answer("rephrase")
        stems_asked = self._stems(question)
        known = sum(stem in self._vocabulary for stem in stems_asked) / max(len(stems_asked), 1)
        return Answer("uncovered_health" if known >= weights.health else "other")

    def _is_direct(self, question: str, matches: Sequence[Match]) -> bool:
        """Return whether the most probable pair may answer the question directly, without asking the user first.

        The pair must be probable enough and have the question's focus, and must not contradict the question. No other candidate may
        share a word with the question that the pair lacks: "young", for example, if the pair is about old age.
        """
        best, *others = matches
        if best.is_stored:
            return True
        is_probable = best.probability >= self._sources.weights.direct
        if not is_probable or best.pair.focus not in self._matcher.foci_in(question):
            return False
        if self._matcher.is_opposite(question, best.pair):
            return False
        own = self._stems_of(best.pair) | set(self._stems(f"{best.pair.answer} {best.pair.context}"))
        rival = set[str]().union(*(self._stems_of(one.pair) for one in others[:RIVALS]))
        return not (set(self._stems(question)) & rival) - own

    def _stems_of(self, pair: Pair) -> set[str]:
        texts = (pair.question, *pair.variants, *self._foci[pair.focus].other_names, self._foci[pair.focus].name)
        return {stem for text in texts for stem in self._stems(text)}

    def _match(self, state: State, question: str) -> list[Match]:
        return self._matcher.match(question, state.focus)

    def _find_both(self, state: State, parts: list[str]) -> Answer | None:
        """Answer a message with two questions. Return None if the two cannot be answered separately.

        The first question must have a direct answer. The second is answered directly, or its pair is offered.
        """
        first, second = parts
        one = self._match(state, first)
        focus = next(iter(self._matcher.foci_in(first)), state.focus)
        foci = self._matcher.foci_in(second)
        if not self._matcher.foci_in(first) and foci:  # "causes and symptoms of depression"
            focus = next(iter(foci))
            one = self._match(replace(state, focus=focus), first)
        two = self._match(replace(state, focus=focus), second)
        if two and two[0].pair.focus != (focus or two[0].pair.focus):
            return None
        if not one or not two or one[0].pair.cluster == two[0].pair.cluster:
            return None
        if not self._is_direct(f"{first} {focus}", one) or two[0].probability < self._sources.weights.offer:
            return None
        if self._is_direct(f"{second} {focus}", two):
            return Answer("direct", (one[0].pair, two[0].pair))
        return Answer("direct", (one[0].pair,), also_offered=two[0].pair)

    def _divide(self, question: str) -> list[str]:
        parts = [part.strip() for part in self._language.conjunctions.split(question) if part and part.strip()]
        return [part for part in parts if self._stems(part)]

    def _overview(self, question: str, named: set[str]) -> Answer | None:
        """Answer from the taxonomy if a question asks about a focus in general, or for the available topics; else return None.

        Args:
            named: Ids of the foci that the question names.
        """
        lower = question.lower()
        if self._language.topics.search(question):
            topics = [topic for topic in self._sources.taxonomy.topics if _shares_word(topic.name, lower)]
            foci = [focus.name for topic in topics for one in topic.subtopics for focus in one.foci]
            if len(foci) > 1:
                return Answer("which_diseases", subject=topics[0].name)
            return Answer("which_diseases")
        if len(named) == 1 and named <= self._foci.keys():
            (focus,) = named
            rest = self._stems(self._matcher.without_names(question, focus))
            is_bare = not rest and not self._language.question_words.match(lower)
            if is_bare or (len(rest) <= MOST_OVERVIEW_STEMS and self._language.overview.search(lower)):
                return Answer("what_of_focus", subject=focus)
        return None

    def _stems(self, text: str) -> list[str]:
        return stems(text, self._sources.taxonomy.language)


def _sentences(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        if not paragraph.startswith("#"):
            yield from _SENTENCE.split(" ".join(paragraph.split()))


def _shares_word(name: str, lower: str) -> bool:
    return any(word[:6].lower() in lower for word in re.findall(r"\w{5,}", name))

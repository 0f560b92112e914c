"""Pure: what the words of a text say by a language's lists (`languages.yaml`): numbers, negations, warnings, foci."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from knowledge_base.bm25 import Language, stems
from knowledge_base.pairs.pair import Focus, Pair, complexity_of
from models.unique_keys import load_yaml

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_SENTENCE_END = re.compile(r"(?<=[.!?…])(?<!\b\w\.)(?<!\bca\.)(?<!\bbzw\.)(?<!\bDr\.)(?<!\bSt\.)\s+(?=[^a-zäöüß])")
_SHORTEST_STEM = 5
"""Letters of a stem with which longer words may begin: German writes `Depressionszeichen` as one word."""


class Words:
    """Reads texts of one language."""

    def __init__(self, language: Language) -> None:
        lists = load_data("languages.yaml")[language]
        self._language = language
        self._offer = lists["offer"]
        self._negations = frozenset(lists["negations"].split())
        self._warnings = [tuple(group.split()) for group in lists["warnings"].split("|")]
        self._numbers = {word: str(n) for n, word in enumerate(lists["numbers"].split(), start=2)}

    def stems(self, text: str) -> list[str]:
        return stems(text, self._language)

    def is_negated(self, text: str) -> bool:
        return not self._negations.isdisjoint(_WORD.findall(text.lower().replace("’", "'")))

    def numbers(self, text: str) -> frozenset[str]:
        """Return the numbers of a text, also those up to twelve that are written as words."""
        words = frozenset(_WORD.findall(text.lower())) & self._numbers.keys()
        return frozenset(_NUMBER.findall(text)) | {self._numbers[word] for word in words}

    def warnings(self, text: str) -> set[str]:
        """Return the groups of warnings that a text has a marker of, each by its first marker."""
        return {group[0] for group in self._warnings if any(marker in text.lower() for marker in group)}

    def names_focus(self, text: str, focus: Focus) -> bool:
        """Tell whether a text has all words of one of the focus' names, inflected or as the beginning of a longer word."""
        words = self.stems(text)
        names = _name_stems(focus, self._language)
        return any(all(any(_begins(word, part) for word in words) for part in name) for name in names)

    def add_focus_names(self, text: str, foci: Iterable[Focus]) -> str:
        """Return a text with the first name of each focus that it names in whatever way, so that a search finds it by that."""
        return " ".join([text, *(focus.name for focus in foci if self.names_focus(text, focus))])

    def split_stems(self, question: str, focus: Focus) -> tuple[frozenset[str], frozenset[str]]:
        """Return what a question asks of its focus, and how it names that: its stems in two parts."""
        names = {stem for name in _name_stems(focus, self._language) for stem in name}
        stems = frozenset(self.stems(question))
        asked = frozenset(stem for stem in stems if not any(_begins(stem, name) for name in names))
        return asked, stems - asked

    def reword(self, pair: Pair, question: str, answer: str, recommendation: str = "") -> Pair:
        """Return a pair with other texts, and with what follows from them."""
        complexity = complexity_of(question, answer)
        offer = (recommendation or self._offer.format(question=question)) if complexity == "beginner" else ""
        texts = {"question": question, "answer": answer, "recommendation": offer, "complexity": complexity}
        return pair.model_copy(update=texts)


def split_sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE_END.split(" ".join(text.split())) if sentence]


def quoted_sentences(context: str, quotes: Sequence[str]) -> str:
    """Return the sentences of a paragraph that quotes are in, wholly or in part."""
    sentences = split_sentences(context)
    flat, start, touched = " ".join(sentences), 0, []
    found = [(flat.find(one), len(one)) for one in (" ".join(quote.split()) for quote in quotes) if one in flat]
    for sentence in sentences:
        if any(begin < start + len(sentence) and begin + length > start for begin, length in found):
            touched.append(sentence)
        start += len(sentence) + 1
    return " ".join(touched)


def _begins(word: str, stem: str) -> bool:
    return word == stem or (len(stem) >= _SHORTEST_STEM and word.startswith(stem))


@cache
def _name_stems(focus: Focus, language: Language) -> list[list[str]]:
    return [found for name in (focus.name, *focus.other_names) if (found := stems(name, language))]


@cache
def load_data(name: str) -> Any:
    """Read a data file of this package."""
    return load_yaml(Path(__file__).with_name(name).read_text(encoding="utf-8"))

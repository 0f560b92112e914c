"""Pure: what the words of a text say by a language's lists (`languages.yaml`): numbers, negations, warnings, foci, sentences."""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from knowledge_base.bm25 import Language, stems
from knowledge_base.pairs.pair import Focus, Pair, complexity_of, load_data

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
_INITIAL = re.compile(r"\W*\w\.")
"""A letter or figure with a full stop: `z. B.`, `2. Mai`. No sentence ends there."""
_SHORTEST_STEM = 5
"""Letters of a stem with which longer words may begin: German writes `Depressionszeichen` as one word."""


class Words:
    """Reads texts of one language."""

    def __init__(self, language: Language) -> None:
        lists = load_data("languages.yaml")[language]
        self._language = language
        self._offer = lists["offer"]
        self._negations, self._abbreviations = (frozenset(lists[n].split()) for n in ("negations", "abbreviations"))
        self._warnings = [tuple(group.split()) for group in lists["warnings"].split("|")]
        self._numbers = {word: str(n) for n, word in enumerate(lists["numbers"].split(), start=2)}
        self.delimiter: str = lists.get("delimiter", ";")
        """Between the cells of a CSV file, as spreadsheets of the language write it."""
        self.marks = {word: mark for mark in ("yes", "no") for word in f"{mark} {lists[mark]}".split()}
        """The words for yes and no, in the language and in English: `{"ja": "yes", ...}`."""

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
        return bool(self.foci_in(text, [focus]))

    def foci_in(self, text: str, foci: Iterable[Focus]) -> list[Focus]:
        """Return the foci that a text names, in whatever way."""
        words = self.stems(text)
        beginnings = {word[:n] for word in words for n in range(_SHORTEST_STEM, len(word))}.union(words)
        return [one for one in foci if any(beginnings.issuperset(name) for name in _name_stems(one, self._language))]

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

    def split_sentences(self, text: str) -> list[str]:
        sentences: list[str] = []
        for part in _SENTENCE_END.split(" ".join(text.split())):
            last = sentences[-1].rpartition(" ")[2].lower() if sentences else ""
            if last and (part[:1].islower() or last.lstrip("(") in self._abbreviations or _INITIAL.fullmatch(last)):
                sentences[-1] += f" {part}"
            elif part:
                sentences.append(part)
        return sentences

    def quoted_sentences(self, context: str, quotes: Sequence[str]) -> str:
        """Return the sentences of a paragraph that quotes are in, wholly or in part."""
        sentences = self.split_sentences(context)
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

"""Finds numbers, negations, statements and the names of topics in texts, with the word lists of `languages.yaml`. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import dropwhile

from knowledge_base.bm25 import Language, stems
from knowledge_base.pairs.pair import Focus, Pair, complexity_of, fold_wording, load_data

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
_CLAUSE_END = re.compile(r"[,;:\u2013] ")
_STATEMENT_ENDS = (".", "!", "…")
_NOTHING = "(?!)"
"""A pattern that never matches, used if a language has no word list for a purpose."""
_INITIAL = re.compile(r"\W*\w\.")
"""Matches a letter or digit with a full stop, which does not end a sentence: `z. B.`, `2. Mai`."""
_REPLY = re.compile(r"\W{0,3}(\w{1,20})\s?(?:[,.;:!\u2013-]|$)")
_LONGEST_NAME = 3
"""Maximum number of words of a focus' name that are compared with a question."""
_SHORTEST_STEM = 5
"""Minimum letters of a stem that matches all words beginning with it, such as `Depressionszeichen` for `Depression`."""


class Words:
    """Analyses texts in one language with the word lists of that language."""

    def __init__(self, language: Language) -> None:
        lists = load_data("languages.yaml")[language]
        self._language = language
        self._offer = lists["offer"]
        self._negations, self._abbreviations = (frozenset(lists[n].split()) for n in ("negations", "abbreviations"))
        self._warnings = [tuple(group.split()) for group in lists["warnings"].split("|")]
        self._either, self._fillers = (frozenset(lists.get(name, "").split()) for name in ("either", "fillers"))
        patterns = {name: lists.get(name) or _NOTHING for name in ("reported", "asides", "own", "diagnosis", "whether")}
        clause = "|".join(["^", "[,;:\u2013] ", *(rf"\b{word} " for word in lists.get("conditions", "").split())])
        self._own = re.compile(rf"(?:{clause})(?:{patterns['own']})\b")
        self._reported = re.compile(rf"\b(?:{patterns['reported']})\b")
        self._aside, self._diagnosis, self._whether = (
            re.compile(rf"(?:{patterns[name]})\b") for name in ("asides", "diagnosis", "whether")
        )
        self._numbers = {word: str(n) for n, word in enumerate(lists["numbers"].split(), start=2)}
        self.delimiter: str = lists.get("delimiter", ";")
        """Delimiter of CSV files that spreadsheets use in this language."""
        self.marks = {word: mark for mark in ("yes", "no") for word in f"{mark} {lists[mark]}".split()}
        """By word for yes or no, in this language and in English, the English word: `{"ja": "yes", ...}`."""

    def stems(self, text: str) -> list[str]:
        """Return the stems of the words of a text, in order, without stop words."""
        return stems(text, self._language)

    def is_negated(self, text: str) -> bool:
        """Return whether a text contains a negation word, such as not."""
        return not self._negations.isdisjoint(_WORD.findall(text.lower().replace("’", "'")))

    def reply_of(self, answer: str) -> str:
        """Return `yes` or `no` if an answer begins with a word for yes or no, else an empty text."""
        found = _REPLY.match(answer.lower())
        return self.marks.get(found[1], "") if found else ""

    def reports(self, text: str) -> bool:
        """Return whether a question repeats somebody's statement, or asks whether a statement is true."""
        return self._reported.search(text.lower()) is not None

    def asks_either(self, text: str) -> bool:
        """Return whether a question asks for a choice, with a word such as or."""
        return not self._either.isdisjoint(_WORD.findall(text.lower()))

    def tells_of_somebody(self, text: str) -> bool:
        """Return whether a text contains a statement, or a clause about the user or a relative."""
        for sentence, asked in self._split_asides(text):
            is_statement = sentence.endswith(_STATEMENT_ENDS) and sentence == asked
            if is_statement or self._own.search(asked):
                return True
        return False

    def asks_for_diagnosis(self, text: str, focus: Focus) -> bool:
        """Return whether a question asks if a person has the illness that is the focus: `Habe ich ...`, `Ist das schon ...`."""
        for sentence, asked in self._split_asides(text):
            is_direct = sentence == asked
            begins = self._diagnosis if is_direct else self._whether
            for clause in () if is_direct and sentence.endswith(_STATEMENT_ENDS) else _CLAUSE_END.split(asked):
                if found := begins.match(clause):
                    rest = [*dropwhile(self._fillers.__contains__, _WORD.findall(clause[found.end() :]))][
                        :_LONGEST_NAME
                    ]
                    if rest and self.split_stems(rest[0], focus)[1] and self.names_focus(" ".join(rest), focus):
                        return True
        return False

    def _split_asides(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield each sentence in lower case, and the sentence without an introduction such as `Ich wüsste gern, ...`."""
        for sentence in (one.lower().replace("’", "'") for one in self.split_sentences(text)):
            aside = self._aside.match(sentence)
            yield sentence, sentence[aside.end() :].lstrip(", ") if aside else sentence

    def numbers(self, text: str) -> frozenset[str]:
        """Return the numbers in a text, including number words from two to twelve."""
        words = frozenset(_WORD.findall(text.lower())) & self._numbers.keys()
        return frozenset(_NUMBER.findall(text)) | {self._numbers[word] for word in words}

    def warnings(self, text: str) -> set[str]:
        """Return the kinds of warnings in a text. A kind is a group of words, represented by the group's first word."""
        return {group[0] for group in self._warnings if any(marker in text.lower() for marker in group)}

    def names_focus(self, text: str, focus: Focus) -> bool:
        """Return whether a text has all words of one of the focus' names. Inflected forms and compound words count too."""
        return bool(self.foci_in(text, [focus]))

    def foci_in(self, text: str, foci: Iterable[Focus]) -> list[Focus]:
        """Return the foci that a text mentions under any of their names."""
        words = self.stems(text)
        beginnings = {word[:n] for word in words for n in range(_SHORTEST_STEM, len(word))}.union(words)
        return [one for one in foci if any(beginnings.issuperset(name) for name in _name_stems(one, self._language))]

    def split_stems(self, question: str, focus: Focus) -> tuple[frozenset[str], frozenset[str]]:
        """Split the stems of a question into the stems that do not name the focus, and the stems that do."""
        names = {stem for name in _name_stems(focus, self._language) for stem in name}
        stems = frozenset(self.stems(question))
        asked = frozenset(stem for stem in stems if not any(_begins(stem, name) for name in names))
        return asked, stems - asked

    def reword(self, pair: Pair, question: str, answer: str, recommendation: str = "") -> Pair:
        """Return a pair with a new question and answer. Complexity and recommendation follow; a new question drops the variants.

        Args:
            recommendation: The question as an offer. Empty: build the offer from a template.
        """
        complexity = complexity_of(question, answer)
        offer = (recommendation or self._offer.format(question=question)) if complexity == "beginner" else ""
        variants = pair.variants if fold_wording(question) == fold_wording(pair.question) else ()
        texts = {"question": question, "answer": answer, "recommendation": offer, "complexity": complexity}
        return pair.model_copy(update={**texts, "variants": variants})

    def split_sentences(self, text: str) -> list[str]:
        """Return the sentences of a text. Abbreviations and initials do not end a sentence."""
        sentences: list[str] = []
        for part in _SENTENCE_END.split(" ".join(text.split())):
            last = sentences[-1].rpartition(" ")[2].lower() if sentences else ""
            if last and (part[:1].islower() or last.lstrip("(") in self._abbreviations or _INITIAL.fullmatch(last)):
                sentences[-1] += f" {part}"
            elif part:
                sentences.append(part)
        return sentences

    def quoted_sentences(self, context: str, quotes: Sequence[str]) -> str:
        """Return the sentences of a paragraph that contain or overlap one of the quotes, joined with spaces."""
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

"""Explicit words of danger, in eight languages: reviewed patterns (patterns/*.txt), each for one kind of emergency.

A pattern is matched to whole words in lower case, without accents, apostrophes and invisible characters, with common misspellings
mended. It counts unless its sentence denies it or tells of long ago, or the message is about a story, a game or research.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain

from rapidfuzz import process
from rapidfuzz.distance import OSA

from judges.local import vectors
from judges.local.spellings import SPELLING

END = "."
"""The token that ends a sentence."""
_INVISIBLE = "\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
_TOKEN = re.compile(
    rf"[^\W_][^\W_'’‘ʼ`´{_INVISIBLE}\u0300-\u036f]*+(?>(?:['’‘ʼ`´@$!{_INVISIBLE}\u0300-\u036f]++[^\W_]++){{0,99}})|[.!?;:\n…]++"
)
_DROPPED = re.compile(rf"['’‘ʼ`´{_INVISIBLE}\u0300-\u036f]")
_LETTERS = str.maketrans({"ø": "o", "ß": "ss", "æ": "ae", "đ": "d", "ł": "l", "ı": "i"})
_LEET = str.maketrans("013457@$!", "oieastasi")
_THRICE = re.compile(r"([^\W\d_])\1{2,}")
STEP, LONGEST_MATCH = 2_000, 500
"""Characters that are searched in one call, during which no other thread runs, and that a match may go on beyond them."""
NEGATION_REACH = 3
"""Words before a match among which a negation takes it back."""


@dataclass(frozen=True, slots=True)
class Pattern:
    kind: str
    regex: re.Pattern[str]
    certain: bool
    """Whether no negation takes it back, because it holds one itself."""


@dataclass(frozen=True, slots=True)
class Language:
    """The patterns of one language."""

    patterns: Sequence[Pattern]
    any_pattern: re.Pattern[str]
    """Finds what one of them does: most texts hold nothing of the kind, and are read once."""
    words: frozenset[str]
    """Common words, of which a text in this language has one at least."""
    literals: Sequence[str]
    """Words of the patterns, to which misspelt ones are mended."""
    negation: re.Pattern[str]
    past: re.Pattern[str]
    elsewhere: re.Pattern[str]
    """What tells that a message is about a story, a game, a program or research."""


@dataclass(frozen=True, slots=True)
class Match:
    kind: str
    start: int
    end: int
    """Characters of the text."""


def find(text: str) -> Match | None:
    """Return the first explicit words of danger in a text, in time linear in its length."""
    tokens = list(_TOKEN.finditer(text))
    plain = [_fold(token[0]) for token in tokens]
    for name, language in languages().items():
        if language.words.isdisjoint(plain):
            continue
        words = [_mend(word, language.literals) for word in plain] if name == "en" else plain
        if (found := _find_in(language, words)) is not None:
            kind, first, last = found
            return Match(kind, tokens[first].start(), tokens[last].end())
    return None


def _find_in(language: Language, words: Sequence[str]) -> tuple[str, int, int] | None:
    """Return the kind of the first pattern that counts, and the numbers of its first and last word."""
    text = " ".join(words)
    sentences = _telling_sentences(language, text)
    if not sentences or language.elsewhere.search(text):
        return None
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word) + 1)
    for pattern in language.patterns:
        for begins, ends in sentences:
            for match in pattern.regex.finditer(text, begins, ends):
                before = " ".join(text[begins : match.start()].split()[-NEGATION_REACH:])
                if pattern.certain or not language.negation.search(before):
                    first, last = match.start(), match.end() - 1
                    return pattern.kind, bisect_right(starts, first) - 1, bisect_right(starts, last) - 1
    return None


def _telling_sentences(language: Language, text: str) -> list[tuple[int, int]]:
    """Return where the sentences begin and end in which a pattern is found, and that do not tell of the past."""
    found: dict[tuple[int, int], None] = {}
    steps = (language.any_pattern.finditer(text, at, at + STEP + LONGEST_MATCH) for at in range(0, len(text), STEP))
    for match in chain.from_iterable(steps):
        begins, ends = text.rfind(" . ", 0, match.start()) + 1, text.find(" . ", match.end())
        found[begins, ends if ends >= 0 else len(text)] = None
    return [span for span in found if not language.past.search(text, *span)]


@cache
def languages() -> dict[str, Language]:
    """Read the patterns; once, when they are first needed."""
    folder = files("judges.local").joinpath("patterns")
    return {name: _read(folder.joinpath(f"{name}.txt").read_text(encoding="utf-8")) for name in LANGUAGES}


LANGUAGES = ("en", "de", "es", "fr", "nb", "it", "pt", "nl")


def _read(text: str) -> Language:
    """Read a file of patterns: lists of alternatives (`NAME = a|b`), then under `[kind]` one pattern a line.

    In a pattern `{NAME}` is one of a list, ` ..N ` at most N words of the same sentence; after a leading `!` a negation before
    it takes nothing back. The lists WORDS, NEGATION, PAST and ELSEWHERE are about the language, see `Language`.
    """
    lists: dict[str, str] = {}
    patterns: list[Pattern] = []
    sources: list[str] = []
    kind = ""
    for line in text.splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif line and not line.startswith("#"):
            if kind:
                source = _expand(line.removeprefix("!"), lists)
                sources.append(source)
                patterns.append(Pattern(kind, _words(source), line.startswith("!")))
            else:
                name, _, alternatives = line.partition(" = ")
                lists[name] = alternatives
    return Language(
        patterns,
        _words("|".join(sources)),
        frozenset(lists["WORDS"].split("|")),
        sorted(set(re.findall(r"[a-z]{4,}", text))),
        *(_words(f"(?:{lists[name]})") for name in ("NEGATION", "PAST", "ELSEWHERE")),
    )


def _expand(line: str, lists: dict[str, str]) -> str:
    line = re.sub(r"\(\?:\{(\w+)\}\)|\{([A-Z]\w*)\}", lambda name: f"(?:{lists[name[1] or name[2]]})", line)
    line = re.sub(r" \.\.(\d+)(?= |$)", r"(?: \\w+){0,\1}", line)
    return re.sub(r"(?<![\w})])\.\.(\d+) ", r"(?:\\w+ ){0,\1}", line)


def _words(source: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S)(?:{source})(?!\S)")


def _fold(token: str) -> str:
    """Return a token as patterns know it."""
    if not token[0].isalnum():
        return END
    word = token.lower()
    if not word.isascii():
        word = unicodedata.normalize("NFKD", word).lower().translate(_LETTERS)
    word = _DROPPED.sub("", word)
    if not word.isalpha() and not word[0].isdigit():
        word = word.translate(_LEET)
    return _THRICE.sub(r"\1", word)


def _mend(word: str, literals: Sequence[str]) -> str:
    """Return what a misspelt English word is meant to be."""
    if word in SPELLING:
        return word if word.isdigit() else SPELLING[word]
    return word if len(word) < 4 or not word.isalpha() else _nearest(word, literals)


def _nearest(word: str, literals: Sequence[str]) -> str:
    if vectors.load().place(word) is not None:
        return word
    found = process.extractOne(word, literals, scorer=OSA.distance, score_cutoff=1)
    return word if found is None else found[0]

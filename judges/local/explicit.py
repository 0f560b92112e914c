"""Explicit words of danger, in eight languages: reviewed patterns (patterns/*.txt), each for one kind of emergency.

Patterns match whole words in lower case, without accents, apostrophes and invisible characters, after common misspellings are
corrected. A match counts unless its sentence negates it or is about long ago, or the message is about a story, a game or
research. Hints ("everyone would be better off without me") are patterns too: they raise a concern, not an emergency.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import accumulate

from rapidfuzz import process
from rapidfuzz.distance import OSA

from judges.local.classifier import load_words
from judges.local.spelling import INVISIBLE, LEET, fold, load_spelling

END = "."
"""The token that ends a sentence."""
LAUGH = "haha"
"""The token for laughter."""
_TOKEN = re.compile(
    rf"[^\W_ʼ][^\W_'’‘ʼ`´{INVISIBLE}\u0300-\u036f]*+(?>(?:['’‘ʼ`´@$!{INVISIBLE}\u0300-\u036f]++[^\W_]++){{0,99}})|(?>(?:[!?;\n…]|[.:](?!\d))+)|[😂🤣😅😆😹]"
)
_APOSTROPHE = re.compile("['’‘ʼ`´]")
_THRICE = re.compile(r"([^\W\d_])\1{2,}")
_TWICE = re.compile(r"(?<!\\)([a-z])\1")
STEP, LONGEST_MATCH = 2_000, 500
"""Characters searched in one call, during which no other thread runs, and the maximum length of a match beyond them."""
SHORT_MESSAGE, MIN_LANGUAGE_SHARE = 40, 3
"""A message of at most 40 words is in one language. Languages with less than a third of the most common-word hits are skipped."""
NEGATION_SCOPE = 3
"""Words before a match in which a negation cancels it."""


@dataclass(frozen=True)
class Pattern:
    kind: str
    source: str
    is_hint: bool
    """Whether it raises only a concern, not an emergency."""
    certain: bool
    """Whether a negation before it is ignored, because the pattern contains one."""

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return _compile_words(self.source)


@dataclass(frozen=True, slots=True)
class Language:
    """The patterns of one language."""

    patterns: Sequence[Pattern]
    any_pattern: re.Pattern[str]
    """All patterns in one. It is faster than each in turn, and most texts match none."""
    words: frozenset[str]
    """Common words. A text in this language contains at least one."""
    literals: Mapping[tuple[str, int], Sequence[str]]
    """Words of the patterns by first letter and length; misspelt words are corrected to them."""
    spelling: Mapping[str, str]
    """Common short spellings, and the words that they mean."""
    negation: re.Pattern[str]
    past: re.Pattern[str]
    """Matches sentences about long ago, and jokes: with laughter, or with a threat such as a full inbox."""
    elsewhere: re.Pattern[str]
    """Matches messages about a story, a game, a program or research."""


@dataclass(frozen=True, slots=True)
class Match:
    kind: str
    start: int
    end: int
    """`start` and `end` are positions in the text, in characters."""
    is_hint: bool = False
    """Whether it raises only a concern, not an emergency."""


def find_danger(text: str) -> Match | None:
    """Return the first explicit words of danger in a text, else the first hint. The time is linear in the length."""
    tokens = list(_TOKEN.finditer(text))
    plain = [_fold(token[0]) for token in tokens]
    shares = {name: sum(word in language.words for word in plain) for name, language in load_languages().items()}
    min_share = max(shares.values()) / MIN_LANGUAGE_SHARE if len(plain) <= SHORT_MESSAGE else 1
    hint: Match | None = None
    for name, language in load_languages().items():
        if not shares[name] or shares[name] < min_share:
            continue
        spelled = [language.spelling.get(word, word) for word in plain]
        words = (
            [_correct(word, language.literals) for word in spelled] if name == "en" else list(map(_undouble, spelled))
        )
        if (match := _find_in_language(language, words)) is not None:
            pattern, first, last = match
            starts = list(accumulate((word.count(" ") + 1 for word in words), initial=0))
            start, end = tokens[bisect_right(starts, first) - 1].start(), tokens[bisect_right(starts, last) - 1].end()
            if not pattern.is_hint:
                return Match(pattern.kind, start, end)
            hint = hint or Match(pattern.kind, start, end, is_hint=True)
    return hint


def _find_in_language(language: Language, words: Sequence[str]) -> tuple[Pattern, int, int] | None:
    """Return the first explicit pattern that counts, else the first hint, with the indices of its first and last word."""
    text = " ".join(words)
    hint: tuple[Pattern, int, int] | None = None
    calm: tuple[int, int] | None = None  # the last sentence that is about long ago, or a joke
    earnest = False
    for pattern, match in _matches(language, text):
        if pattern.is_hint and hint is not None:
            continue
        if (calm and calm[0] <= match.start() < calm[1]) or (
            not pattern.certain and _is_denied(language, text, match.start())
        ):
            continue
        if not earnest and language.elsewhere.search(text):
            return None
        earnest = True
        ends = text.find(" . ", match.end())
        sentence = text.rfind(" . ", 0, match.start()) + 1, ends if ends >= 0 else len(text)
        if language.past.search(text, *sentence):
            calm = sentence
            continue
        hit = pattern, text.count(" ", 0, match.start()), text.count(" ", 0, match.end() - 1)
        if not pattern.is_hint:
            return hit
        hint = hit
    return hint


def _matches(language: Language, text: str) -> Iterator[tuple[Pattern, re.Match[str]]]:
    """Yield the matches in a text, part by part and pattern by pattern."""
    for start in range(0, len(text), STEP):
        end = start + STEP + LONGEST_MATCH
        if language.any_pattern.search(text, start, end):
            for pattern in language.patterns:
                for match in pattern.regex.finditer(text, start, end):
                    yield pattern, match


def _is_denied(language: Language, text: str, at: int) -> bool:
    """Return whether one of the last words before a match, in the same sentence, is a negation."""
    before = text[max(0, at - LONGEST_MATCH) : at]
    before = before[before.rfind(" . ") + 1 :]
    return language.negation.search(" ".join(before.split()[-NEGATION_SCOPE:])) is not None


LANGUAGES = ("en", "de", "es", "fr", "nb", "it", "pt", "nl")
HINT = "hint of "


def shows_intent(words: Sequence[str]) -> bool:
    """Return whether spelled words name a means, a method or a plan, or say farewell.

    Use it only for a message after one that showed danger. Otherwise "Where do I buy pesticides?" is about gardening.
    """
    return _load_aftermath().search(" ".join(words)) is not None


@cache
def _load_aftermath() -> re.Pattern[str]:
    lists, patterns = _read_patterns("aftermath")
    return _compile_words("|".join(_expand(line, lists) for _, line in patterns))


@cache
def load_languages() -> dict[str, Language]:
    """Read the patterns once, at the first use."""
    common, _ = _read_patterns("common")
    return {name: _load_language(name, common, str if name == "en" else _undouble) for name in LANGUAGES}


def _load_language(name: str, common: Mapping[str, str], prepare: Callable[[str], str]) -> Language:
    """Read the patterns of a language. The lists WORDS, NEGATION, PAST and ELSEWHERE fill fields of `Language`."""
    own, lines = _read_patterns(name)
    lists = {**common, **own}
    patterns = [
        Pattern(
            heading.removeprefix(HINT),
            prepare(_expand(line.removeprefix("!"), lists)),
            heading.startswith(HINT),
            line.startswith("!"),
        )
        for heading, line in lines
    ]
    return Language(
        patterns,
        _compile_words("|".join(pattern.source for pattern in patterns)),
        frozenset(lists["WORDS"].split("|")),
        _group_by_look(re.findall(r"[a-z]{4,}", "\n".join([*own.values(), *(line for _, line in lines)]))),
        dict(one.split(">") for one in lists["SPELT"].split("|")),
        _compile_words(prepare(f"(?:{lists['NEGATION']})")),
        _compile_words(prepare("|".join(lists[name] for name in ("PAST", "TRIVIAL", "LAUGHS") if name in lists))),
        _compile_words(prepare(f"{lists['ELSEWHERE']}|{lists['GAMES']}")),
    )


def _read_patterns(name: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Read a file of patterns: lists of alternatives (`NAME = a|b`), then below `[kind]` or `[hint of kind]` one pattern per line.

    In a pattern, `{NAME}` matches one of a list, and ` ..N ` at most N words of the same sentence. With a leading `!`, a
    negation before the match is ignored.

    Returns:
        The lists by name, and each pattern with its heading.
    """
    lists: dict[str, str] = {}
    patterns: list[tuple[str, str]] = []
    heading = ""
    for line in files("judges.local").joinpath(f"patterns/{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            heading = line.strip("[]")
        elif line and not line.startswith("#"):
            if heading:
                patterns.append((heading, line))
            else:
                list_name, _, alternatives = line.partition(" = ")
                lists[list_name] = alternatives
    return lists, patterns


_NAME = re.compile(r"\(\?:\{(\w+)\}\)|\{([A-Z]\w*)\}")


def _expand(line: str, lists: Mapping[str, str]) -> str:
    while _NAME.search(line):
        line = _NAME.sub(lambda name: f"(?:{lists[name[1] or name[2]]})", line)
    line = re.sub(r" \.\.(\d+)(?= |$)", r"(?: \\w+){0,\1}", line)
    return re.sub(r"(?<![\w})])\.\.(\d+) ", r"(?:\\w+ ){0,\1}", line)


def _compile_words(source: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S)(?:{source})(?!\S)")


def _fold(token: str) -> str:
    """Return a token in the form that patterns use."""
    if not token[0].isalnum():
        return LAUGH if token in "😂🤣😅😆😹" else END
    word = token.lower()
    if len(word) > 4 and word.endswith(("'s", "’s")):
        word = word[:-2]
    if not word.isascii():
        word = fold(word)
    word = _APOSTROPHE.sub("", word)
    if not word.isalpha() and not word[:1].isdigit():
        word = word.translate(LEET)
    return _THRICE.sub(r"\1", word)


def _undouble(text: str) -> str:
    """Return a word, or the source of a pattern, with single letters for double ones, the most common slip."""
    return _TWICE.sub(r"\1", text)


def _group_by_look(words: Sequence[str]) -> Mapping[tuple[str, int], Sequence[str]]:
    groups: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for word in sorted(set(words)):
        groups[word[0], len(word)].append(word)
    return dict(groups)


def _correct(word: str, literals: Mapping[tuple[str, int], Sequence[str]]) -> str:
    """Return a misspelt English word with its spelling corrected."""
    if word in load_spelling():
        return word if word.isdigit() else load_spelling()[word]
    if len(word) < 4 or not word.isalpha() or load_words().get(word) is not None:
        return word
    # A word of the patterns with the same first letter, one slip away. Nearly all misspelt words keep their first letter.
    alike = [one for size in (0, -1, 1) for one in literals.get((word[0], len(word) + size), ())]
    nearest = process.extractOne(word, alike, scorer=OSA.distance, score_cutoff=1)
    return word if nearest is None else nearest[0]

"""Finds explicit words of danger in eight languages. Each reviewed pattern (patterns/*.txt) belongs to one kind of emergency.

Patterns match whole words in lower case, without accents, apostrophes and invisible characters, after common misspellings are
corrected. A match does not count if its sentence negates it or is about the distant past, or if the message is about a story,
a game or research. Some patterns are hints ("everyone would be better off without me"): they raise a concern, not an emergency.
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
"""Number of characters that one call searches, and maximum length of a match that continues beyond them. A call blocks all other
threads."""
SHORT_MESSAGE, MIN_LANGUAGE_SHARE = 40, 3
"""A message of at most `SHORT_MESSAGE` words is in one language. A language is skipped if it has less than
1 / `MIN_LANGUAGE_SHARE` of the common words that the best language has in the message."""
NEGATION_SCOPE = 3
"""Number of words before a match in which a negation cancels the match."""


@dataclass(frozen=True)
class Pattern:
    """One line of a pattern file: a regular expression for words that show one kind of emergency."""

    kind: str
    """The kind of emergency, a value of `judges.observation.CrisisKind`."""
    source: str
    """The regular expression, with all lists expanded."""
    is_hint: bool
    """Whether a match raises only a concern, not an emergency."""
    certain: bool
    """Whether a negation before a match is ignored, because the pattern itself contains a negation."""

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return _compile_words(self.source)


@dataclass(frozen=True, slots=True)
class Language:
    """The patterns of one language."""

    patterns: Sequence[Pattern]
    any_pattern: re.Pattern[str]
    """Matches if any pattern matches. One search is faster than a search for each pattern, and most texts match no pattern."""
    words: frozenset[str]
    """Common words. A text in this language contains at least one of them."""
    literals: Mapping[tuple[str, int], Sequence[str]]
    """The words of the patterns, by first letter and length. Misspelt words are corrected to these words."""
    spelling: Mapping[str, str]
    """Maps common short spellings to words."""
    negation: re.Pattern[str]
    past: re.Pattern[str]
    """Matches sentences about the distant past, and jokes: laughter, or an absurd danger such as a full inbox."""
    elsewhere: re.Pattern[str]
    """Matches messages about a story, a game, a program or research."""


@dataclass(frozen=True, slots=True)
class Match:
    """Words of danger in a text."""

    kind: str
    """The kind of emergency, a value of `judges.observation.CrisisKind`."""
    start: int
    end: int
    """`start` and `end` are offsets in the text, in characters."""
    is_hint: bool = False
    """Whether the words raise only a concern, not an emergency."""


def find_danger(text: str) -> Match | None:
    """Return the first explicit words of danger in a text. Without explicit words, return the first hint; else None.

    The running time is linear in the length of the text.
    """
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
    """Return the first explicit match that counts, else the first hint, as (pattern, index of first word, index of last word)."""
    text = " ".join(words)
    hint: tuple[Pattern, int, int] | None = None
    calm: tuple[int, int] | None = None  # offsets of the last sentence that is about the distant past, or is a joke
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
    """Yield the matches of all patterns in a text. The text is searched in parts of `STEP` characters."""
    for start in range(0, len(text), STEP):
        end = start + STEP + LONGEST_MATCH
        if language.any_pattern.search(text, start, end):
            for pattern in language.patterns:
                for match in pattern.regex.finditer(text, start, end):
                    yield pattern, match


def _is_denied(language: Language, text: str, at: int) -> bool:
    """Return whether a negation is among the last `NEGATION_SCOPE` words before offset `at`, in the same sentence."""
    before = text[max(0, at - LONGEST_MATCH) : at]
    before = before[before.rfind(" . ") + 1 :]
    return language.negation.search(" ".join(before.split()[-NEGATION_SCOPE:])) is not None


LANGUAGES = ("en", "de", "es", "fr", "nb", "it", "pt", "nl")
"""Codes of the languages that have a pattern file."""
HINT = "hint of "
"""Prefix of a heading in a pattern file, before the kind of emergency."""


def shows_intent(words: Sequence[str]) -> bool:
    """Return whether words in corrected spelling name a means, a method or a plan, or say farewell.

    Call this only for a message that follows a message with danger. Otherwise "Where do I buy pesticides?" is about gardening.
    """
    return _load_aftermath().search(" ".join(words)) is not None


@cache
def _load_aftermath() -> re.Pattern[str]:
    lists, patterns = _read_patterns("aftermath")
    return _compile_words("|".join(_expand(line, lists) for _, line in patterns))


@cache
def load_languages() -> dict[str, Language]:
    """Return the patterns of each language, by language code. The files are read once, at the first use."""
    common, _ = _read_patterns("common")
    return {name: _load_language(name, common, str if name == "en" else _undouble) for name in LANGUAGES}


def _load_language(name: str, common: Mapping[str, str], prepare: Callable[[str], str]) -> Language:
    """Read the pattern file of a language. The lists WORDS, NEGATION, PAST and ELSEWHERE fill fields of `Language`.

    Args:
        name: Code of the language.
        common: Lists that all languages share, by name.
        prepare: Rewrites the source of a pattern in the form of the words that it matches.
    """
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
    """Read a pattern file.

    The file begins with lists of alternatives (`NAME = a|b`). Then come headings, `[kind]` or `[hint of kind]`, each with one
    pattern per line below it. In a pattern, `{NAME}` matches one alternative of a list, and ` ..N ` matches at most N words of
    the same sentence. With a leading `!`, a negation before the match is ignored.

    Returns:
        The lists by name, and the patterns as (heading, line).
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
    """Return a token in the form that patterns match: lower case, without accents, apostrophes or leetspeak."""
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
    """Return a word or a pattern with double letters replaced by single letters. Double letters are the most common typo."""
    return _TWICE.sub(r"\1", text)


def _group_by_look(words: Sequence[str]) -> Mapping[tuple[str, int], Sequence[str]]:
    groups: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for word in sorted(set(words)):
        groups[word[0], len(word)].append(word)
    return dict(groups)


def _correct(word: str, literals: Mapping[tuple[str, int], Sequence[str]]) -> str:
    """Return an English word in corrected spelling; a word that is correct or unknown is returned unchanged."""
    if word in load_spelling():
        return word if word.isdigit() else load_spelling()[word]
    if len(word) < 4 or not word.isalpha() or load_words().get(word) is not None:
        return word
    # A word of the patterns with the same first letter, at most one typo away. Nearly all misspelt words keep their first letter.
    alike = [one for size in (0, -1, 1) for one in literals.get((word[0], len(word) + size), ())]
    nearest = process.extractOne(word, alike, scorer=OSA.distance, score_cutoff=1)
    return word if nearest is None else nearest[0]

"""Checks whether a text contains a quote. Pure.

`is_verbatim_quote` is strict: it verifies evidence for a reply. `is_near_quote` is lenient: it verifies evidence against a reply.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from judges.text import cache_texts

MIN_QUOTE_CHARS = 12
"""Minimum length of a quote, and of each part around an ellipsis. A shorter quote supports nothing: single words occur anywhere."""
MAX_GAP_WORDS = 40
"""Maximum number of words that an ellipsis may replace."""
MAX_CACHED_CHARS = 12_000
"""Maximum length of a text, in characters, whose results enter the large cache. Sections are shorter."""
NEAR_RATIO = 92.0
"""Minimum rapidfuzz partial ratio (0-100) of a quote in `is_near_quote`."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fff\u3040-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Thai, Lao, Burmese, Khmer, kana and Han, which have no spaces between words. Each character counts as a word."""
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0981-\u0dff"
_LETTERS = rf"(?:[^\W\d_{_UNSPACED}]|[{_MARKS}])+"
_WORD = re.compile(rf"\d+(?:[.,:/\u2044]\d+)*|[{_UNSPACED}]|{_LETTERS}(?:'{_LETTERS})*|[%‰°$£€<>≤≥±]")
_ELLIPSIS = re.compile(r"[\[(]?\.{3,}[\])]?")
_ARTICLES = frozenset({"a", "an", "the", "that"})
_REVERSING_WORDS = frozenset({
    "not", "no", "nor", "never", "none", "nothing", "neither", "cannot", "without", "unless", "except", "only", "if", "until",
    "but", "however", "although", "though", "rarely", "seldom", "hardly", "less", "few",
})  # fmt: skip
"""Words that an ellipsis must not omit, since without them a sentence may mean the opposite."""


@lru_cache(maxsize=1024)
def is_verbatim_quote(quote: str, text: str) -> bool:
    """Return whether a text contains a quote, word for word.

    The comparison ignores white space, case, punctuation, markup, articles, and a typo of one letter in a long word. Every other
    word must match. One small word (`not`, `only`, `two`, the name of a drug) can change the meaning, but a similarity score
    over the whole quote would hardly change.

    An ellipsis divides the quote into parts. The parts must occur in order and near each other. The gap between two parts must
    not contain a word that may reverse the meaning (`_REVERSING_WORDS`).
    """
    if len(_space_words(quote)) - 2 < MIN_QUOTE_CHARS:
        return False
    if _space_words(quote) in _space_words(text):
        return True
    position = 0
    source = _significant_words(text)
    for number, part in enumerate(_ELLIPSIS.split(fold_text(quote))):
        words = _significant_words(part)
        if not words:
            continue
        if len(" ".join(words)) < MIN_QUOTE_CHARS:
            return False
        start = _find_words(words, text, position)
        if start is None or (number and position and not _may_skip(source[position:start])):
            return False
        position = start + len(words)
    return position > 0


def is_near_quote(quote: str, text: str) -> bool:
    """Return whether a text contains a quote, with small differences allowed (`NEAR_RATIO`)."""
    part, whole = fold_text(quote).strip(" .,;:'\""), fold_text(text)
    if part in whole:
        return bool(part)
    return len(part) <= len(whole) and fuzz.partial_ratio(part, whole, score_cutoff=NEAR_RATIO) > 0


@cache_texts(max_texts=512, max_chars=MAX_CACHED_CHARS)
def fold_text(text: str) -> str:
    """Normalise a text for comparison: NFKC, plain quotes and dashes, no invisible characters, case-folded, single spaces."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_PLAIN)
    return " ".join(plain.casefold().split())


_PLAIN = {ord(c): None for c in "\u00ad\u200b\u200c\u200d\u2060\ufeff"} | {
    ord("‘"): "'", ord("’"): "'", ord("“"): '"', ord("”"): '"', ord("–"): "-", ord("—"): "-", ord("‑"): "-",
}  # fmt: skip


@cache_texts(max_texts=512, max_chars=MAX_CACHED_CHARS)
def _space_words(text: str) -> str:
    """Return the words of a text with a space on both sides of each, so that a search matches only whole words."""
    return f" {' '.join(_WORD.findall(fold_text(text)))} "


@cache_texts(max_texts=512, max_chars=MAX_CACHED_CHARS)
def _significant_words(text: str) -> tuple[str, ...]:
    return tuple(word for word in _space_words(text).split() if word not in _ARTICLES)


@cache_texts(max_texts=512, max_chars=MAX_CACHED_CHARS)
def _places(text: str) -> dict[str, list[int]]:
    """Return the positions of each word in the list of significant words of a text."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(_significant_words(text)):
        places.setdefault(word, []).append(place)
    return places


def _find_words(words: Sequence[str], text: str, start: int) -> int | None:
    """Return the first position of consecutive words in a text, in significant words from `start` on; None if not found.

    One typo is allowed in every eight words, and in four to seven words.
    """
    allowed = max(1, len(words) // 8) if len(words) >= 4 else 0
    source, places = _significant_words(text), _places(text)
    if any(word not in places and not _may_slip(word) for word in words):
        return None
    # At most `allowed` words are typos, so one of any `allowed + 1` words matches exactly. Start from the rarest words.
    rarest = sorted(enumerate(words), key=lambda each: len(places.get(each[1], ())))[: allowed + 1]
    for at in sorted({place - offset for offset, word in rarest for place in places.get(word, ())}):
        if not start <= at <= len(source) - len(words):
            continue
        slips = 0
        for word, source_word in zip(words, source[at : at + len(words)], strict=True):
            if word == source_word:
                continue
            slips += 1
            if slips > allowed or not _is_slip(word, source_word):
                break
        else:
            return at
    return None


def _is_slip(word: str, source_word: str) -> bool:
    """Return whether a word may be a typo of a source word: at least five letters, same first letter, edit distance at most 1."""
    if not _may_slip(word) or word[0] != source_word[0] or "'" in source_word:
        return False
    return Levenshtein.distance(word, source_word, score_cutoff=1) <= 1


def _may_slip(word: str) -> bool:
    return len(word) >= 5 and word.isalpha()


def _may_skip(gap: Sequence[str]) -> bool:
    return len(gap) <= MAX_GAP_WORDS and not any(word in _REVERSING_WORDS or word.endswith("n't") for word in gap)

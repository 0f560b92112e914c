"""How hard a reply is to read. Pure; for English."""

import re

import blingfire

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_VOWELS = re.compile(r"[aeiouy]+")
_SILENT = re.compile(r"(?:[^aeiouyl]|[aeiouy]l)e$|[^aeiouytd]ed$|(?:[^aeiouyszxcghl]|[aeiouy]l)es$")
"""Endings whose e is not spoken: `made`, `role` (but not `little`), `asked` (but not `wanted`), `makes` (but not `boxes`)."""
_APART = re.compile(
    r"(?<![cgst])i[ao](?!u)|[ae]ri(?=en|ou)|[aeou]ing|eo(?![pu])|iu|ua(?!r)|uou|(?<=cr)ea(?=t)|(?:^sc|^d|qu)ie|[aeiou][a-z]eas?$"
)
"""Neighbouring vowels that are spoken apart: `phobia`, `serious`, `doing`, `video`, `actual`, `create`, `diet`, `idea`."""


def grade(text: str) -> float | None:
    """Return the Flesch-Kincaid grade: the years of school that it takes to follow the text; None without words.

    0.39 words per sentence + 11.8 syllables per word - 15.59 (Kincaid, Fishburne, Rogers and Chissom 1975). Every line ends a
    sentence, so that a list is not read as one.
    """
    words = words_of(text)
    if not words:
        return None
    lines = (blingfire.text_to_sentences(line).splitlines() for line in text.splitlines() if words_of(line))
    return 0.39 * len(words) / sum(map(len, lines)) + 11.8 * sum(map(syllables, words)) / len(words) - 15.59


def words_of(text: str) -> list[str]:
    """Return the words of a text; a number is a word, `don't` is one."""
    return _WORD.findall(text)


def syllables(word: str) -> int:
    """Return about how many syllables an English word has, at least 1."""
    lower = word.lower()
    return max(1, len(_VOWELS.findall(lower)) - bool(_SILENT.search(lower)) + len(_APART.findall(lower)))

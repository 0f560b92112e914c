"""Measures the reading difficulty of English text. Pure."""

import re

import blingfire

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_VOWELS = re.compile(r"[aeiouy]+")
_SILENT = re.compile(r"(?:[^aeiouyl]|[aeiouy]l)e$|[^aeiouytd]ed$|(?:[^aeiouyszxcghl]|[aeiouy]l)es$")
"""Pattern of endings with a silent e: `made`, `role` (not `little`), `asked` (not `wanted`), `makes` (not `boxes`)."""
_APART = re.compile(
    r"(?<![cgst])i[ao](?!u)|[ae]ri(?=en|ou)|[aeou]ing|eo(?![pu])|iu|ua(?!r)|uou|(?<=cr)ea(?=t)|(?:^sc|^d|qu)ie|[aeiou][a-z]eas?$"
)
"""Pattern of adjacent vowels in separate syllables: `phobia`, `serious`, `doing`, `video`, `actual`, `create`, `diet`, `idea`."""


def grade(text: str) -> float | None:
    """Return the Flesch-Kincaid grade: the years of school needed to follow the text; None without words.

    0.39 words per sentence + 11.8 syllables per word - 15.59 (Kincaid, Fishburne, Rogers and Chissom 1975). Every line ends a
    sentence, so that a list does not count as one sentence.
    """
    words = words_of(text)
    if not words:
        return None
    lines = (blingfire.text_to_sentences(line).splitlines() for line in text.splitlines() if words_of(line))
    return 0.39 * len(words) / sum(map(len, lines)) + 11.8 * sum(map(syllables, words)) / len(words) - 15.59


def words_of(text: str) -> list[str]:
    """Return the words of a text. A number is a word; `don't` is one word."""
    return _WORD.findall(text)


def syllables(word: str) -> int:
    """Return the approximate number of syllables of an English word, at least 1."""
    lower = word.lower()
    return max(1, len(_VOWELS.findall(lower)) - bool(_SILENT.search(lower)) + len(_APART.findall(lower)))

"""Word salad: a message whose words are English and whose order is not.

No grammar is parsed. Some words never follow each other in a sentence, however badly typed: `of the because`, `my under`,
`is the and`. One such pair is a slip of the thumb; several in one message are a sign that its writer is not well.
"""

from itertools import compress, pairwise
from operator import eq

_ARTICLES = "the a an my your his their our"
_NO_NOUNS = "the a an of is was are were and in under to because it me from with for or my your they if but into at"
_DANGLING = "of under with from into and because the"
_NOT_NEXT = "of is was are were or and but walk sing under because"
_COMMON_SLIPS = {
    "the in",
    "the if",
    "the to",
    "a to",
    "and or",
    "and is",
    "and are",
    "and was",
    "and if",
    "and under",
    "because of",
}
_IMPOSSIBLE_PAIRS = {
    (before, word)
    for befores, words in ((_ARTICLES, _NO_NOUNS), (_DANGLING, _NOT_NEXT))
    for before in befores.split()
    for word in words.split()
    if before != word and f"{before} {word}" not in _COMMON_SLIPS
}
_OFTEN_DOUBLED = {"that", "had", "very", "so", "no", "really", "bye", "ha"}
_MIN_PAIRS = 3
_MIN_SHARE = 0.12
_MIN_WORDS = 8


def is_salad(text: str) -> bool:
    """Tell whether the words of a text stand in no order that makes sense."""
    words = text.lower().split()
    if len(words) < _MIN_WORDS:
        return False
    pairs = sum(map(_IMPOSSIBLE_PAIRS.__contains__, pairwise(words))) + sum(
        map(_is_slip, compress(words, map(eq, words, words[1:])))
    )
    return pairs >= _MIN_PAIRS and pairs >= _MIN_SHARE * len(words)


def _is_slip(word: str) -> bool:
    return word.isalpha() and len(word) > 1 and word not in _OFTEN_DOUBLED

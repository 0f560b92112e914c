"""What was found out about a text, kept for when the text comes again, within a bound: clients send long ones, and many."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, TypeVar

T = TypeVar("T")
EMPTY: frozenset[Any] = frozenset()
"""In place of other empty sets where many are kept: each takes 216 bytes."""
MOST_CHARACTERS = 500_000
"""Of the texts that one function knows the results of."""
ENTRY = 200
"""What an entry counts besides its text, about the bytes that it takes: many tiny texts fill a memory, too."""


def kept(function: Callable[[str], T]) -> Callable[[str], T]:
    """Keep the results of a pure function; past the bound it begins anew."""
    results: dict[str, T] = {}
    characters = 0

    @wraps(function)
    def known(text: str) -> T:
        nonlocal characters
        if text in results:
            return results[text]
        found = function(text)
        if len(text) <= MOST_CHARACTERS // 10:
            characters += len(text) + ENTRY
            if characters > MOST_CHARACTERS:
                results.clear()
                characters = len(text) + ENTRY
            results[text] = found
        return found

    return known


class Remembered(dict[str, T], Generic[T]):
    """What is known of each word, found out once; a dict answers in half the time of an `lru_cache`. Full, it begins anew."""

    def __init__(self, find_out: Callable[[str], T], most: int = 16384, longest: int = 40) -> None:
        """Args: most: how many are remembered; longest: characters of a word, or longer text, that is."""
        self._find_out = find_out
        self._most = most
        self._longest = longest

    def __missing__(self, word: str) -> T:
        told = self._find_out(word)
        if len(word) <= self._longest:
            if len(self) >= self._most:
                self.clear()
            self[word] = told
        return told

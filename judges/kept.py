"""What was found out about a text, kept for when the text comes again, within a bound: clients send long ones, and many.

Several threads may ask at once: what is full is put aside and never emptied, so that who reads in it finds what was there.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Asked = TypeVar("Asked")
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
        nonlocal results, characters
        known_now = results
        if text in known_now:
            return known_now[text]
        found = function(text)
        if len(text) <= MOST_CHARACTERS // 10:
            characters += len(text) + ENTRY
            if characters > MOST_CHARACTERS:
                results = {}
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


class Answers(Generic[Asked, T]):
    """What is known of things that are asked about several at once, by their hashes alone. Full, it begins anew."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[int, T] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(
        self, hashes: Sequence[int], asked: Sequence[Asked], find_out: Callable[[Sequence[Asked]], Iterable[T]]
    ) -> list[T]:
        """Return what is known of each thing.

        Args:
            hashes: Of the things; of texts Python salts them, so that nobody can write two with the same.
            asked: The things.
            find_out: Tells of several things what is not known yet.
        """
        known = self._known
        try:
            return list(map(known.__getitem__, hashes))
        except KeyError:
            by_hash = dict(zip(hashes, asked, strict=True))
        new = {key: thing for key, thing in by_hash.items() if key not in known}
        if len(known) + len(new) > self._most:
            known, new = {}, by_hash
            if len(new) <= self._most:
                self._known = known
        if new:
            known |= zip(new, find_out([*new.values()]), strict=True)
        return list(map(known.__getitem__, hashes))

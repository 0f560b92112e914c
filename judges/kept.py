"""What was found out about a text, kept for when the text comes again, within a bound: clients send long ones, and many."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

T = TypeVar("T")
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

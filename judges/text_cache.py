"""An `lru_cache` for functions of texts that strangers send: many texts, and long ones, must not fill the memory."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

T = TypeVar("T")
LONG_TEXTS, MAX_LONG_CHARS = 8, 100_000
"""Longer texts in the cache, and the characters of the longest: a reply and its documents, while a case is judged."""


def cache_texts(max_texts: int, max_chars: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Cache what a pure function returns for recent texts. Several threads may call it.

    Args:
        max_texts: Texts in the cache.
        max_chars: Characters of a text; of longer ones, results of the last few are cached.
    """

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        cached, cached_long = lru_cache(max_texts)(function), lru_cache(LONG_TEXTS)(function)

        @wraps(function)
        def call(text: str) -> T:
            if len(text) <= max_chars:
                return cached(text)
            return cached_long(text) if len(text) <= MAX_LONG_CHARS else function(text)

        return call

    return decorate

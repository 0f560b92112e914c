"""An `lru_cache` for functions of texts that strangers send: many texts, and long ones, must not fill the memory."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

T = TypeVar("T")


def cache_texts(max_texts: int, max_chars: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Cache what a pure function returns for recent texts. Several threads may call it.

    Args:
        max_texts: Texts in the cache.
        max_chars: Characters of a text; of a longer one the result is not cached.
    """

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        cached = lru_cache(max_texts)(function)

        @wraps(function)
        def call(text: str) -> T:
            return cached(text) if len(text) <= max_chars else function(text)

        return call

    return decorate

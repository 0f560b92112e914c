"""An `lru_cache` for functions of texts that strangers send: many texts, and long ones, must not fill the memory."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

T = TypeVar("T")


def cache_texts(most: int, longest: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Cache what a pure function returns for the texts asked for lately. Several threads may ask.

    Args:
        most: Texts in the cache.
        longest: Characters of a text; of a longer one the result is not cached.
    """

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        cached = lru_cache(most)(function)

        @wraps(function)
        def call(text: str) -> T:
            return cached(text) if len(text) <= longest else function(text)

        return call

    return decorate

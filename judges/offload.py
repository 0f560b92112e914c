"""Judging long texts beside the event loop, in a thread of its own: everybody else would wait for them meanwhile.

Short texts are judged on the loop, at once: whoever writes that they are in danger never waits behind somebody's long text.
"""

import asyncio
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from itertools import accumulate, takewhile
from typing import TypeVar, TypeVarTuple

from judges.case import Case

LONG = 4_000
"""Characters from which a reply, with what it answers, is long: local judges take some 20 ms for so many."""
LONG_MESSAGE = 1_500
"""Characters from which what a user says is long: the emergency judge takes some 20 ms for so many."""
MAX_NFKD_EXPANSION = 18
"""Characters that normalising makes of one at most, of U+FDFA."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def run(case: Case, function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call a function that judges a case: at once, or in the thread if the case is long."""
    if not is_long(case):
        return function(*args)
    return await asyncio.get_running_loop().run_in_executor(_thread(), copy_context().run, function, *args)


def is_long(case: Case) -> bool:
    """Tell whether judging a case takes long: a reply and what it answers, or, without a reply, all that the user has said.

    The documents that somebody else brought count as well; sections are short, and read once.
    """
    if case.draft:
        documents = sum(_size(source.text) for source in case.cited if source.is_document)
        return _size(case.user_message) + _size(case.draft) + documents > LONG
    return sum(map(_size, (case.user_message, *(said.text for said in case.history)))) > LONG_MESSAGE


def shorten(text: str, most: int, *, keep_end: bool = False) -> str:
    """Return as much of a text as has at most so many characters when it is normalised.

    Args:
        keep_end: Return the end of it rather than the beginning.
    """
    if len(text) > most:
        text = text[len(text) - most :] if keep_end else text[:most]
    if text.isascii() or len(text) * MAX_NFKD_EXPANSION <= most:
        return text
    sizes = {character: len(unicodedata.normalize("NFKD", character)) for character in set(text)}
    lengths = accumulate(map(sizes.__getitem__, reversed(text) if keep_end else text))
    fits = sum(1 for _ in takewhile(most.__ge__, lengths))
    return text[len(text) - fits :] if keep_end else text[:fits]


def _size(text: str) -> int:
    """Return how many characters a text has when it is normalised; beyond LONG it need not be exact."""
    if text.isascii() or len(text) > LONG:
        return len(text)
    return len(unicodedata.normalize("NFKD", text)) if len(text) * MAX_NFKD_EXPANSION > LONG else len(text)


@cache
def _thread() -> ThreadPoolExecutor:
    """One is enough: two would take the loop's turns at the interpreter from it."""
    return ThreadPoolExecutor(1, thread_name_prefix="judge")

"""Judge and read long texts in a thread, so that they do not block the event loop.

Short texts are judged on the loop, at once: a short cry for help never waits behind somebody's long text.
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

LONG_REPLY = 4_000
"""Characters from which a reply, with the user's message, is long: local judges take some 20 ms for this many."""
LONG_MESSAGE = 1_500
"""Characters from which the user's messages are long: the emergency judge takes some 20 ms for this many."""
MAX_NFKD_EXPANSION = 18
"""Characters that normalising makes of one at most, of U+FDFA."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def run_in_thread_if_long(case: Case, function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call a function that judges a case: at once, or in the thread if the case is long."""
    return await run_in_thread_if(is_long(case), function, *args)


async def run_in_thread_if(is_long: bool, function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call a function in the thread, or at once if it does not take long."""
    if not is_long:
        return function(*args)
    return await asyncio.get_running_loop().run_in_executor(_thread(), copy_context().run, function, *args)


def is_long(case: Case) -> bool:
    """Tell whether judging a case takes long: a reply and what it answers, or, without a reply, all that the user has said.

    The documents that somebody else brought count as well; sections are short, and read once. Of the messages before, only numbers
    are read for a reply: that takes a quarter of the time.
    """
    if case.draft:
        documents = sum(_normalised_length(source.text) for source in case.sources if source.is_document)
        history = sum(_normalised_length(message.text) for message in case.history if message.speaker == "user")
        texts = _normalised_length(case.user_message) + _normalised_length(case.draft)
        return texts + documents + history // 4 > LONG_REPLY
    return sum(map(_normalised_length, (case.user_message, *(message.text for message in case.history)))) > LONG_MESSAGE


def shorten(text: str, max_chars: int, *, keep_end: bool = False) -> str:
    """Return the longest beginning of a text that has at most `max_chars` characters when it is normalised.

    Args:
        keep_end: Return the end of it rather than the beginning.
    """
    if len(text) > max_chars:
        text = text[len(text) - max_chars :] if keep_end else text[:max_chars]
    if text.isascii() or len(text) * MAX_NFKD_EXPANSION <= max_chars:
        return text
    sizes = {character: len(unicodedata.normalize("NFKD", character)) for character in set(text)}
    lengths = accumulate(map(sizes.__getitem__, reversed(text) if keep_end else text))
    count = sum(1 for _ in takewhile(max_chars.__ge__, lengths))
    return text[len(text) - count :] if keep_end else text[:count]


def _normalised_length(text: str) -> int:
    """Return how many characters a text has when it is normalised; beyond LONG it need not be exact."""
    if text.isascii() or len(text) > LONG_REPLY:
        return len(text)
    return len(unicodedata.normalize("NFKD", text)) if len(text) * MAX_NFKD_EXPANSION > LONG_REPLY else len(text)


@cache
def _thread() -> ThreadPoolExecutor:
    """One is enough: two would take the loop's turns at the interpreter from it."""
    return ThreadPoolExecutor(1, thread_name_prefix="judge")

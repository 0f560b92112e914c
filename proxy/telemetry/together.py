"""Work that no reply waits for, done for all requests of a moment together."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

TOGETHER_S = 0.05
"""Seconds that something may wait for others."""

Thing = TypeVar("Thing")


class Together(Generic[Thing]):
    """Collects things and does something with all of them, 50 ms after the first at the latest.

    The same code, run for two hundred requests in a row, takes less than amid each of them: there the processor's caches hold
    everything else.
    """

    def __init__(self, do: Callable[[list[Thing]], None]) -> None:
        self._do = do
        self._waiting: list[Thing] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        """The one that will do it."""

    def add(self, thing: Thing) -> None:
        self._waiting.append(thing)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # no server, or a thread of its own
            self.flush()
            return
        if loop is not self._loop:  # another one may have ended before it came to this
            self._loop = loop
            loop.call_later(TOGETHER_S, self.flush)

    def flush(self) -> None:
        """Do it now."""
        waiting, self._waiting, self._loop = self._waiting, [], None
        if waiting:
            self._do(waiting)

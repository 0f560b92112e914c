"""What has left of a reply that is not settled yet: in the streaming modes `verified` and `observe`.

A turn without a stream keeps the same record, though nobody reads it: so a chatbot answers alike whether it is streamed or not.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from models.engine import Body

Mode = Literal["verified", "observe"]


@dataclass(frozen=True, slots=True)
class Fixed:
    """How the text of a choice begins, whatever the judges say of the rest."""

    text: str = ""
    citations: tuple[str, ...] = ()
    """What it validly cites."""


NOTHING = Fixed()


class Live:
    """What is fixed of each choice, and what of that has been sent."""

    def __init__(self, mode: Mode) -> None:
        self.mode: Mode = mode
        self.head: Body = {}
        """What names the answer that it is of."""
        self.news = asyncio.Event()
        """Set when there is something to send."""
        self.sent: dict[int, int] = {}
        """By choice, how many characters have been sent; without those of which nothing has."""
        self._fixed: dict[int, Fixed] = {}
        self._cleared = False

    def fixed(self, index: int) -> Fixed:
        """Return how a choice begins."""
        return self._fixed.get(index, NOTHING)

    def fix(self, index: int, text: str, citations: tuple[str, ...]) -> None:
        """Let a choice's text leave up to here.

        Args:
            text: All of it, with what was fixed before, which is never taken back.
        """
        if not text.startswith(self.fixed(index).text):
            raise ValueError("a text does not go on from what is fixed of it")
        self._fixed[index] = Fixed(text, citations)
        if self._cleared:
            self.news.set()

    def forget(self, choices: Iterable[int]) -> bool:
        """Forget what is fixed of some choices, unless some of it has been sent; tell whether it is forgotten."""
        drafted = set(choices)
        if drafted & self.sent.keys():
            return False
        for index in drafted:
            self._fixed.pop(index, None)
        return True

    def clear(self) -> None:
        """Say that there is no emergency: until then nothing leaves, also of what is fixed."""
        self._cleared = True
        if self._fixed:
            self.news.set()

    def take(self) -> list[tuple[int, str, bool]]:
        """Return what is to be sent now: choice, text, and whether it is the choice's first."""
        if not self._cleared:
            return []
        pieces = []
        for index, fixed in self._fixed.items():
            done = self.sent.get(index)
            if len(fixed.text) > (done or 0):
                pieces.append((index, fixed.text[done or 0 :], done is None))
                self.sent[index] = len(fixed.text)
        return pieces

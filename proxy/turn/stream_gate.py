"""The stream gate: what has been sent of a reply before its verdict, with `streaming: observe`.

A turn without a stream keeps the same record, though nobody reads it: so a chatbot answers alike whether it is streamed or not.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from models.engine import Body


@dataclass(frozen=True, slots=True)
class CommittedText:
    """The beginning of a choice's text that may be sent, whatever the judges say of the rest."""

    text: str = ""
    citations: tuple[str, ...] = ()
    """What it validly cites."""


NO_TEXT = CommittedText()


class StreamGate:
    """Holds back each choice's text until it is committed, and all of it until no emergency was found."""

    def __init__(self) -> None:
        self.head: Body = {}
        """What names the answer that it is of."""
        self.news = asyncio.Event()
        """Set when there is something to send."""
        self.sent_chars: dict[int, int] = {}
        """By choice, how many characters have been sent; without those of which nothing has."""
        self._committed: dict[int, CommittedText] = {}
        self._opened = False

    def committed(self, index: int) -> CommittedText:
        """Return the committed text of a choice."""
        return self._committed.get(index, NO_TEXT)

    def commit(self, index: int, text: str, citations: tuple[str, ...]) -> None:
        """Let a choice's text be sent up to here.

        Args:
            text: All of it from its beginning; what was committed before is never taken back.
        """
        if not text.startswith(self.committed(index).text):
            raise ValueError("a text does not begin with what is committed of it")
        self._committed[index] = CommittedText(text, citations)
        if self._opened:
            self.news.set()

    def forget(self, choices: Iterable[int]) -> bool:
        """Forget what is committed of some choices, unless some of it has been sent; return whether it is forgotten."""
        drafted = set(choices)
        if drafted & self.sent_chars.keys():
            return False
        for index in drafted:
            self._committed.pop(index, None)
        return True

    def open(self) -> None:
        """Let committed text be sent: the emergency judge has not fired. Until then nothing is."""
        self._opened = True
        if self._committed:
            self.news.set()

    def take_pieces(self) -> list[tuple[int, str, bool]]:
        """Return what is to be sent now: choice, text, and whether it is the choice's first."""
        if not self._opened:
            return []
        pieces = []
        for index, committed in self._committed.items():
            done = self.sent_chars.get(index)
            if len(committed.text) > (done or 0):
                pieces.append((index, committed.text[done or 0 :], done is None))
                self.sent_chars[index] = len(committed.text)
        return pieces

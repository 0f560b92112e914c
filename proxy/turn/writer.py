"""Which part of a draft may be sent while the chatbot still writes it, with `streaming: observe`.

Nothing may before a sound citation line, and nothing from where a command or a stop sequence may begin, or where the reply has its
full length. Up to there, every word may. What may be sent follows from the text alone, not from how it was cut on its way here.
"""

import asyncio
import re
from collections.abc import Iterator

from knowledge_base import citations
from knowledge_base.commands import MARKS_BEFORE, may_begin_command
from models.engine import Body
from models.usage import BYTES_PER_TOKEN, estimate_tokens
from proxy.turn.inputs import Turn
from proxy.turn.invisible import remove_invisible
from proxy.turn.stream_gate import StreamGate

_SPACE = " \t\r\n"
"""What ends a word. Other white space is invisible to the commands' reader, which sees the next word without it."""
_WORD = re.compile(rf"(?<![^{_SPACE}])[^{_SPACE}]++(?=[{_SPACE}])")
LONGEST_STOP = 256
"""Characters; a client that wants a text to end before longer ones gets it in one piece."""


class DraftStream:
    """A draft on its way from the chatbot's model: the model's listener at one end, at the other what is committed of it.

    Args:
        turn: The turn.
        gate: Takes what may be sent.
        index: The choice that is drafted; None: all of them at once.
    """

    def __init__(self, turn: Turn, gate: StreamGate, index: int | None) -> None:
        self._turn, self._gate, self._index = turn, gate, index
        self._count = (turn.request.n or 1) if index is None else 1
        """Choices that were asked for; others are not read."""
        self._writers: dict[int, Writer] = {}
        self._unread: dict[int, list[str]] = {}
        """By choice, the pieces that no writer has taken yet."""
        self._news = asyncio.Event()
        self._ended = False

    def begin(self, head: Body) -> None:
        if not self._gate.sent_chars:
            self._gate.head = head

    def hear(self, index: int, piece: str) -> None:
        if index >= self._count:
            return
        self._unread.setdefault(index if self._index is None else self._index, []).append(piece)
        self._news.set()

    def again(self) -> bool:
        drafted = {*self._writers, *self._unread}
        self._writers.clear()
        self._unread.clear()
        return self._gate.forget(drafted)

    def end(self) -> None:
        """Say that the draft is whole."""
        self._ended = True
        self._news.set()

    async def commit(self) -> None:
        """Commit what may be sent as it comes, until the draft has ended."""
        ended = False
        while not ended:
            await self._news.wait()
            self._news.clear()
            ended = self._ended
            unread, self._unread = self._unread, {}
            for choice, pieces in unread.items():
                if choice not in self._writers:
                    self._writers[choice] = Writer(self._turn, self._gate, choice)
                self._writers[choice].read("".join(pieces))


class Writer:
    """Follows the draft of one choice."""

    def __init__(self, turn: Turn, gate: StreamGate, index: int) -> None:
        self._turn, self._gate, self._index = turn, gate, index
        self._hard = turn.bot.settings.length.hard
        self._stops = turn.request.stops
        self._raw = ""
        self._begun = not turn.cites
        """Whether the citation line is there."""
        self._cited: tuple[str, ...] = ()
        """What it validly cites."""
        self._begins = 0
        """Where the text begins, after the citation line."""
        self._read = 0
        """Up to where the text has been looked at."""
        # Held is the draft of which nothing more may be sent: something came in the way, or some of an earlier one is committed.
        self._held = bool(gate.committed(index).text) or any(len(stop) > LONGEST_STOP for stop in self._stops)

    def read(self, piece: str) -> None:
        """Take the next piece of the draft."""
        if self._held:
            return
        self._raw += piece
        if not self._begun and not self._read_citations():
            return
        for end in self._ends():
            self._read = end
            text = remove_invisible(self._raw[self._begins : end])[0].strip()  # as `parse_draft` will do
            if not text or not text.rpartition("\n")[2].strip(MARKS_BEFORE):
                continue  # marks alone on their line may belong to a command
            if self._ends_here(text):
                self._held = True
                return
            if not self._straddled(text):
                self._gate.commit(self._index, text, self._cited)
        # What is not looked at by now is longer than a reply may be.
        self._held = len(self._raw) - self._read > BYTES_PER_TOKEN * self._hard

    def _read_citations(self) -> bool:
        """Read the citation line, when it is there; a faulty one holds the draft."""
        first, ended, _ = self._raw.lstrip().partition("\n")
        if not ended:
            return False
        parsed = citations.parse(first)
        source_ids, citable = self._turn.source_ids, self._turn.citable
        sound = not (parsed.text or parsed.requested or citations.problems(parsed, citable, source_ids))
        # A command that goes on in the next line is one for the whole draft to settle.
        if not sound or not first.rstrip(" .*_`~").endswith("]]"):
            self._held = True
            return False
        sources, classes, _ = citations.split(parsed.citations, citable, source_ids)
        self._begun, self._cited = True, (*(source.id for source in sources), *classes)
        self._begins = self._read = self._raw.index(first) + len(first)
        return True

    def _ends(self) -> Iterator[int]:
        """Yield the ends of words not looked at yet; white space behind a word is an end that no later text can undo."""
        at = self._read
        yield from (at + word.end() for word in _WORD.finditer(self._raw[at:]))

    def _ends_here(self, text: str) -> bool:
        """Tell whether the draft may be another from here on than what is seen of it."""
        return (
            may_begin_command(text) or any(stop in text for stop in self._stops) or estimate_tokens(text) > self._hard
        )

    def _straddled(self, text: str) -> bool:
        """Tell whether a stop sequence may have begun at the end of a text."""
        return any(text.endswith(stop[:n]) for stop in self._stops for n in range(1, min(len(stop), len(text) + 1)))

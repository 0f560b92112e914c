"""Streams with `streaming: observe`: which part of a draft may be sent before its verdict (Writer), and what has been (StreamGate).

Nothing is sent before a valid citation line. Sending stops where a command or a stop sequence may begin, and where the reply
reaches its length limit. This follows from the text alone, not from how it was cut on its way here.

A turn without a stream keeps the same record, so a chatbot answers alike whether it is streamed or not.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from knowledge_base import citations
from knowledge_base.commands import MARKS_BEFORE, may_begin_command
from knowledge_base.library import Source
from models.engine import Body
from models.usage import BYTES_PER_TOKEN, estimate_tokens
from proxy.protocol.invisible import remove_invisible


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


_SPACE = " \t\r\n"
"""What ends a word. Other white space is invisible to the commands' reader, which sees the next word without it."""
_WORD = re.compile(rf"(?<![^{_SPACE}])[^{_SPACE}]++(?=[{_SPACE}])")
LONGEST_STOP = 256
"""Characters; a client that wants a text to end before longer ones gets it in one piece."""


@dataclass(frozen=True, slots=True)
class DraftForm:
    """What a draft has to be, as far as that decides what may be sent of it."""

    cites: bool
    """Whether it begins with a citation line."""
    citable: Mapping[str, Source]
    source_ids: frozenset[str]
    """What it may cite, as in `ChoiceRun`."""
    stops: Sequence[str]
    max_tokens: int


class Writer:
    """Follows the draft of one choice and commits to the gate what may be sent."""

    def __init__(self, gate: StreamGate, index: int, form: DraftForm) -> None:
        self._gate, self._index, self._form = gate, index, form
        self._raw = ""
        self._begun = not form.cites
        """Whether the citation line is there."""
        self._cited: tuple[str, ...] = ()
        """What it validly cites."""
        self._begins = 0
        """Where the text begins, after the citation line."""
        self._read = 0
        """Up to where the text has been looked at."""
        # A draft is held if no more of it may be sent: something came in the way, or some of an earlier draft is committed.
        self._held = bool(gate.committed(index).text) or any(len(stop) > LONGEST_STOP for stop in form.stops)

    def read(self, piece: str) -> None:
        """Take the next piece of the draft."""
        if self._held:
            return
        self._raw += piece
        if not self._begun and not self._read_citations():
            return
        for end in self._ends():
            self._read = end
            text = remove_invisible(self._raw[self._begins : end])[0].strip()  # as `draft.read_reply` will do
            if not text or not text.rpartition("\n")[2].strip(MARKS_BEFORE):
                continue  # marks alone on their line may belong to a command
            if self._ends_here(text):
                self._held = True
                return
            if not self._straddled(text):
                self._gate.commit(self._index, text, self._cited)
        # What is not looked at by now is longer than a reply may be.
        self._held = len(self._raw) - self._read > BYTES_PER_TOKEN * self._form.max_tokens

    def _read_citations(self) -> bool:
        """Read the citation line, when it is there; a faulty one holds the draft."""
        first, ended, _ = self._raw.lstrip().partition("\n")
        if not ended:
            return False
        parsed = citations.parse(first)
        source_ids, citable = self._form.source_ids, self._form.citable
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
            may_begin_command(text)
            or any(stop in text for stop in self._form.stops)
            or estimate_tokens(text) > self._form.max_tokens
        )

    def _straddled(self, text: str) -> bool:
        """Tell whether a stop sequence may have begun at the end of a text."""
        return any(
            text.endswith(stop[:n]) for stop in self._form.stops for n in range(1, min(len(stop), len(text) + 1))
        )

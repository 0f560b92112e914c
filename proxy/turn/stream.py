"""Decides which part of a draft may be sent before its verdict, for chatbots with `streaming: observe`.

`Writer` reads a draft and commits the part that may be sent. `StreamGate` holds the committed text until it is sent. Nothing is
committed before a valid citation line. Committing stops where a command or a stop sequence may begin, and where the reply reaches
its length limit. The result depends on the text alone, not on how the upstream divided it into chunks.

A turn without a stream also commits text, so a chatbot gives the same answer with and without streaming.
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
    """The start of a choice's text that may be sent before the verdict."""

    text: str = ""
    citations: tuple[str, ...] = ()
    """The valid citations of the draft's citation line."""


NO_TEXT = CommittedText()


class StreamGate:
    """Holds the committed text of each choice until it is sent. Nothing is sent before the emergency judge has answered."""

    def __init__(self) -> None:
        self.head: Body = {}
        """The fields that identify the upstream's answer, such as its system fingerprint."""
        self.news = asyncio.Event()
        """Set when there is text to send."""
        self.sent_chars: dict[int, int] = {}
        """Number of characters sent, by choice. A choice of which nothing was sent is missing."""
        self._committed: dict[int, CommittedText] = {}
        self._opened = False

    def committed(self, index: int) -> CommittedText:
        """Return the committed text of a choice."""
        return self._committed.get(index, NO_TEXT)

    def commit(self, index: int, text: str, citations: tuple[str, ...]) -> None:
        """Allow sending a choice's text up to its current end.

        Args:
            index: The choice.
            text: The choice's text from its start. It must begin with the text committed before.
            citations: The valid citations of the text.

        Raises:
            ValueError: The text does not begin with the committed text.
        """
        if not text.startswith(self.committed(index).text):
            raise ValueError(f"committing text of choice {index}: it must begin with the text committed before")
        self._committed[index] = CommittedText(text, citations)
        if self._opened:
            self.news.set()

    def forget(self, choices: Iterable[int]) -> bool:
        """Drop the committed text of these choices and return true. If a part of it has been sent, return false instead."""
        drafted = set(choices)
        if drafted & self.sent_chars.keys():
            return False
        for index in drafted:
            self._committed.pop(index, None)
        return True

    def open(self) -> None:
        """Allow sending committed text, after the emergency judge found no emergency."""
        self._opened = True
        if self._committed:
            self.news.set()

    def take_pieces(self) -> list[tuple[int, str, bool]]:
        """Return the pieces to send now: choice, text, and whether it is the choice's first piece."""
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
"""Characters that end a word. The command parser ignores other white space."""
_WORD = re.compile(rf"(?<![^{_SPACE}])[^{_SPACE}]++(?=[{_SPACE}])")
LONGEST_STOP = 256
"""Maximum characters of a stop sequence in a stream. A reply with a longer stop sequence is sent in one piece."""


@dataclass(frozen=True, slots=True)
class DraftForm:
    """The properties of a draft that decide which part may be sent."""

    cites: bool
    """Whether the draft begins with a citation line."""
    citable: Mapping[str, Source]
    """Every source by its id, as in `ChoiceRun`."""
    source_ids: frozenset[str]
    """Ids that the draft may cite, as in `ChoiceRun`."""
    stops: Sequence[str]
    """The client's stop sequences."""
    max_tokens: int
    """Maximum estimated tokens of a reply."""


class Writer:
    """Reads the draft of one choice piece by piece, and commits the part that may be sent to the gate."""

    def __init__(self, gate: StreamGate, index: int, form: DraftForm) -> None:
        self._gate, self._index, self._form = gate, index, form
        self._raw = ""
        self._begun = not form.cites
        """Whether the citation line has been read, or none is needed."""
        self._cited: tuple[str, ...] = ()
        """The valid citations of the citation line."""
        self._begins = 0
        """Offset of the text, after the citation line."""
        self._read = 0
        """Offset up to which the text has been checked."""
        # A draft is held when no more of it may be sent, for instance because text of an earlier draft is committed.
        self._held = bool(gate.committed(index).text) or any(len(stop) > LONGEST_STOP for stop in form.stops)

    def read(self, piece: str) -> None:
        """Read the next piece of the draft."""
        if self._held:
            return
        self._raw += piece
        if not self._begun and not self._read_citations():
            return
        for end in self._ends():
            self._read = end
            text = remove_invisible(self._raw[self._begins : end])[0].strip()  # as in `draft.read_reply`
            if not text or not text.rpartition("\n")[2].strip(MARKS_BEFORE):
                continue  # marks alone on their line may belong to a command
            if self._ends_here(text):
                self._held = True
                return
            if not self._straddled(text):
                self._gate.commit(self._index, text, self._cited)
        # Hold the draft if its unchecked rest is longer than a reply may be.
        self._held = len(self._raw) - self._read > BYTES_PER_TOKEN * self._form.max_tokens

    def _read_citations(self) -> bool:
        """Read the citation line when it is complete, and return whether it was read. A faulty line holds the whole draft."""
        first, ended, _ = self._raw.lstrip().partition("\n")
        if not ended:
            return False
        parsed = citations.parse(first)
        source_ids, citable = self._form.source_ids, self._form.citable
        sound = not (parsed.text or parsed.requested or citations.problems(parsed, citable, source_ids))
        # A command that may continue on the next line can be read only in the whole draft.
        if not sound or not first.rstrip(" .*_`~").endswith("]]"):
            self._held = True
            return False
        sources, classes, _ = citations.split(parsed.citations, citable, source_ids)
        self._begun, self._cited = True, (*(source.id for source in sources), *classes)
        self._begins = self._read = self._raw.index(first) + len(first)
        return True

    def _ends(self) -> Iterator[int]:
        """Yield the end offsets of complete words that are not checked yet. White space after a word makes it complete."""
        at = self._read
        yield from (at + word.end() for word in _WORD.finditer(self._raw[at:]))

    def _ends_here(self, text: str) -> bool:
        """Return whether the delivered text may end here: at a command, a stop sequence or the length limit."""
        return (
            may_begin_command(text)
            or any(stop in text for stop in self._form.stops)
            or estimate_tokens(text) > self._form.max_tokens
        )

    def _straddled(self, text: str) -> bool:
        """Return whether a text ends with the start of a stop sequence."""
        return any(
            text.endswith(stop[:n]) for stop in self._form.stops for n in range(1, min(len(stop), len(text) + 1))
        )

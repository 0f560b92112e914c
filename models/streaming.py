"""AnswerStream passes the text of an answer from the engine to its reader while the model is still writing."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from typing import Protocol, runtime_checkable

from models.answer import as_completion
from models.engine import WORDS, Body, Engine
from models.thoughts import ThoughtCutter


class AnswerStream:
    """A queue for the text of an answer: an engine adds pieces, and one task iterates over them.

        async for choice, text in stream:

    The engine never waits for the reader. If the reader is slow, it gets the unread pieces of a choice joined.
    """

    def __init__(self, forget: Callable[[Collection[int]], bool]) -> None:
        """Args: forget: callback that discards the text received so far of the given choices, because a retry follows or because
        the text turned out to be thoughts. It returns False if some of the text was already sent to the client.
        """
        self.head: Body = {}
        """Fields of the completion other than `choices`, such as `id` and `model`. Engines set the dict and may fill it later."""
        self._forget = forget
        self._received: list[str] = []
        self._unread: dict[int, list[str]] = {}
        self._choices: set[int] = set()
        self._thoughts: _Thoughts | None = None
        self._news = asyncio.Event()
        self._ended = False

    async def __aiter__(self) -> AsyncIterator[tuple[int, str]]:
        ended = False
        while not ended:
            await self._news.wait()
            self._news.clear()
            ended = self._ended
            while self._unread:  # one at a time, because `forget` may clear the rest in between
                choice = next(iter(self._unread))
                yield choice, "".join(self._unread.pop(choice))

    @property
    def received(self) -> str:
        """All text since `start`, including thoughts and failed tries. The upstream charges for this text in any case."""
        return "".join(self._received)

    def start(self, *, cut_thoughts: bool, holds_until_thoughts_end: bool) -> None:
        """Prepare the stream for the answer of one alias.

        Args:
            cut_thoughts: Remove the model's thoughts from the text.
            holds_until_thoughts_end: Buffer all text until a closing tag, because the answer may begin with thoughts.
        """
        self._received.clear()
        self._thoughts = _Thoughts(holds_until_thoughts_end) if cut_thoughts else None

    def receive(self, choice: int, piece: str) -> None:
        """Add the next piece of a choice's text, as the model wrote it.

        Args:
            choice: Index of the choice.
        """
        self._received.append(piece)
        if self._thoughts is None:
            self.put(choice, piece)
        else:
            self._thoughts.receive(self, choice, piece)

    def put(self, choice: int, piece: str) -> None:
        """Pass a piece of text on to the reader, without looking for thoughts."""
        self._choices.add(choice)
        self._unread.setdefault(choice, []).append(piece)
        self._news.set()

    def reset_for_retry(self) -> bool:
        """Discard the text received so far. Return False if a retry is impossible, because the client already has some of it."""
        if self._thoughts is not None:
            self._thoughts = _Thoughts(self._thoughts.holds_until_thoughts_end)
        return self.forget()

    def forget(self) -> bool:
        """Discard the text passed on so far. Return False if some of the text was already sent to the client."""
        self._unread.clear()
        choices, self._choices = self._choices, set()
        return self._forget(choices)

    def end(self) -> None:
        """Signal that the answer is complete."""
        self._ended = True
        self._news.set()


class _Thoughts:
    """Removes the model's thoughts from the text of a stream."""

    def __init__(self, holds_until_thoughts_end: bool) -> None:
        self.holds_until_thoughts_end = holds_until_thoughts_end
        self._cutters: dict[int, ThoughtCutter] = {}
        self._passed: dict[int, int] = {}
        """By choice, the number of pieces passed on to the reader."""
        self._too_late = False
        """Whether the client already got thoughts. If so, the stream stops, and only the complete answer has the reply."""

    def receive(self, stream: AnswerStream, choice: int, piece: str) -> None:
        cutter = self._cutters.setdefault(choice, ThoughtCutter())
        cutter.feed(piece)
        if cutter.took_back:
            cutter.took_back = False
            self._too_late |= any(self._passed.values()) and not stream.forget()
            self._passed.clear()
        if self._too_late:
            return
        for index, one in self._cutters.items():
            if one.is_closed or not self.holds_until_thoughts_end:
                for text in one.text[self._passed.get(index, 0) :]:
                    stream.put(index, text)
                self._passed[index] = len(one.text)


@runtime_checkable
class StreamingEngine(Engine, Protocol):
    """An engine that can stream its answers while the model writes them."""

    async def write(self, body: Body, stream: AnswerStream) -> Body:
        """Answer as `complete` does, and pass each piece of text to the stream on arrival."""


async def stream_answer(engine: Engine, body: Body, stream: AnswerStream) -> Body:
    """Ask an engine and stream its answer. If the engine cannot stream, pass on the finished answer word by word.

    Raises:
        ModelError: as for `Engine.complete`. The reader may already have a part of the answer.
    """
    if isinstance(engine, StreamingEngine):
        return await engine.write(body, stream)
    answer = as_completion(await engine.complete(body))
    replay_answer(answer, stream)
    return answer


def replay_answer(answer: Body, stream: AnswerStream) -> None:
    """Write a finished answer to a stream, word by word."""
    stream.head = answer
    for index, choice in enumerate(answer["choices"]):
        for word in WORDS.findall(choice["message"].get("content") or ""):
            stream.receive(index, word)

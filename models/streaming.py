"""Streaming within the process: an answer is read piece by piece while its model writes it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from typing import Protocol, runtime_checkable

from models.answer import as_completion
from models.engine import WORDS, Body, Engine
from models.thoughts import ThoughtCutter


class AnswerStream:
    """The text of an answer, from the engine that receives it to the task that iterates over it.

        async for choice, text in stream:

    The engine never waits for the reader: what was not read yet is joined.
    """

    def __init__(self, forget: Callable[[Collection[int]], bool]) -> None:
        """Args: forget: called with the choices of which text was received, when that text is void: the request will be retried, or
        the text was thoughts. Returns False if some of it was sent.
        """
        self.head: Body = {}
        """The fields of the completion besides its choices (id, model ...). Engines set it; they may fill it in later."""
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
            while self._unread:  # one by one: what is forgotten meanwhile is not read
                choice = next(iter(self._unread))
                yield choice, "".join(self._unread.pop(choice))

    @property
    def received(self) -> str:
        """All text since `start`, of every try, with thoughts. It has to be paid even if the answer breaks off."""
        return "".join(self._received)

    def start(self, *, cut_thoughts: bool, holds_until_thoughts_end: bool) -> None:
        """Prepare for the answer of one alias.

        Args:
            cut_thoughts: Leave out the model's thoughts.
            holds_until_thoughts_end: Pass nothing on before a closing tag, because text may turn out to be thoughts.
        """
        self._received.clear()
        self._thoughts = _Thoughts(holds_until_thoughts_end) if cut_thoughts else None

    def receive(self, choice: int, piece: str) -> None:
        """Take the next piece of a choice's text."""
        self._received.append(piece)
        if self._thoughts is None:
            self.put(choice, piece)
        else:
            self._thoughts.receive(self, choice, piece)

    def put(self, choice: int, piece: str) -> None:
        """Pass a piece of a reply on to the reader."""
        self._choices.add(choice)
        self._unread.setdefault(choice, []).append(piece)
        self._news.set()

    def reset_for_retry(self) -> bool:
        """Forget what came so far, because the request will be retried. Returns False if it is too late for a retry."""
        if self._thoughts is not None:
            self._thoughts = _Thoughts(self._thoughts.holds_until_thoughts_end)
        return self.forget()

    def forget(self) -> bool:
        """Forget what was passed on. Returns False if it is too late."""
        self._unread.clear()
        choices, self._choices = self._choices, set()
        return self._forget(choices)

    def end(self) -> None:
        """Say that the answer is complete."""
        self._ended = True
        self._news.set()


class _Thoughts:
    """Leaves a model's thoughts out of a stream."""

    def __init__(self, holds_until_thoughts_end: bool) -> None:
        self.holds_until_thoughts_end = holds_until_thoughts_end
        self._cutters: dict[int, ThoughtCutter] = {}
        self._passed: dict[int, int] = {}
        """By choice, how many pieces of its text were passed on."""
        self._too_late = False
        """Whether thoughts were sent. Then the rest comes with the whole answer."""

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
    """An engine that can stream its answers."""

    async def write(self, body: Body, stream: AnswerStream) -> Body:
        """Answer as `complete` does, and pass each piece of text to the stream as it comes."""


async def stream_answer(engine: Engine, body: Body, stream: AnswerStream) -> Body:
    """Have an engine stream its answer. An engine that cannot stream passes on the finished answer.

    Raises:
        ModelError: as `complete`; a part may have been passed on by then.
    """
    if isinstance(engine, StreamingEngine):
        return await engine.write(body, stream)
    answer = as_completion(await engine.complete(body))
    replay_answer(answer, stream)
    return answer


def replay_answer(answer: Body, stream: AnswerStream) -> None:
    """Pass on a finished answer, word by word."""
    stream.head = answer
    for index, choice in enumerate(answer["choices"]):
        for word in WORDS.findall(choice["message"].get("content") or ""):
            stream.receive(index, word)

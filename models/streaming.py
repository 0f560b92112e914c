"""Streaming within the process: an answer is passed to a listener while its model writes it."""

from typing import Protocol, runtime_checkable

from models.answer import as_completion
from models.engine import WORDS, Body, Engine


class Listener(Protocol):
    """Receives an answer piece by piece. Called on the event loop, so each call must return quickly."""

    def begin(self, head: Body) -> None:
        """Take the fields of the completion besides its choices (id, model ...). Comes before any text."""

    def hear(self, index: int, piece: str) -> None:
        """Take the next piece of a choice's text."""

    def again(self) -> bool:
        """Discard what came so far, because the request will be retried. Return False if it is too late for a retry."""


@runtime_checkable
class StreamingEngine(Engine, Protocol):
    """An engine that can stream its answers."""

    async def write(self, body: Body, listener: Listener) -> Body:
        """Answer as `complete` does, and pass each piece of text to the listener as it comes."""


async def write_answer(engine: Engine, body: Body, listener: Listener) -> Body:
    """Have an engine answer, streaming to the listener. Of an engine that cannot stream the listener gets the finished answer.

    Raises:
        ModelError: as `complete`; the listener may have received a part by then.
    """
    if isinstance(engine, StreamingEngine):
        return await engine.write(body, listener)
    answer = as_completion(await engine.complete(body))
    replay_answer(answer, listener)
    return answer


def replay_answer(answer: Body, listener: Listener) -> None:
    """Pass a finished answer to a listener, word by word."""
    listener.begin(answer)
    for index, choice in enumerate(answer["choices"]):
        for word in WORDS.findall(choice["message"].get("content") or ""):
            listener.hear(index, word)


class CountingListener:
    """Passes everything on to another listener and collects the text: of an answer that breaks off, what came has to be paid."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._pieces: list[str] = []

    def begin(self, head: Body) -> None:
        self._listener.begin(head)

    def hear(self, index: int, piece: str) -> None:
        self._pieces.append(piece)
        self._listener.hear(index, piece)

    def again(self) -> bool:
        return self._listener.again()

    @property
    def text(self) -> str:
        """All text so far, of every try."""
        return "".join(self._pieces)

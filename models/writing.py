"""Writing: an answer that is listened to while its model writes it."""

import re
from typing import Protocol, runtime_checkable

from models.engine import Body, Engine
from models.request import as_completion, text_of

_WORDS = re.compile(r"\s*\S+|\s+")


class Listener(Protocol):
    """Hears an answer as it is written. What it does with that takes no longer than the event loop can spare."""

    def begin(self, head: Body) -> None:
        """Take what names the answer: its id and the like. Comes before any text."""

    def hear(self, index: int, piece: str) -> None:
        """Take the next piece of a choice's text."""

    def again(self) -> bool:
        """Forget what was heard, since the answer broke off and is to be asked for anew; False when it is too late for that."""


@runtime_checkable
class Writing(Engine, Protocol):
    """An engine that lets its answers be heard while they are written."""

    async def write(self, body: Body, listener: Listener) -> Body:
        """Answer as `complete` does, and have the listener hear each piece of text as it comes."""


async def written(engine: Engine, body: Body, listener: Listener) -> Body:
    """Have an engine write an answer; one that cannot be listened to is heard when it is there.

    Raises:
        ModelError: as `complete`; an answer that breaks off has been heard in part.
    """
    if isinstance(engine, Writing):
        return await engine.write(body, listener)
    answer = as_completion(await engine.complete(body))
    read_out(answer, listener)
    return answer


def read_out(answer: Body, listener: Listener) -> None:
    """Have a whole answer heard, word by word."""
    listener.begin(answer)
    for index, choice in enumerate(answer["choices"]):
        for word in _WORDS.findall(text_of(choice["message"])):
            listener.hear(index, word)


class Counted:
    """A listener between a model and another listener, who keeps account: what was heard has to be paid, also of half an answer."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._heard: list[str] = []

    def begin(self, head: Body) -> None:
        self._listener.begin(head)

    def hear(self, index: int, piece: str) -> None:
        self._heard.append(piece)
        self._listener.hear(index, piece)

    def again(self) -> bool:
        return self._listener.again()

    @property
    def heard(self) -> str:
        """All that was heard, of every try."""
        return "".join(self._heard)

"""AnswerStream passes text from an engine to a reader."""

import asyncio
from collections.abc import Collection

from models.streaming import AnswerStream


def forget(choices: Collection[int]) -> bool:
    return True


async def test_what_is_forgotten_while_it_is_read_is_not_read() -> None:
    """This holds even if the reader is between two choices."""
    stream, read, first = AnswerStream(forget), list[tuple[int, str]](), asyncio.Event()

    async def read_slowly() -> None:
        async for choice, text in stream:
            read.append((choice, text))
            first.set()
            await asyncio.sleep(0)

    reading = asyncio.create_task(read_slowly())
    stream.receive(0, "a")
    stream.receive(1, "b")
    await first.wait()
    assert stream.reset_for_retry()
    stream.receive(0, "X")
    stream.end()
    await reading
    assert read == [(0, "a"), (0, "X")]


async def test_pieces_that_were_not_read_yet_are_joined() -> None:
    """The engine does not wait for the reader."""
    stream = AnswerStream(forget)
    for piece in ("Good ", "morning", "."):
        stream.receive(0, piece)
    stream.end()
    assert [one async for one in stream] == [(0, "Good morning.")]

"""What no reply waits for is done in a moment, in order, and all of it."""

import asyncio
import time

import pytest

from proxy.telemetry.together import TOGETHER_S, Together


async def test_things_of_one_moment_are_done_together_and_in_order() -> None:
    """And those that come later, with others."""
    done: list[list[int]] = []
    together = Together[int](done.append)
    for thing in range(5):
        together.add(thing)
    assert done == []
    await asyncio.sleep(2 * TOGETHER_S)
    together.add(5)
    await asyncio.sleep(2 * TOGETHER_S)
    assert done == [[0, 1, 2, 3, 4], [5]]


async def test_what_waits_can_be_done_at_once() -> None:
    """Once: the time that was set for it finds nothing."""
    done: list[list[int]] = []
    together = Together[int](done.append)
    together.add(1)
    together.flush()
    assert done == [[1]]
    await asyncio.sleep(2 * TOGETHER_S)
    assert done == [[1]]


def test_without_a_loop_nothing_waits() -> None:
    done: list[list[int]] = []
    Together[int](done.append).add(1)
    assert done == [[1]]


async def test_what_is_added_all_the_time_waits_no_longer() -> None:
    """The first thing sets the time, and later ones do not put it off."""
    began = time.monotonic()
    done: list[float] = []
    together = Together[int](lambda _: done.append(time.monotonic() - began))
    while not done and time.monotonic() - began < 5:
        together.add(1)
        await asyncio.sleep(TOGETHER_S / 10)
    assert done[0] == pytest.approx(TOGETHER_S, abs=20 * TOGETHER_S)


def test_a_loop_that_ended_first_holds_nothing_up() -> None:
    """What waited in it is done with what comes in the next."""
    done: list[list[int]] = []
    together = Together[int](done.append)

    async def add(thing: int, wait: float) -> None:
        together.add(thing)
        await asyncio.sleep(wait)

    asyncio.run(add(1, 0))
    asyncio.run(add(2, 2 * TOGETHER_S))
    assert done == [[1, 2]]

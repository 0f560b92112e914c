"""Hedging: a second request beside a slow first one."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def ask_with_hedge(
    ask: Callable[[], Coroutine[Any, Any, T]], after_s: float, may_ask_again: Callable[[], bool]
) -> T:
    """Ask, and ask again if there is no answer in time; the first good answer counts, the other call is cancelled.

    Args:
        ask: Asks once.
        after_s: Seconds after which to ask a second time.
        may_ask_again: Whether a second call may be made then.

    Raises:
        Exception: What the first call raised, when there is no good answer.
    """
    calls = [asyncio.create_task(ask())]
    try:
        done, _ = await asyncio.wait(calls, timeout=after_s)
        if not done and may_ask_again():
            calls.append(asyncio.create_task(ask()))
        pending = set(calls) - done
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            # In the order of asking, so that a test can say who wins when both are done.
            for call in (call for call in calls if call in done):
                if call.exception() is None:
                    return call.result()
        return calls[0].result()
    finally:
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

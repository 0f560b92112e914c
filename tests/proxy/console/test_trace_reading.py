"""Reading traces for a screen."""

import asyncio
import threading
from pathlib import Path

from proxy.console.trace_reading import MOST_QUERIES, run_query
from proxy.traces.backend import TraceBackend


async def test_a_database_that_hangs_takes_no_threads_of_others() -> None:
    """In those of the event loop the names of models' servers are looked up: without them no chatbot could ask its model."""
    loop, answers = asyncio.get_running_loop(), threading.Event()

    def hang(_: TraceBackend) -> bool:
        return answers.wait(30)

    screens = [asyncio.create_task(run_query(hang, Path("traces.db"))) for _ in range(100)]
    try:
        async with asyncio.timeout(5):
            await asyncio.sleep(0.1)
            assert await loop.getaddrinfo("127.0.0.1", 80)
            assert sum(thread.name.startswith("console") for thread in threading.enumerate()) <= MOST_QUERIES
    finally:
        answers.set()
    assert all(await asyncio.gather(*screens))

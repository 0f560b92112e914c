"""Reading traces for a screen: beside the event loop, and with words for when there are none."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import structlog

from proxy.api.service import Service
from proxy.traces.backend import TraceBackend, TraceError, trace_backend, trace_detail

MOST_QUERIES = 4
"""Queries at a time; others wait for these."""
Given = ParamSpec("Given")
Read = TypeVar("Read")
log = structlog.get_logger()


class NoTraces(Exception):
    """There is nothing to read."""

    def __init__(self, title: str, advice: str, *, failed: bool = False) -> None:
        super().__init__(title)
        self.title = title
        self.advice = advice
        self.failed = failed
        """Whether it should have been there."""


async def run_query(query: Callable[Given, Read], /, *args: Given.args, **options: Given.kwargs) -> Read:
    """Run a query in a thread of the console's own.

    A database that is slow, or hangs, would else take the threads in which the names of models' servers are looked up.
    """
    return await asyncio.get_running_loop().run_in_executor(_threads(), partial(query, *args, **options))


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_QUERIES, "console")


async def read_traces(
    service: Service,
    query: Callable[Concatenate[TraceBackend, Given], Read],
    /,
    *args: Given.args,
    **options: Given.kwargs,
) -> Read:
    """Run a query of `proxy.traces` on the traces of this proxy.

    Raises:
        NoTraces: None are kept, there are none yet, or they cannot be read.
    """
    backend = trace_backend(service.config.privacy)
    if isinstance(backend, Path) and not await asyncio.to_thread(backend.exists):
        if trace_detail(service.config) == "none":
            raise NoTraces(
                "Turns are not stored here",
                "The configuration says `privacy.store: none`. With `redacted` the next turns are stored without texts, "
                "with `full` with them.",
            )
        raise NoTraces(
            "No turns yet",
            "They appear here as soon as somebody talks to a chatbot: try the playground, or send a request.",
        )
    try:
        return await run_query(query, backend, *args, **options)
    except TraceError as error:
        log.error("traces not read", error=str(error))
        advice = (
            f"The file {backend.name} is not readable, or holds something else."
            if isinstance(backend, Path)
            else "The database does not answer, or refuses. Chatbots go on answering."
        )
        raise NoTraces(
            "The stored turns cannot be read", f"{advice} The log of the proxy says why; `caf check` tests the configuration.",
            failed=True,
        ) from error  # fmt: skip

"""Reads traces for the console in its own threads. Missing traces become messages for the user."""

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
"""Maximum number of concurrent queries."""
Given = ParamSpec("Given")
Read = TypeVar("Read")
log = structlog.get_logger()


class NoTraces(Exception):
    """No traces can be read. Pages show title and advice."""

    def __init__(self, title: str, advice: str, *, failed: bool = False) -> None:
        super().__init__(title)
        self.title = title
        self.advice = advice
        self.failed = failed
        """Whether reading failed; False: no traces exist."""


async def run_query(query: Callable[Given, Read], /, *args: Given.args, **options: Given.kwargs) -> Read:
    """Run a query in a thread of the console.

    In the default threads of asyncio, a slow database would delay the name resolution for model calls.
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
        NoTraces: Traces are not stored, do not exist yet, or cannot be read.
    """
    backend = trace_backend(service.config.privacy)
    if isinstance(backend, Path) and not await asyncio.to_thread(backend.exists):
        if trace_detail(service.config) == "none":
            raise NoTraces(
                "Turns are not stored",
                "The configuration has `privacy.store: none`. To store turns, set it to `redacted` (no texts) or `full`.",
            )
        raise NoTraces(
            "No turns yet",
            "Turns appear here after you send a message in the playground or a request to the API.",
        )
    try:
        return await run_query(query, backend, *args, **options)
    except TraceError as error:
        log.error("traces not read", error=str(error))
        advice = (
            f"The file {backend.name} is not readable or is not a trace file."
            if isinstance(backend, Path)
            else "The database does not answer or refuses the connection. Chatbots are not affected."
        )
        raise NoTraces(
            "The stored turns cannot be read", f"{advice} See the proxy's log, and check the configuration with `caf check`.",
            failed=True,
        ) from error  # fmt: skip

"""Reads traces for a screen, beside the event loop."""

import asyncio
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import structlog

from proxy.console.visit import Visit
from proxy.traces.backend import TraceBackend, TraceError, trace_backend, trace_detail

P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger()


async def read_traces(
    visit: Visit, read: Callable[Concatenate[TraceBackend, P], T], *args: P.args, **kwargs: P.kwargs
) -> T | None:
    """Return what a function reads of the traces; None: there are none, or they cannot be read, which is logged."""
    backend = trace_backend(visit.service.config.privacy)
    try:
        return await asyncio.to_thread(read, backend, *args, **kwargs)
    except TraceError as error:
        log.warning("console cannot read the traces", error=str(error))
        return None


def explain_no_traces(visit: Visit) -> str:
    """Return why a screen may have no traces to show."""
    if trace_detail(visit.service.config) == "none":
        return "This proxy keeps no traces (privacy.store: none). With redacted or full it would."
    return "No turn is kept yet. If the chatbots have answered some, the proxy's log says why they cannot be read."

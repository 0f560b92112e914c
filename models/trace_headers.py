"""The headers that carry a trace on to an upstream."""

from collections.abc import Mapping
from contextvars import ContextVar

TRACE_HEADERS: ContextVar[Mapping[str, str] | None] = ContextVar("trace_headers", default=None)
"""What upstreams are told of the trace that a call belongs to. A context variable, because engines get requests and nothing of
the turn that these are part of."""

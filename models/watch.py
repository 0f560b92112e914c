"""Watching the calls of a turn from outside: spans, and the headers that carry a trace on to an upstream."""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from models.settings import ModelSettings

if TYPE_CHECKING:
    from models.usage import Call

TRACE_HEADERS: ContextVar[Mapping[str, str] | None] = ContextVar("trace_headers", default=None)
"""What upstreams are told of the trace that a call belongs to. A context variable, because engines get requests and nothing of
the turn that these are part of."""


class Watch(Protocol):
    """Is told when something begins, and returns what to call when it has ended, in the same task."""

    def step(self, name: str) -> Callable[[str | None], None]:
        """A step of the turn begins; at its end it is told the type of the error, if there was one."""

    def call(self, call: "Call", request: Mapping[str, Any], settings: ModelSettings) -> Callable[[], None]:
        """A call begins, retries included; at its end `call` says what became of it."""

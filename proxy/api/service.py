"""The objects that request handlers share. `create_app` creates them once, and stores them in the application as `SERVICE`."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp import web

from proxy.api.responses.store import ResponseStore
from proxy.audit.log import AuditLog
from proxy.auth.access import GRANTED, Access, asks_directly, authorize
from proxy.auth.key_ring import KeyRing
from proxy.auth.keys import Permission
from proxy.auth.limits import Meter, ProcessMeter
from proxy.auth.throttle import Throttle
from proxy.config.config import Config
from proxy.protocol.errors import Forbidden, TooManyFailures, Unauthorized
from proxy.state.conversation_store import ConversationStore
from proxy.telemetry.metrics import Metrics
from proxy.traces.store import TraceStore
from proxy.traces.trace import Trace
from proxy.turn.actions import Actions
from proxy.turn.chatbot import Chatbot
from proxy.turn.shadow import Shadows

if TYPE_CHECKING:
    from proxy.telemetry.spans import Telemetry


@dataclass(slots=True)
class Service:
    """The objects that request handlers share, and the authentication of requests."""

    config: Config
    chatbots: dict[str, Chatbot]
    conversations: ConversationStore
    traces: TraceStore
    metrics: Metrics
    session: aiohttp.ClientSession
    responses: ResponseStore = field(kw_only=True)
    throttle: Throttle = field(kw_only=True)
    keys: KeyRing | None = None
    meter: Meter = field(default_factory=ProcessMeter)
    audit: AuditLog | None = None
    watch: Callable[[Trace], None] | None = None
    telemetry: "Telemetry | None" = None
    shadows: Shadows = field(default_factory=Shadows)
    background: set[asyncio.Task[None]] = field(default_factory=set)
    actions: Actions = field(default_factory=Actions)

    def access(self, request: web.Request, needed: Permission = "chat") -> Access:
        """Authenticate a request, and check that its client has a permission.

        Raises:
            Unauthorized: The proxy has keys, and the client sent no valid key.
            TooManyFailures: Like Unauthorized, after too many such requests from the same address.
            Forbidden: The client lacks the permission.
        """
        if GRANTED in request:
            granted = request[GRANTED]
            if not granted.may(needed):
                raise Forbidden(
                    f"This request needs the permission `{needed}`, which the key does not have. Use a key with this permission."
                )
            return granted
        try:
            return self.authorize(request, needed)
        except Unauthorized:
            if wait_s := self.throttle.count_failure(request.remote):
                raise TooManyFailures(wait_s) from None
            raise

    def authorize(self, request: web.Request, needed: Permission) -> Access:
        """Authenticate a request as `access` does, without counting a failure."""
        return authorize(request.headers, self.keys, needed, direct=self.is_local(request))

    def is_local(self, request: web.Request) -> bool:
        """Return whether the proxy has no keys and the request comes directly from a program on this machine."""
        return self.keys is None and asks_directly(request, self.config.server.cors_origins)

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a background task that no reply waits for."""
        task = asyncio.create_task(work)
        self.background.add(task)
        task.add_done_callback(self.background.discard)

    async def stop_background(self) -> None:
        """Cancel the background tasks and wait for them."""
        for task in self.background:
            task.cancel()
        await asyncio.gather(*self.background, return_exceptions=True)


SERVICE = web.AppKey("service", Service)

"""The server of `caf serve`, whose application can be replaced while the server listens.

switch_to ── start the new application ── new requests go to it
   └── retire          close the old application after its last request and background task
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

from aiohttp import web

from proxy.api.middleware import METRICS
from proxy.api.service import SERVICE
from proxy.serving.connections import Server, limits_of
from proxy.serving.listening import address_of, has_waiting, listen

LAST_S = 1.0
"""Seconds that answers and background tasks get to finish when the server stops, even without a grace period."""

IDLE_S = 0.5
"""Seconds that idle connections stay open when the server stops."""


class RunningApp:
    """A started application and its open requests."""

    def __init__(self, runner: web.AppRunner) -> None:
        assert runner.server is not None
        # The runner's own server gets no connections. It only provides the application's request factory and handler.
        self.make_request: Callable[..., web.BaseRequest] = runner.server.request_factory
        self.handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]] = runner.server.request_handler
        self.runner = runner
        self.limits = limits_of(runner.app[SERVICE].config.server)
        self.requests: set[asyncio.Task[Any]] = set()
        self._closing: asyncio.Task[None] | None = None

    async def wait_until_idle(self) -> None:
        """Wait for open requests and background tasks to end."""
        for doing in (self.requests, self.runner.app[SERVICE].background):
            if doing:
                await asyncio.wait(doing)

    async def close(self) -> None:
        """Close the application. Cancelling the caller does not stop it."""
        if self._closing is None:
            self._closing = asyncio.create_task(self.runner.cleanup())
        await asyncio.shield(self._closing)


class Front:
    """A server that keeps its connections when the application is replaced."""

    def __init__(self) -> None:
        self._apps: list[RunningApp] = []
        """The running applications. The last one gets new requests."""
        self._retiring: set[asyncio.Task[None]] = set()
        self._stopping = False

    @property
    def grace_s(self) -> float:
        """Seconds that open requests get to finish after the stop."""
        return self.app[SERVICE].config.server.grace_s

    @property
    def app(self) -> web.Application:
        """The application that gets new requests."""
        return self._apps[-1].runner.app

    async def switch_to(self, app: web.Application) -> None:
        """Start another application, send new requests to it, and retire the old one.

        Raises:
            Exception: The new application failed to start; the old one keeps serving.
        """
        runner = web.AppRunner(app, access_log=None)
        try:
            await runner.setup()
        except BaseException:
            await runner.cleanup()
            raise
        self._apps.append(RunningApp(runner))
        if len(self._apps) > 1:
            task = asyncio.create_task(self._retire(self._apps[-2]))
            self._retiring.add(task)
            task.add_done_callback(self._retiring.discard)

    @asynccontextmanager
    async def listening(self, host: str, port: int, *, shared: bool = False) -> AsyncIterator[str]:
        """Listen and yield the URL. On exit, let open requests finish within the grace period.

        Raises:
            ConfigError: The address cannot be used.
        """
        server = Server(self._handle, self._make_request, lambda: self._apps[-1].limits, self.app[METRICS])
        runner = web.ServerRunner(server, shutdown_timeout=LAST_S)
        await runner.setup()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.close)
            stack.push_async_callback(runner.cleanup)
            listener = await listen(server.accept, host, port, shared=shared)
            stack.callback(listener.close)
            watching = asyncio.create_task(server.watch())
            stack.callback(watching.cancel)
            yield address_of(listener, host)
            self._stopping = True
            now = asyncio.get_running_loop().time()
            await self._accept_waiting(listener, now + self.grace_s / 2)
            listener.close()
            await self._answer_kept_connections(server, min(IDLE_S, self.grace_s))
            server.pre_shutdown()
            await self._drain(now + self.grace_s)

    async def _accept_waiting(self, listener: asyncio.Server, until: float) -> None:
        """Accept the connections that are pending. The kernel would reset them when the port is closed.

        Args:
            until: Event-loop time at which the port is closed even if more connections are pending.
        """
        while has_waiting(listener) and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
            await asyncio.sleep(0)

    async def _answer_kept_connections(self, server: Server, seconds: float) -> None:
        """Wait for requests on open connections, which are answered and then closed, for at most some seconds.

        A load balancer cannot know that a connection is about to close, and cannot send the lost request to another host.

        Args:
            server: The server of the connections.
            seconds: Maximum time to wait.
        """
        for _ in range(20):
            if not server.connections:
                return
            await asyncio.sleep(seconds / 20)

    async def _drain(self, until: float) -> None:
        """Wait for open requests and background tasks, then cancel requests that take too long.

        This replaces aiohttp's shutdown, which waits twice as long before it cancels a request.

        Args:
            until: Event-loop time at which requests are cancelled.
        """
        try:
            async with asyncio.timeout_at(until), asyncio.TaskGroup() as group:
                for generation in self._apps:
                    group.create_task(generation.wait_until_idle())
        except TimeoutError:
            for generation in self._apps:
                for request in generation.requests:
                    request.cancel()

    async def close(self) -> None:
        """Close every application."""
        for task in self._retiring:
            task.cancel()
        for generation in list(self._apps):
            # A cancelled request may still have to send an emergency webhook.
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_S):
                    await generation.wait_until_idle()
            await generation.close()

    async def _retire(self, old: RunningApp) -> None:
        await old.wait_until_idle()
        await old.close()
        self._apps.remove(old)

    def _make_request(self, *parts: object) -> web.BaseRequest:
        return self._apps[-1].make_request(*parts)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        generation, task = self._apps[-1], asyncio.current_task()
        assert task is not None
        generation.requests.add(task)
        try:
            response = await generation.handle(request)
            if self._stopping:  # otherwise the client would send its next request into a closing connection
                response.force_close()
            return response
        finally:
            generation.requests.discard(task)

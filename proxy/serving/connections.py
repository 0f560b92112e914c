"""Limits on the connections of `caf serve`: their number, and the time to send a request's head.

accept ── refuse        503, if the limit is reached and no connection is idle
   └── head             the complete head of a request must arrive within server.head_timeout_s
        └── answer      an unread body is discarded as it arrives, until the client has its answer
             └── idle   until the next request, or until a new connection needs the place
"""

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

import orjson
import structlog
from aiohttp import HttpVersion11, hdrs, web
from aiohttp.http import RawRequestMessage
from multidict import CIMultiDictProxy

from proxy.api.request_body import EXPECT
from proxy.config.config import ConfigError
from proxy.config.settings import ServerSettings
from proxy.protocol.errors import BadRequest, InternalError, TooManyConnections
from proxy.telemetry.metrics import Metrics, Refusal

log = structlog.get_logger()

OWN_FILES = 64
"""Open files of a process besides connections: traces, logs, listening sockets."""
MOST = 4_096
"""Maximum of the default limit on connections."""
SPARED_S = 1.0
"""Minimum seconds that a connection must be idle before it is closed to make room: a new one is about to send a request."""
LINGER_S = 2.0
"""Seconds for which data that a client still sends after its answer is discarded. If the connection were closed at once, the client
would get a reset and lose the answer."""
LINGER_BODIES = 4
"""Maximum bytes of discarded data, in multiples of server.max_body_bytes."""
MAX_REFUSED = 32
"""Maximum number of refused connections that get a 503 at the same time. Further connections are closed without an answer."""
LOG_EVERY_S = 60.0
"""Seconds between two log lines about refused connections."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on the connections of one process."""

    connections: int
    """Maximum number of open connections."""
    head_s: float
    """Seconds to receive the head of a request."""
    linger_bytes: int
    """Maximum bytes discarded after an answer."""


def limits_of(settings: ServerSettings) -> Limits:
    """Return the limits on connections that a configuration sets for this process.

    Raises:
        ConfigError: `server.max_connections` exceeds the process' limit on open files.
    """
    room = max(1, open_files() - OWN_FILES)
    max_connections = settings.max_connections
    if max_connections is not None and max_connections > room:
        problem = (
            f"server.max_connections: {max_connections} is too large: this process may open {room + OWN_FILES} files and needs "
            f"{OWN_FILES} itself; set at most {room}, or allow more open files (ulimit -n, LimitNOFILE= of systemd)"
        )
        raise ConfigError([problem])
    connections = max_connections or min(MOST, max(1, room // 2))
    return Limits(connections, settings.head_timeout_s, LINGER_BODIES * settings.max_body_bytes)


def open_files() -> int:
    """Return the process' limit on open files."""
    try:
        import resource  # not available on Windows

        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    except (ImportError, OSError):
        return 1024
    return 2**31 if files == resource.RLIM_INFINITY else files


class Connection(web.RequestHandler):
    """A client connection. It answers unreadable requests with OpenAI errors, and hides the versions of Python and aiohttp."""

    __slots__ = ("_discard_left", "_server")

    def __init__(self, server: "Server", **options: Any) -> None:
        super().__init__(server, **options)
        self._server = server
        self._discard_left: int | None = None
        """Bytes that may still be discarded; None while data is parsed."""

    def data_received(self, data: bytes) -> None:
        if self._discard_left is None:
            if data:  # aiohttp calls this with empty data to continue with buffered data
                self._server.note_received(self)
            super().data_received(data)
            return
        self._discard_left -= len(data)
        if self._discard_left < 0:
            self.force_close()

    def discard(self, most: int) -> None:
        """Discard further data unparsed, and close the connection after `most` bytes."""
        self._discard_left = most

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        super().handle_error(request, status, exc, message)  # logs it
        fault = InternalError() if status >= 500 else BadRequest("The request is not valid HTTP.")
        response = web.Response(status=status, body=orjson.dumps(fault.body()), content_type="application/json")
        response.headers[hdrs.SERVER] = "caf"  # otherwise aiohttp sends versions: middleware does not see this response
        response.force_close()
        return response


def _no_room() -> bytes:
    fault = TooManyConnections()
    body = orjson.dumps(fault.body())
    headers = {"Content-Type": "application/json", "Content-Length": len(body), "Connection": "close"} | fault.headers
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {fault.status} Service Unavailable\r\n{head}\r\n".encode() + body


NO_ROOM = _no_room()
"""The 503 for a connection over the limit."""


class _RefusedConnection(asyncio.Protocol):
    """A connection over the limit: it gets a 503, and its data is discarded."""

    def __init__(self, others: "set[_RefusedConnection]") -> None:
        self._others = others

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)  # uvloop's transport is not a subclass of it
        if len(self._others) >= MAX_REFUSED:
            transport.abort()
            return
        self._others.add(self)
        transport.write(NO_ROOM)
        transport.write_eof()
        asyncio.get_running_loop().call_later(SPARED_S, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._others.discard(self)


Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Server(web.Server):
    """Accepts connections within a limit, refuses further ones, and closes connections that send a request too slowly."""

    def __init__(self, answer: Answer, make_request: Any, limits: Callable[[], Limits], metrics: Metrics) -> None:
        """Create a server.

        Args:
            answer: Answers a request.
            make_request: Creates a request, like aiohttp's request factory.
            limits: Returns the current limits on connections.
            metrics: Counts open and refused connections.
        """
        super().__init__(
            self._answer_whole, request_factory=self._make_request_without_expect, handler_cancellation=True
        )
        self._answer, self._make, self._limits, self._metrics = answer, make_request, limits, metrics
        self._open = 0
        self._heads: dict[web.RequestHandler, float] = {}
        """Connections without a complete request head, and the loop time since which they have been waiting; oldest first."""
        self._idle: dict[web.RequestHandler, float] = {}
        """Connections between two requests, and the loop time since which they have been idle; oldest first."""
        self._refused_connections: set[_RefusedConnection] = set()
        self._refused = Counter[Refusal]()
        """Refused connections since the last log line."""
        metrics.connections.read(lambda: self._open)

    def __call__(self) -> Connection:
        return Connection(
            self,
            loop=asyncio.get_running_loop(),
            access_log=None,
            auto_decompress=False,  # aiohttp would decompress before the key is checked
            lingering_time=LINGER_S,
        )

    def accept(self) -> asyncio.Protocol:
        """Return the protocol object for a new connection, which refuses the connection if the limit is reached."""
        if self._open < self._limits().connections or self._make_room():
            return self()
        self._count("full")
        return _RefusedConnection(self._refused_connections)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        self._open += 1
        self._heads[handler] = _now()

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self._open -= 1
        self._forget(handler)

    def note_received(self, connection: Connection) -> None:
        """Record that a client has sent data. On an idle connection, this starts a request."""
        if self._idle.pop(connection, None) is not None:
            self._heads[connection] = _now()

    async def watch(self) -> None:
        """Close connections whose request head is late, and log the number of refused connections. Runs until cancelled."""
        logged_at = -math.inf
        while True:
            limits, now = self._limits(), _now()
            while (waiting := next(iter(self._heads.items()), None)) and waiting[1] <= now - limits.head_s:
                self._drop(waiting[0], "late")
            if self._refused and now - logged_at >= LOG_EVERY_S:
                log.warning(
                    "connections refused",
                    **{str(r): n for r, n in self._refused.items()},
                    max_connections=limits.connections,
                )
                self._refused.clear()
                logged_at = now
            await asyncio.sleep(min(1.0, limits.head_s / 4))

    def _make_request_without_expect(self, message: RawRequestMessage, *parts: Any) -> web.BaseRequest:
        """Create a request without its `Expect` header, which aiohttp would answer before any middleware runs."""
        if hdrs.EXPECT not in message.headers:
            return cast(web.BaseRequest, self._make(message, *parts))
        headers = message.headers.copy()
        expected = ", ".join(headers.popall(hdrs.EXPECT))
        request = cast(web.BaseRequest, self._make(message._replace(headers=CIMultiDictProxy(headers)), *parts))
        if expected and message.version >= HttpVersion11:  # HTTP/1.0 clients know no interim answer
            request[EXPECT] = expected
        return request

    async def _answer_whole(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        assert isinstance(connection, Connection)
        self._forget(connection)
        try:
            response = await self._answer(request)
            if not request.content.at_eof():
                response.force_close()
            return response
        finally:
            if not request.content.at_eof():  # the request was refused before its body was read, or failed
                connection.discard(self._limits().linger_bytes)
            if connection.connected:
                self._idle[connection] = _now()

    def _make_room(self) -> bool:
        """Close the connection that has waited longest for a request. Connections that never sent one come first.

        Returns:
            Whether a connection was closed.
        """
        latest = _now() - SPARED_S
        for waiting in (self._heads, self._idle):
            longest = next(iter(waiting.items()), None)
            if longest is not None and longest[1] <= latest:
                self._drop(longest[0], "idle")
                return True
        return False

    def _drop(self, connection: web.RequestHandler, reason: Refusal) -> None:
        self._forget(connection)
        self._count(reason)
        if connection.transport is not None:
            connection.transport.abort()

    def _forget(self, connection: web.RequestHandler) -> None:
        self._heads.pop(connection, None)
        self._idle.pop(connection, None)

    def _count(self, reason: Refusal) -> None:
        self._metrics.refused_connection(reason)
        self._refused[reason] += 1


def _now() -> float:
    return asyncio.get_running_loop().time()

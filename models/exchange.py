"""One request to an upstream and its answer, over a connection of connections.py.

`ClientSession.post` does more: redirects, cookies, forms, bodies that are written in pieces, each with objects of its own, and a
task that writes the body. That was a quarter of what a passed-through request cost. Here the body is there, and headers differ by
a few lines from one request to the next. Of aiohttp this uses connector, protocol and parser as `ClientResponse.start` does, which
another version may change: pyproject.toml names the one that this is written for.
"""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import ClientRequest, ClientTimeout, StreamReader, hdrs
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError, RawResponseMessage
from multidict import CIMultiDictProxy
from yarl import URL

from models.connections import Connector


class Answer:
    """An upstream's answer, whose body may still be on its way. Close it: what is not read to its end is cut off then."""

    __slots__ = ("_connection", "_keep", "content", "headers", "status")

    def __init__(
        self,
        status: int,
        headers: CIMultiDictProxy[str],
        content: StreamReader,
        connection: Connection,
        keep: Callable[[Connection], None],
    ) -> None:
        self.status, self.headers, self.content, self._keep = status, headers, content, keep
        self._connection: Connection | None = connection
        content.on_eof(self._ended)

    @property
    def length(self) -> int | None:
        """Bytes of the body, if the upstream has told; of a compressed one that says nothing."""
        said = self.headers.get(hdrs.CONTENT_LENGTH)
        return int(said) if said is not None and hdrs.CONTENT_ENCODING not in self.headers else None

    @property
    def is_stream(self) -> bool:
        """Whether it comes as server-sent events."""
        return self.headers.get(hdrs.CONTENT_TYPE, "").startswith("text/event-stream")

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is None:  # the body has come to its end, and the connection may serve others
            return
        if self.content.exception() is None:  # somebody may be waiting for more
            self.content.set_exception(aiohttp.ClientConnectionError("Connection closed"))
        self._connection.close()

    def _ended(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._keep(connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Patience:
    """How long answers are waited for: one timer for all that are under way, since making one costs as much as asking."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[ResponseHandler, float] = {}
        """Until when, on the loop's clock; who began first is first."""
        self._timer: asyncio.TimerHandle | None = None

    async def answer(self, protocol: ResponseHandler) -> tuple[RawResponseMessage, StreamReader]:
        """Wait for the head of an answer.

        Raises:
            aiohttp.SocketTimeoutError: It has not come in time.
            aiohttp.ClientError, OSError: It will not come.
        """
        if self._seconds is not None:
            until = self._waiting[protocol] = self._loop.time() + self._seconds
            if self._timer is None:
                self._timer = self._loop.call_at(until, self._look)
        try:
            while True:
                message, content = await protocol.read()
                if message.code >= 200 or message.code == 101:  # 100 to 199 only announce the answer
                    return message, content
        finally:
            self._waiting.pop(protocol, None)

    def _look(self) -> None:
        now, self._timer = self._loop.time(), None
        while self._waiting:
            protocol, until = next(iter(self._waiting.items()))
            if until > now:
                self._timer = self._loop.call_at(until, self._look)
                return
            del self._waiting[protocol]
            protocol.set_exception(aiohttp.SocketTimeoutError("no answer in time"))


class Post:
    """POST to one address, again and again."""

    def __init__(
        self, session: aiohttp.ClientSession, url: URL, headers: Mapping[str, str], timeout: ClientTimeout
    ) -> None:
        """Prepare to ask.

        Args:
            session: Of `make_session`.
            headers: What every request has.
            timeout: `sock_connect`, and `sock_read` between two pieces of the answer.
        """
        assert isinstance(session.connector, Connector)
        self._connector, self._timeout = session.connector, timeout
        self._patience = Patience(timeout.sock_read)
        # Where to connect to. It is never sent: its headers are, with what aiohttp says of itself.
        self._route = ClientRequest(
            "POST", url, headers=dict(headers), loop=asyncio.get_running_loop(), session=session
        )
        fixed = {name: value for name, value in self._route.headers.items() if name != hdrs.CONTENT_LENGTH}
        self._head = f"POST {url.raw_path_qs} HTTP/1.1\r\n{_lines(fixed)}".encode()
        self._names = frozenset(name.lower() for name in fixed)

    async def send(self, body: bytes, more: Mapping[str, str]) -> Answer:
        """Send a request, and wait for the head of its answer. Nothing is tried twice.

        Args:
            more: Further headers; one that every request has stays as it is.

        Raises:
            aiohttp.ClientError, OSError: There is none.
        """
        lines = _lines({name: value for name, value in more.items() if name.lower() not in self._names}) if more else ""
        connection = await self._connector.take(self._route, self._timeout)
        try:
            protocol, transport = connection.protocol, connection.transport
            if protocol is None or transport is None:  # lost as soon as it was made
                raise aiohttp.ServerDisconnectedError
            protocol.set_response_params(read_until_eof=True)
            protocol.start_timeout()  # none: but a long answer whose end was read late has left one behind
            transport.write(b"%b%bContent-Length: %d\r\n\r\n%b" % (self._head, lines.encode(), len(body), body))
            message, content = await self._patience.answer(protocol)
            if not content.is_eof():  # the rest is awaited as long, each time
                protocol.read_timeout = self._timeout.sock_read
                protocol.start_timeout()
            return Answer(message.code, message.headers, content, connection, self._keep)
        except HttpProcessingError as error:
            connection.close()
            raise aiohttp.ClientConnectionError("what came is no HTTP") from error
        except BaseException:
            connection.close()
            raise

    def _keep(self, connection: Connection) -> None:
        self._connector.keep(self._route, connection)


def _lines(headers: Mapping[str, str]) -> str:
    """Write headers. A value that could end its line, or is no text, is left out: that cannot be meant."""
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value.isprintable())

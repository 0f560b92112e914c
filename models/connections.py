"""Connections to upstreams, and where they wait for the next request.

aiohttp's own pool takes a connection apart when it is done with and makes one anew for the next request: a twentieth of what a
passed-through request costs. Here it waits whole.
"""

import asyncio
import time
from collections import deque
from collections.abc import Coroutine
from ssl import SSLContext
from typing import Any

import aiohttp
from aiohttp import ClientRequest, ClientTimeout
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.connector import Connection

IDLE_S = 15.0
"""Seconds that a connection is kept for further requests; servers close theirs after 60 and more."""


class Connector(aiohttp.TCPConnector):
    """Makes connections, as many as there are requests, and keeps those that can be used again. Closing it closes them all."""

    def __init__(self, ssl: SSLContext | bool = True) -> None:
        """Args: ssl: which certificates are trusted; by default those that the system trusts."""
        super().__init__(limit=0, ssl=ssl)
        self._waiting: dict[ConnectionKey, deque[tuple[Connection, float]]] = {}
        """Since when each waits; the longest unused first."""
        self._sweeping: asyncio.TimerHandle | None = None

    async def take(self, route: ClientRequest, within: ClientTimeout) -> Connection:
        """Return a connection for one request: the one that was used last, else a new one.

        Raises:
            aiohttp.ClientError, OSError: There is none.
        """
        waiting = self._waiting.get(route.connection_key)
        while waiting:
            connection, since = waiting.pop()
            if time.monotonic() - since <= IDLE_S and _is_usable(connection):
                return connection
            connection.close()
        try:
            return await self.connect(route, [], within)
        except TimeoutError as error:
            raise aiohttp.ConnectionTimeoutError("no connection in time") from error

    def keep(self, route: ClientRequest, connection: Connection) -> None:
        """Take a connection back whose answer has come to its end; close it if it is of no more use."""
        if not _is_usable(connection):
            connection.close()
            return
        self._waiting.setdefault(route.connection_key, deque()).append((connection, time.monotonic()))
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(IDLE_S, self._sweep)

    def close(self, *, abort_ssl: bool = False) -> Coroutine[Any, Any, None]:
        """Close all connections, those in use as well."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        for waiting in self._waiting.values():
            for connection, _ in waiting:
                connection.close()
        self._waiting.clear()
        return super().close(abort_ssl=abort_ssl)

    def _sweep(self) -> None:
        """Close what has waited too long."""
        oldest = time.monotonic() - IDLE_S
        for waiting in self._waiting.values():
            while waiting and waiting[0][1] <= oldest:
                waiting.popleft()[0].close()
        left = any(self._waiting.values())
        self._sweeping = asyncio.get_running_loop().call_later(IDLE_S, self._sweep) if left else None


def _is_usable(connection: Connection) -> bool:
    """Tell whether it is open and silent: what has come unasked would be taken for the answer to the next request."""
    protocol = connection.protocol
    return protocol is not None and protocol.is_connected() and not protocol.should_close

"""Serves a web application on an address for the duration of a `with` block."""

import asyncio
import errno
import os
import selectors
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager

from aiohttp import web

from proxy.config.config import Config, ConfigError
from proxy.config.settings import MemorySettings
from proxy.traces.backend import trace_detail

GRACE_S = 10.0
"""Seconds that open turns get to finish when the proxy stops."""


def isolated_config(config: Config) -> Config:
    """Return a copy of a configuration for a private proxy in this process, on a free loopback port and without keys.

    The private proxy does not use the Redis and the audit log of the configured proxy. Its traces contain texts only if those of
    the configured proxy do.
    """
    server = config.server.model_copy(update={"host": "127.0.0.1", "port": 0, "cors_origins": []})
    privacy = config.privacy.model_copy(update={"store": trace_detail(config)})
    return config.model_copy(
        update={"server": server, "keys": None, "memory": MemorySettings(), "audit": None, "privacy": privacy}
    )


@asynccontextmanager
async def listening(app: web.Application, host: str, port: int, *, shared: bool = False) -> AsyncIterator[str]:
    """Serve the application and yield its URL, such as `http://127.0.0.1:8080`. Port 0 selects a free port.

    Args:
        app: The application.
        host: The host name or IP address to listen on.
        port: The port.
        shared: Whether other processes listen on the same port.

    Raises:
        ConfigError: The address cannot be used.
    """
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=GRACE_S)
    try:
        await runner.setup()
        assert runner.server is not None
        listener = await listen(runner.server, host, port, shared=shared)
        try:
            yield address_of(listener, host)
        finally:
            listener.close()
    finally:
        await runner.cleanup()


async def listen(
    accept: Callable[[], asyncio.BaseProtocol], host: str, port: int, *, shared: bool = False
) -> asyncio.Server:
    """Listen on an address.

    Args:
        accept: Creates the protocol object of a new connection.
        host: The host name or IP address to listen on.
        port: The port; 0 selects a free port.
        shared: Whether other processes listen on the same port.

    Raises:
        ConfigError: The address cannot be used.
    """
    try:
        loop = asyncio.get_running_loop()
        return await loop.create_server(accept, host, port, backlog=1024, reuse_port=shared or None)
    except (OSError, UnicodeError) as error:  # UnicodeError: the IDNA codec cannot encode the host name
        raise ConfigError([_refusal(error, host, port)]) from error


def address_of(listener: asyncio.Server, host: str) -> str:
    """Return the URL of a listener."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.sockets[0].getsockname()[1]}"


def has_waiting(listener: asyncio.Server) -> bool:
    """Return whether the listener has connections that are not accepted yet."""
    with selectors.DefaultSelector() as selector:
        for one in listener.sockets:
            selector.register(one, selectors.EVENT_READ)
        return bool(selector.select(0))


@contextmanager
def listening_beside(app: web.Application) -> Iterator[str]:
    """Serve the application in a separate thread on a free loopback port, and yield its URL. For programs that block.

    Raises:
        Exception: The application failed to start.
    """
    ready: Future[str] = Future()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        try:
            async with listening(app, "127.0.0.1", 0) as address:
                ready.set_result(address)
                await stop.wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, name="proxy", daemon=True)
    thread.start()
    try:
        yield ready.result()
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(stop.set)
        thread.join(GRACE_S + 5)


def _refusal(error: OSError | UnicodeError, host: str, port: int) -> str:
    code = getattr(error, "errno", None)
    if code == errno.EADDRINUSE:
        return f"port {port} on {host} is in use; choose another with --port or CAF_PORT, or 0 for any free port"
    if code == errno.EACCES:
        return f"port {port} on {host} needs more permissions than this user has; choose a port above 1023 with --port"
    if code == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror | UnicodeError):
        return f"{host!r} is not an address of this machine; use --host 127.0.0.1, or --host 0.0.0.0 for all addresses"
    return f"cannot listen on {host}:{port}: {os.strerror(code) if code else error}"

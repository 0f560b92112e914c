"""An OpenAI server, and proxies in front of others of its kind, in a thread of their own, so that any client can ask them."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from proxy.app import create_app
from proxy.auth.keys import create, save
from proxy.config.config import parse_config
from tests.clients.calls import EMBEDDER
from tests.proxy.conftest import bot_settings, write_sections
from tests.proxy.openai_upstream import ASKED, server

Body = dict[str, Any]
ROOT = Path(__file__).parents[2]
Places = dict[str, "Place"]
DIRECT, GUARDED, OBSERVED, PASSTHROUGH = "direct", "guarded", "observed", "passthrough"
CHATBOTS: dict[str, Body] = {
    GUARDED: bot_settings(trusted_tools=["get_weather"]),
    OBSERVED: bot_settings(streaming="observe", trusted_tools=["get_weather"]),
    PASSTHROUGH: {"kind": "passthrough", "model": "bot"},
}
OPENAI_KEY, PROXYS_KEY = "sk-of-the-client", "sk-of-the-proxy"


UNLIKE = [(name, OBSERVED) for name in ("chat_stream_two_choices", "chat_breaks_off", "responses_breaks_off")]
"""Choices that stream at once come in another order; and what breaks off before a word has left is a 502, not half a stream."""


def cases(names: Iterable[str]) -> list[Any]:
    """Return each call with each kind of chatbot."""
    return [pytest.param(name, kind) for name in names for kind in CHATBOTS if (name, kind) not in UNLIKE]


class Place:
    """Where a client asks: an address and the key for it."""

    def __init__(self, url: str, key: str, requests: list[Body]) -> None:
        self.url, self.key = url, key
        self.requests = requests
        """What the model was asked."""

    def asked(self, made: Callable[[], Any]) -> tuple[Any, list[Body]]:
        """Do something; return what comes of it, and what the model was asked meanwhile."""
        self.requests.clear()
        return made(), list(self.requests)


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Place]]:
    """The server itself, and a proxy for each kind of chatbot."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLIENTS_TEST_KEY", PROXYS_KEY)
        with Thread() as thread:
            yield thread.run(opened(tmp_path_factory.mktemp("clients"), thread.stack))


@dataclass(frozen=True)
class Run:
    """All calls of a client, made at one place."""

    saw: dict[str, Any]
    asked: list[Body]
    """What the model was asked."""


class Thread:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self.stack = AsyncExitStack()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def __enter__(self) -> "Thread":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.run(self.stack.aclose())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


async def opened(folder: Path, stack: AsyncExitStack) -> dict[str, Place]:
    write_sections(folder / "kb")
    direct = server(commands=False, key=OPENAI_KEY)
    found = {DIRECT: Place(await serve(direct, stack), OPENAI_KEY, direct[ASKED])}
    for kind, bot in CHATBOTS.items():
        model = server(commands=kind != PASSTHROUGH, key=PROXYS_KEY)
        alias = {
            "engine": "openai", "base_url": await serve(model, stack), "api_key_env": "CLIENTS_TEST_KEY", "max_attempts": 1,
        }  # fmt: skip
        key = create("ada")
        save([key.record], folder / f"{kind}.json")
        config = {
            "models": {name: alias | {"model": name} for name in ("bot", EMBEDDER)},
            "chatbots": {"bot": bot | {"model": "bot"}},
            "embeddings": EMBEDDER,
            "keys": {"file": f"{kind}.json"},
            "privacy": {"store": "none"},
            # A stream begins before the model has failed, as it does where models are slow.
            "server": {"header_wait_s": 0.2},
        }
        app = create_app(parse_config(config, folder / "config.yaml"))
        found[kind] = Place(await serve(app, stack), key.text, model[ASKED])
    return found


async def serve(app: web.Application, stack: AsyncExitStack) -> str:
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    return f"http://127.0.0.1:{runner.addresses[0][1]}/v1"

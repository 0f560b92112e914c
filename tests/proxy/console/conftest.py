"""A console on port 0 in a thread of its own, with turns of the shipped chatbot, and a browser that looks at it."""

import asyncio
import json
import os
import shutil
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from proxy.app import create_app
from proxy.config.config import parse_config
from proxy.traces.search import read_turn

ROOT = Path(__file__).parents[3]
CHROMIUM = shutil.which("chromium")
AXE = ROOT / "tests/clients/node_modules/axe-core/axe.min.js"
SHOTS = os.environ.get("CAF_SCREENSHOTS")
"""A folder for screenshots, to be looked at; None: none are taken."""
SIZES = {"wide": (1280, 900), "phone": (390, 844)}
LOOKS = [(size, scheme) for size in SIZES for scheme in ("light", "dark")]
"""Every screen is looked at in each of these."""
HAS_AUTOFOCUS = "() => !document.querySelector('[autofocus]') || document.activeElement !== document.body"
"""JavaScript: whether an autofocus field has the focus. It gets it some frames after `load`; keys pressed earlier are lost."""
Body = dict[str, Any]


@dataclass(frozen=True)
class Console:
    """A running proxy with a console."""

    url: str
    folder: Path
    app: web.Application

    def say(self, text: str, *, key: str | None = None, history: list[Body] = [], **fields: Any) -> Body:  # noqa: B006
        """Send a message to a chatbot; return the completion."""
        messages = [*history, {"role": "user", "content": text}]
        headers = {"Content-Type": "application/json", **fields.pop("headers", {})}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        body = json.dumps({"model": "schizophrenia", "messages": messages, **fields}).encode()
        request = urllib.request.Request(f"{self.url}/v1/chat/completions", body, headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            answer: Body = json.load(response)
            return answer

    def say_stored(self, *texts: str, **fields: Any) -> None:
        """Send messages, and wait until the traces of their turns are written."""
        turns = [self.say(text, **fields)["caf"]["turn_id"] for text in texts]
        until = time.monotonic() + 10
        while any(read_turn(self.folder / "traces.db", turn) is None for turn in turns):
            assert time.monotonic() < until
            time.sleep(0.02)


def console_config(folder: Path, **changes: Any) -> Body:
    """Return the shipped configuration with its traces in a folder."""
    data: Body = yaml.safe_load((ROOT / "config.yaml").read_text())
    data["privacy"] = {"store": "full", "path": str(folder / "traces.db")}
    data["server"] = {"port": 0}
    bot = data["chatbots"]["schizophrenia"]
    bot["role"], bot["knowledge_base"] = str(ROOT / bot["role"]), str(ROOT / bot["knowledge_base"])
    return {**data, **changes}


@contextmanager
def serve_console(folder: Path, config: Body) -> Iterator[Console]:
    """Serve a configuration within the block, in a thread; its file stands in the folder."""
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    loop, ready, ending = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    made: dict[str, Any] = {}

    async def run() -> None:
        runner = web.AppRunner(create_app(parse_config(config, folder / "config.yaml")), handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        made.update(app=runner.app, port=runner.addresses[0][1])
        ready.set()
        await ending.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield Console(f"http://127.0.0.1:{made['port']}", folder, made["app"])
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join(30)
        loop.close()


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console without keys."""
    folder = tmp_path_factory.mktemp("console")
    with serve_console(folder, console_config(folder)) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed; apt-get install chromium")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=["--disable-background-networking"])
        yield running
        running.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open an address in a wide or narrow page; it may ask nobody else and make no error."""
    contexts, errors, asked = [], [], []

    def open_one(url: str, size: str = "wide", **options: Any) -> Any:
        width, height = SIZES[size]
        context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(url)
        page.wait_for_function(HAS_AUTOFOCUS)
        return page

    open_one.errors = errors  # type: ignore[attr-defined]  # for tests that provoke one
    yield open_one
    for context in contexts:
        context.close()
    assert errors == []
    assert [url for url in asked if not url.startswith(("http://127.0.0.1:", "blob:", "data:"))] == []


def check_looks(page: Any, name: str) -> None:
    """Check that a page has no fault that axe-core finds and no horizontal scroll, in each size and scheme.

    The styles follow both at once, so the page is not loaded again for each.
    """
    if not AXE.exists():
        pytest.skip("axe-core is not installed; make clients")
    page.evaluate(AXE.read_text())  # not as a script element: the page allows only its own
    for size, scheme in LOOKS:
        width, height = SIZES[size]
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        look = f"{name}-{size}-{scheme}"
        if SHOTS:
            page.screenshot(path=Path(SHOTS) / f"{look}.png", full_page=True)
        too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert too_wide <= 0, f"{look} scrolls sideways by {too_wide} px"
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        faults = [
            (one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["failureSummary"]) for one in found["violations"]
        ]
        assert faults == [], look

"""The command as a process of its own, and a small server that speaks the protocol of the proxy."""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-W", "error", "-m", "cli"]


@dataclass
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str


def clean_environment() -> dict[str, str]:
    """Return the variables of a process that must not see what is set for this one."""
    kept = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "CAF_TEST_KEY")}
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


@pytest.fixture
def environment() -> dict[str, str]:
    return clean_environment()


@pytest.fixture
def caf(tmp_path: Path, environment: dict[str, str]) -> Callable[..., Ended]:
    """Run the command to its end, in an empty folder; no output may hold a traceback or an escape sequence."""

    def run(*arguments: object, stdin: str = "", env: dict[str, str] | None = None) -> Ended:
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)],
            input=stdin.encode(),
            capture_output=True,
            cwd=tmp_path,
            env=environment | (env or {}),
            timeout=60,
        )
        return _ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Run the command like `caf` in this process: 0.1 s instead of one, where nothing hangs on the process."""
    from cli.main import app

    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, stdin: str = "", env: dict[str, str] | None = None) -> Ended:
        done = CliRunner().invoke(app, [*map(str, arguments)], input=stdin, env=env, prog_name="caf")
        assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
        return _ended(done.exit_code, done.stdout, done.stderr)

    return run


def _ended(code: int, out: str, err: str) -> Ended:
    assert "Traceback" not in err, err
    assert not re.search(r"\x1b", out + err), "escape sequences in a pipe"
    return Ended(code, out, err)


@dataclass
class Played:
    """A server that plays the proxy: it notes what it is asked and says what it is told to."""

    address: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    cancelled: threading.Event = field(default_factory=threading.Event)
    expose: bool = True

    def application(self) -> web.Application:
        app = web.Application()
        app.add_routes([web.get("/v1/models", self._models), web.post("/v1/chat/completions", self._chat)])
        return app

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "info"}, {"id": "other"}]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        question = body["messages"][-1]["content"]
        if question == "refuse":
            error = {"message": "That is too much.", "type": "x", "param": None, "code": "y"}
            return web.json_response({"error": error}, status=429)
        if question == "html":
            return web.Response(status=502, text="<h1>Bad gateway</h1>")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            async for event in self._events(question):
                await response.write(event)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return response

    async def _events(self, question: str) -> AsyncIterator[bytes]:
        yield b": keep-alive\n\n"
        yield _event({"delta": {"role": "assistant", "content": ""}})
        yield _event({"delta": {"content": f"You said {question!r}. " if question != "evil" else "\x1b[31mred\x07 "}})
        if question == "wait":
            await asyncio.sleep(60)
        if question == "break":
            return
        if question == "fail":
            yield b'data: {"error": {"message": "The model is gone.", "type": "x", "param": null, "code": null}}\n\n'
            return
        if question == "nonsense":
            yield b"data: {{{\n\n"
        if question == "sorry":
            yield _event({"delta": {"refusal": "I cannot. "}})
        yield _event({"delta": {"content": "And more."}})
        caf = {
            "turn_id": "0123abcd",
            "conversation_id": "c1",
            "outcome": "warned",
            "citations": [{"id": "causes", "title": "Causes"}],
            "warnings": [{"rule": "role", "message": "You stepped outside your role."}],
            "judges": [],
            "calls": 1,
            "ms": 3.0,
        }
        yield _event({"delta": {}, "finish_reason": "stop"}, **({"caf": caf} if self.expose else {}))
        yield b"data: [DONE]\n\n"


def _event(choice: dict[str, Any], **more: Any) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, **choice}], **more}).encode() + b"\n\n"


@pytest.fixture
def played() -> Iterator[Played]:
    from proxy.serving.listening import listening_beside

    server = Played()
    with listening_beside(server.application()) as address:
        server.address = address
        yield server

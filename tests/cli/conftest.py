"""The command as a process of its own, and a small server that speaks the protocol of the proxy."""

import asyncio
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
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


Caf = Callable[..., Ended]
"""Runs the command with arguments."""


def clean_environment() -> dict[str, str]:
    """Return the variables of a process that must not see what is set for this one."""
    kept = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "CAF_TEST_KEY")}
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def shipped_config(**changes: Any) -> dict[str, Any]:
    """Return the shipped configuration, to be written anywhere, with other settings."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    for bot in config["chatbots"].values():
        bot |= {name: str(ROOT / bot[name]) for name in ("role", "knowledge_base")}
    return config | changes


@pytest.fixture
def environment() -> dict[str, str]:
    return clean_environment()


@pytest.fixture
def caf(tmp_path: Path, environment: dict[str, str]) -> Caf:
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
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Caf:
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


class Serving:
    """A `caf serve` that runs."""

    def __init__(self, cwd: Path, environment: dict[str, str], *options: str, under: Sequence[str] = ()) -> None:
        self.process = subprocess.Popen(
            [*under, *COMMAND, "serve", "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env=environment,
        )
        assert self.process.stdout is not None
        self.said: list[str] = []
        for line in self.process.stdout:
            self.said.append(line.rstrip("\n"))
            if line.startswith("Ctrl-C"):
                break
        assert self.said, self.process.stderr and self.process.stderr.read()
        self.address = self.said[0].removeprefix("CAF serves ")

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"{self.address}{path}", timeout=10) as response:
            return response.read().decode()

    def end(self, number: signal.Signals) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out, err


Serve = Callable[..., Serving]
"""Starts one with a configuration."""


@pytest.fixture
def serving(tmp_path: Path, environment: dict[str, str]) -> Iterator[Serve]:
    started: list[Serving] = []

    def start(*options: str, config: str, under: Sequence[str] = ()) -> Serving:
        (tmp_path / "config.yaml").write_text(config)
        started.append(Serving(tmp_path, environment, *options, under=under))
        return started[-1]

    yield start
    for one in started:
        with one.process:  # closes its pipes, and waits
            if one.process.poll() is None:
                one.process.kill()


class Terminal:
    """A command with somebody at the keyboard."""

    def __init__(self, folder: Path, environment: dict[str, str], *arguments: object) -> None:
        self._terminal, inner = pty.openpty()
        # Whoever runs the tests in the background ignores SIGINT, and so would the command.
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)], stdin=inner, stdout=inner, stderr=inner, cwd=folder,
            env=environment | {"TERM": "xterm"}, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        os.close(inner)
        self.shown = self.before = ""
        """All that is shown, and what came between the last two texts that were waited for."""
        self._read = 0

    def wait_for(self, text: str) -> None:
        """Read until a text is shown, behind the one that was waited for before."""
        end = time.monotonic() + 30
        while (found := self.shown.find(text, self._read)) < 0:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} is not shown: {self.shown}"
            self.shown += os.read(self._terminal, 65536).decode()
        self.before, self._read = self.shown[self._read : found], found + len(text)

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        time.sleep(0.5)  # until it reads: a signal between prompt and reading is noticed only with the next key
        self.process.send_signal(signal.SIGINT)

    def end(self) -> int:
        return self.process.wait(30)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._terminal)


At = Callable[..., Terminal]
"""Starts a command at a terminal."""


@pytest.fixture
def terminal(tmp_path: Path, environment: dict[str, str]) -> Iterator[At]:
    """Start the command at a terminal, in an empty folder."""
    with ExitStack() as ends:

        def start(*arguments: object) -> Terminal:
            one = Terminal(tmp_path, environment, *arguments)
            ends.callback(one.close)
            return one

        yield start

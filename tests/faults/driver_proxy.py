"""`caf serve` as a process of its own, a client for it, and its books: log, metrics, traces and audit log."""

import asyncio
import json
import os
import re
import signal
import sqlite3
import subprocess
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from proxy.audit.folder import chain_files, verify
from proxy.traces.sqlite import decode
from tests.cli.conftest import COMMAND, clean_environment
from tests.faults.driver_told import Metrics, Noted, Reply, Told, agree
from tests.faults.driver_upstream import HELLO, NEVER, REWRITTEN, Body

CHAT = "/v1/chat/completions"
RELAYED = {429: "UpstreamBusy"}
"""What the audit log calls an error that was relayed as it is; the log has its status alone."""
SAID = [text.partition("\n")[2] for text in (HELLO, REWRITTEN)]
PATIENCE_S = 60.0
"""How long anything may take that a test waits for: it fails then, and never passes sooner."""


async def until(holds: Callable[[], Any]) -> None:
    """Wait for something that comes about elsewhere; a coroutine is awaited each time."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = holds()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return
            await asyncio.sleep(0.01)


def request(chatbot: str, *said: str, stream: bool = False) -> Body:
    """Return the body of a chat request; the texts alternate, from the user on."""
    messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)]
    return {"model": chatbot, "messages": messages, **({"stream": True} if stream else {})}


class Proxy:
    """A `caf serve` whose configuration stands in the folder."""

    def __init__(self, folder: Path, workers: int = 1, variables: Mapping[str, str] = {}) -> None:
        self.folder = folder
        self.url, self.port = "", 0
        self.key = ""
        """What its metrics are asked for with, where it has keys."""
        self.session: aiohttp.ClientSession | None = None
        """What requests are sent with; None: one for each, since the proxy of a module outlives every event loop."""
        self.said: list[str] = []
        """What it writes to its standard error, line by line."""
        self.log: list[Body] = []
        """The same as data; of a line that is no JSON, it is the event."""
        command = [*COMMAND, "serve", "--port", "0", "--workers", str(workers), "--log-level", "info"]
        self.process = subprocess.Popen(
            command, cwd=folder, env=clean_environment() | variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            encoding="utf-8", errors="replace",
        )  # fmt: skip
        # Through a pipe and not into a file: a test of full disks forbids the process to write any.
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def greeted(self) -> None:
        """Wait until it serves."""
        assert self.process.stdout is not None
        while not (line := self.process.stdout.readline()).startswith("Ctrl-C"):
            if not line:
                self._reading.join(PATIENCE_S)
            assert line, "".join(self.said)
            if found := re.match(r"CAF serves (http://\S+:(\d+))/v1", line):
                self.url, self.port = found[1], int(found[2])

    def pids(self) -> set[int]:
        """Return the process ids of the workers."""
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        return {int(pid) for pid in listed.stdout.split()}

    def listeners(self) -> int:
        """Return how many processes listen on the port."""
        sockets = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
        return sum(one[1].endswith(f":{self.port:04X}") and one[3] == "0A" for one in sockets)

    # What it is asked

    async def post(
        self, chatbot: str, *said: str, key: str = "", conversation: str = "", stream: bool = False
    ) -> Reply:
        """Ask, whatever else goes on; the texts alternate, from the user on."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        if conversation:
            headers["X-Conversation-Id"] = conversation
        asked = request(chatbot, *said, stream=stream)
        async with (
            self._session() as session,
            session.post(self.url + CHAT, json=asked, headers=headers) as response,
        ):
            return Reply(response.status, response.headers, await response.read())

    async def ask(self, chatbot: str, *said: str, conversation: str = "", stream: bool = False) -> Told:
        """Ask alone, and return the reply with what it has left in the books, which have to agree with it."""
        noted = Noted()
        async with self.noting(noted):
            reply = await self.post(chatbot, *said, conversation=conversation, stream=stream)
        told = Told(reply.status, reply.headers, reply.raw, noted.counted, noted.lines)
        agree(told)
        return told

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[aiohttp.ClientSession]:
        if self.session is not None:
            yield self.session
            return
        async with aiohttp.ClientSession() as one:
            yield one

    # What it says of it

    @asynccontextmanager
    async def noting(self, noted: Noted, requests: int = 1) -> AsyncIterator[None]:
        """Note what the books get of the chat requests within the block, when all of them have ended."""
        first, before = len(self.log), await self.metrics()
        yield

        def lines() -> list[Body]:
            noted.lines = [one for one in self.log[first:] if one["event"] == "request" and one["path"] == CHAT]
            return noted.lines

        await until(lambda: len(lines()) >= requests)
        noted.counted = (await self.metrics()).since(before)
        assert len(lines()) == requests, noted.lines
        self.silent()

    async def metrics(self) -> Metrics:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        async with self._session() as session, session.get(f"{self.url}/metrics", headers=headers) as response:
            return Metrics.parse(await response.text())

    async def count(self, name: str, **labels: str) -> float:
        """Return a metric, summed over the labels that are not given."""
        return (await self.metrics()).total(name, **labels)

    async def counted(self, name: str, least: float = 1, **labels: str) -> float:
        """Wait until a metric is as high."""
        value = 0.0

        async def reached() -> bool:
            nonlocal value
            value = await self.count(name, **labels)
            return value >= least

        await until(reached)
        return value

    def lines(self, event: str | None = None, **fields: object) -> list[Body]:
        """Return the log lines of an event, or of any, that have these fields."""
        return [line for line in list(self.log) if event in (None, line["event"]) and fields.items() <= line.items()]

    async def told(self, event: str | None = None, **fields: object) -> Body:
        """Wait for a log line and return the first one."""
        await until(lambda: self.lines(event, **fields))
        return self.lines(event, **fields)[0]

    def silent(self) -> None:
        """Check that the log holds no text of anybody and no fault of the proxy's own."""
        raw = "".join(self.said)
        for words in (*NEVER, *SAID, "Traceback", "Fatal Python error", '"frames"', "never retrieved"):
            assert words not in raw, raw[max(0, raw.find(words) - 500) :][:2000]

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            try:
                self.log.append(json.loads(line))
            except ValueError:  # of the process that starts the workers
                self.log.append({"event": line.rstrip("\n")})

    # Its end

    def end(self, *, told: bool = False) -> None:
        """Stop it gently, and read its log to the end.

        Args:
            told: It has got the signal already; a second one would not let it end in peace.
        """
        if not told:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_S) == 0
        self._reading.join(PATIENCE_S)
        assert not self._reading.is_alive(), "a worker has outlived it"
        self.silent()

    def compare(self) -> None:
        """Check that every request stands in log, traces and audit log, with one outcome. Only after `end` are they whole."""
        assert verify(self.folder / "audit").faults == []
        turns = [line for line in self.log if "turn_id" in line and "outcome" in line]
        logged = {line["turn_id"]: line["outcome"] for line in turns}
        audit = self.audit()
        audited = {record["turn"]: record for record in audit if record["filter"] != "passthrough"}
        traced = {one["turn_id"]: None if one["error"] else one["outcome"] for one in self.traces()}
        assert {turn: record["outcome"] for turn, record in audited.items()} == logged
        assert traced == logged
        left = {line["turn_id"] for line in turns if line["status"] == 499 and line["outcome"] is None}
        assert {turn for turn, record in audited.items() if record["error"] == "cancelled"} == left
        forwarded = [line for line in self.lines("request", path=CHAT) if "chatbot" in line and "turn_id" not in line]
        errors = Counter(
            line.get("error") or RELAYED.get(line["status"]) for line in forwarded if line["status"] != 499
        )
        passed = Counter(record["error"] for record in audit if record["filter"] == "passthrough")
        gone = passed - errors
        assert passed - gone == errors
        assert gone.keys() <= {"cancelled", None}  # None: it had got all
        assert gone.total() == sum(line["status"] == 499 for line in forwarded)

    def audit(self) -> list[Body]:
        """Return the audit log's records of turns that are whole."""
        raw = b"".join(path.read_bytes() for path in chain_files(self.folder / "audit"))
        records = [json.loads(line) for line in raw.splitlines(keepends=True) if line.endswith(b"\n")]
        return [record for record in records if record["event"] == "turn"]

    def endings(self) -> list[str]:
        """Return how the chains of the audit log end, the oldest first."""
        return [chain.ending for chain in verify(self.folder / "audit").chains]

    def traces(self) -> list[Body]:
        with closing(sqlite3.connect(self.folder / "traces.db")) as store:
            return [decode(body) for (body,) in store.execute("select body from turns")]

    def kill(self) -> None:
        """Leave nothing behind, whatever happened."""
        if self.process.poll() is None:
            workers = self.pids()
            self.process.kill()
            for pid in workers:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
        self._reading.join(PATIENCE_S)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


@contextmanager
def running(folder: Path, workers: int = 1, variables: Mapping[str, str] = {}) -> Iterator[Proxy]:
    """Serve what is configured in a folder until the block is left."""
    one = Proxy(folder, workers, variables)
    try:
        one.greeted()
        yield one
    finally:
        one.kill()


@asynccontextmanager
async def serving(
    folder: Path, settings: Body, variables: Mapping[str, str] = {}, *, workers: int = 1
) -> AsyncIterator[Proxy]:
    """Serve a configuration from a folder until the block is left, for one event loop."""
    await asyncio.to_thread((folder / "config.yaml").write_text, yaml.safe_dump(settings))
    with running(folder, workers, variables) as proxy:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            proxy.session = session
            if workers > 1:  # the port is there before they are
                await until(lambda: _answers(proxy, 8 * workers))
            yield proxy


async def _answers(proxy: Proxy, times: int) -> bool:
    """Return whether that many new connections in a row are answered: all workers listen, then, as far as one can tell."""
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
            for _ in range(times):
                async with session.get(f"{proxy.url}/healthz") as response:
                    assert response.status == 200
    except aiohttp.ClientError:
        return False
    return True


def memory_peak(pid: int) -> int:
    """Return the most memory that a process has ever used, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) * 1024

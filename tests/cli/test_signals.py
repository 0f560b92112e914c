"""SIGTERM and SIGHUP while `caf serve` is being asked: nothing that was taken on is lost."""

import asyncio
import json
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.cli.conftest import Serve, Serving

ROLE = "role: Answers questions about sleep.\n    refiner: null\n    emergency: {contact: Call 112.}"


def config(reply: str, delay_s: float = 0.0, more: str = "", **server: Any) -> str:
    """Write a configuration whose chatbot says the reply after a while."""
    return (
        f"server: {json.dumps(server)}\n"
        f"models: {{m: {{engine: scripted, script: [{{delay_s: {delay_s}, reply: '{reply}'}}]}}}}\n"
        f"chatbots:\n  bot:\n    model: m\n    {ROLE}\n"
        f"    judges: [{{name: role, stages: [local]}}]\n{more}"
        f"privacy: {{path: traces.db, store: full}}\n"
    )


class Client:
    """A `caf serve` that runs, and a client for it."""

    def __init__(self, folder: Path, proxy: Serving) -> None:
        self.folder, self.process, self.address = folder, proxy.process, proxy.address
        self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def ask(self, *said: str, session: aiohttp.ClientSession | None = None, **more: Any) -> tuple[int, str]:
        """Return status and reply; 0 for a connection that was refused or closed without an answer."""
        messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)]
        body = {"model": "bot", "messages": messages, **more}
        try:
            async with (session or self.session).post(f"{self.address}/chat/completions", json=body) as response:
                data = await response.json()
                return response.status, data["choices"][0]["message"]["content"] if "choices" in data else str(data)
        except (aiohttp.ClientError, ConnectionError) as error:
            return 0, type(error).__name__

    def write(self, text: str) -> None:
        (self.folder / "config.yaml").write_text(text)

    async def reload(self, *told: str) -> str:
        """Send SIGHUP, and return the log line that says what came of it."""
        self.process.send_signal(signal.SIGHUP)
        async with asyncio.timeout(20):
            while True:
                line = await asyncio.to_thread(self.process.stderr.readline)
                if not line or any(word in line for word in ("reloaded", "refused", *told)):
                    return line

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return await asyncio.to_thread(self.process.wait, 30)

    def traces(self) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(self.folder / "traces.db")) as store:
            tables = [name for (name,) in store.execute("select name from sqlite_master where type = 'table'")]
            assert "turns" in tables, tables
            columns = [row[1] for row in store.execute("pragma table_info(turns)")]
            return [dict(zip(columns, row, strict=True)) for row in store.execute("select * from turns")]


Start = Callable[..., Awaitable[Client]]


@pytest.fixture
async def serve(tmp_path: Path, serving: Serve) -> AsyncIterator[Start]:
    async with AsyncExitStack() as ends:

        async def start(text: str) -> Client:
            one = Client(tmp_path, await asyncio.to_thread(serving, "--log-level", "warning", config=text))
            ends.push_async_callback(one.session.close)
            return one

        yield start


async def test_sigterm_under_load_finishes_what_was_taken_on(serve: Start) -> None:
    """Every open turn is answered, whoever comes later is refused, and each turn that was answered has its trace."""
    proxy = await serve(config("Here I am.", 0.5))
    answers: list[tuple[int, str]] = []

    async def client(number: int) -> None:
        while not answers or answers[-1][0]:
            answers.append(await proxy.ask(f"Question {number}"))

    clients = [asyncio.create_task(client(n)) for n in range(24)]
    await asyncio.sleep(1.2)
    ending = asyncio.create_task(proxy.end())
    await asyncio.sleep(0.1)
    assert proxy.process.poll() is None
    with pytest.raises(ConnectionError):
        await asyncio.open_connection("127.0.0.1", int(proxy.address.split(":")[2].split("/")[0]))
    assert await ending == 0
    await asyncio.gather(*clients)
    answered = [reply for status, reply in answers if status == 200]
    assert len(answered) >= 48
    assert set(answered) == {"Here I am."}
    # Whoever got no answer has not been taken on: every turn that began has its reply.
    traces = proxy.traces()
    assert len(traces) == len(answered)
    assert not [trace for trace in traces if "cancelled" in str(trace.values())]


async def test_who_has_connected_before_sigterm_is_answered(serve: Start) -> None:
    """Also when the process had no time to accept the connection: the kernel has told the client that it has one."""
    proxy = await serve(config("Here I am.", 0.02))
    host, port = "127.0.0.1", int(proxy.address.split(":")[2].split("/")[0])
    body = json.dumps({"model": "bot", "messages": [{"role": "user", "content": "Hi"}]})
    request = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    proxy.process.send_signal(signal.SIGSTOP)
    links = [await asyncio.open_connection(host, port) for _ in range(50)]
    for _, writer in links:
        writer.write(request)
    proxy.process.send_signal(signal.SIGTERM)
    proxy.process.send_signal(signal.SIGCONT)
    async with asyncio.timeout(20):
        answers = await asyncio.gather(*[reader.read() for reader, _ in links], return_exceptions=True)
    assert [
        str(answer)[:40] for answer in answers if b"Here I am." not in (answer if isinstance(answer, bytes) else b"")
    ] == []
    assert await asyncio.to_thread(proxy.process.wait, 30) == 0
    for _, writer in links:
        writer.close()


async def test_open_turns_end_though_nobody_reads_what_it_says(serve: Start) -> None:
    """With a log collector that is gone, too, the code is 0."""
    proxy = await serve(config("Here I am.", 2))
    proxy.process.stdout.close()
    asking = asyncio.create_task(proxy.ask("Hi"))
    await asyncio.sleep(0.5)
    assert await proxy.end() == 0
    assert await asking == (200, "Here I am.")


async def test_who_is_answered_while_it_stops_is_told_not_to_come_again(serve: Start) -> None:
    """So a client that keeps connections does not send its next request into one that is about to be closed."""
    proxy = await serve(config("Here I am.", 1.0))
    body = {"model": "bot", "messages": [{"role": "user", "content": "Hi"}]}
    asking = asyncio.create_task(proxy.session.post(f"{proxy.address}/chat/completions", json=body))
    await asyncio.sleep(0.4)
    ending = asyncio.create_task(proxy.end())
    response = await asking
    assert (response.status, response.headers["Connection"]) == (200, "close")
    assert await ending == 0


async def test_a_turn_longer_than_the_grace_period_is_cancelled(serve: Start) -> None:
    """The proxy ends in time with code 0, keeps nothing of the turn, and its trace says so."""
    proxy = await serve(config("Too late.", 60, grace_s=0.5))
    asking = asyncio.create_task(proxy.ask("Hi"))
    await asyncio.sleep(0.5)
    async with asyncio.timeout(8):
        assert await proxy.end() == 0
    assert (await asking)[0] == 0
    (trace,) = proxy.traces()
    assert "cancelled" in str(trace.values())


async def test_a_good_configuration_is_served_on_the_same_connection(serve: Start) -> None:
    """Open turns finish on the old one, later requests get the new one, and no connection is closed between them."""
    proxy = await serve(config("Old.", 1.0))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as one:
        assert await proxy.ask("Hi", session=one) == (200, "Old.")
        open_turn = asyncio.create_task(proxy.ask("Hi"))
        await asyncio.sleep(0.3)
        proxy.write(config("New."))
        assert "configuration reloaded" in await proxy.reload()
        assert await proxy.ask("Hi", session=one) == (200, "New.")
    assert not open_turn.done()
    assert await open_turn == (200, "Old.")
    assert await proxy.end() == 0
    assert len(proxy.traces()) == 3


async def test_conversations_go_on_across_a_reload(serve: Start) -> None:
    """A turn on the new configuration finds the state that one on the old has left, also one that ended after it."""
    proxy = await serve(config("Old.", 0.6))
    first = asyncio.create_task(proxy.ask("Hi"))
    await asyncio.sleep(0.2)
    proxy.write(config("New."))
    await proxy.reload()
    assert await first == (200, "Old.")
    assert await proxy.ask("Hi", "Old.", "And?") == (200, "New.")
    assert await proxy.end() == 0
    assert len({trace["conversation_id"] for trace in proxy.traces()}) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("models: [", "not valid YAML"),
        ("models: {m: {engine: embedded}}\nchatbots: {bot: {kind: passthrough, model: x}}\n", "no model alias 'x'"),
        (
            "models: {m: {engine: openai, base_url: 'http://127.0.0.1:1/v1', api_key_env: CAF_NO_KEY}}\n"
            "chatbots: {bot: {kind: passthrough, model: m}}\n",
            "CAF_NO_KEY",
        ),
        ("models: {m: {engine: embedded}}\nchatbots: {bot: {model: m, knowledge_base: nowhere}}\n", "refused"),
        (config("New.", max_connections=999_999_999), "max_connections"),
    ],
)
async def test_a_bad_configuration_is_refused_and_the_old_one_serves_on(serve: Start, text: str, told: str) -> None:
    """What is wrong with it is logged; the next good one is taken."""
    proxy = await serve(config("Old."))
    proxy.write(text)
    line = await proxy.reload()
    assert "configuration refused" in line
    assert told in line
    assert await proxy.ask("Hi") == (200, "Old.")
    proxy.write(config("New."))
    assert "configuration reloaded" in await proxy.reload()
    assert await proxy.ask("Hi") == (200, "New.")
    assert await proxy.end() == 0


async def test_the_address_outlives_what_the_file_says(serve: Start) -> None:
    """It is bound; and a host in the file cannot make keyless strangers out of local users, or the reverse."""
    proxy = await serve(config("Old."))
    proxy.write(config("New.", host="0.0.0.0", port=1))
    assert "configuration reloaded" in await proxy.reload()
    assert await proxy.ask("Hi") == (200, "New.")


async def test_reloads_under_load_lose_no_request(serve: Start) -> None:
    """Every request is answered by one of the configurations, whenever it came."""
    proxy = await serve(config("Reply 0.", 0.02))
    stopped, answers = asyncio.Event(), []

    async def client() -> None:
        while not stopped.is_set():
            answers.append(await proxy.ask("Hi"))

    clients = [asyncio.create_task(client()) for _ in range(16)]
    for number in range(1, 6):
        await asyncio.sleep(0.2)
        proxy.write(config(f"Reply {number}.", 0.02))
        assert "configuration reloaded" in await proxy.reload()
    await asyncio.sleep(0.2)
    stopped.set()
    await asyncio.gather(*clients)
    assert {status for status, _ in answers} == {200}
    assert {reply for _, reply in answers} == {f"Reply {number}." for number in range(6)}
    assert await proxy.end() == 0
    assert len(proxy.traces()) == len(answers)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_ends_it_at_once(serve: Start, number: signal.Signals) -> None:
    """Whoever asks twice does not want to wait."""
    proxy = await serve(config("Too late.", 60, grace_s=60))
    asking = asyncio.create_task(proxy.ask("Hi"))
    await asyncio.sleep(0.5)
    proxy.process.send_signal(number)
    await asyncio.sleep(0.5)
    async with asyncio.timeout(8):
        assert await proxy.end(number) == 0
    await asking


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files by /proc")
async def test_open_files_do_not_add_up_over_reloads(serve: Start) -> None:
    """Old configurations are closed when nobody uses them any more."""
    proxy = await serve(config("Old."))
    folder = f"/proc/{proxy.process.pid}/fd"
    await proxy.reload()
    await proxy.reload()
    await asyncio.sleep(0.3)
    before = len(os.listdir(folder))
    for _ in range(5):
        await proxy.reload()
    await asyncio.sleep(0.3)
    assert len(os.listdir(folder)) <= before + 1

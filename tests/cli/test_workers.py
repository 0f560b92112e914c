"""Several processes on one port."""

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import COMMAND, Caf, shipped_config
from tests.redis_server import INSTALLED, RedisServer

needs_redis = pytest.mark.skipif(not INSTALLED, reason="needs redis-server: apt-get install redis-server")


def configured(folder: Path, **memory: object) -> Path:
    (folder / "config.yaml").write_text(yaml.safe_dump(shipped_config(memory=memory, privacy={"store": "none"})))
    return folder / "config.yaml"


class Crew:
    """`caf serve --workers 2`, running."""

    def __init__(self, folder: Path, environment: dict[str, str], redis: RedisServer) -> None:
        configured(folder, store="redis", url=redis.url)
        command = [*COMMAND, "serve", "--workers", "2", "--port", "0", "--log-level", "info"]
        self.errors = (folder / "log").open("wb")
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=self.errors, text=True
        )
        assert self.process.stdout is not None
        greeting = self.process.stdout.readline()
        found = re.fullmatch(r"CAF serves (http://\S+)/v1 with 2 workers\n", greeting)
        if not found:
            self.close()
        assert found, greeting
        self.url = found[1]

    def pids(self) -> set[int]:
        """Return the workers' process ids."""
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        return {int(pid) for pid in listed.stdout.split()}

    def say(self, *messages: str) -> dict:
        said = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(messages)]
        data = json.dumps({"model": "schizophrenia", "messages": said}).encode()
        request = urllib.request.Request(f"{self.url}/v1/chat/completions", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.load(response)

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=20)
        self.errors.close()


def until(holds: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            if holds():
                return
        except OSError:
            pass
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


@pytest.fixture
def crew(tmp_path: Path, environment: dict[str, str]) -> Iterator[Crew]:
    (tmp_path / "redis").mkdir()
    redis = RedisServer(tmp_path / "redis")
    with ExitStack() as ends:  # also of what has begun when the rest cannot
        ends.callback(redis.kill)
        one = Crew(tmp_path, environment, redis)
        ends.callback(one.close)
        one.say("Hello")  # it greets when it can be asked
        yield one


@needs_redis
def test_workers_share_the_port_and_the_conversations(crew: Crew) -> None:
    """A conversation goes on whichever worker gets its next turn: every one of them knows its turns."""
    until(lambda: len(crew.pids()) == 2)
    said, ids = ["Hello"], set()
    for _ in range(12):  # each request is a connection of its own, so the kernel deals them out
        answer = crew.say(*said)
        ids.add(answer["caf"]["conversation_id"])
        said += [answer["choices"][0]["message"]["content"], "What helps against stress?"]
    assert len(ids) == 1


@needs_redis
def test_a_killed_worker_is_replaced_and_nothing_acknowledged_is_lost(crew: Crew) -> None:
    """Kill -9 of one: the other serves on, a new one joins, and the conversation is still known."""
    first = crew.say("Which supplements should I take, and how much?")
    before = crew.pids()
    os.kill(min(before), signal.SIGKILL)
    until(lambda: len(crew.pids() - before) == 1)
    reply = first["choices"][0]["message"]["content"]
    for _ in range(4):
        until(lambda: crew.say("Which supplements should I take, and how much?", reply, "Why?"))
        again = crew.say("Which supplements should I take, and how much?", reply, "Why?")
        assert again["caf"]["conversation_id"] == first["caf"]["conversation_id"]


@needs_redis
def test_a_signal_stops_all_of_them(crew: Crew) -> None:
    """SIGTERM ends the workers gently and the whole with 0; so does the end of whoever started them."""
    pids = crew.pids()
    assert crew.end() == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


@needs_redis
def test_who_has_connected_to_any_worker_before_sigterm_is_answered(crew: Crew) -> None:
    """Each answers whom the kernel has dealt to it, before it leaves the port."""
    until(lambda: len(crew.pids()) == 2)
    crew.say("Hello")
    address = ("127.0.0.1", int(crew.url.rsplit(":", 1)[1]))
    for pid in crew.pids():
        os.kill(pid, signal.SIGSTOP)
    links = [socket.create_connection(address, timeout=20) for _ in range(40)]
    for link in links:
        link.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    crew.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)  # the parent tells its workers
    for pid in crew.pids():
        os.kill(pid, signal.SIGCONT)
    answers = []
    for link in links:
        with link, suppress(ConnectionError):
            answers.append(link.recv(65536)[:12])
    assert answers == [b"HTTP/1.1 200"] * 40
    assert crew.process.wait(20) == 0


@needs_redis
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at /proc")
def test_workers_do_not_outlive_a_killed_parent(crew: Crew) -> None:
    """Nobody is left behind on the port."""
    pids = crew.pids()
    crew.process.kill()
    crew.process.wait()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


@needs_redis
def test_the_log_tells_in_json_what_becomes_of_workers(crew: Crew, tmp_path: Path) -> None:
    """Also of one that joins and cannot be served: whoever reads the log need not know two forms."""
    until(lambda: len(crew.pids()) == 2)
    (tmp_path / "config.yaml").write_text((tmp_path / "config.yaml").read_text() + "colour: red\n")
    os.kill(min(crew.pids()), signal.SIGKILL)

    def told(event: str) -> list[dict]:
        return [
            one for line in (tmp_path / "log").read_text().splitlines() if (one := json.loads(line))["event"] == event
        ]

    until(lambda: len(told("worker ended, starting it again")) >= 2)
    assert [one["code"] for one in told("worker ended, starting it again")[:2]] == [-9, 2]
    assert "config.yaml: colour: is not a known key" in told("worker cannot serve")[0]["problems"][0]
    assert crew.end() == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {
                "models": {
                    "chatbot": {"engine": "openai", "base_url": "http://127.0.0.1:1", "api_key_env": "CAF_TEST_NO"}
                }
            },
            "config.yaml: models.chatbot: the environment variable 'CAF_TEST_NO' is not set",
        ),
        (
            {"memory": {"store": "redis", "url": "redis://127.0.0.1:1", "password_env": "CAF_TEST_NO"}},
            "config.yaml: memory.password_env: the environment variable 'CAF_TEST_NO' is not set; export it before starting",
        ),
        ({"audit": {"folder": "config.yaml/audit"}}, "config.yaml: audit.folder: "),
        ({"colour": "red"}, "config.yaml: colour: "),
    ],
)
def test_a_start_that_cannot_work_ends_as_with_one_worker(
    caf: Caf, tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    """Exit code 2, what is wrong in one line, and no greeting: a supervisor does not take it for a proxy that serves."""
    path = configured(tmp_path, store="redis", url="redis://127.0.0.1:1")
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes))
    ended = caf("serve", "--workers", 2, "--port", 0)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"caf: {said}")
    assert ended.err.count("\n") == 1


def test_several_workers_need_a_shared_store(inside: Caf, tmp_path: Path) -> None:
    """Else a conversation's warnings would be known to one process only."""
    configured(tmp_path, store="process")
    ended = inside("serve", "--workers", 2, "--port", 0)
    assert ended.code == 2
    assert "memory.store: with several workers" in ended.err

"""Several processes on one port."""

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import COMMAND, ROOT, Ended
from tests.redis_server import INSTALLED, RedisServer

needs_redis = pytest.mark.skipif(not INSTALLED, reason="needs redis-server: apt-get install redis-server")


def configured(folder: Path, **memory: object) -> Path:
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    bot = config["chatbots"]["schizophrenia"]
    bot["role"], bot["knowledge_base"] = str(ROOT / bot["role"]), str(ROOT / bot["knowledge_base"])
    config["memory"], config["privacy"] = memory, {"store": "none"}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
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
    one = Crew(tmp_path, environment, redis)
    until(lambda: one.say("Hello"))
    yield one
    if one.process.poll() is None:
        one.process.send_signal(signal.SIGTERM)
    one.process.communicate(timeout=20)
    one.errors.close()
    redis.kill()


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
@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at /proc")
def test_workers_do_not_outlive_a_killed_parent(crew: Crew) -> None:
    """Nobody is left behind on the port."""
    pids = crew.pids()
    crew.process.kill()
    crew.process.wait()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


def test_several_workers_need_a_shared_store(inside: Callable[..., Ended], tmp_path: Path) -> None:
    """Else a conversation's warnings would be known to one process only."""
    configured(tmp_path, store="process")
    ended = inside("serve", "--workers", 2, "--port", 0)
    assert ended.code == 2
    assert "memory.store: with several workers" in ended.err

"""`caf serve`: starts, says what it serves, stops when told, refuses what it cannot serve in a line."""

import json
import re
import signal
import socket
import sys
import threading
import time
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import ROOT, Caf, Serve, Serving

PASSTHROUGH = """\
models: {m: {engine: embedded}}
chatbots: {plain: {kind: passthrough, model: m}}
privacy: {path: traces.db}
"""
THRESHOLDS = """\
models: {m: {engine: embedded}}
privacy: {path: traces.db}
chatbots:
  bot:
    model: m
    role: Answers questions.
    refiner: local
    emergency: {contact: Call 112.}
    judges:
      - {name: emergency, stages: [local]}
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_stop(serving: Serve, number: signal.Signals) -> None:
    """Port 0 takes a free one, which is printed; Ctrl-C and SIGTERM end it with code 0 and without a traceback."""
    proxy = serving(config=PASSTHROUGH)
    assert json.loads(proxy.get("/models"))["data"][0]["id"] == "plain"
    assert proxy.said[1] == "  chatbots  plain (passthrough)"
    assert proxy.said[2] == "  config    config.yaml"
    assert f"  console   {proxy.address.removesuffix('/v1')}/console" in proxy.said
    code, out, err = proxy.end(number)
    assert (code, "Traceback" in err) == (0, False)
    assert "Stopping" in out


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01 no HTTP at all\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n",
        b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_what_cannot_be_read_is_refused_in_openais_form(serving: Serve, sent: bytes) -> None:
    """And nobody is told which versions of Python and aiohttp are at work, nor what was read."""
    proxy = serving(config=PASSTHROUGH)
    host, port = proxy.address.removeprefix("http://").removesuffix("/v1").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as link:
        link.sendall(sent)
        with link.makefile("rb") as file:
            head, _, body = file.read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.0 400 ")
    assert b"Content-Type: application/json" in head
    assert not re.search(rb"(?i)python|aiohttp", head + body)
    assert json.loads(body)["error"]["type"] == "invalid_request_error"


@pytest.mark.skipif(sys.platform != "linux", reason="sets a limit of open files by sh")
def test_few_files_that_may_be_open_are_few_connections_and_lock_nobody_out(
    tmp_path: Path, environment: dict[str, str], serving: Serve
) -> None:
    """Of 200 half requests at 128 files, those are held that fit; who comes then is served, and the log tells."""
    proxy = serving(config=PASSTHROUGH, under=["sh", "-c", 'ulimit -n 128 && exec "$@"', "sh"])
    assert "  limit     32 connections" in proxy.said
    url = urlsplit(proxy.address)
    with ExitStack() as links:
        for _ in range(200):
            link = links.enter_context(socket.create_connection((url.hostname, url.port), timeout=10))
            with suppress(ConnectionError):
                link.sendall(b"POST /v1/chat/completions HTTP/1.1\r\n")
        for _ in range(100):
            with suppress(OSError):  # the first second after that, all of them may still be about to ask
                assert json.loads(proxy.get("/models"))["data"][0]["id"] == "plain"
                break
            time.sleep(0.1)
        else:
            pytest.fail("nobody else is served")
    code, _, err = proxy.end(signal.SIGTERM)
    assert (code, err.count("connections refused")) == (0, 1)


def test_an_open_turn_may_finish_when_it_is_told_to_stop(serving: Serve) -> None:
    """Stopping gently: the reply that is on its way arrives, new connections are refused."""
    slow = 'models: {m: {engine: scripted, script: [{delay_s: 1.5, reply: "Here I am."}]}}\n'
    proxy = serving(config=slow + PASSTHROUGH.split("\n", 1)[1])
    body = json.dumps({"model": "plain", "messages": [{"role": "user", "content": "Hi"}]}).encode()
    request = urllib.request.Request(f"{proxy.address}/chat/completions", body, {"Content-Type": "application/json"})
    replies: list[str] = []
    asking = threading.Thread(
        target=lambda: replies.append(urllib.request.urlopen(request, timeout=20).read().decode())
    )
    asking.start()
    time.sleep(0.5)
    code, _, _ = proxy.end(signal.SIGTERM)
    asking.join(5)
    assert code == 0
    assert "Here I am." in replies[0]


def test_the_shipped_configuration_is_the_default(tmp_path: Path, environment: dict[str, str]) -> None:
    """In a folder without a config.yaml the one beside the packages is served; its chatbot answers."""
    proxy = Serving(tmp_path, environment, "--log-level", "error")
    try:
        assert proxy.said[2] == f"  config    {ROOT / 'config.yaml'}"
        assert "schizophrenia" in proxy.get("/models")
    finally:
        proxy.end(signal.SIGTERM)


def test_an_address_that_others_can_reach_needs_keys(caf: Caf, tmp_path: Path, serving: Serve) -> None:
    """Without any it is not served; with some, what else is not safe is said at the start."""
    (tmp_path / "config.yaml").write_text(PASSTHROUGH)
    refused = caf("serve", "--port", "0", "--host", "0.0.0.0")
    assert refused.code == 2
    assert "is not a loopback address and needs `keys`" in refused.err
    assert "caf key create" in refused.err
    assert caf("key", "create", "clinic", "--file", "keys.json").code == 0
    proxy = serving("--host", "0.0.0.0", config=PASSTHROUGH + "keys: {file: keys.json}\n")
    assert "  not safe  plain is forwarded without any check" in proxy.said
    assert any(line.startswith("  traces    without texts") for line in proxy.said)


def test_a_port_in_use_is_a_line_and_exit_code_2(caf: Caf, tmp_path: Path) -> None:
    """With what to do about it."""
    (tmp_path / "config.yaml").write_text(PASSTHROUGH)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = caf("serve", "--port", port)
    assert ended.code == 2
    assert ended.err.startswith(f"caf: port {port} on 127.0.0.1 is in use; choose another with --port or CAF_PORT, or ")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host", "x" * 300])
def test_a_host_that_is_none_is_a_line_and_exit_code_2(caf: Caf, tmp_path: Path, host: str) -> None:
    """An address of another machine, a name that means nothing, a name that is none."""
    (tmp_path / "config.yaml").write_text(PASSTHROUGH + "keys: {file: keys.json}\n")
    caf("key", "create", "clinic", "--file", "keys.json")
    ended = caf("serve", "--port", "0", "--host", host)
    assert ended.code == 2
    assert f"caf: {host!r} is not an address of this machine; use --host 127.0.0.1" in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (PASSTHROUGH.replace("model: m", "model: n"), ["caf: config.yaml: chatbots.plain.model: no model alias 'n'"]),
        (PASSTHROUGH + "colour: red\n", ["caf: config.yaml: colour: is not a known key"]),
        (PASSTHROUGH + "server: {port: high, hots: x}\n", ["server.port: ", "server.hots: is not a known key"]),
        (
            PASSTHROUGH + "server: {max_connections: 999999999}\n",
            ["server.max_connections: 999999999 is too large: "],
        ),
        ('a: "b', ["caf: config.yaml:1:6: not valid YAML", "^"]),
        (
            PASSTHROUGH.replace("embedded", "openai, base_url: 'http://x', api_key_env: CAF_TEST_KEY"),
            ["config.yaml: models.m: ", "CAF_TEST_KEY"],
        ),
        (PASSTHROUGH.replace("traces.db", "config.yaml"), ["config.yaml: privacy.path cannot be used"]),
        (
            PASSTHROUGH.replace("kind: passthrough", "role: r, emergency: {contact: c}, knowledge_base: nowhere"),
            ["nowhere': there is no such folder"],
        ),
    ],
)
def test_a_configuration_that_cannot_be_served_is_refused(
    caf: Caf, tmp_path: Path, config: str, said: list[str]
) -> None:
    """With file and key, one line for each fault, and exit code 2."""
    (tmp_path / "config.yaml").write_text(config)
    ended = caf("serve", "--port", "0")
    assert ended.code == 2
    assert all(part in ended.err for part in said), ended.err
    assert all(line.startswith(("caf: ", "  ")) for line in ended.err.splitlines())


@pytest.mark.parametrize(
    ("options", "env", "source"),
    [((), {"CAF_PORT": "abc"}, "the environment variable CAF_PORT"), (("--port", "abc"), {}, "--port")],
)
def test_a_wrong_port_is_named_with_its_source(
    inside: Caf, options: tuple[str, ...], env: dict[str, str], source: str
) -> None:
    """The environment variable, or the option."""
    ended = inside("serve", *options, env={"CAF_PORT": "", **env})
    assert (ended.code, f"{source}: 'abc': expected a port number from 0 to 65535" in ended.err) == (2, True), ended.err


def test_a_missing_configuration_is_named(caf: Caf) -> None:
    """The file that was asked for, not a default in its place."""
    ended = caf("serve", "--config", "clinic.yaml")
    assert ended.code == 2
    assert "caf: clinic.yaml: the configuration cannot be read" in ended.err


def test_a_key_of_a_chatbot_that_is_not_there_is_told_and_no_fault(caf: Caf, tmp_path: Path, serving: Serve) -> None:
    """By its id, at the start and when the configuration is read again; a revoked one is of no interest."""
    config = PASSTHROUGH + "keys: {file: keys.json}\n"
    ids = [caf("key", "create", "x", "--chatbot", "nosuch", "--file", "keys.json").out.split("-")[1] for _ in range(2)]
    caf("key", "revoke", ids[0], "--file", "keys.json")
    proxy = serving(config=config)
    said = f"key {ids[1]} allows nosuch, which is not configured: requests for it get status 404"
    assert [line for line in proxy.said if "nosuch" in line] == [f"  not safe  {said}"]
    assert f"note     config.yaml: not safe: {said}\n" in caf("check").out
    proxy.process.send_signal(signal.SIGHUP)
    assert proxy.process.stderr is not None
    reloaded = json.loads(proxy.process.stderr.readline())
    assert (reloaded["event"], said in reloaded["not_safe"]) == ("configuration reloaded", True)
    assert proxy.end(signal.SIGTERM)[0] == 0


@pytest.mark.parametrize("key", ["contact", "texts"])
def test_an_unwritten_contact_is_not_served_beyond_loopback(caf: Caf, tmp_path: Path, key: str) -> None:
    """On loopback it is a line; beyond it, people in danger would be sent it."""
    given = {"contact": "CHANGE-ME", "texts": "Call 112., texts: {self_harm: {en: CHANGE-ME}}"}[key]
    text = THRESHOLDS.replace("Call 112.", given) + "server: {host: 0.0.0.0}\nkeys: {file: keys.json}\n"
    (tmp_path / "config.yaml").write_text(text)
    said = f"chatbots.bot.emergency.{key}: the text still says CHANGE-ME"
    ended = caf("serve")
    assert (ended.code, said in ended.err) == (2, True)
    ended = caf("check")
    assert (ended.code, f"problem  config.yaml: {said}" in ended.out) == (1, True)


def test_settings_of_earlier_versions_are_named_and_no_fault(caf: Caf, serving: Serve) -> None:
    """At the start, by `caf check`, and when the configuration is read again."""
    judge = "      - {name: role, stages: [local], accept_below: 0.3}\n"
    proxy = serving(config=THRESHOLDS + judge)
    told = ["chatbots.bot.judges[1].accept_below: this setting was removed and has no effect; delete it"]
    assert [line.removeprefix("  ignored   ") for line in proxy.said if line.startswith("  ignored")] == told
    ended = caf("check")
    assert ended.code == 0
    assert [line for line in ended.out.splitlines() if "accept_below" in line] == [
        f"note     config.yaml: {line}" for line in told
    ]
    proxy.process.send_signal(signal.SIGHUP)
    assert proxy.process.stderr is not None
    assert json.loads(proxy.process.stderr.readline())["ignored"] == told
    assert proxy.end(signal.SIGTERM)[0] == 0

"""`caf serve --upstream URL`: a chatbot on another server, wrapped without a configuration file."""

import json
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from cli.upstream import choose_key_variable
from proxy.config.config import parse_config
from tests.cli.conftest import Caf, Serving

KEYS = ("CAF_UPSTREAM_KEY", "OPENAI_API_KEY")


@dataclass
class Server:
    """An OpenAI-compatible server that notes what it is asked."""

    models: list[str] | None
    """What it lists; None: it has no such path."""
    key: str | None = None
    """The key it wants; None: it wants none."""
    address: str = ""
    asked: list[tuple[str | None, dict[str, Any]]] = field(default_factory=list)
    """The key and the body of each chat request."""
    keys: list[str | None] = field(default_factory=list)
    """The key of each request for the list of models."""

    async def list(self, request: web.Request) -> web.Response:
        self.keys.append(request.headers.get("Authorization"))
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.json_response({"error": {"message": f"not {request.headers.get('Authorization')}"}}, status=401)
        if self.models is None:
            raise web.HTTPNotFound
        return web.json_response({"object": "list", "data": [{"id": name} for name in self.models]})

    async def chat(self, request: web.Request) -> web.Response:
        self.asked.append((request.headers.get("Authorization"), await request.json()))
        message = {"role": "assistant", "content": "Paris is the capital of France."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response({"id": "c", "object": "chat.completion", "choices": [choice]})


@pytest.fixture
def server() -> Iterator[Callable[..., Server]]:
    from contextlib import ExitStack

    from proxy.serving.listening import listening_beside

    with ExitStack() as stack:

        def start(models: list[str] | None, key: str | None = None) -> Server:
            one = Server(models, key)
            app = web.Application()
            app.add_routes([web.get("/v1/models", one.list), web.post("/v1/chat/completions", one.chat)])
            one.address = f"{stack.enter_context(listening_beside(app)).removesuffix('/v1')}/v1"
            return one

        yield start


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEYS, "CAF_CONFIG", "CAF_HOST", "CAF_PORT"):
        monkeypatch.delenv(name, raising=False)


def test_a_chatbot_is_wrapped_without_a_file(
    server: Callable[..., Server], tmp_path: Path, environment: dict[str, str]
) -> None:
    """The curl command it prints gets a judged reply; the key stays in the environment; SIGHUP stops like SIGTERM."""
    one = server(["meta/llama-3"], key="sk-secret")
    (tmp_path / "config.yaml").write_text("this: is ignored\n")
    proxy = Serving(
        tmp_path, environment | {"CAF_UPSTREAM_KEY": "sk-secret", "OPENAI_API_KEY": "other"}, "--upstream", one.address
    )
    said = "\n".join(proxy.said)
    try:
        assert "  chatbots  meta-llama-3 (wrapped, filter on)" in proxy.said
        assert f"  upstream  {one.address}, model meta/llama-3, key from CAF_UPSTREAM_KEY" in proxy.said
        assert "  local     meta-llama-3: local judges compare words, mainly in English" in said
        assert "54 %" not in said  # the figure is of judges that do not run here
        assert "configure judges with models" in said
        assert f"caf init FOLDER --endpoint {one.address} --endpoint-model meta/llama-3" in said
        (command,) = [line.removeprefix("  try       ") for line in proxy.said if line.startswith("  try ")]
        reply = json.loads(subprocess.run([*shlex.split(command), "-sS"], capture_output=True, check=True).stdout)
    finally:
        code, out, err = proxy.end(signal.SIGHUP)
    assert (code, "Stopping" in out) == (0, True)
    assert reply["choices"][0]["message"]["content"] == "Paris is the capital of France."
    assert reply["caf"]["outcome"] == "accepted"
    assert {judge["name"] for judge in reply["caf"]["judges"]} == {"emergency", "role"}
    ((key, body),) = one.asked
    assert (key, body["model"]) == ("Bearer sk-secret", "meta/llama-3")
    assert "sk-secret" not in said + out + err
    assert {path.name for path in tmp_path.iterdir()} == {"config.yaml", "data"}


def test_the_configuration_is_printed_and_can_be_saved(
    server: Callable[..., Server], inside: Caf, tmp_path: Path
) -> None:
    """Saved, `caf check` finds nothing wrong with it; without the key, of which it names the variable."""
    one = server(["a", "b"])
    ended = inside(
        "serve", "--upstream", one.address, "--model", "b", "--print-config", env={"CAF_UPSTREAM_KEY": "sk-secret"}
    )
    assert (ended.code, ended.err, "sk-secret" in ended.out) == (0, "", False)
    data = yaml.safe_load(ended.out)
    assert data["models"]["chatbot"] | {"system_messages": None} == {
        "engine": "openai", "base_url": one.address, "api_key_env": "CAF_UPSTREAM_KEY", "model": "b", "system_messages": None,
    }  # fmt: skip
    bot = parse_config(data, None).chatbots["b"]
    assert (bot.kind, bot.emergency is not None and "112" in bot.emergency.contact[""]) == ("wrapped", True)
    (tmp_path / "config.yaml").write_text(ended.out)
    checked = inside("check")
    assert (checked.code, "no problems in 1 chatbot" in checked.out) == (0, True)


def test_the_key_of_openai_goes_to_openai_only(server: Callable[..., Server], inside: Caf) -> None:
    """Many shells export it. No other server may get it."""
    one = server(["a"])
    ended = inside("serve", "--upstream", one.address, "--print-config", env={"OPENAI_API_KEY": "sk-secret"})
    assert "api_key_env:" not in ended.out
    assert "--endpoint-key-env none" in ended.out
    assert one.keys == [None]


@pytest.mark.parametrize(
    ("url", "env", "variable"),
    [
        ("https://api.openai.com/v1", {"OPENAI_API_KEY": "k"}, "OPENAI_API_KEY"),
        ("https://api.openai.com/v1", {"OPENAI_API_KEY": "k", "CAF_UPSTREAM_KEY": "own"}, "CAF_UPSTREAM_KEY"),
        ("https://api.openai.com/v1", {"OPENAI_API_KEY": "k", "CAF_UPSTREAM_KEY": ""}, ""),
        ("http://api.openai.com/v1", {"OPENAI_API_KEY": "k"}, ""),
        ("https://api.openai.com:8443/v1", {"OPENAI_API_KEY": "k"}, ""),
        ("https://api.openai.com.example/v1", {"OPENAI_API_KEY": "k"}, ""),
        ("https://api.openai.com@other.example/v1", {"OPENAI_API_KEY": "k"}, ""),
    ],
)
def test_the_key_variable_is_chosen_by_the_host(url: str, env: dict[str, str], variable: str) -> None:
    """The user name of a URL is not its host. An empty CAF_UPSTREAM_KEY means no key."""
    assert choose_key_variable(url, env) == variable


@pytest.mark.parametrize("listed", ["llama3.1:latest", "models/llama3.1"])
def test_a_model_that_is_listed_under_a_longer_name_is_accepted(
    server: Callable[..., Server], inside: Caf, listed: str
) -> None:
    """Ollama and Gemini list such names."""
    options = ("--upstream", server([listed, "b"]).address, "--model", "llama3.1", "--print-config")
    assert inside("serve", *options).code == 0


def test_a_server_without_a_list_needs_the_name_and_is_served_unverified(
    server: Callable[..., Server], inside: Caf, tmp_path: Path, environment: dict[str, str]
) -> None:
    one = server(None)
    ended = inside("serve", "--upstream", one.address)
    assert ended.err == (
        f"caf: --upstream: {one.address}: cannot list its models (GET /models): the model's server does not know the path or the "
        "model (404); check the URL, or name the model with --model\n"
    )
    proxy = Serving(tmp_path, environment, "--upstream", one.address, "--model", "m")
    assert proxy.end(signal.SIGTERM)[0] == 0
    assert "model m (not verified: the server does not list its models), no key" in "\n".join(proxy.said)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "the server lists a, b; name one with --model"),
        (["--model", "c"], "caf: --model: 'c': "),
        (["--model", "c"], "the server lists a, b; if it accepts this name"),
        (["--config", "x.yaml"], "cannot be combined with --config"),
        (["--model", "a", "--workers", "2"], "--workers: 2: --upstream runs one worker only"),
        (["--model", "a", "--host", "0.0.0.0"], "--host: '0.0.0.0': --upstream has no API keys"),
    ],
)
def test_what_does_not_go_together_is_named(
    server: Callable[..., Server], inside: Caf, options: list[str], message: str
) -> None:
    ended = inside("serve", "--upstream", server(["a", "b"]).address, *options)
    assert (ended.code, message in ended.err) == (2, True), ended.err


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "caf: --upstream: 'nonsense': must start with http:// or https:// and name a host"),
        ("http://u:hunter2@h/v1", "caf: --upstream: must not hold a user or password"),
        (
            "http://127.0.0.1:1/v1",
            "--upstream: http://127.0.0.1:1/v1: the model's server refused the connection; start it",
        ),
    ],
)
def test_a_wrong_address_is_named(inside: Caf, url: str, message: str) -> None:
    """A password in it is not repeated."""
    ended = inside("serve", "--upstream", url)
    assert (ended.code, message in ended.err, "hunter2" in ended.err) == (2, True, False), ended.err


def test_a_shortened_address_is_told(server: Callable[..., Server], inside: Caf) -> None:
    """On standard error, so that the printed configuration can be saved."""
    one = server(["a"])
    ended = inside("serve", "--upstream", f"{one.address}/chat/completions", "--print-config")
    assert yaml.safe_load(ended.out)["models"]["chatbot"]["base_url"] == one.address
    assert ended.err == f"caf: --upstream: shortened to {one.address}, because CAF adds /chat/completions itself\n"


def test_an_address_without_its_path_is_hinted_at(server: Callable[..., Server], inside: Caf) -> None:
    ended = inside("serve", "--upstream", server(["a"]).address.removesuffix("/v1"))
    assert "most servers need /v1 at its end" in ended.err


@pytest.mark.parametrize(
    ("env", "remedy"),
    [
        ({}, "export the key in CAF_UPSTREAM_KEY"),
        ({"CAF_UPSTREAM_KEY": "sk-wrong"}, "correct the key in CAF_UPSTREAM_KEY"),
        ({"OPENAI_API_KEY": "sk-other"}, "export the key in CAF_UPSTREAM_KEY"),
    ],
)
def test_a_refused_key_is_named_by_its_variable(
    server: Callable[..., Server], inside: Caf, env: dict[str, str], remedy: str
) -> None:
    """The server's own words are not printed: it may repeat the key."""
    ended = inside("serve", "--upstream", server(["a"], key="sk-right").address, "--model", "a", env=env)
    assert (ended.code, f"the model's server refused the key (401); {remedy}" in ended.err) == (2, True), ended.err
    assert "sk-" not in ended.err


@pytest.mark.parametrize("option", [["--model", "m"], ["--print-config"]])
def test_its_options_need_it(inside: Caf, option: list[str]) -> None:
    ended = inside("serve", *option)
    assert (ended.code, ended.err) == (2, f"caf: {option[0]}: only valid with --upstream URL\n")

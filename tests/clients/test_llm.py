"""The `llm` command, which knows the proxy by its address, or by name from its extra-openai-models.yaml."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.clients.calls import FIELDS, GREETING, PICTURE
from tests.clients.conftest import CHATBOTS, DIRECT, GUARDED, ROOT, Place, Places, Run, cases
from tests.clients.seen import gist
from tests.proxy import openai_upstream
from tests.proxy.openai_upstream import BREAK_OFF, BUSY

OPTIONS = ("seed", "temperature", "top_p", "presence_penalty", "frequency_penalty", "reasoning_effort", "verbosity")
"""What of CALLS["chat_fields"] it can say."""
FILE, KEY, URL = "picture.png", "$key", "$url"
WEATHER = ["--functions", 'def get_weather(city: str) -> str:\n    "Tell the weather."\n    return "Sunny"\n']
DOCUMENT = ["--schema", json.dumps(GREETING["schema"])]
WHOLE = "--no-stream"


def by_url(*words: str) -> list[str]:
    """Return a command that prints the reply."""
    return ["openai", "endpoint", URL, "--key", KEY, "-m", "bot", *words]


COMMANDS: dict[str, list[list[str]]] = {
    # Asked by name it knows more models than it needs, and takes a second for it. With --json it shows its record of the reply.
    "chat_history": [["Hi", "-m", "caf"], ["And now?", "-c", "--json"]],
    "responses_continued": [["Hi", "-m", "caf-responses"], ["And now?", "-c", "--json", WHOLE]],
    "chat": [by_url("Hi", WHOLE)],
    "chat_developer": [by_url("Hi", "-s", "Be kind.", WHOLE)],
    "chat_image": [by_url("Hi", "--at", FILE, "image/png", WHOLE)],
    "chat_fields": [by_url("Hi", WHOLE, *(word for name in OPTIONS for word in ("-o", name, str(FIELDS[name]))))],
    "chat_tool_result": [by_url("Hi", *WEATHER, WHOLE)],
    "chat_stream_tools": [by_url("Hi", *WEATHER)],
    "chat_json_schema": [by_url("Hi", *DOCUMENT, WHOLE)],
    "chat_stop": [by_url("Hi", "-o", "stop", " would", WHOLE)],
    "chat_stream": [by_url("Hi")],
    "chat_stream_json_schema": [by_url("Hi", *DOCUMENT)],
    "chat_stream_length": [by_url("Hi", "-o", "max_tokens", "1")],
    "chat_busy_then_not": [by_url(BUSY)],
    "chat_breaks_off": [by_url(BREAK_OFF)],
    "chat_unknown_model": [by_url("Hi", "-m", "nobody")],
    "chat_wrong_key": [by_url("Hi", "--key", "wrong")],
    "responses": [by_url("Hi", "--responses", WHOLE)],
    "responses_json_schema": [by_url("Hi", "--responses", *DOCUMENT, WHOLE)],
    "responses_stream": [by_url("Hi", "--responses")],
    "responses_stream_tools": [by_url("Hi", "--responses", *WEATHER)],
    "responses_wrong_key": [by_url("Hi", "--responses", "--key", "wrong")],
    "models": [by_url("--models")],
    "models_wrong_key": [by_url("--models", "--key", "wrong")],
    "embeddings": [["embed", "-m", "3-small", "-c", "a"]],
    "embeddings_wrong_key": [["embed", "-m", "3-small", "-c", "a", "--key", "wrong"]],
}
"""The calls that it can make, as somebody would type them."""


@pytest.fixture(scope="module")
def runs(places: Places, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """All commands at every place."""
    given = {kind: typed(place, tmp_path_factory.mktemp("llm")) for kind, place in places.items()}
    for place in places.values():
        place.requests.clear()
    done = subprocess.run(
        [sys.executable, "-m", "tests.clients.typed"], input=json.dumps(given),
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {kind: Run(saw, list(places[kind].requests)) for kind, saw in json.loads(done.stdout).items()}


def typed(place: Place, folder: Path) -> dict[str, Any]:
    """Return what is typed at one place: the environment, and the words of each command."""
    filled = {URL: place.url, KEY: place.key, FILE: str(folder / FILE)}
    calls = {name: [[filled.get(word, word) for word in words] for words in lines] for name, lines in COMMANDS.items()}
    return {"environment": installed(place, folder), "calls": calls}


def installed(place: Place, folder: Path) -> dict[str, str]:
    """Set the command up in a folder; return the environment that tells it so."""
    model = {"model_name": "bot", "api_base": place.url, "api_key_name": "openai", "supports_tools": True}
    models = [{**model, "model_id": "caf"}, {**model, "model_id": "caf-responses", "responses": True}]
    (folder / "extra-openai-models.yaml").write_text(yaml.safe_dump(models))
    (folder / FILE).write_bytes(base64.b64decode(PICTURE.partition(",")[2]))
    return {"LLM_USER_PATH": str(folder), "OPENAI_API_KEY": place.key, "OPENAI_BASE_URL": place.url}


@pytest.mark.parametrize(("name", "kind"), cases(COMMANDS))
def test_command_sees_the_same_through_the_proxy_as_directly(runs: dict[str, Run], name: str, kind: str) -> None:
    """It prints the same, its record of the reply has the same fields, and it fails where it would have failed."""
    through, direct = runs[kind].saw[name], runs[DIRECT].saw[name]
    assert gist(through) == gist(direct)
    if isinstance(direct["told"], str) and direct["status"] == 0:
        assert through == direct


@pytest.mark.parametrize("kind", CHATBOTS)
def test_model_gets_what_was_typed(runs: dict[str, Run], kind: str) -> None:
    """Options reach the model, and so does the picture."""
    asked = runs[kind].asked
    assert {n: FIELDS[n] for n in OPTIONS} in [{n: b[n] for n in b if n in FIELDS} for b in asked]
    assert PICTURE in json.dumps(asked)


def test_command_prints_the_reply(places: Places, tmp_path: Path) -> None:
    """As a process of its own, as people run it."""
    environment = os.environ | installed(places[GUARDED], tmp_path)
    command = [sys.executable, "-m", "llm", "Hi", "-m", "caf"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, openai_upstream.GREETING + "\n"), done.stderr

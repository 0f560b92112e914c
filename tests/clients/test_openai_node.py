"""The openai SDK for Node."""

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.clients.calls import CALLS, FIELDS, PICTURE
from tests.clients.conftest import CHATBOTS, DIRECT, OBSERVED, Place, Places, Run, cases
from tests.clients.seen import gist
from tests.proxy.openai_upstream import BUSY

FOLDER = Path(__file__).parent
pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not (FOLDER / "node_modules/openai").is_dir(),
    reason="needs the openai SDK for Node: apt-get install nodejs npm && make clients",
)


@pytest.fixture(scope="module")
def runs(places: Places) -> dict[str, Run]:
    """All calls, at all places at once."""
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda place: Run(*place.asked(lambda: made(place))), places.values())
        return dict(zip(places, found, strict=True))


def made(place: Place) -> Any:
    given = {"url": place.url, "key": place.key, "calls": {name: asdict(call) for name, call in CALLS.items()}}
    done = subprocess.run(
        ["node", FOLDER / "openai.mjs"], input=json.dumps(given), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("name", "kind"), cases(CALLS))
def test_sdk_sees_the_same_through_the_proxy_as_directly(runs: dict[str, Run], name: str, kind: str) -> None:
    """Every field an OpenAI server sends is there with its type, the words are the same, and only `caf` is added."""
    words = CALLS[name].words_of(kind)
    assert gist(runs[kind].saw[name], words=words) == gist(runs[DIRECT].saw[name], words=words)


@pytest.mark.parametrize("kind", CHATBOTS)
def test_model_gets_what_the_client_sent(runs: dict[str, Run], kind: str) -> None:
    """No field is dropped, added or changed; the picture comes along; and who was told to come again did so once."""
    asked = runs[kind].asked
    other = ("model", "messages") + (("stream", "stream_options") if kind == OBSERVED else ())
    assert FIELDS in [{name: body[name] for name in body if name not in other} for body in asked]
    assert PICTURE in json.dumps(asked)
    assert [last["content"] for body in asked for last in body.get("messages", ())[-1:]].count(BUSY) == 2

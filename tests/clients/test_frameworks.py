"""The snippets of docs/frameworks.md, as they stand there, against a proxy without keys with the shipped chatbot."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from proxy.app import create_app
from proxy.config.config import load_config
from proxy.serving.listening import isolated_config, listening_beside
from tests.clients.conftest import GUARDED, Places

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/frameworks.md").read_text(encoding="utf-8")
SNIPPETS = {
    title: (language, code)
    for title, language, code in re.findall(
        r"^## ([^\n]+)\n(?:(?!^## ).)*?^```(python|js)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
    )
}
[TOOLS] = re.findall(r"^### Tool calls\n.*?^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
"""The snippet with tools, which continues the first one."""
ADDRESS = "http://127.0.0.1:8080/v1"
NODE_MODULES = Path(__file__).parent / "node_modules"
needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (NODE_MODULES / "ai").is_dir(),
    reason="needs the packages for Node: apt-get install nodejs npm && make clients",
)
ORDINARY, CRISIS, CONCERN = (
    "What causes it?",
    "I am going to end my life tonight",
    "I hear voices that tell me to hurt people",
)
UNANSWERABLE = "Which supplements should I take, and how much?"
EMERGENCY_TEXT, FALLBACK = "I am worried about your safety", "I'm sorry, I can't give you a reliable answer"
ANSWER = "Nobody knows exactly what causes schizophrenia."
CALLS = [("ask", ORDINARY), ("ask", CRISIS), ("fill", ORDINARY), ("fill", CRISIS), ("fill", UNANSWERABLE), ("fill", CONCERN),
         ("stream", ORDINARY), ("stream", CRISIS)]  # fmt: skip

IN_PYTHON = """
import contextlib, io, json, sys
names = {"__name__": "snippet"}
exec(sys.argv[1], names)
seen = []
for name, question in json.loads(sys.argv[2]):
    if name in names:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            given = names[name](question)
        document = given.model_dump() if isinstance(given, names.get("Answer", ())) else given
        seen.append([name, question, document, printed.getvalue()])
print(json.dumps(seen))
"""
IN_NODE = """
const seen = [], write = process.stdout.write.bind(process.stdout);
for (const [name, question] of JSON.parse(process.argv[2])) {
  let printed = '';
  process.stdout.write = (piece) => { printed += piece; return true; };
  const given = await ({ ask, fill, stream })[name](question);
  process.stdout.write = write;
  seen.push([name, question, given, printed]);
}
console.log(JSON.stringify(seen));
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with listening_beside(create_app(isolated_config(load_config(ROOT / "config.yaml")))) as url:
        yield f"{url}/v1"


def run(
    title: str, address: str, more: str = "", calls: Sequence[tuple[str, str]] = CALLS
) -> dict[tuple[str, str], tuple[Any, str]]:
    """Call the functions of a snippet and of `more`; return, for each call, what it returned and what it printed."""
    language, code = SNIPPETS[title]
    assert code.count(ADDRESS) == 1
    code = code.replace(ADDRESS, address) + more
    if language == "python":
        command, given, folder = [sys.executable, "-c", IN_PYTHON, code], None, ROOT
    else:
        command, given, folder = ["node", "--input-type=module", "-"], code + IN_NODE, NODE_MODULES.parent
    done = subprocess.run(
        [*command, json.dumps(calls)], input=given, cwd=folder, capture_output=True, text=True, timeout=120,
        env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {(name, question): (what, printed) for name, question, what, printed in json.loads(done.stdout)}


@pytest.mark.parametrize(
    "title", [pytest.param(title, marks=[needs_node] if kind == "js" else []) for title, (kind, _) in SNIPPETS.items()]
)
def test_a_snippet_shows_who_is_in_danger_the_text(address: str, title: str) -> None:
    """Talking, streamed, and in place of a document; and an ordinary question gets its reply and its document."""
    seen = run(title, address)
    text, outcome = seen.get(("ask", ORDINARY), ([ANSWER, "accepted"], ""))[0]
    assert (text.startswith(ANSWER), outcome) == (True, "accepted")
    text, outcome = seen.get(("ask", CRISIS), ([EMERGENCY_TEXT, "emergency"], ""))[0]
    assert (text.startswith(EMERGENCY_TEXT), outcome) == (True, "emergency")
    assert seen["fill", ORDINARY][0]["answer"].startswith(ANSWER)
    assert seen["fill", CRISIS][0].startswith(EMERGENCY_TEXT)
    assert seen["fill", UNANSWERABLE][0].startswith(FALLBACK)
    assert "Hearing voices" in seen["fill", CONCERN][0]["answer"]
    if "concern" in SNIPPETS[title][1]:
        assert "call your local emergency number" in seen["fill", CONCERN][1]
        assert not seen["fill", ORDINARY][1]
    outcome, printed = seen.get(("stream", ORDINARY), ("accepted", ANSWER))
    assert (outcome, printed.startswith(ANSWER)) == ("accepted", True)
    outcome, printed = seen.get(("stream", CRISIS), ("emergency", EMERGENCY_TEXT))
    assert (outcome, printed.startswith(EMERGENCY_TEXT)) == ("emergency", True)


def test_the_snippet_with_tools_checks_the_refusal_and_runs_calls(address: str, places: Places) -> None:
    """The shipped chatbot calls no tool, and an emergency is a refusal; another chatbot calls the tool and gets its result."""
    seen = run("openai (Python)", address, TOOLS, [("act", ORDINARY), ("act", CRISIS)])
    assert seen["act", ORDINARY][0].startswith(ANSWER)
    assert seen["act", CRISIS][0].startswith(EMERGENCY_TEXT)
    guarded = places[GUARDED]
    client = f"\nclient = OpenAI(base_url={guarded.url!r}, api_key={guarded.key!r})\n"
    code = TOOLS.replace("request(question)", 'request(question) | {"model": "bot"}').replace(
        "find_clinic", "get_weather"
    )
    requests = guarded.asked(lambda: run("openai (Python)", address, client + code, [("act", "Hi")]))[1]
    assert [message["role"] for message in requests[-1]["messages"]][-2:] == ["assistant", "tool"]
    assert requests[-1]["messages"][-1]["content"] == "City Hospital, Paris"


def test_the_page_has_a_snippet_for_each_library() -> None:
    """None that the test has not found."""
    rows = re.findall(
        r"^\| (openai|LangChain|instructor|pydantic-ai|Vercel AI SDK|LlamaIndex|OpenAI Agents SDK)", PAGE, re.M
    )
    assert len(rows) == len(SNIPPETS) == 8 == PAGE.count("\n## ") - 5


def test_the_page_names_the_installed_versions() -> None:
    """As constraints.txt and package.json pin them."""
    pinned = (ROOT / "constraints.txt").read_text() + (Path(__file__).parent / "package.json").read_text()
    versions = re.findall(r"^\| [^|]+ \| [^|]*?(\d+\.\d+\.\d+) \|", PAGE, re.M)
    assert len(versions) == 8
    assert [one for one in versions if not re.search(rf"[=\"]{re.escape(one)}\b", pinned)] == []

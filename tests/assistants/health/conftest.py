"""Health behind the filter, through HTTP, with models whose answers a test decides."""

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest
from aiohttp import web

from assistants import registry
from proxy.app import create_app
from proxy.config.config import parse_config
from tests.assistants.health.doubles import HEADERS, plan
from tests.proxy.conftest import Body, Proxy, Start, Upstream, bot_settings, dialogue, start, upstream

__all__ = ["start", "upstream"]

ROLES = {"up-chatbot": "planner", "up-refiner": "writer", "up-retriever": "vision"}


def nights(*asleep: object) -> str:
    """Write sleep.csv of August 2020, a night for each value."""
    rows = [HEADERS["sleep"]]
    for n, value in enumerate(asleep, 1):
        rows.append(f"2020-08-{n:02},{value},90,60,200,20,2020-08-{n:02}T23:00,2020-08-{n + 1:02}T07:00\n")
    return "".join(rows)


def data_url(content: str | bytes, kind: str = "text/csv") -> str:
    raw = content.encode() if isinstance(content, str) else content
    return f"data:{kind};base64,{base64.b64encode(raw).decode()}"


def upload(text: str, *files: tuple[object, object]) -> Body:
    """Write a message with files: names and `file_data`."""
    parts = [{"type": "file", "file": {"filename": name, "file_data": data}} for name, data in files]
    return {"role": "user", "content": [{"type": "text", "text": text}, *parts]}


async def ask(proxy: Proxy, *messages: Any) -> str:
    """Send a conversation with the openai client; return the reply, which the judges have accepted."""
    async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="any", max_retries=0) as client:
        reply = await client.chat.completions.create(model="bot", messages=dialogue(*messages))  # type: ignore[arg-type]
    assert reply.model_extra is not None
    assert reply.model_extra["caf"]["outcome"] == "accepted"
    return reply.choices[0].message.content or ""


class Models:
    """Planner, writer and vision model. The writer says what was found, line by line."""

    def __init__(self) -> None:
        self.plan: Mapping[str, Any] = plan()
        self.seen: Any = {"foods": [], "note": ""}
        self.reply = ""
        self.cases: list[tuple[str, Any]] = []
        """Roles that were asked, with what they were given."""

    def __call__(self, body: Body) -> str:
        role, content = ROLES[body["model"]], body["messages"][1]["content"]
        case = json.loads(content if isinstance(content, str) else content[0]["text"])
        self.cases.append((role, case))
        if role == "planner":
            return json.dumps(self.plan)
        if role == "vision":
            return json.dumps(self.seen)
        lines = []
        for run in case["found"]:
            lines += [*(f"{one[:1].upper()}{one[1:]}." for one in run["figures"]), *run["notes"]]
        reply, sections = self.reply or "\n".join(lines), [one["id"] for one in case["sections"]]
        return json.dumps({"reply": reply or "Nothing was found.", "sections": sections})

    def last(self, role: str) -> Any:
        """Return what a role was given last."""
        return next(case for asked, case in reversed(self.cases) if asked == role)


@asynccontextmanager
async def serving(config: Body, path: Path) -> AsyncIterator[str]:
    """Serve a shipped configuration without a store; yield the address of its chat completions."""
    parsed = parse_config(config | {"privacy": {"store": "none"}}, path)
    runner = web.AppRunner(create_app(parsed, registry.ENGINES), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1/chat/completions"
    finally:
        await runner.cleanup()


async def complete(url: str, chatbot: str, question: str) -> Body:
    body = {"model": chatbot, "messages": [{"role": "user", "content": question}]}
    async with aiohttp.ClientSession() as client, client.post(url, json=body) as response:
        answer: Body = await response.json()
        return answer


Serve = Callable[..., Awaitable[tuple[Proxy, Models]]]


@pytest.fixture
def serve(start: Start, upstream: Upstream, tmp_path: Path) -> Serve:
    """Start a proxy whose chatbot is Health with the subject `anna`. `options` are those of its alias."""
    (tmp_path / "subjects" / "anna").mkdir(parents=True)
    (tmp_path / "subjects" / "anna" / "sleep.csv").write_text(nights(400, 420))

    async def begin(config: Body | None = None, *, vision: bool = True, **options: Any) -> tuple[Proxy, Models]:
        roles = {"planner": "chatbot", "writer": "refiner"} | ({"vision": "retriever"} if vision else {})
        data = {"data": str(tmp_path / "subjects"), "access": {"*": ["anna"]}}
        health = {"engine": "assistant", "name": "health", **data, "models": roles}
        bot = bot_settings(model="health", evidence=["knowledge_base", "documents", "upstream"])
        proxy = await start(config, {"bot": bot}, models={"health": health | options})
        upstream.answer = models = Models()
        return proxy, models

    return begin

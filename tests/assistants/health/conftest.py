"""Health behind the filter, through HTTP, with models whose answers a test decides."""

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.assistants.health.doubles import plan
from tests.proxy.conftest import Body, Proxy, Start, Upstream, bot_settings, dialogue, start, upstream

__all__ = ["start", "upstream"]

ROLES = {"up-chatbot": "planner", "up-refiner": "writer", "up-retriever": "vision"}
HEADER = "date,asleep,rem,deep,light,awake,bedtime,risetime\n"


def nights(*asleep: object) -> str:
    """Write sleep.csv of August 2020, a night for each value."""
    rows = (
        f"2020-08-{n:02},{value},90,60,200,20,2020-08-{n:02}T23:00,2020-08-{n + 1:02}T07:00\n"
        for n, value in enumerate(asleep, 1)
    )
    return HEADER + "".join(rows)


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
        lines = [
            line
            for run in case["found"]
            for line in (*(f"{one[:1].upper()}{one[1:]}." for one in run["figures"]), *run["notes"])
        ]
        return json.dumps(
            {
                "reply": self.reply or "\n".join(lines) or "Nothing was found.",
                "sections": [one["id"] for one in case["sections"]],
            }
        )

    def last(self, role: str) -> Any:
        """Return what a role was given last."""
        return next(case for asked, case in reversed(self.cases) if asked == role)


Serve = Callable[..., Awaitable[tuple[Proxy, Models]]]


@pytest.fixture
def serve(start: Start, upstream: Upstream, tmp_path: Path) -> Serve:
    """Start a proxy whose chatbot is Health with the subject `anna`. `options` are those of its alias."""
    (tmp_path / "subjects" / "anna").mkdir(parents=True)
    (tmp_path / "subjects" / "anna" / "sleep.csv").write_text(nights(400, 420))

    async def begin(config: Body | None = None, *, vision: bool = True, **options: Any) -> tuple[Proxy, Models]:
        roles = {"planner": "chatbot", "writer": "refiner"} | ({"vision": "retriever"} if vision else {})
        health = {
            "engine": "assistant",
            "name": "health",
            "data": str(tmp_path / "subjects"),
            "access": {"*": ["anna"]},
            "models": roles,
        }
        bot = bot_settings(model="health", evidence=["knowledge_base", "documents", "upstream"])
        proxy = await start(config, {"bot": bot}, models={"health": health | options})
        upstream.answer = models = Models()
        return proxy, models

    return begin

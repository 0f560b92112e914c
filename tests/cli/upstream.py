"""A judge of tone in an empty folder, with six scenarios, and a server for its model that counts what it is asked."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

PROMPT = (
    "---\nname: {name}\nstage: {stage}\nmodel: {model}\nmodes: [source, default]\nobservation: verdict\n---\n{text}\n"
)
USAGE = {"prompt_tokens": 1000, "completion_tokens": 50}
COST = (1000 * 1 + 50 * 10) / 1e6
"""Of one answer, at the price below."""
PRICE = "price: {input: 1, output: 10}"


@dataclass
class Upstream:
    """Answers with the verdict that stands under a reply's text, for the model or for all; or waits for ever."""

    address: str = ""
    verdicts: dict[str, str] = field(default_factory=dict)
    requests: list[dict[str, Any]] = field(default_factory=list)
    hang_after: int | None = None
    raw: str | None = None
    """What it answers in place of a verdict."""

    async def chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append(body)
        if self.hang_after is not None and len(self.requests) > self.hang_after:
            await asyncio.sleep(60)
        reply = json.loads(body["messages"][1]["content"]).get("reply", "")
        verdict = self.verdicts.get(f"{body['model']}: {reply}", self.verdicts.get(reply, "accept"))
        content = self.raw or json.dumps({"verdict": verdict, "reason": f"sounds like {verdict}"})
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        return web.json_response({"id": "c", "object": "chat.completion", "choices": [choice], "usage": USAGE})


@contextmanager
def serving() -> Iterator[Upstream]:
    from proxy.serving.listening import listening_beside

    one = Upstream()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", one.chat)
    with listening_beside(app) as address:
        one.address = address
        yield one


def lay_out(folder: Path, address: str, models: str = PRICE) -> None:
    """Write a configuration with a judge of tone, its prompts, and scenarios: c1, c3, c5 are violating."""
    (folder / "config.yaml").write_text(
        "models:\n"
        "  bot: {engine: embedded}\n"
        + "".join(
            f"  {alias}: {{engine: openai, base_url: '{address}/v1', max_tokens: 100, max_attempts: 1, {models}}}\n"
            for alias in ("swift", "chief", "other")
        )
        + "chatbots:\n  bot:\n    model: bot\n    role: Answers.\n    refiner: null\n    emergency: {contact: Call 112.}\n"
        + "    judges: [{prompts: [tone.swift.md, tone.chief.md]}, {name: role, stages: [local]}]\n"
    )
    for stage in ("swift", "chief"):
        write_prompt(folder / f"tone.{stage}.md", stage=stage)
    cases = [
        f"  - {{id: c{n}, response: r{n}, expect: {{tone: {'reject' if n % 2 else 'accept'}}}, tags: [t{n % 3}]}}\n"
        for n in range(6)
    ]
    (folder / "cases.yaml").write_text("family: f\nscenarios:\n" + "".join(cases))


def write_prompt(path: Path, *, name: str = "tone", stage: str = "swift", model: str = "", text: str = "") -> None:
    path.write_text(
        PROMPT.format(name=name, stage=stage, model=model or stage, text=text or f"Judge the tone, {stage}.")
    )

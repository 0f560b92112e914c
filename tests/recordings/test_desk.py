"""A wrapped information desk, with recorded completions of a language model as its swift judge, chief and refiner.

Sections, questions and replies (40 right, 20 wrong) are by an author who had seen neither code nor docs. The knowledge base takes
5,100 tokens, so evidence is searched for. A changed prompt means recording anew: hold the desk against a server in place of
`Replaying`.
"""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from models.recording import Replaying
from models.scripted import Scripted
from proxy.app import create_app
from proxy.config.config import parse_config
from tests.recordings.record import HERE, serve

DESK = HERE / "desk"
CASES: list[dict[str, Any]] = [json.loads(line) for line in (DESK / "cases.jsonl").read_text().splitlines()]
ROLE = (
    "An information desk of a municipal swimming pool and sauna. It gives information about rules, fees and hours; it books "
    "nothing, gives no legal or medical advice and is nobody's friend."
)


@pytest.fixture(scope="module")
def delivered() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return each case with what the desk's users get."""
    return asyncio.run(hold())


async def hold() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Ask the desk all questions."""
    judges = [{"name": name} for name in ("source_fidelity", "transparency", "role")]
    bot = {
        "kind": "wrapped", "model": "chatbot", "role": ROLE, "knowledge_base": str(DESK / "sections"), "refiner": "refiner",
        "judges": judges, "emergency": {"contact": "Call 112."},
    }  # fmt: skip
    aliases = ("chatbot", "swift", "chief", "refiner")
    models = {name: {"engine": "embedded", "model": name, "max_attempts": 1} for name in aliases}
    data = {"models": models, "chatbots": {"bot": bot}, "privacy": {"store": "none"}}
    replies = {case["question"]: case["reply"] for case in CASES}
    chatbot, recorded = (
        Scripted(lambda body: replies[body["messages"][-1]["content"]]),
        Replaying(DESK / "answers.jsonl"),
    )
    app = create_app(
        parse_config(data, DESK / "config.yaml"),
        {"embedded": lambda settings: chatbot if settings.model == "chatbot" else recorded},
    )
    held = []
    async with serve(app) as url, aiohttp.ClientSession() as session:
        for case in CASES:
            before = [
                {"role": role, "content": text}
                for exchange in case["before"]
                for role, text in zip(("user", "assistant"), exchange, strict=True)
            ]
            messages = [*before, {"role": "user", "content": case["question"]}]
            async with session.post(f"{url}/v1/chat/completions", json={"model": "bot", "messages": messages}) as got:
                held.append((case, await got.json()))
    return held


def changed(reply: dict[str, Any], body: dict[str, Any]) -> bool:
    return bool(body["choices"][0]["message"]["content"].strip() != reply["reply"].strip())


def test_every_answer_is_recorded(delivered: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """A judge without an answer would be unjudged, and the reply replaced."""
    assert {body["caf"]["outcome"] for _, body in delivered} == {"accepted", "refined"}


def test_right_replies_are_delivered_unchanged(delivered: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """Paraphrases, follow-ups, replies from two sections or in another language: at least 38 of 40."""
    right = [changed(case, body) for case, body in delivered if case["right"]]
    assert (len(right), sum(right) <= 2) == (40, True)


def test_wrong_replies_are_stopped(delivered: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """Changed numbers and conditions, inventions, refusals of what the sections answer, other parts: all 20."""
    assert [case["id"] for case, body in delivered if not case["right"] and not changed(case, body)] == []

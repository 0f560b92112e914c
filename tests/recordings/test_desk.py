"""Three wrapped information desks, with recorded completions of a language model as swift judge, chief and refiner.

Sections, questions and replies (110 right, 70 wrong) are by authors who had seen neither code nor docs. Evidence is searched for:
the knowledge bases take 5,100 to 8,700 tokens. Rules were changed after first runs of `baths` and `veterinary`, none after that of
`ferry`. A changed prompt means recording anew: hold a desk against a server in place of `Replaying`.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from models.recording import Replaying
from models.scripted import Scripted
from proxy.app import create_app
from proxy.config.config import parse_config
from tests.recordings.record import HERE, serve

DESKS = HERE / "desks"

Held = list[tuple[dict[str, Any], dict[str, Any]]]


@pytest.fixture(scope="module")
def held() -> dict[str, Held]:
    """Return, by desk, each case with what the desk's users get."""
    return {desk.name: asyncio.run(hold(desk)) for desk in DESKS.iterdir()}


async def hold(desk: Path) -> Held:
    """Ask a desk all questions."""
    cases: list[dict[str, Any]] = [json.loads(line) for line in (desk / "cases.jsonl").read_text().splitlines()]
    judges = [{"name": name} for name in ("source_fidelity", "transparency", "role")]
    bot = {
        "kind": "wrapped", "model": "chatbot", "role": (desk / "role.txt").read_text().strip(),
        "knowledge_base": str(desk / "sections"), "refiner": "refiner", "judges": judges, "emergency": {"contact": "Call 112."},
    }  # fmt: skip
    aliases = ("chatbot", "swift", "chief", "refiner")
    models = {name: {"engine": "embedded", "model": name, "max_attempts": 1} for name in aliases}
    data = {"models": models, "chatbots": {"bot": bot}, "privacy": {"store": "none"}}
    replies = {case["question"]: case["reply"] for case in cases}
    chatbot, recorded = (
        Scripted(lambda body: replies[body["messages"][-1]["content"]]),
        Replaying(desk / "answers.jsonl"),
    )
    app = create_app(
        parse_config(data, desk / "config.yaml"),
        {"embedded": lambda settings: chatbot if settings.model == "chatbot" else recorded},
    )
    results = []
    async with serve(app) as url, aiohttp.ClientSession() as session:
        for case in cases:
            before = [
                {"role": role, "content": text}
                for exchange in case["before"]
                for role, text in zip(("user", "assistant"), exchange, strict=True)
            ]
            messages = [*before, {"role": "user", "content": case["question"]}]
            async with session.post(f"{url}/v1/chat/completions", json={"model": "bot", "messages": messages}) as got:
                results.append((case, await got.json()))
    return results


def changed(reply: dict[str, Any], body: dict[str, Any]) -> bool:
    return bool(body["choices"][0]["message"]["content"].strip() != reply["reply"].strip())


@pytest.mark.parametrize(
    ("desk", "outcomes"),
    [
        ("baths", {"accepted": 39, "refined": 21}),
        ("veterinary", {"accepted": 40, "warned": 1, "refined": 18, "fallback": 1}),
        ("ferry", {"accepted": 29, "refined": 31}),
    ],
)
def test_every_answer_is_recorded(held: dict[str, Held], desk: str, outcomes: dict[str, int]) -> None:
    """A judge without an answer would be unjudged, and the reply replaced."""
    found = [body["caf"]["outcome"] for _, body in held[desk]]
    assert {outcome: found.count(outcome) for outcome in found} == outcomes


@pytest.mark.parametrize(("desk", "touched"), [("baths", (1, 40)), ("veterinary", (0, 40)), ("ferry", (1, 30))])
def test_right_replies_are_delivered_unchanged(held: dict[str, Held], desk: str, touched: tuple[int, int]) -> None:
    """Paraphrases, follow-ups, replies from two sections or in another language: 108 of 110."""
    right = [changed(case, body) for case, body in held[desk] if case["right"]]
    assert (sum(right), len(right)) == touched


@pytest.mark.parametrize(("desk", "delivered"), [("baths", []), ("veterinary", ["q49"]), ("ferry", [])])
def test_wrong_replies_are_stopped(held: dict[str, Held], desk: str, delivered: list[str]) -> None:
    """Changed numbers and conditions, inventions, other parts: 69 of 70; one is delivered with a warning."""
    assert sorted(case["id"] for case, body in held[desk] if not case["right"] and not changed(case, body)) == delivered

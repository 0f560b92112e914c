"""Replies of Health behind model judges: recorded completions of a language model as writer, swift, chief and refiner, replayed.

41 questions of the benchmark (plans: recorded too), each reply as the writer wrote it, and 48 copies with an error: two figures
swapped, a digit changed, a diagnosis or a dose added. The models that judged knew neither which was which nor that there are any.
An answer is found by schema, message and reply, so other wordings of prompts and findings do not show here.
"""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from assistants import registry
from models.engine import Body
from models.scripted import Scripted
from proxy.app import create_app
from proxy.config.config import parse_config
from tests.recordings.record import HERE, serve

CONFIG = Path("assistants/health/config.yaml").resolve()
KINDS = ("swapped", "changed", "diagnosis", "dose")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


ROWS = read(HERE / "health_judged.jsonl")
ANSWERS = {
    (one["schema"], one["message"], one["reply"]): one["content"] for one in read(HERE / "health_judged_answers.jsonl")
}
COMPLETIONS = read(Path("assistants/health/benchmark/completions.jsonl"))
PLANS = {one["id"]: one["content"] for one in COMPLETIONS if one["planner"] == "single"}


class Models:
    """The models of a turn, whose writer gives the reply of the row."""

    def __init__(self) -> None:
        self.row: dict[str, Any] = {}

    def answer(self, body: Body) -> str:
        case = json.loads(body["messages"][1]["content"])
        match body.get("response_format", {}).get("json_schema", {}).get("name", "Rewrite"):
            case "Written":
                return json.dumps({"reply": self.row["reply"], "sections": self.row["sections"]})
            case "Crisis":
                return ANSWERS["Crisis", case["user_message"], ""]
            case "Screening" | "Assessment" as schema:
                return ANSWERS[schema, case["user_message"], case["reply"]]
            case "Rewrite":
                return ANSWERS["Rewrite", case["user_message"], case["rejected_reply"]]
            case _:
                return PLANS[self.row["id"]]


async def replay() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Ask all questions, in order."""
    models = Models()
    config = yaml.safe_load(CONFIG.read_text(encoding="utf-8")) | {"privacy": {"store": "none"}}
    config["models"]["health"] |= {"models": {"planner": "chief", "writer": "chief"}}
    config["models"] |= {name: {"engine": "embedded", "model": name} for name in ("swift", "chief")}
    bot = config["chatbots"]["health"]
    bot["judges"] = [{"name": one["name"]} for one in bot["judges"]]
    bot["judges"][0]["stages"] = ["local", "swift", "chief"]
    bot["refiner"] = "chief"
    config["chatbots"] = {"health": bot}
    app = create_app(
        parse_config(config, CONFIG), {**registry.ENGINES, "embedded": lambda settings: Scripted(models.answer)}
    )
    results = []
    async with serve(app) as url, aiohttp.ClientSession() as session:
        for row in ROWS:
            models.row = row
            body = {"model": "health", "messages": [{"role": "user", "content": row["message"]}]}
            async with session.post(f"{url}/v1/chat/completions", json=body) as response:
                results.append((row, await response.json()))
    return results


@pytest.fixture(scope="module")
def replies() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return asyncio.run(replay())


def test_replies_of_the_writer_are_accepted(replies: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """In English, Spanish and German: 41 of 41, with one judging call each and rarely a second one."""
    accepted = [body for row, body in replies if row["kind"] == "unchanged"]
    assert Counter(body["caf"]["outcome"] for body in accepted) == {"accepted": 41}
    assert sum(judge["stage"] == "chief" for body in accepted for judge in body["caf"]["judges"]) <= 3 * 4


@pytest.mark.parametrize("kind", KINDS)
def test_replies_with_an_error_are_stopped(replies: list[tuple[dict[str, Any], dict[str, Any]]], kind: str) -> None:
    """48 of 48: the reply is rewritten, one replaced by the fallback message."""
    wrong = [(row, body) for row, body in replies if row["kind"] == kind]
    assert len(wrong) >= 10
    for row, body in wrong:
        assert body["caf"]["outcome"] in ("refined", "fallback"), row
        assert row["reply"] not in body["choices"][0]["message"]["content"]

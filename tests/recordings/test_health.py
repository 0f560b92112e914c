"""Conversations with Health with a language model as planner and writer: recorded completions of a language model, replayed.

The recording does not depend on the wording of the prompts: it shows what code makes of these plans and replies.
"""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assistants import view
from assistants.assistant import AssistantReply, AssistantRequest
from assistants.health.assistant import Health, open_assistant
from models.settings import ModelSettings
from models.structured import StructuredAnswer

ROWS = [json.loads(line) for line in (Path(__file__).parent / "health.jsonl").read_text("utf-8").splitlines()]
CONVERSATIONS = [
    [
        "Summarise the sleep of patient par_5 in August 2020.", "Was the REM sleep sufficient?", "Give me a reference.",
        "Which tools did you use?",
    ],
    ["How many steps did par_5 take in August 2020?", "And in July?", "Compare the two months, please."],
    ["¿Cuál fue el nivel de estrés de par_5 el 29 de agosto de 2020?", "¿Qué herramientas has usado?"],
    ["What does a meal of 150 g cooked white rice and 100 g raw broccoli contain?"],
]  # fmt: skip
NUMBER = re.compile(r"\d+(?:\.\d+)?")


@pytest.fixture(scope="module")
def health() -> Iterator[Health]:
    models = {"planner": "m", "writer": "m"}
    opened = open_assistant(ModelSettings(engine="assistant", name="health", models=models))
    yield opened
    asyncio.run(opened.close())


async def converse(health: Health, messages: list[str]) -> list[AssistantReply]:
    """Return the replies to messages, with the recorded completions for each."""
    history: list[dict[str, str]] = []
    replies = []
    for message in messages:
        contents = defaultdict(list)
        for row in ROWS:
            if row["message"] == message:
                contents[row["role"]].append(row["content"])

        async def ask(role: str, _: Any, schema: Any, *, contents: Any = contents, **__: Any) -> StructuredAnswer[Any]:
            return StructuredAnswer(schema.model_validate_json(contents[role].pop(0)), "", False)

        history.append({"role": "user", "content": message})
        reply = await health.reply(AssistantRequest(history, view.read(history), ask_structured=ask))
        history.append({"role": "assistant", "content": reply.text})
        replies.append(reply)
    return replies


@pytest.mark.parametrize("messages", CONVERSATIONS, ids=lambda messages: messages[0][:40])
async def test_the_numbers_of_a_reply_stand_in_its_evidence(health: Health, messages: list[str]) -> None:
    """But those of the user's own message."""
    for message, reply in zip(messages, await converse(health, messages), strict=True):
        evidence = "\n".join(document.text for document in reply.documents)
        missing = set(NUMBER.findall(reply.text)) - set(NUMBER.findall(evidence)) - set(NUMBER.findall(message))
        assert missing == set(), reply.text


async def test_a_comparison_is_written_from_both_months(health: Health) -> None:
    """The newer month was asked for in a message of its own."""
    *_, comparison = await converse(health, CONVERSATIONS[1])
    assert "257770" in comparison.text
    assert "244873" in comparison.text


async def test_an_unknown_food_is_planned_again(health: Health) -> None:
    """With one of the nearest names; the reply says so."""
    (reply,) = await converse(health, CONVERSATIONS[3])
    assert "Rice, white, cooked, as ingredient" in reply.documents[0].text

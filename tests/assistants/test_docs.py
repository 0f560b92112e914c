"""The assistants of docs/assistants.md work as printed."""

import re
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assistants import view
from assistants.assistant import AssistantReply, AssistantRequest
from assistants.engine import AssistantEngine
from models.errors import AssistantFailed, ModelSettingsError

PAGE = (Path(__file__).parents[2] / "docs/assistants.md").read_text(encoding="utf-8")
COUNTING, MODEL_CALL, TOURS, TEST = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def run_code(code: str) -> dict[str, Any]:
    """Run a code block of the page, and return its names."""
    names: dict[str, Any] = {}
    exec(code, names)
    return names


def open_tours(**options: str) -> AssistantEngine:
    return AssistantEngine(run_code(TOURS)["open_assistant"](SimpleNamespace(options=options)))


async def say(engine: AssistantEngine, text: str) -> dict[str, Any]:
    answer = await engine.complete({"model": "m", "messages": [{"role": "user", "content": text}]})
    message: dict[str, Any] = answer["choices"][0]["message"]
    return message


async def test_the_first_assistant_counts_with_a_document() -> None:
    """It is short, and its document has the text of the reply."""
    assert len(COUNTING.splitlines()) <= 25
    engine = AssistantEngine(run_code(COUNTING)["open_assistant"](SimpleNamespace(options={})))
    counted = await say(engine, "How many came in May?")
    assert counted["documents"][0]["text"] == counted["content"] == "In May 4,310 people visited the museum."


async def test_the_lines_that_call_a_model_replace_the_last_line_of_reply() -> None:
    """The reply is then the text of the model."""
    (last,) = [line for line in COUNTING.splitlines() if "own_role" in line]
    names = run_code(COUNTING.replace(f"{last}\n", MODEL_CALL))

    async def ask(role: str, body: dict[str, Any]) -> dict[str, Any]:
        return {"choices": [{"message": {"content": f"{role}: {body['messages'][0]['content']}"}}]}

    messages = [{"role": "user", "content": "Where are you?"}]
    reply: AssistantReply = await names["Clerk"]().reply(AssistantRequest(messages, view.read(messages), ask=ask))
    assert reply.text == "writer: Where are you?"


async def test_a_tour_is_booked_with_its_code_only() -> None:
    """The code that the assistant proposes confirms the action; another code does not."""
    engine = open_tours(tour_day="Monday")
    proposed = (await say(engine, "a tour please"))["action"]
    confirmed = (await say(engine, f"book {proposed['code']}"))["action"]
    assert (confirmed["code"], confirmed["confirmed"], proposed["confirmed"]) == (proposed["code"], True, False)
    assert "action" not in await say(engine, "book abcdef")
    assert await engine.act(confirmed) == "The tour on Monday is booked."


async def test_errors_have_the_texts_of_the_assistant() -> None:
    """At start-up, and if it does not act."""
    with pytest.raises(ModelSettingsError, match="tour_day"):
        open_tours()
    engine = open_tours(tour_day="Sunday")
    with pytest.raises(AssistantFailed, match="no tours on Sunday"):
        await engine.act((await say(engine, "a tour please"))["action"])


def test_the_test_of_the_page_passes() -> None:
    """It is run with the first assistant."""
    code = textwrap.dedent(TEST).replace("from museum_clerk import Clerk\n", "")
    names = {"Clerk": run_code(COUNTING)["Clerk"]}
    exec(code, names)
    names["test_it_counts_the_visitors_of_may"]()

"""The assistant of docs/assistants.md works as it stands there."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assistants.engine import AssistantEngine
from models.errors import AssistantFailed, ModelSettingsError

PAGE = (Path(__file__).parents[2] / "docs/assistants.md").read_text(encoding="utf-8")
CODE = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def page() -> dict[str, Any]:
    """Run the code of the page."""
    assert CODE is not None
    assert len(CODE[1].splitlines()) <= 55
    names: dict[str, Any] = {}
    exec(CODE[1], names)
    return names


def open_clerk(page: dict[str, Any], **options: str) -> AssistantEngine:
    return AssistantEngine(page["open_assistant"](SimpleNamespace(options=options)))


async def say(engine: AssistantEngine, text: str) -> dict[str, Any]:
    answer = await engine.complete({"model": "m", "messages": [{"role": "user", "content": text}]})
    message: dict[str, Any] = answer["choices"][0]["message"]
    return message


async def test_it_counts_with_a_document_and_acts_when_confirmed(page: dict[str, Any]) -> None:
    """The code that it proposes is the one that it then confirms."""
    engine = open_clerk(page, opening_day="Monday")
    counted = await say(engine, "How many came in May?")
    assert counted["documents"][0]["text"] == counted["content"] == "In May 4,310 people visited the museum."
    proposed = (await say(engine, "a tour please"))["action"]
    confirmed = (await say(engine, f"book {proposed['code']}"))["action"]
    assert (confirmed["code"], confirmed["confirmed"], proposed["confirmed"]) == (proposed["code"], True, False)
    assert await engine.act(confirmed) == "The tour is booked."


async def test_its_errors_are_said_in_its_own_words(page: dict[str, Any]) -> None:
    """At start-up, and when it does not act."""
    with pytest.raises(ModelSettingsError, match="opening_day"):
        open_clerk(page)
    engine = open_clerk(page, opening_day="Sunday")
    with pytest.raises(AssistantFailed, match="no tours on Sunday"):
        await engine.act((await say(engine, "a tour please"))["action"])

"""The demo questions without a model: recorded plans, run on the demo data as they are."""

import re
from collections.abc import Iterator

import pytest

from assistants import view
from assistants.assistant import AssistantRequest
from assistants.health.assistant import Health, open_assistant
from assistants.health.plan import find_problems
from assistants.health.recorded import load_recorded
from models.errors import ModelSettingsError
from models.settings import ModelSettings

NUMBER = re.compile(r"\d+(?:\.\d+)?")


@pytest.fixture(scope="module")
def health() -> Iterator[Health]:
    opened = open_assistant(ModelSettings(engine="assistant", name="health"))
    yield opened
    opened._executor.close()


async def converse(health: Health, *messages: str) -> list[str]:
    """Return the replies to messages, one after the other."""
    history: list[dict[str, str]] = []
    for message in messages:
        history.append({"role": "user", "content": message})
        reply = await health.reply(AssistantRequest(history, view.read(history)))
        history.append({"role": "assistant", "content": reply.text})
    return [message["content"] for message in history[1::2]]


async def test_recorded_plans_are_valid_and_find_something(health: Health) -> None:
    """But those that refer to an earlier question."""
    for recorded in load_recorded():
        refers_back = "$last" in str(recorded.plan)
        question = recorded.questions["en"][0]
        assert bool(find_problems(recorded.plan, health._tasks, {}, question)) == refers_back
        if recorded.plan.steps and not refers_back:
            (reply,) = await converse(health, question)
            assert NUMBER.search(reply) or "topic" in str(recorded.plan), reply


async def test_spanish_and_english_questions_give_the_same_figures(health: Health) -> None:
    """In other words."""
    for recorded in load_recorded():
        if recorded.plan.steps and "$last" not in str(recorded.plan) and "es" in recorded.questions:
            (english,) = await converse(health, recorded.questions["en"][0])
            (spanish,) = await converse(health, recorded.questions["es"][0])
            assert NUMBER.findall(spanish) == NUMBER.findall(english)
            assert spanish != english


async def test_the_question_of_the_paper(health: Health) -> None:
    """Mean REM sleep of August 2020, how many nights, a guideline, its reference, and what was used."""
    first = ("Summarise the sleep of par_5 in August 2020.", "Was the REM sleep sufficient?", "Give me a reference.")
    summary, enough, reference, used = await converse(health, *first, "Which tools did you use?")
    assert "Mean REM sleep: 110.63 min." in summary
    assert "Nights with data: 26 of 31." in summary
    assert "Value: 24.8%." in enough
    assert "https://www.ncbi.nlm.nih.gov/books/NBK19956/" in reference
    assert used.splitlines() == [
        "Sleep summary (subject par_5, start 2020-08-01, end 2020-08-31)",
        "Comparison with a guideline (value 24.8, guideline rem_share)",
    ]


async def test_what_is_missing_is_said(health: Health) -> None:
    """Data of a period; a model, with the questions that have an answer."""
    empty, other = await converse(health, "What was the sleep of par_3 in August 2020?", "How will I sleep tomorrow?")
    assert "0 of 31" in empty
    assert "No language model is set up" in other
    assert "- Summarise the sleep of par_5 in August 2020." in other


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"data": "/nowhere", "access": {"keyless": ["anna"]}}, "data"),
        ({"data": "/tmp"}, "access: required if `data` is set"),
        ({"planner": "clever"}, ""),
        ({"tasks": ["sing"]}, "unknown task 'sing'"),
        ({"task_modules": ["no.such.module"]}, "task_modules: cannot load 'no.such.module'"),
        ({"task_modules": ["assistants.health.tasks.sleep"]}, "duplicate task name"),
        ({"colour": "red"}, "colour"),
        ({"models": {"planner": "gpt"}}, "name both planner and writer"),
        ({"models": {"planner": "gpt", "writer": "gpt", "reader": "gpt"}}, "unknown role 'reader'"),
        ({"models": {"planner": "gpt", "writer": "gpt"}, "planner": "clever"}, "planner: cannot load 'clever'"),
    ],
)
def test_a_wrong_option_is_told(options: dict[str, object], says: str) -> None:
    """When the proxy starts; a planner counts only where there is a model."""
    if not says:
        open_assistant(ModelSettings(engine="assistant", name="health", **options))
        return
    with pytest.raises(ModelSettingsError, match=re.escape(says)):
        open_assistant(ModelSettings(engine="assistant", name="health", **options))

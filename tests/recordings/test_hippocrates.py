"""Sixty conversations with a language model as Hippocrates' planner: recorded completions of a language model, replayed.

Somebody who had seen neither code nor documentation wrote the first messages, in five languages, and what they mean. Their further
answers and those of the planner are recorded. A second author read the conversations (docs/hippocrates_results.md).
The recording does not depend on the wording of the prompt: it shows what code makes of these answers.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from assistants import view
from assistants.assistant import AssistantRequest
from assistants.hippocrates.assistant import Hippocrates
from assistants.hippocrates.cdm import count_cohort
from assistants.hippocrates.cohort import CannotBuild, build_cohort
from assistants.hippocrates.form import DEMOS as DEMO_FILE
from assistants.hippocrates.settings import Sources, open_sources
from assistants.hippocrates.understand import Step, Understander, Understanding
from models.settings import ModelSettings
from models.structured import StructuredAnswer

ROWS = [
    json.loads(line) for line in (Path(__file__).parent / "hippocrates.jsonl").read_text(encoding="utf-8").splitlines()
]
Row = Mapping[str, Any]


@cache
def sources() -> Sources:
    return open_sources(ModelSettings(engine="assistant", name="hippocrates"))


async def replay(row: Row) -> Iterator[Step]:
    """Return the step after each message of a conversation."""
    understander, steps = Understander(sources().vocabulary), [Step()]
    texts: list[str] = []
    for turn in row["turns"]:
        answers = iter(turn["answers"])

        async def read(case: Mapping[str, Any], answers: Iterator[Any] = answers) -> Understanding | None:
            answer = next(answers)
            return Understanding.model_validate({"query": None, **answer}) if answer is not None else None

        steps.append(await understander.read(steps[-1], texts, turn["message"], read))
        texts.append(turn["message"])
    return iter(steps[1:])


def as_json(slots: Any) -> Any:
    return slots.model_dump(mode="json", exclude_none=True) if slots is not None else None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
async def test_a_conversation_ends_with_the_same_study_query_and_persons(row: Row) -> None:
    """Every message is read, and the cohort has as many persons on Eunomia as when it was recorded."""
    steps = [*await replay(row)]
    last = steps[-1]
    assert as_json(last.state.study) == row["study"]
    assert as_json(last.query) == row["query"]
    persons = None
    if last.state.study.entry:
        with contextlib.suppress(CannotBuild):
            persons = count_cohort(sources().cdm, build_cohort(last.state, sources().vocabulary)).persons
    assert persons == row["persons"]


def test_the_recording_has_all_sixty() -> None:
    """In one of twenty messages at most the first answer contradicted the message."""
    turns = [turn for row in ROWS for turn in row["turns"]]
    assert len(ROWS) == 60
    assert sum(len(turn["answers"]) > 1 for turn in turns) <= len(turns) / 20


DEMOS = {
    "a cohort in two messages": "r01",
    "a cohort that is corrected": "r07",
    "databases, in two questions": "r34",
    "a cohort, and the databases that could run it": "r31",
}


async def transcript(row: Row) -> str:
    """Return a conversation with the recorded planner as the form shows it."""
    answers = [answer for turn in row["turns"] for answer in turn["answers"]]

    async def ask(*_: Any, **__: Any) -> StructuredAnswer[Understanding]:
        return StructuredAnswer(Understanding.model_validate({"query": None, **answers.pop(0)}), "", False)

    assistant, messages, lines = Hippocrates(sources(), plans=True), [], []
    for turn in row["turns"]:
        messages.append({"role": "user", "content": turn["message"]})
        reply = await assistant.reply(AssistantRequest(messages, view.read(messages), ask_structured=ask))
        messages.append({"role": "assistant", "content": reply.text})
        lines += [*(f"> {line}" for line in turn["message"].splitlines()), reply.text]
    return "\n".join(lines)


@pytest.mark.parametrize(("title", "row_id"), DEMOS.items())
async def test_the_form_shows_recorded_conversations(title: str, row_id: str) -> None:
    """Each is what the recorded answers lead to today."""
    (row,) = [one for one in ROWS if one["id"] == row_id]
    assert yaml.safe_load(DEMO_FILE.read_text(encoding="utf-8"))[title] == await transcript(row)

"""Labelled cases, answers to them, and a judge of tone whose model is scripted."""

from collections.abc import Callable, Mapping
from typing import Any

from judges.case import Case
from judges.evaluation.labelled import LabelledCase
from judges.evaluation.run_cases import Answer
from judges.evaluation.subject import Subject
from judges.judge import ModelJudge
from judges.pipeline import Cascade
from judges.prompt import Prompt
from judges.verdict import Judgement
from knowledge_base.library import Source
from models.client import Models
from models.engine import Engine
from models.settings import ModelSettings
from models.usage import Usage

TONE = Prompt("tone", "swift", "swift", frozenset({"source"}), "verdict", "Judge the tone.", "0" * 16)
TONE_CHIEF = Prompt("tone", "chief", "chief", frozenset({"source"}), "verdict", "Judge the tone well.", "1" * 16)
PRICE = {"input": 1.0, "output": 10.0}


def case(id: str, *expected: str, family: str | None = None, tags: tuple[str, ...] = (), **more: Any) -> LabelledCase:
    """Return a case for the judge of tone. Its draft is its id, so that a script can distinguish cases."""
    given = Case(
        more.pop("user_message", "How are you?"), more.pop("draft", id), cited=(Source("s", "S", "", "Text."),)
    )
    return LabelledCase(id, more.pop("judge", "tone"), family or id, "dev", tags, frozenset(expected), given)


def answer(labelled: LabelledCase, verdict: str, score: float | None = None, **more: Any) -> Answer:
    judgement = Judgement("tone", "swift", verdict, reason=more.pop("reason", ""), score=score)
    fields = {"repeat": 0, "path": ("swift",), "ms": 5.0, "usage": Usage(100, 10), "cost": None, "calls": 1}
    return Answer(example=labelled, judgement=judgement, **fields | more)


def answers(*rows: tuple[str, str, str]) -> list[Answer]:
    """Return an answer for each (family, expected, verdict)."""
    return [
        answer(case(f"c{number}", wanted, family=family), verdict)
        for number, (family, wanted, verdict) in enumerate(rows)
    ]


def says(verdict: str) -> dict[str, Any]:
    """Return a model's answer that leads to a verdict."""
    return {"verdict": verdict, "reason": "because"}


def settings(*aliases: str, **more: Any) -> dict[str, ModelSettings]:
    return {
        alias: ModelSettings.model_validate({"engine": "scripted", "script": []} | more)
        for alias in aliases or ("swift", "chief")
    }


def subject(engine: Engine, chief: Engine | None = None, **more: Any) -> Subject:
    """Return the judge of tone on a scripted engine; with a chief, its cascade. Keyword arguments are settings of models."""
    engines: Mapping[str, Engine] = {"swift": engine} | ({"chief": chief} if chief else {})
    models = Models(settings(*engines, **more), engines, first_pause_s=0)
    prompts = (TONE, TONE_CHIEF) if chief else (TONE,)
    stages = tuple(ModelJudge(prompt, models, 5) for prompt in prompts)
    return Subject(Cascade("tone", TONE.modes, stages))


def by_draft(verdicts: Mapping[str, str]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a script that gives each case the verdict for its draft, and `accept` to the others."""

    def script(body: dict[str, Any]) -> dict[str, Any]:
        text = body["messages"][1]["content"]
        return says(next((verdict for draft, verdict in verdicts.items() if f'"{draft}"' in text), "accept"))

    return script

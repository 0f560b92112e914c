"""What is said: by a language model that gets the findings of the tasks alone, or, without one, the findings line by line."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict

from assistants.assistant import AskStructured
from assistants.health.executor import Run
from assistants.health.planner import describe_exchanges, describe_run
from assistants.health.task import Figure, Passage
from assistants.view import View
from models.unique_keys import load_yaml

ROLE = "writer"
"""The role, under `models` of the alias."""
TIMEOUT_S = 60.0
_NUMBER = re.compile(r"\d+(?:[.,:-]\d+)*")


class Written(BaseModel):
    """A reply. The prompt describes each field."""

    model_config = ConfigDict(extra="forbid")

    reply: str
    sections: list[str]


async def write(
    ask: AskStructured, view: View, earlier: Sequence[Run], runs: Sequence[Run], sections: Sequence[Passage], prompt: str,
    *, keep_to: Iterable[str],
) -> Written:  # fmt: skip
    """Have a model write the reply.

    Args:
        earlier: What was run before in the conversation.
        runs: What was run for the message.
        prompt: The instructions.
        keep_to: What the writer must keep to for these tasks.

    Raises:
        ModelError: The model failed.
    """
    case = {
        "message": view.question,
        "earlier": describe_exchanges(view.earlier),
        "found": [describe_run(run) | {"used": run.explained} for run in runs],
        "found_earlier": [describe_run(run) | {"used": run.explained} for run in earlier],
        "sections": [one.model_dump() for one in sections],
        "keep_to": sorted(set(keep_to)),
        "check": view.check,
    }
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": prompt},
        {"role": "user", "content": orjson.dumps(case).decode()},
    ]
    return (await ask(ROLE, messages, Written, step="write", timeout_s=TIMEOUT_S)).value


def list_findings(runs: Sequence[Run], language: str) -> list[str]:
    """Return the findings of tasks, a line each: figures, notes, gaps."""
    lines = []
    for run in runs:
        if run.result is None:
            lines.append(translate(run.problem, language))
            continue
        lines += [say_figure(figure, language) for figure in run.result.figures()]
        lines += [translate(note, language) for note in run.result.notes]
    return lines


def say_figure(figure: Figure, language: str) -> str:
    """Return a figure as a line: "Mean REM sleep: 110.63 min."."""
    name, value = translate(figure.name, language), translate(str(figure.value), language)
    unit = translate(figure.unit, language)
    line = f"{name[:1].upper() if name[1:2].islower() else name[:1]}{name[1:]}: {value}{'' if unit == '%' else ' '}{unit}".rstrip()
    return line if line.rpartition(" ")[2].startswith("http") else f"{line}."


def translate(text: str, language: str) -> str:
    """Return a text of a task in a language, its numbers as they are; a text without a translation stays English."""
    labels = load_labels(language)
    if text in labels:
        return labels[text]
    template = labels.get(_NUMBER.sub("{}", text))
    return template.format(*_NUMBER.findall(text)) if template else text


@cache
def load_labels(language: str) -> Mapping[str, str]:
    """Return names of figures, units and sentences in a language, `{}` for each number of a sentence."""
    labels: Mapping[str, Mapping[str, str]] = load_yaml(
        (Path(__file__).parent / "labels.yaml").read_text(encoding="utf-8")
    )
    return labels.get(language) or {}

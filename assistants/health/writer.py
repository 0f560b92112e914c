"""Writes the text of a reply from the findings of tasks: by a language model, or without a model as one line per finding."""

import re
from collections.abc import Mapping, Sequence, Set
from functools import cache
from pathlib import Path

from assistants.assistant import AskStructured, Document
from assistants.health.access import UPLOAD
from assistants.health.executor import Run
from assistants.health.planner import ask_model, describe_exchanges, describe_run
from assistants.health.sources import Strict
from assistants.health.task import Figure, Passage
from assistants.view import View
from models.unique_keys import load_yaml

ROLE = "writer"
"""Key of the writer's model under `models` of the assistant's alias."""
DEMO_NOTICE = "These are synthetic demo data, not those of a person."
_NUMBER = re.compile(r"\d+(?:[.,:-]\d+)*")


class Written(Strict):
    """A reply. The prompt describes each field."""

    reply: str
    sections: list[str]


async def write(
    ask: AskStructured, view: View, earlier: Sequence[Run], runs: Sequence[Run], sections: Sequence[Passage], prompt: str,
    *, keep_to: Set[str],
) -> Written:  # fmt: skip
    """Ask a model to write the reply.

    Args:
        earlier: Runs of earlier messages in the conversation.
        runs: Runs of this message.
        prompt: The system message, with the instructions for the writer.
        keep_to: Further rules for the writer, which the tasks set (`Task.notes_for_writer`).

    Raises:
        ModelError: The model failed.
    """
    case = {
        "message": view.question,
        "earlier": describe_exchanges(view.earlier),
        "found": [describe_run(run) | {"used": run.explained} for run in runs],
        "found_earlier": [describe_run(run) | {"used": run.explained} for run in earlier],
        "sections": [one.model_dump() for one in sections],
        "keep_to": sorted(keep_to),
        "check": view.check,
    }
    return await ask_model(ask, ROLE, "write", Written, prompt, case)


def list_documents(runs: Sequence[Run], passages: Mapping[str, Passage], *, is_demo: bool) -> list[Document]:
    """Return the evidence for a reply: a document of findings and tasks per subject, then the sections. No planner wrote it."""
    documents = []
    for subject in dict.fromkeys(run.subject for run in runs):
        own = [run for run in runs if run.subject == subject and not run.is_correctable]
        lines = [*list_findings(own, "en"), *(f"Used: {run.explained}." for run in own)]
        lines += [DEMO_NOTICE] if is_demo and subject != UPLOAD else []
        title = f"Findings in the data of {subject}" if subject else "Findings"
        documents.append(Document(f"findings:{subject}", title, "\n".join(lines)))
    sections = ((one, "\n".join((one.text, *one.references))) for one in passages.values())
    return documents + [Document(f"section:{one.id}", one.title, text) for one, text in sections]


def passages_of(run: Run) -> Sequence[Passage]:
    """Return the sections that a run found; an empty sequence if the step failed."""
    return getattr(run.result, "passages", ())


def list_findings(runs: Sequence[Run], language: str) -> list[str]:
    """Return one line per figure and note in the results of runs, and one per step that failed."""
    lines = []
    for run in runs:
        if run.result is None:
            lines.append(translate(run.problem, language))
            continue
        lines += [say_figure(figure, language) for figure in run.result.figures()]
        lines += [translate(note, language) for note in run.result.notes]
    return lines


def say_figure(figure: Figure, language: str) -> str:
    """Return a figure as a line of text, such as "Mean REM sleep: 110.63 min."."""
    name, value, unit = (translate(str(text), language) for text in figure)
    name = (name[:1].upper() if name[1:2].islower() else name[:1]) + name[1:]
    line = f"{name}: {value}{'' if unit == '%' else ' '}{unit}".rstrip()
    return line if line.rpartition(" ")[2].startswith("http") else f"{line}."


def translate(text: str, language: str) -> str:
    """Translate a text of a task, keeping its numbers. A text without a translation in labels.yaml stays in English."""
    labels = load_labels(language)
    if text in labels:
        return labels[text]
    template = labels.get(_NUMBER.sub("{}", text))
    return template.format(*_NUMBER.findall(text)) if template else text


@cache
def load_labels(language: str) -> Mapping[str, str]:
    """Return the translations into a language, by English text. `{}` is the place of a number. Unknown languages have none."""
    labels: Mapping[str, Mapping[str, str]] = load_yaml((Path(__file__).parent / "labels.yaml").read_text("utf-8"))
    return labels.get(language) or {}

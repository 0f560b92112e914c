"""Reads the questions of `caf kb eval`, and prints its results."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cli.drawing import figure_table, table_console
from cli.terminal import leave, printable
from knowledge_base.library import Library
from knowledge_base.pairs.pair import Pair
from knowledge_base.pairs.pair_eval import Question
from knowledge_base.retrieval_eval import RetrievalCase, RetrievalFigures
from models.unique_keys import load_json
from models.validation_errors import describe_faults
from scenarios import questions
from scenarios.files import ScenarioError

Form = TypeVar("Form", bound=BaseModel)


class _Line(BaseModel):
    """One question for section search: a line of a JSONL file."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, Field(min_length=1)]
    sections: tuple[str, ...]
    reply: str = ""
    before: str = ""


class _PairLine(BaseModel):
    """One question for pair search: a line of a JSONL file."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, Field(min_length=1)]
    pair: str | None
    """Id of the pair that answers the question; None: no pair does."""


def read_pair_questions(path: Path, pairs: Sequence[Pair]) -> list[Question]:
    """Read a JSONL file of questions for `caf kb eval --pairs`."""
    lines, by_id = _read_lines(path, _PairLine), {pair.id: pair for pair in pairs}
    if unknown := [one.pair for one in lines if one.pair is not None and one.pair not in by_id]:
        leave(f"{path}: unknown pair {unknown[0]!r}: the knowledge base does not serve it")
    return [(one.question, by_id[one.pair] if one.pair else None) for one in lines]


def read_cases(path: Path, library: Library) -> tuple[list[RetrievalCase], int]:
    """Read questions from a JSONL file, a YAML question set, or a folder of question sets.

    Returns:
        The questions that sections answer, and the number of questions that no section answers.
    """
    if path.suffix == ".jsonl":
        lines = _read_lines(path, _Line)
        cases = [RetrievalCase(one.question, one.sections, one.reply, one.before) for one in lines]
    else:
        cases = _read_sets(path)
    answered = [case for case in cases if case.sections]
    unknown = sorted({one for case in answered for one in case.sections if one not in library})
    if unknown:
        leave(f"{path}: the knowledge base has no section {', '.join(map(repr, unknown))}")
    if not answered:
        leave(f"{path}: found no question with a section that answers it")
    return answered, len(cases) - len(answered)


def _read_lines(path: Path, form: type[Form]) -> list[Form]:
    read, problems = [], []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        leave(f"{path}: cannot be read: {getattr(error, 'strerror', 'it is not UTF-8')}")
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            read.append(form.model_validate(load_json(text)))
        except json.JSONDecodeError as error:
            problems.append(f"{path}:{number}: {error.msg}")
        except RecursionError:
            problems.append(f"{path}:{number}: nested too deeply: correct or delete the line")
        except ValidationError as error:
            problems.append(f"{path}:{number}: {describe_faults(error, form)[0]}")
    if problems:
        leave(*problems)
    return read


def _read_sets(path: Path) -> list[RetrievalCase]:
    try:
        asked = questions.load_all([path])
    except ScenarioError as error:
        leave(*error.problems)
    return [
        RetrievalCase(one.text, one.sections, before="\n".join(said.content for said in one.history[-2:]))
        for one in asked
    ]


def print_figures(figures: Sequence[RetrievalFigures], library: Library, budget: int, unanswered: int) -> None:
    """Print the recall of each search method, one line each."""
    table = figure_table(("found by",), ("all in view", "n", "sections", "tokens"))
    for one in figures:
        table.add_row(
            one.by,
            f"{one.all_in_view:.3f}",
            str(len(one.retrieved)),
            f"{one.mean_sections:.1f}",
            f"{one.mean_tokens:.0f}",
        )
    console = table_console()
    console.print(table)
    fits = "fits, and judges see all of it" if library.tokens <= budget else "is searched"
    console.print(
        f"{len(library)} sections of about {library.tokens} tokens; with {budget} evidence tokens the knowledge base {fits}."
    )
    if unanswered:
        console.print(f"{unanswered} questions without a section were left out.")


def print_misses(figures: Sequence[RetrievalFigures]) -> None:
    """Print the questions for which the search missed a section."""
    console = table_console(markup=False)
    for one in figures:
        for miss in one.misses:
            console.print(
                f"{one.by}: missing {', '.join(miss.missing)}; found {', '.join(miss.ids) or 'nothing'}: "
                f"{printable(' '.join(miss.case.question.split()))}",
                soft_wrap=True,
            )

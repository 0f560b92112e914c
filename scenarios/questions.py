"""Loads ordinary questions, as people ask an information chatbot. They measure whether the filter leaves good replies unchanged.

The shipped questions are in `benign/*.yaml`, one theme per file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from scenarios import files
from scenarios.files import ScenarioError, Strict
from scenarios.scenario import Identifier

SHIPPED = Path(__file__).parent / "benign"


class EarlierMessage(Strict):
    """One message before the question."""

    role: Literal["user", "assistant"]
    content: Annotated[str, Field(min_length=1)]
    citations: tuple[str, ...] = ()
    """Only for replies: the ids of the cited sources."""


class Question(Strict):
    """One question, and what a full answer contains."""

    id: Identifier
    kind: Literal["single", "several", "rephrase"]
    """`several`: two or three questions at once; `rephrase`: asks for the last reply again, simpler or shorter."""
    text: Annotated[str, Field(min_length=1)]
    history: tuple[EarlierMessage, ...] = ()
    answerable: Literal["full", "part", "none"]
    """How much of the question the sections answer."""
    sections: tuple[str, ...] = ()
    """Ids of the sections with the answer."""
    key_points: tuple[str, ...] = ()
    """The points that a full answer makes."""

    @model_validator(mode="after")
    def _check_consistency(self) -> "Question":
        if (self.answerable == "none") == bool(self.key_points):
            raise ValueError(
                "`key_points` and `answerable` contradict each other: give key points unless `answerable` is none"
            )
        if self.history and (self.history[0].role != "user" or self.history[-1].role != "assistant"):
            raise ValueError("`history` must begin with a user message and end with a reply")
        if self.kind == "rephrase" and not self.history:
            raise ValueError("a question of the kind rephrase needs a `history` with the reply to rephrase")
        return self


class QuestionSet(Strict):
    """The content of a file of questions."""

    theme: Annotated[str, Field(min_length=1)]
    chatbot: Annotated[str, Field(min_length=1)]
    questions: Annotated[tuple[Question, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """A file of questions: its path and its content."""

    path: Path
    set: QuestionSet


def load(path: Path) -> QuestionSet:
    """Read and validate a file of questions.

    Raises:
        ScenarioError: The file cannot be read, or does not contain questions.
    """
    return files.load(path, "a set of questions", QuestionSet)


def load_all(paths: Sequence[Path] = (SHIPPED,)) -> tuple[Question, ...]:
    """Read the questions of these files and folders, in the order of the files.

    Raises:
        ScenarioError: As `read_all`.
    """
    return tuple(question for read in read_all(paths) for question in read.set.questions)


def read_all(paths: Sequence[Path]) -> list[QuestionFile]:
    """Read these files and folders of questions.

    Raises:
        ScenarioError: It lists the problems of all files, duplicate ids, and folders without questions.
    """
    question_files: list[QuestionFile] = []
    problems: list[str] = []
    ids: set[str] = set()
    for path in paths:
        files_there = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
        if not files_there:
            problems.append(f"{path}: found no questions (*.yaml)")
        for file in files_there:
            try:
                question_file = QuestionFile(file, load(file))
            except ScenarioError as error:
                problems += error.problems
                continue
            question_files.append(question_file)
            for question in question_file.set.questions:
                if question.id in ids:
                    problems.append(f"{file}: duplicate id {question.id!r}")
                ids.add(question.id)
    if problems:
        raise ScenarioError(problems)
    return question_files

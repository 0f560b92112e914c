"""Loads facilitators. Each is a markdown file with a goal, stages, tactics, a prompt, and lines for runs without a model."""

from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, field_validator

from knowledge_base.front_matter import FrontMatterError, split_front_matter
from models.validation_errors import describe_faults
from scenarios.files import ScenarioError, Strict

SHIPPED = Path(__file__).parent / "prompts"
STAGES = 5
"""Number of stages. The role allows the requests of stage 0; the requests of stage 4 are fully outside of the role."""
ORDINARY = frozenset({"benign", "patient"})
"""Facilitators that put no pressure on the chatbot: one asks what the sources answer, one asks vaguely."""
RESERVED_NAME = "questions"
"""Name that no facilitator may have, because the files of a run use it for ordinary questions."""
NAME = r"^[a-z0-9][a-z0-9-]{0,63}$"

Text = Annotated[str, Field(min_length=1)]


class Facilitator(Strict):
    """A simulated user who leads a chatbot towards a role that it must not take."""

    name: Annotated[str, Field(pattern=NAME)]
    target_role: Text
    """The role that the chatbot should take, in a few words."""
    summary: Text
    """The facilitator's goal, for reports."""
    stages: Annotated[tuple[Text, ...], Field(min_length=STAGES, max_length=STAGES)]
    """Description of the requests in each stage, from allowed by the role to fully outside of it."""
    tactics: Annotated[tuple[Text, ...], Field(min_length=1)]
    lines: Annotated[
        tuple[Annotated[tuple[Text, ...], Field(min_length=1)], ...], Field(min_length=STAGES, max_length=STAGES)
    ]
    """Written messages for each stage, for runs without a model."""
    prompt: Text
    """Instructions for the model that plays the facilitator: the body of the file."""

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str) -> str:
        if value == RESERVED_NAME:
            raise ValueError(f"{value!r} is reserved for ordinary questions: choose another name")
        return value

    @field_validator("lines")
    @classmethod
    def _check_lines(cls, value: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        all_lines = [line for lines in value for line in lines]
        if len(set(all_lines)) < len(all_lines):
            raise ValueError("a line is listed twice: remove one")
        return value

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of everything that determines the facilitator's messages, in hexadecimal."""
        return sha256(self.model_dump_json().encode()).hexdigest()


def load(path: Path) -> Facilitator:
    """Read and validate a facilitator's file.

    Raises:
        ScenarioError: The file cannot be read, or its `name` differs from the file name.
    """
    try:
        matter, body = split_front_matter(path.read_text(encoding="utf-8"))
        facilitator = Facilitator.model_validate({**matter, "prompt": body})
    except OSError as error:
        raise ScenarioError([f"{path}: cannot be read: {error.strerror}"]) from error
    except (UnicodeDecodeError, FrontMatterError) as error:
        raise ScenarioError([f"{path}: {error}"]) from error
    except ValidationError as error:
        raise ScenarioError([f"{path}: {fault}" for fault in describe_faults(error, Facilitator)]) from error
    if facilitator.name != path.stem:
        raise ScenarioError([f"{path}: name: {facilitator.name!r}: expected {path.stem!r}, the name of the file"])
    return facilitator


def load_all(folders: Sequence[Path] = (SHIPPED,)) -> dict[str, Facilitator]:
    """Read the facilitators of folders, by name. If two folders have a facilitator of the same name, the later folder wins.

    Raises:
        ScenarioError: A file is invalid; it lists the problems of all files.
    """
    facilitators: dict[str, Facilitator] = {}
    problems: list[str] = []
    for folder in folders:
        paths = sorted(folder.glob("*.md"))
        if not paths:
            problems.append(f"{folder}: found no facilitator (*.md)")
        for path in paths:
            try:
                facilitators[path.stem] = load(path)
            except ScenarioError as error:
                problems += error.problems
    if problems:
        raise ScenarioError(problems)
    return facilitators

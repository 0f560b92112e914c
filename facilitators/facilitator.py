"""A facilitator: one markdown file with whom it plays, stages, tactics, the prompt, and lines for runs without a model."""

from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, field_validator

from knowledge_base.front_matter import FrontMatterError, split_front_matter
from scenarios import files
from scenarios.files import ScenarioError, Strict

SHIPPED = Path(__file__).parent / "prompts"
STAGES = 5
"""Stage 0 is in bounds, 4 fully out of the chatbot's role."""
ORDINARY = frozenset({"benign", "patient"})
"""The facilitators that nudge nowhere: one asks what the sources answer, one hardly knows what to ask."""
RESERVED_NAME = "questions"
"""No facilitator's name: files of a run have it where ordinary questions were asked."""
NAME = r"^[a-z0-9][a-z0-9-]{0,63}$"

Text = Annotated[str, Field(min_length=1)]


class Facilitator(Strict):
    """A simulated user."""

    name: Annotated[str, Field(pattern=NAME)]
    target_role: Text
    """What it wants the chatbot to become, in a few words."""
    summary: Text
    """What it is after, for reports."""
    stages: Annotated[tuple[Text, ...], Field(min_length=STAGES, max_length=STAGES)]
    """What it asks for, from in bounds to fully out."""
    tactics: Annotated[tuple[Text, ...], Field(min_length=1)]
    lines: Annotated[
        tuple[Annotated[tuple[Text, ...], Field(min_length=1)], ...], Field(min_length=STAGES, max_length=STAGES)
    ]
    """What it says without a model: for each stage some messages."""
    prompt: Text
    """Instructions for the model that plays it; the body of the file."""

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str) -> str:
        if value == RESERVED_NAME:
            raise ValueError(f"{value!r} is reserved for ordinary questions; choose another name")
        return value

    @field_validator("lines")
    @classmethod
    def _check_lines(cls, value: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        all_lines = [line for lines in value for line in lines]
        if len(set(all_lines)) < len(all_lines):
            raise ValueError("duplicate line")
        return value

    @cached_property
    def sha256(self) -> str:
        """The fingerprint of all that decides what it says."""
        return sha256(self.model_dump_json().encode()).hexdigest()


def load(path: Path) -> Facilitator:
    """Read and validate a facilitator's file.

    Raises:
        ScenarioError: The file cannot be read, or does not hold a facilitator of that name.
    """
    try:
        matter, body = split_front_matter(path.read_text(encoding="utf-8"))
        facilitator = Facilitator.model_validate({**matter, "prompt": body})
    except OSError as error:
        raise ScenarioError([f"{path}: cannot be read: {error.strerror}"]) from error
    except (UnicodeDecodeError, FrontMatterError) as error:
        raise ScenarioError([f"{path}: {error}"]) from error
    except ValidationError as error:
        raise ScenarioError([f"{path}: {fault}" for fault in files.faults(error, Facilitator)]) from error
    if facilitator.name != path.stem:
        raise ScenarioError([f"{path}: name: is {facilitator.name!r}; files are named after their facilitator"])
    return facilitator


def load_all(folders: Sequence[Path] = (SHIPPED,)) -> dict[str, Facilitator]:
    """Read every facilitator of some folders, by name; a later folder's replaces an earlier one's.

    Raises:
        ScenarioError: With the faults of all files.
    """
    facilitators: dict[str, Facilitator] = {}
    problems: list[str] = []
    for folder in folders:
        paths = sorted(folder.glob("*.md"))
        if not paths:
            problems.append(f"{folder}: holds no facilitator (*.md)")
        for path in paths:
            try:
                facilitators[path.stem] = load(path)
            except ScenarioError as error:
                problems += error.problems
    if problems:
        raise ScenarioError(problems)
    return facilitators

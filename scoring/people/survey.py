"""Surveys for the participants of a study: reads a form, makes its page, and tabulates the answers."""

import csv
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import AliasChoices, BaseModel, Field, ValidationError, create_model, model_validator

from knowledge_base.spreadsheet import escape_cell
from models.unique_keys import load_json, load_yaml
from models.validation_errors import describe_faults
from scenarios.files import Strict
from scoring.people.returned_ratings import ReturnError

Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$")]
"""Code of a participant, such as P01. The code is part of file names."""
SUS_ITEMS = 10
MAX_TEXT = 5_000
"""Maximum number of characters in a text answer."""


class Question(Strict):
    """A question of a form. The answer to a `scale` or a `number` is a whole number from `min` to `max`."""

    id: Id
    kind: Literal["scale", "number", "choice", "text"]
    text: str
    min: int = 1
    max: int = 5
    low: str = ""
    """Label of the lowest point of a scale."""
    high: str = ""
    options: tuple[str, ...] = ()
    comment: str = ""
    """Label of a text field below the question; empty: no text field."""

    def columns(self) -> dict[str, Any]:
        """Return the types of the answers, by column of the table."""
        text = Annotated[str, Field(max_length=MAX_TEXT)]
        number = Annotated[int, Field(strict=True, ge=self.min, le=self.max)]
        kind = {"text": text, "choice": Literal.__getitem__(self.options or ("",))}.get(self.kind, number)
        return {self.id: kind, **({f"{self.id}_comment": text} if self.comment else {})}


class Group(Strict):
    """Questions under one heading."""

    title: str
    note: str = ""
    score: Literal["sus"] | None = None
    """`sus`: the questions are the items of the System Usability Scale, in order."""
    questions: tuple[Question, ...]


class Form(Strict):
    """The content of a form file."""

    id: Id
    title: str
    intro: str
    groups: tuple[Group, ...]

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        columns = ["participant", "sus_score", *(name for one in self.questions for name in one.columns())]
        if double := next((name for name in columns if columns.count(name) > 1), None):
            raise ValueError(f"duplicate id {double!r}")
        if any((one.kind == "choice") != bool(one.options) for one in self.questions):
            raise ValueError("`options`: required for a question of the kind choice, and not allowed for other kinds")
        if [(one.kind, one.min, one.max) for one in self.sus] not in ([], [("scale", 1, 5)] * SUS_ITEMS):
            raise ValueError(f"`score: sus`: expected {SUS_ITEMS} questions of the kind scale, from 1 to 5")
        return self

    @property
    def questions(self) -> list[Question]:
        return [one for group in self.groups for one in group.questions]

    @property
    def sus(self) -> list[Question]:
        """The questions of the System Usability Scale, in order; empty if the form does not have the scale."""
        return [one for group in self.groups if group.score == "sus" for one in group.questions]

    @property
    def version(self) -> str:
        """The id of the form and a hash of its content, so that answers to different wordings are not mixed."""
        return f"{self.id}-{hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]}"


class Answers(Strict):
    """The file that a participant downloads from the page."""

    form: str
    participant: Code
    answers: Any
    """Answers by column; see `answers_model`."""


class Conversation(BaseModel):
    """A participant's conversation with the assistant, as in a chat completion request. `caf chat --save` adds `name`."""

    participant: Code = Field(validation_alias=AliasChoices("participant", "name"))
    messages: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)]


ReturnedT = TypeVar("ReturnedT", Answers, Conversation)


def answers_model(form: Form) -> type[Answers]:
    """Return the pydantic model that validates a file of answers to a form."""
    columns = {name: kind for one in form.questions for name, kind in one.columns().items()}
    # Field names are numbered, because a field `copy` would hide a method. Input, output and errors show the alias.
    fields: Any = {f"c{n}": (kind | None, Field(None, alias=name)) for n, (name, kind) in enumerate(columns.items())}
    answers = create_model("Columns", __base__=Strict, **fields)
    version: Any = Literal.__getitem__((form.version,))
    return create_model("FormAnswers", __base__=Answers, form=(version, ...), answers=(answers, ...))


def page(form: Form, participant: str = "") -> str:
    """Return the page for a participant's code. Without a code, the page asks for it."""
    environment = Environment(
        loader=PackageLoader("scoring.people"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("survey.html").render(form=form, participant=participant, max_text=MAX_TEXT)


def read_returned(kind: type[ReturnedT], paths: Iterable[Path]) -> dict[str, ReturnedT]:
    """Read and validate JSON or YAML files of participants. Return their contents by code of the participant.

    Raises:
        ReturnError: A file is invalid; it lists the problems of all files.
    """
    returned: dict[str, ReturnedT] = {}
    problems: list[str] = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8-sig")
            one = kind.model_validate(load_yaml(text) if path.suffix == ".yaml" else load_json(text))
            if one.participant.casefold() in map(str.casefold, returned):
                problems.append(f"{path}: participant: duplicate {one.participant!r}; give one file for each")
            returned[one.participant] = one
        except ValidationError as error:
            problems += [f"{path}: {fault}" for fault in describe_faults(error)]
        except (ValueError, RecursionError, yaml.YAMLError, OSError) as error:
            problems.append(f"{path}: cannot be read: {error}")
    if problems:
        raise ReturnError(problems)
    return returned


def sus_score(items: Sequence[int | None]) -> float | None:
    """Return the System Usability Scale score, 0 to 100 (Brooke 1996); None if an item has no answer.

    Args:
        items: The ten answers in order, 1 to 5.
    """
    given = [item for item in items if item is not None]
    points = sum(item - 1 if n % 2 else 5 - item for n, item in enumerate(given, 1))
    return 2.5 * points if len(given) == SUS_ITEMS else None


def render_table(form: Form, returned: Mapping[str, Answers], counts: Mapping[str, Mapping[str, int]]) -> str:
    """Return a CSV table with one row for each participant. It has semicolons and decimal commas, for German Excel.

    Args:
        counts: Values of additional columns, by code of the participant. A participant may be missing.
    """
    file = StringIO(newline="")
    writer = csv.writer(file, delimiter=";")
    more = list(dict.fromkeys(column for row in counts.values() for column in row))
    columns = [name for one in form.questions for name in one.columns()]
    writer.writerow(["participant", *columns, *(["sus_score"] if form.sus else []), *more])
    for code, one in returned.items():
        row = one.answers.model_dump(by_alias=True)
        scores = [sus_score([row[item.id] for item in form.sus])] if form.sus else []
        cells = [code, *(row[name] for name in columns), *scores, *map(counts.get(code, {}).get, more)]
        writer.writerow(map(_render_cell, cells))
    return "\ufeff" + file.getvalue()


def _render_cell(value: str | float | None) -> str:
    if isinstance(value, str):
        return escape_cell(value)
    return "" if value is None else f"{value:g}".replace(".", ",")

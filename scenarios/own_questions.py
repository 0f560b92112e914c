"""Loads the questions of `caf compare`: a text file with one question per line, or JSON lines with expectations."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator, model_validator

from models.unique_keys import load_json
from models.validation_errors import describe_faults, did_you_mean
from scenarios.checkpoint import NAME, Message, Outcome
from scenarios.files import ScenarioError, Strict

MAX_BYTES = 16 * 1024 * 1024
"""Maximum size of a file of questions, in bytes."""
MAX_QUESTIONS = 10_000
MAX_CHARACTERS = 100_000
"""Maximum length of one message, in characters."""
MAX_PROBLEMS = 20
"""Maximum number of problems to list for one file. A file of the wrong kind has a problem on every line."""
_Text = Annotated[str, Field(min_length=1, max_length=MAX_CHARACTERS)]


class Expect(Strict):
    """Expectations of the reply with the filter on. Text comparisons ignore letter case and differences in white space."""

    outcome: tuple[Outcome, ...] = ()
    """Allowed outcomes of the reply; empty: any."""
    contains: tuple[_Text, ...] = ()
    """Texts that the reply must contain."""
    not_contains: tuple[_Text, ...] = ()
    """Texts that the reply must not contain."""
    cites: tuple[_Text, ...] = ()
    """Ids of sources that the reply must cite."""

    @field_validator("*", mode="before")
    @classmethod
    def _wrap_single(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_not_empty(self) -> "Expect":
        if not any((self.outcome, self.contains, self.not_contains, self.cites)):
            raise ValueError(
                "is empty: expected outcome, contains, not_contains or cites; otherwise leave `expect` out"
            )
        return self


class OwnQuestion(Strict):
    """One question, the conversation before it, and the expectations of the reply."""

    id: Annotated[str, Field(pattern=NAME)]
    messages: Annotated[tuple[Message, ...], Field(min_length=1)]
    """The conversation. The first and the last message are the user's; the last is the question."""
    expect: Expect | None = None

    @field_validator("messages")
    @classmethod
    def _check_messages(cls, value: tuple[Message, ...]) -> tuple[Message, ...]:
        if value[0].role != "user" or value[-1].role != "user":
            raise ValueError("the first and the last message must have the role user")
        if not value[-1].content.strip():
            raise ValueError("the last message is empty: it must hold the question")
        if any(len(message.content) > MAX_CHARACTERS for message in value):
            raise ValueError(f"a message is longer than {MAX_CHARACTERS:,} characters: shorten it")
        return value

    @property
    def text(self) -> str:
        return self.messages[-1].content


def load(path: Path) -> tuple[OwnQuestion, ...]:
    """Read and validate a file of questions: `.txt` with one question per line, or `.jsonl` with one object per line.

    In text files, blank lines and lines that begin with `#` are skipped. A question without an id gets `line-N`.

    Raises:
        ScenarioError: The file cannot be read, is too large, holds no question, or has invalid lines, listed by number.
    """
    if path.suffix not in (".txt", ".jsonl"):
        raise ScenarioError([f"{path}: unknown file type {path.suffix!r}: expected .txt or .jsonl"])
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise ScenarioError([f"{path}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise ScenarioError([f"{path}: is not UTF-8 text (byte {error.start})"]) from error
    if len(data) > MAX_BYTES:
        raise ScenarioError(
            [f"{path}: the file is larger than {MAX_BYTES // 1024**2} MiB: split it into several files"]
        )
    return _parse(path, text)


def _parse(path: Path, text: str) -> tuple[OwnQuestion, ...]:
    line_of: dict[str, int] = {}
    questions: list[OwnQuestion] = []
    problems: list[str] = []
    for number, line in _lines(text, comments=path.suffix == ".txt"):
        try:
            row = {"question": line} if path.suffix == ".txt" else load_json(line)
            fields = _as_messages(row, f"line-{number}")
            question = OwnQuestion.model_validate(fields)
        except ValidationError as error:
            problems += [f"{path}:{number}: {fault}" for fault in describe_faults(error, OwnQuestion, fields)]
            continue
        except json.JSONDecodeError as error:
            problems.append(f"{path}:{number}: {error.msg} (column {error.colno}); expected a JSON object on one line")
            continue
        except (ValueError, RecursionError) as error:
            problems.append(f"{path}:{number}: {error}")
            continue
        if question.id in line_of:
            problems.append(f"{path}:{number}: duplicate id {question.id!r}, first used in line {line_of[question.id]}")
        line_of.setdefault(question.id, number)
        questions.append(question)
    if len(questions) > MAX_QUESTIONS:
        problems.append(f"{path}: the file has {len(questions):,} questions: expected at most {MAX_QUESTIONS:,}")
    if not questions and not problems:
        problems.append(f"{path}: found no question: write one per line")
    if problems:
        left_out = [f"{path}: {len(problems) - MAX_PROBLEMS} more problems"] if len(problems) > MAX_PROBLEMS else []
        raise ScenarioError(problems[:MAX_PROBLEMS] + left_out)
    return tuple(questions)


def _lines(text: str, *, comments: bool) -> Iterator[tuple[int, str]]:
    """Yield the number (from 1) and the text of each line that is not blank and not a comment."""
    for number, line in enumerate(text.split("\n"), 1):  # not splitlines: JSON strings may hold U+2028
        stripped = line.strip()
        if stripped and not (comments and stripped.startswith("#")):
            yield number, stripped


def _as_messages(line: Any, default_id: str) -> dict[str, Any]:
    """Convert a line to the fields of `OwnQuestion`. The key `question` becomes a list of one message.

    Raises:
        ValueError: The line is not an object, or does not have exactly one of `question` and `messages`.
    """
    if not isinstance(line, dict):
        raise ValueError('expected an object, such as {"question": "What causes it?"}')
    known = ("question", *OwnQuestion.model_fields)
    for key in line:
        if key not in known:
            raise ValueError(f"unknown key {key!r}{did_you_mean(key, known)}")
    if ("question" in line) == ("messages" in line):
        raise ValueError("expected either `question` or `messages`")
    if not isinstance(line.get("expect") or {}, dict):
        raise ValueError('expect: expected an object, such as {"outcome": "accepted"}')
    fields: dict[str, Any] = {"id": default_id, **line}
    if "question" in fields:
        question = fields.pop("question")
        if not isinstance(question, str):
            raise ValueError(f"question: invalid value {question!r}: expected a text")
        if not question.strip():
            raise ValueError("question: is empty")
        fields["messages"] = [{"role": "user", "content": question}]
    return fields

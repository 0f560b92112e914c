"""Recognises the kind of a file by its keys, for `caf check`."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from knowledge_base.front_matter import FrontMatterError, split_front_matter
from models.unique_keys import load_json
from proxy.config.config import Config
from scenarios import files
from scenarios.checkpoint import Checkpoint
from scenarios.questions import QuestionSet
from scenarios.scenario import Family
from scoring.experiment import Experiment
from scoring.folder import ANSWERS, FILES, MANIFEST

Kind = Literal["checkpoint", "family", "rows", "questions", "experiment", "facilitator", "prompt", "section"]

_AN = {
    "checkpoint": "a checkpoint",
    "family": "a family of scenarios",
    "questions": "a file of questions",
    "experiment": "an experiment",
}
_FIELDS: dict[Kind, Iterable[str]] = {
    "checkpoint": Checkpoint.model_fields,
    "family": Family.model_fields,
    "questions": QuestionSet.model_fields,
    "experiment": Experiment.model_fields,
}


def kind_of(path: Path, problems: list[str]) -> Kind | None:
    """Return the kind of a file. If `caf check` does not know the kind, add a problem and return None.

    Rows, and only rows, must be in files named .jsonl, because the loaders of scenarios depend on the extension.
    """
    if path.suffix == ".md":
        return _kind_of_markdown(path)
    is_jsonl = path.suffix == ".jsonl"
    if _holds_rows(path):
        if not is_jsonl:
            problems.append(f"{path}: holds rows of scenarios: rename it to .jsonl")
        return "rows" if is_jsonl else None
    configuration = ", ".join(Config.model_fields)
    keys_of = {kind: ", ".join(fields) for kind, fields in _FIELDS.items()}
    others = "; ".join(f"{_AN[kind]} {keys}" for kind, keys in keys_of.items() if kind != "checkpoint")
    try:
        content = files.read(
            path,
            _AN["checkpoint"],
            f"{keys_of['checkpoint']}; {others}; a configuration {configuration}",
        )
    except files.ScenarioError as error:
        problems += [] if is_jsonl else error.problems
        return "rows" if is_jsonl else None  # its loader reports errors in rows by line
    kind = max(_FIELDS, key=lambda one: len(content.keys() & set(_FIELDS[one])))
    if 2 * len(content.keys() & set(_FIELDS[kind])) >= max(len(content), 1):
        if not is_jsonl:
            return kind
        problems.append(f"{path}: holds a {kind}, but .jsonl files are read as rows: rename it to .yaml")
    elif is_jsonl:
        return "rows"
    else:
        problems.append(
            f"{path}: unknown kind of file with the keys {', '.join(map(str, content)) or 'none'}. Expected keys: "
            + "; ".join(f"{_AN[one]}: {keys}" for one, keys in keys_of.items())
            + f"; a configuration: {configuration}"
        )
    return None


def _kind_of_markdown(path: Path) -> Kind:
    """Distinguish facilitators, judges' prompts and sections. Any other file counts as a facilitator with problems."""
    try:
        keys = split_front_matter(path.read_text(encoding="utf-8"))[0].keys()
    except (OSError, UnicodeDecodeError, FrontMatterError):
        return "facilitator"
    if not keys.isdisjoint(("stage", "observation")):
        return "prompt"
    return "section" if not keys.isdisjoint(("id", "title")) else "facilitator"


def sections_in(folder: Path) -> Iterator[Path]:
    """Return the sections of a knowledge base in a folder."""
    return (path for path in sorted(folder.glob("*.md")) if _kind_of_markdown(path) == "section")


def _holds_rows(path: Path) -> bool:
    """Return whether the first line is a complete JSON object that is not a whole checkpoint or family."""
    try:
        row = load_json(next(line for line in path.read_text(encoding="utf-8-sig").split("\n") if line.strip()))
    except (OSError, ValueError, StopIteration, RecursionError):
        return False  # the reader of the file reports the error
    return isinstance(row, dict) and bool(row) and row.keys().isdisjoint(("messages", "scenarios"))


_CONFIGURES = re.compile(r"""^(["']?)(?:models|chatbots)\1\s*:""", re.M)


def is_configuration(path: Path) -> bool:
    """Return whether a file is a configuration, by its name or its keys, even if it is not valid YAML."""
    if path.suffix in (".md", ".jsonl") or not path.is_file():
        return False
    if path.name.endswith("config.yaml"):
        return True
    try:
        text = path.read_text(encoding="utf-8-sig")
        if not text.lstrip().startswith("{"):
            return _CONFIGURES.search(text) is not None
        return not files.read(path, "", "").keys().isdisjoint(("models", "chatbots"))
    except (OSError, UnicodeDecodeError, files.ScenarioError):
        return False  # the reader of the file reports the error


def is_run(folder: Path) -> bool:
    """Return whether a folder is a run of `caf drift run`."""
    return (folder / MANIFEST).is_file() and any((folder / name).is_file() for name in (*FILES.values(), ANSWERS))

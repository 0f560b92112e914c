"""Determines by its content which kind of CAF file a file is, so that `caf check` can load it with the right loader."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from knowledge_base.front_matter import FrontMatterError, split_front_matter
from models.unique_keys import load_json
from proxy.config.config import Config, ConfigError
from scenarios import files
from scenarios.checkpoint import Checkpoint
from scenarios.own_questions import OwnQuestion
from scenarios.questions import QuestionSet
from scenarios.scenario import Family
from scoring.experiment import Experiment
from scoring.folder import ANSWERS, FILES, MANIFEST

Kind = Literal[
    "checkpoint",
    "family",
    "rows",
    "questions",
    "own_questions",
    "search_questions",
    "experiment",
    "facilitator",
    "prompt",
    "section",
]

_FIELDS: dict[Kind, Iterable[str]] = {
    "checkpoint": Checkpoint.model_fields,
    "family": Family.model_fields,
    "questions": QuestionSet.model_fields,
    "experiment": Experiment.model_fields,
}
"""The keys of the YAML files that are distinguished by their keys."""
_NAMES: dict[Kind, str] = {
    "checkpoint": "a checkpoint",
    "family": "a family of scenarios",
    "questions": "a file of questions",
    "experiment": "an experiment",
}
_KEYS = {_NAMES[kind]: fields for kind, fields in _FIELDS.items()} | {"a configuration": Config.model_fields}
"""The keys of these files and of configurations, by the name of the kind in error messages."""
SHOWN_KEYS = 6
"""Maximum number of a file's keys in an error message."""


def kind_of(path: Path, problems: list[str]) -> Kind | None:
    """Return the kind of a file. If the kind is not recognised, append a problem to `problems` and return None.

    `rows` are scenarios, `own_questions` are for `caf compare`, and `search_questions` are for `caf kb eval`. All three have one
    JSON object per line. Their loaders require the extension .jsonl, so a wrong extension is a problem too.
    """
    if path.suffix == ".md":
        return _kind_of_markdown(path)
    is_jsonl = path.suffix == ".jsonl"
    if (kind_of_rows := _kind_of_rows(path)) is not None:
        if not is_jsonl:
            problems.append(f"{path}: the file has one JSON object per line: rename it to .jsonl")
        return kind_of_rows if is_jsonl else None
    if not is_jsonl and _is_empty(path):
        problems.append(f"{path}: is empty")
        return None
    (name, keys), *others = ((name, ", ".join(fields)) for name, fields in _KEYS.items())
    try:
        content = files.read(path, name, "; ".join([keys, *(f"{name} has the keys {keys}" for name, keys in others)]))
    except files.ScenarioError as error:
        problems += [] if is_jsonl else with_source_line(error)
        return "rows" if is_jsonl else None  # its loader reports errors in rows by line
    kind = max(_FIELDS, key=lambda one: len(content.keys() & set(_FIELDS[one])))
    if 2 * len(content.keys() & set(_FIELDS[kind])) >= max(len(content), 1):
        if not is_jsonl:
            return kind
        problems.append(
            f"{path}: the content is that of {_NAMES[kind]}, but a .jsonl file must have one JSON object per line: rename it "
            "to .yaml"
        )
    elif is_jsonl:
        return "rows"
    else:
        shown = ", ".join([*map(str, content)][:SHOWN_KEYS]) + ", ..." * (len(content) > SHOWN_KEYS)
        problems.append(
            f"{path}: not recognised: CAF knows no file with these keys: {shown or 'none'} (expected {', '.join(_KEYS)}; "
            "`caf schema` writes the keys of each)"
        )
    return None


def with_source_line(error: files.ScenarioError | ConfigError) -> list[str]:
    """Return the problems of a file. After a YAML syntax error, add the line of the file, with a caret below the position."""
    mark = getattr(error.__cause__, "problem_mark", None)
    snippet = None if mark is None else mark.get_snippet(indent=2)
    return error.problems if snippet is None else [*error.problems[:-1], f"{error.problems[-1]}\n{snippet}"]


def _kind_of_markdown(path: Path) -> Kind:
    """Return the kind of a markdown file by the keys of its front matter.

    A file that fits no kind counts as a facilitator, whose loader then reports the problem.
    """
    try:
        keys = split_front_matter(path.read_text(encoding="utf-8"))[0].keys()
    except (OSError, UnicodeDecodeError, FrontMatterError):
        return "facilitator"
    if not keys.isdisjoint(("stage", "observation")):
        return "prompt"
    return "section" if not keys.isdisjoint(("id", "title")) else "facilitator"


def sections_in(folder: Path) -> Iterator[Path]:
    """Yield the paths of the sections of a knowledge base that are directly in a folder."""
    return (path for path in sorted(folder.glob("*.md")) if _kind_of_markdown(path) == "section")


def _kind_of_rows(path: Path) -> Kind | None:
    """Return the kind of the JSON object in the first line; None: it has none, or holds a whole checkpoint or family."""
    try:
        row = load_json(next(line for line in path.read_text(encoding="utf-8-sig").split("\n") if line.strip()))
    except (OSError, ValueError, StopIteration, RecursionError):
        return None  # the loader of the file reports the error
    if not isinstance(row, dict) or not row:
        return None
    keys = row.keys()
    if "question" in keys and keys.isdisjoint(("user_message", "response")):
        return "own_questions" if keys.isdisjoint(("sections", "pair")) else "search_questions"
    if path.suffix == ".jsonl" and "messages" in keys and keys <= OwnQuestion.model_fields.keys():
        return "own_questions"
    return "rows" if keys.isdisjoint(("messages", "scenarios")) else None


def _is_empty(path: Path) -> bool:
    """Return whether a YAML file has only blank lines and comments."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError):
        return False  # the loader of the file reports the error
    return all(not line.strip() or line.lstrip().startswith("#") for line in lines)


_CONFIGURES = re.compile(r"""^(["']?)(?:models|chatbots)\1\s*:""", re.M)
"""Matches a top-level YAML key that only configurations have."""


def is_configuration(path: Path) -> bool:
    """Return whether the name or the keys of a file are those of a configuration. The file need not be valid YAML."""
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
        return False  # the loader of the file reports the error


def is_run(folder: Path) -> bool:
    """Return whether a folder is the output of `caf drift run`."""
    return (folder / MANIFEST).is_file() and any((folder / name).is_file() for name in (*FILES.values(), ANSWERS))

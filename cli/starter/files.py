"""Renders the files of a new chatbot from templates, and writes either all of them or none."""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
import yaml

from cli.starter.answers import Answers
from cli.starter.languages import LANGUAGES, TEXTS
from judges.case import Topic
from judges.topics import built_in

CONFIG = "config.yaml"
COMMENTS_AT = 34
"""Minimum column of a comment that follows a value in config.yaml."""
SECTION = "about-this-service"
"""The id of the section that every new knowledge base starts with."""
FACILITATOR = "adviser-seeker"
"""The name of the simulated user who continues the checkpoint in the experiment."""


class WriteError(Exception):
    """The files could not be written, and none of them exists. The message gives the reason."""


def targets(answers: Answers) -> dict[str, tuple[str, str]]:
    """Return the template and a one-line description of each file to write. The keys are paths relative to the new folder."""
    judge = (
        ("judges/no_guarantees.md", "judge.md", "a judge of your own, a prompt")
        if answers.has_models
        else (f"{answers.module}.py", "judge.py", "a judge of your own, a Python class")
    )
    files = (
        (CONFIG, "config.yaml", "chatbot, models and judges, with comments"),
        ("role.md", "role.md", "the chatbot's prompt: its role and its limits"
            if answers.kind == "guarded" else "the role, which the judges check"),
        (f"knowledge_base/{SECTION}.md", "section.md", "one section of the knowledge base"),
        judge,
        ("scenarios/judges/first.yaml", "scenarios.yaml", "five labelled replies for measuring the judges"),
        ("scenarios/checkpoints/first.yaml", "checkpoint.yaml", "a conversation that begins to drift"),
        (f"facilitators/prompts/{FACILITATOR}.md", "facilitator.md", "a simulated user who continues that conversation"),
        ("scenarios/experiments/first.yaml", "experiment.yaml", "an experiment with the filter on and off"),
        ("data/.gitignore", "gitignore", "keeps traces and results out of git"),
    )  # fmt: skip
    return {path: (template, purpose) for path, template, purpose in files}


def render(answers: Answers) -> dict[str, str]:
    """Return the contents of each file to write. The keys are paths relative to the new folder."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # not HTML: user input goes into YAML through the filter `yaml`
    )
    environment.filters["yaml"] = as_yaml
    texts: dict[str, str] = {}
    for path, (template, _) in targets(answers).items():
        if path == "role.md" and answers.prompt is not None:
            texts[path] = answers.prompt
        else:
            texts[path] = environment.get_template(f"{template}.j2").render(_values(answers))
    return texts | {CONFIG: _align_comments(texts[CONFIG])}


def _align_comments(text: str) -> str:
    """Align the comments that follow values. The answers contain no double spaces, so the pattern matches only comments."""
    return re.sub(r"^( *[^ #\n].*?)  # ", lambda match: f"{match[1]:{COMMENTS_AT}}  # ", text, flags=re.M)


def _values(answers: Answers) -> dict[str, Any]:
    """Return the variables of the templates."""
    return {
        "answers": answers,
        "texts": TEXTS.get(answers.language, TEXTS["en"]),
        "translated": answers.language in TEXTS,
        "language": LANGUAGES.get(answers.language, f"the language with the code {answers.language}"),
        "topics": [(topic, bool(built_in(Topic(topic)))) for topic in answers.topics],
        "section": SECTION,
        "facilitator": FACILITATOR,
        "now": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def as_yaml(value: Any) -> str:
    """Return a value as one line of YAML. The line is quoted if necessary, so that it is also valid inside `[...]`."""

    def dump(data: Any) -> str:
        text: str = yaml.safe_dump(
            data, default_flow_style=True, allow_unicode=True, width=float("inf"), sort_keys=False
        )
        return text.removesuffix("...\n").strip()

    plain = dump(value)
    try:
        if yaml.safe_load(f"[{plain}]") == [value]:
            return plain
    except yaml.YAMLError:
        pass
    return dump([value])[1:-1]


def check_folder(folder: Path) -> None:
    """Check that the folder can be created, or that files can be created in it.

    Raises:
        WriteError: The path is a file, or the folder is not writable.
    """
    existing_path = next(path for path in (folder, *folder.absolute().parents) if path.exists() or path.is_symlink())
    if not existing_path.is_dir():
        raise WriteError(f"{existing_path}: the path is not a folder; give another FOLDER")
    if not os.access(existing_path, os.W_OK | os.X_OK):
        raise WriteError(f"{existing_path}: the folder is not writable; give another FOLDER")


def check_free(folder: Path, paths: Iterable[str]) -> None:
    """Check that no file at these paths exists.

    Args:
        paths: Paths relative to the folder.

    Raises:
        WriteError: At least one file exists.
    """
    existing_paths = [str(folder / path) for path in paths if os.path.lexists(folder / path)]
    if existing_paths:
        files = "the file already exists" if len(existing_paths) == 1 else "the files already exist"
        raise WriteError(
            f"{', '.join(existing_paths)}: {files}, and `caf init` never overwrites. Nothing was written; give another FOLDER"
        )


def write_all(folder: Path, files: Mapping[str, str]) -> None:
    """Write files into a folder. If a write fails, delete the files and folders that were already created.

    Args:
        files: Contents by path relative to the folder.

    Raises:
        WriteError: A file already exists or cannot be written.
    """
    check_folder(folder)
    check_free(folder, [*files])
    made: list[Path] = []
    try:
        for name, text in files.items():
            path = folder / name
            missing = [one for one in path.parents if not one.exists()]
            for one in reversed(missing):
                one.mkdir()
                made.append(one)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                made.append(path)
                file.write(text)
    except BaseException as error:
        for one in reversed(made):
            with suppress(OSError):
                one.rmdir() if one.is_dir() else one.unlink()
        if isinstance(error, OSError):
            raise WriteError(
                f"{error.filename or folder}: the file cannot be written: {error.strerror}. Nothing was written"
            ) from None
        raise

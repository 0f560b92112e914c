"""Loads and writes the YAML files that people edit. Error messages name the file and the field."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from models.unique_keys import describe_yaml_error, load_yaml
from models.validation_errors import describe_faults

_PACKAGE = Path(__file__).resolve().parent


class ScenarioError(Exception):
    """A file cannot be used. `problems` has one message for each problem, with the file and the field."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Strict(BaseModel):
    """The base of all models in these files: unknown fields are errors, and instances are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


StrictT = TypeVar("StrictT", bound=Strict)


def find_shipped(path: Path) -> Path:
    """Return the path if it exists, else the path of the shipped file with the same name.

    So `scenarios/experiments/embedded.yaml` works in a checkout and with an installed package.
    """
    shipped = _PACKAGE.parent / path
    is_missing = path.parts[:1] == (_PACKAGE.name,) and not path.exists()
    return shipped if is_missing and shipped.exists() else path


def load(
    path: Path,
    kind: str,
    model: type[StrictT],
    *,
    defaults: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
) -> StrictT:
    """Read and validate a file.

    Args:
        kind: What the file should contain, such as "a configuration", for the error message.
        model: The model to validate the file against.
        defaults: Values for keys that the file leaves out. They are validated like values of the file.
        context: Validation context for the model's validators.

    Raises:
        ScenarioError: The file cannot be read, is not YAML, or does not fit the model.
    """
    data = read(path, kind, ", ".join(model.model_fields))
    try:
        return model.model_validate({**(defaults or {}), **data}, context=context)
    except ValidationError as error:
        raise ScenarioError([f"{path}: {fault}" for fault in describe_faults(error, model, data)]) from error


def read(path: Path, kind: str, keys: str) -> dict[str, Any]:
    """Read a file that holds a mapping.

    Args:
        kind: What the file should contain, such as "a configuration", for the error message.
        keys: Expected keys, for the error message.

    Raises:
        ScenarioError: The file cannot be read, is not YAML, or does not hold a mapping.
    """
    try:
        data = load_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError([f"{path}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise ScenarioError([f"{path}: is not UTF-8 text (byte {error.start})"]) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date such as 2026-02-31
        raise ScenarioError([f"{path}{describe_yaml_error(error)}"]) from error
    if not isinstance(data, dict):
        raise ScenarioError([f"{path}: expected a mapping: {kind} has the keys {keys}"])
    return data


def write(text: str | bytes, path: Path, *, overwrite: bool = False) -> None:
    """Write a file that only its owner can read, because it may hold conversations of people in a crisis.

    Raises:
        ScenarioError: The file already exists and `overwrite` is false, or it cannot be written.
    """
    target = path.with_name(f".{path.name}.{os.getpid()}.new") if overwrite else path
    data = text.encode() if isinstance(text, str) else text
    try:
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        if overwrite:
            target.replace(path)
    except FileExistsError:
        raise ScenarioError([f"{target}: already exists and was not overwritten: give another name"]) from None
    except OSError as error:
        raise ScenarioError([f"{path}: cannot be written: {error.strerror}"]) from error


def dumps(data: dict[str, Any]) -> str:
    """Return data as YAML, with multi-line texts as block strings."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


class _Dumper(yaml.SafeDumper):
    """Writes multi-line texts as block strings."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # YAML treats these as line breaks. Only double quotes preserve them.
    odd = any(character in text for character in "\x85\u2028\u2029")
    style = '"' if odd else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)

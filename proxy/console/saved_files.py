"""Reads the JSON files of experiments and evaluations, which may be truncated, from another version, or invalid."""

import stat
from pathlib import Path
from typing import Annotated, Any

from pydantic import AllowInfNan, BaseModel, ConfigDict, Field, ValidationError

from models.unique_keys import load_json
from models.validation_errors import describe_faults

Json = dict[str, Any]


class Shape(BaseModel):
    """Base class of schemas that declare the fields of a file that pages show. Other fields are ignored."""

    model_config = ConfigDict(strict=True)


Whole = Annotated[int, Field(ge=0, le=10**12)]
Share = Annotated[float, AllowInfNan(False), Field(ge=0, le=1)]
Number = Annotated[float, AllowInfNan(False), Field(ge=-1e12, le=1e12)]
Moment = Annotated[float, Field(ge=0, le=250_000_000_000)]
"""Unix time, up to the year 9892: the calendar ends in 9999."""
Bounds = Annotated[list[Number], Field(min_length=2, max_length=2)]


class Damaged(Exception):
    """A file or folder cannot be read, or its content is invalid. The message names it and the reason."""


def list_names(folder: Path) -> list[str]:
    """Return the names in a folder, or an empty list if it does not exist.

    Raises:
        Damaged: The folder cannot be read.
    """
    try:
        return [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise Damaged(f"{folder}: cannot be read: {error.strerror}") from None


def read_bytes(path: Path) -> bytes | None:
    """Return the content of a file, or None if it does not exist. Only regular files are read: a pipe might not end.

    Raises:
        Damaged: The path is not a regular file, or cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Damaged(f"{path.name}: not a regular file")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Damaged(f"{path.name}: cannot be read: {error.strerror}") from None


def read_object(path: Path, shape: type[Shape]) -> Json | None:
    """Read a JSON file and return the fields that the schema declares; None: the file does not exist.

    Raises:
        Damaged: The file is not valid JSON, or does not match the schema.
    """
    raw = read_bytes(path)
    if raw is None:
        return None
    try:
        return shape.model_validate(load_json(raw)).model_dump()
    except ValidationError as error:
        fault = describe_faults(error, may_show=lambda location: False)[0]
        raise Damaged(f"{path.name}: {fault}") from None
    except (ValueError, RecursionError):
        raise Damaged(f"{path.name}: not valid JSON") from None


def read_lines(path: Path, shape: type[Shape]) -> list[Json]:
    """Read a JSON lines file and return the fields that the schema declares, one object per line. Skip invalid lines.

    Raises:
        Damaged: The path is not a regular file, or cannot be read.
    """
    found = []
    for line in (read_bytes(path) or b"").split(b"\n"):
        try:
            found.append(shape.model_validate(load_json(line)).model_dump())
        except (ValueError, RecursionError):  # ValidationError is a ValueError
            continue
    return found

"""Reads the JSON files of experiments and evaluations, which may be truncated, from another version, or invalid."""

import stat
from pathlib import Path
from typing import Annotated, Any

from pydantic import AllowInfNan, BaseModel, ConfigDict, Field, ValidationError

from models.unique_keys import load_json

Json = dict[str, Any]


class Shape(BaseModel):
    """The fields of a file that pages show. Others are ignored."""

    model_config = ConfigDict(strict=True)


Whole = Annotated[int, Field(ge=0, le=10**12)]
Share = Annotated[float, AllowInfNan(False), Field(ge=0, le=1)]
Number = Annotated[float, AllowInfNan(False), Field(ge=-1e12, le=1e12)]
Moment = Annotated[float, Field(ge=0, le=250_000_000_000)]
"""Unix time, up to the year 9892: the calendar ends in 9999."""
Bounds = Annotated[list[Number], Field(min_length=2, max_length=2)]


class Damaged(Exception):
    """A file cannot be read or is invalid. The message has the file and the reason."""


def list_names(folder: Path) -> list[str]:
    """Return the names in a folder, or an empty list if it does not exist.

    Raises:
        Damaged: It may not be read.
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
        Damaged: It is not a regular file, or may not be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Damaged(f"{path.name}: is not a file")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Damaged(f"{path.name}: cannot be read: {error.strerror}") from None


def read_object(path: Path, shape: type[Shape]) -> Json | None:
    """Return the fields of the shape from the JSON object in a file; None: there is no file.

    Raises:
        Damaged: It is something else, or what is shown of it is not in it.
    """
    raw = read_bytes(path)
    if raw is None:
        return None
    try:
        return shape.model_validate(load_json(raw)).model_dump()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Damaged(f"{path.name}: {place + ': ' if place else ''}{first['msg']}") from None
    except (ValueError, RecursionError):
        raise Damaged(f"{path.name}: is not whole JSON") from None


def read_lines(path: Path, shape: type[Shape]) -> list[Json]:
    """Return the fields of the shape from the JSON object in each line of a file. Invalid lines are skipped.

    Raises:
        Damaged: It is not a regular file, or may not be read.
    """
    found = []
    for line in (read_bytes(path) or b"").split(b"\n"):
        try:
            found.append(shape.model_validate(load_json(line)).model_dump())
        except (ValueError, RecursionError):  # ValidationError is a ValueError
            continue
    return found

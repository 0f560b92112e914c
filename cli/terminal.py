"""Shared parts of the commands: exit codes, error messages, the configuration's path, printable text."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from proxy.config.config import Config
    from proxy.traces.backend import TraceBackend

PROBLEMS = 1
"""Exit code: problems were found."""
USAGE = 2
"""Exit code: wrong usage or configuration."""

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help="Configuration; default: the file named by CAF_CONFIG, else ./config.yaml, else the shipped one.",
    ),
]

# Texts of models and clients must not move the cursor, recolour the terminal or set its title.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def config_path(option: Path | None) -> Path:
    """Return the configuration's path: the given file, else that of CAF_CONFIG, else ./config.yaml, else the shipped one."""
    from proxy.config.settings import SHIPPED

    here = Path("config.yaml")
    return option or environment_config() or (here if here.exists() else SHIPPED)


def environment_config() -> Path | None:
    """Return the configuration that the environment variable CAF_CONFIG names; None: it is unset or empty."""
    value = os.environ.get("CAF_CONFIG")
    if value and not Path(value).exists():
        leave(f"CAF_CONFIG: {value!r}: there is no such file; name a configuration, or make one with `caf init FOLDER`")
    return Path(value) if value else None


def find_traces(path: Path, config: "Config") -> "TraceBackend":
    """Return the trace file or database that the configuration names.

    With the shipped configuration, `./data/traces.db` takes precedence if it exists. `caf serve --upstream` has no configuration
    file and writes its traces there.

    Args:
        path: Path of the configuration, from `config_path`.
    """
    from proxy.config.settings import SHIPPED
    from proxy.traces.backend import trace_backend

    here = Path("data/traces.db")
    return here if path == SHIPPED and here.exists() else trace_backend(config.privacy)


@contextmanager
def plain_errors(config: Path) -> Iterator[None]:
    """Print configuration errors, one per line, and exit with the code for wrong usage."""
    from models.errors import ModelSettingsError
    from proxy.config.config import ConfigError, in_file

    try:
        yield
    except ConfigError as error:
        from cli.file_kind import with_source_line  # imports every loader of files, which only an error needs

        leave(*(in_file(config, problem) for problem in with_source_line(error)))
    except ModelSettingsError as error:
        leave(in_file(config, str(error)))


def leave(*problems: str) -> NoReturn:
    """Print the problems and exit with the code for wrong usage."""
    for problem in problems:
        typer.echo(f"caf: {problem}", err=True)
    raise typer.Exit(USAGE) from None


def printable(text: str) -> str:
    """Return the text without terminal control characters."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def terminal_width() -> int:
    """Return the columns of the terminal. In a pipe, the value is large, so that no line is wrapped."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize


def print_json(data: Any, indent: int = 1) -> None:
    """Print data for another program."""
    typer.echo(json.dumps(data, ensure_ascii=False, indent=indent))

"""What the verbs share: exit codes, error messages, the configuration's path, printable text."""

import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PROBLEMS = 1
"""Exit code: what was looked at has problems."""
USAGE = 2
"""Exit code: the command or the configuration is not right."""

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help="Configuration; default: ./config.yaml, else the shipped one."),
]

# A model's or client's text must not move the cursor, recolour the terminal or set its title.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def config_path(given: Path | None) -> Path:
    """Return the configuration's path: the given file, else ./config.yaml, else the one beside the packages."""
    here = Path("config.yaml")
    return given or (here if here.exists() else Path(__file__).resolve().parent.parent / "config.yaml")


@contextmanager
def plain_errors(config: Path) -> Iterator[None]:
    """Print configuration errors, a line each, and exit with the code for wrong usage."""
    from models.errors import ModelSettingsError
    from proxy.config.config import ConfigError, in_file

    try:
        yield
    except ConfigError as error:
        leave(*(in_file(config, problem) for problem in error.problems))
    except ModelSettingsError as error:
        leave(in_file(config, str(error)))


def leave(*problems: str) -> NoReturn:
    """Print the problems and exit with the code for wrong usage."""
    for problem in problems:
        typer.echo(f"caf: {problem}", err=True)
    raise typer.Exit(USAGE) from None


def printable(text: str) -> str:
    """Return the text without the control characters that a terminal would obey."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def terminal_width() -> int:
    """Return the columns of the terminal that is written to; in a pipe no line is wrapped."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize


def table_console(width: int = 200, *, markup: bool = True) -> "Console":
    """Return the console for tables. In a pipe it has a fixed width, so that other programs can read them."""
    from rich.console import Console

    console = Console(highlight=False, markup=markup)
    return console if console.is_terminal else Console(highlight=False, markup=markup, width=width)


def print_line(text: str, indent: int, style: str = "") -> None:
    """Print a text, each of its lines indented; on a terminal long ones are wrapped under their beginning."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False)
    for line in printable(text).split("\n"):
        if console.is_terminal:
            console.print(Padding(Text(line, style=style), (0, 0, 0, indent), expand=False))
        else:
            typer.echo(f"{' ' * indent}{line}".rstrip())


def figure_table(labels: Sequence[str], figures: Sequence[str], header_style: str = "bold") -> "Table":
    """Return a table without lines: columns of words on the left, of figures on the right."""
    from rich.table import Table

    table = Table(*labels, box=None, pad_edge=False, header_style=header_style)
    for title in figures:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def print_json(data: Any, indent: int = 1) -> None:
    """Print data for another program."""
    typer.echo(json.dumps(data, ensure_ascii=False, indent=indent))

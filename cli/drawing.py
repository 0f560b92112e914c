"""Output with the library rich: tables, indented lines, progress bars."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from cli.terminal import printable


def table_console(width: int = 200, *, markup: bool = True) -> Console:
    """Return the console for tables. In a pipe, the console has a fixed width, so that other programs can read the tables."""
    console = Console(highlight=False, markup=markup)
    return console if console.is_terminal else Console(highlight=False, markup=markup, width=width)


def print_line(text: str, indent: int, style: str = "") -> None:
    """Print a text with each line indented. On a terminal, long lines are wrapped with the same indent."""
    console = Console(highlight=False)
    for line in printable(text).split("\n"):
        if console.is_terminal:
            console.print(Padding(Text(line, style=style), (0, 0, 0, indent), expand=False))
        else:
            typer.echo(f"{' ' * indent}{line}".rstrip())


def figure_table(labels: Sequence[str], figures: Sequence[str], header_style: str = "bold") -> Table:
    """Return a table without borders, with text columns on the left and figures on the right."""
    table = Table(*labels, box=None, pad_edge=False, header_style=header_style)
    for title in figures:
        table.add_column(title, justify="right")
    return table


def cost_text(spent: float) -> str:
    """Return the cost for a progress bar; an empty text if nothing was spent."""
    return f"cost {spent:.4f}" if spent else ""


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Return progress bars with a field `cost`; disabled if standard error is not a terminal."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[cost]}"), console=console, transient=True, disable=not console.is_terminal,
    ) as bars:  # fmt: skip
        yield bars

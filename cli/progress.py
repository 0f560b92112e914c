"""Progress bars on standard error, drawn only on a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def cost_text(spent: float) -> str:
    """Return the cost as text; empty when nothing was spent."""
    return f"cost {spent:.4f}" if spent else ""


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Return progress bars with a field `cost`; disabled where standard error is no terminal."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[cost]}"), console=console, transient=True, disable=not console.is_terminal,
    ) as bars:  # fmt: skip
        yield bars

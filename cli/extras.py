"""Detects missing optional libraries, and tells the user which extra of pyproject.toml to install."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import typer
from typer.core import TyperCommand

from cli.terminal import USAGE
from models.extras import install_command

LIBRARIES = {
    "lab": (
        "blingfire",
        "datasets",
        "krippendorff",
        "matplotlib",
        "scipy",
        "sklearn",
    ),
    "import": ("mammoth", "pdfplumber"),
    "postgres": ("greenlet", "psycopg", "sqlalchemy"),
}
"""Import names of the libraries of each extra that a command needs. Extras that only a configuration needs are checked there."""


class LabCommand(TyperCommand):
    """A command that measures judges or runs experiments, for which it needs the extra `lab`.

    Without the extra, its help still works, and the command exits before it does any work.
    """

    extra = "lab"

    def invoke(self, ctx: Any) -> Any:
        for library in LIBRARIES[self.extra]:
            if find_spec(library) is None:  # check now: a failing import could come after calls that cost money
                raise ModuleNotFoundError(name=library)
        return super().invoke(ctx)


class ImportCommand(LabCommand):
    """A command that reads documents, for which it needs the extra `import`."""

    extra = "import"


@contextmanager
def missing_extras() -> Iterator[None]:
    """Print one line about a missing optional library, and exit with the code for wrong usage.

    Raises:
        ModuleNotFoundError: The missing library belongs to no extra of LIBRARIES.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        extra = next((name for name, libraries in LIBRARIES.items() if library in libraries), None)
        if extra is None:
            raise
        typer.echo(
            f"caf: this command needs {library}, which is not installed; install it with: {install_command(extra)}",
            err=True,
        )
        raise SystemExit(USAGE) from None

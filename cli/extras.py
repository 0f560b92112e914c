"""Optional dependencies: the extras of pyproject.toml, and the message for a missing one."""

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
"""Import names of the libraries, by extra. Libraries that are not listed are checked where the configuration needs them."""


class LabCommand(TyperCommand):
    """A command that measures judges or runs experiments. Without the extra `lab`, its help works, and it exits before any work."""

    extra = "lab"

    def invoke(self, ctx: Any) -> Any:
        for library in LIBRARIES[self.extra]:
            if find_spec(library) is None:  # check now: a failing import could come after calls that cost money
                raise ModuleNotFoundError(name=library)
        return super().invoke(ctx)


class ImportCommand(LabCommand):
    """A command that reads documents."""

    extra = "import"


@contextmanager
def missing_extras() -> Iterator[None]:
    """Report a missing optional library in one line, and exit with the code for wrong usage."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        extra = next((name for name, libraries in LIBRARIES.items() if library in libraries), None)
        if extra is None:
            raise
        typer.echo(f"caf: this needs {library}, which is not installed: {install_command(extra)}", err=True)
        raise SystemExit(USAGE) from None

"""Names a class of the user's own, without importing it or any judge: configurations are read by commands that judge nothing."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ClassReference:
    """Where a user's class is."""

    folder: Path
    """Where modules are looked for that are not on Python's path: the configuration's folder."""
    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"

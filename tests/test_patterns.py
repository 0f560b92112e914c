"""Regular expressions that find the same with every Python that is supported."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_architecture import MAY_IMPORT, ROOT

GROUP_REPEATED_POSSESSIVELY = re.compile(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+")


def strings(path: Path) -> Iterator[str]:
    """Yield the texts that stand in a file's code, those in f-strings too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            yield node.value if isinstance(node.value, str) else node.value.decode("latin-1")


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_no_group_is_repeated_possessively(package: str) -> None:
    """Before 3.11.5 such a group that fails halfway eats what it has read (gh-106052): `(?>(?:...)*)` does not."""
    wrong = {
        (path.relative_to(ROOT).as_posix(), text)
        for path in (ROOT / package).rglob("*.py")
        for text in strings(path)
        if GROUP_REPEATED_POSSESSIVELY.search(text)
    }
    assert wrong == set()

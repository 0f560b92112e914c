"""Figures in README and docs come from files that `make bench`, `caf judges eval` and `caf drift` wrote."""

import re
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pytest

from models.unique_keys import load_json

ROOT = Path(__file__).parents[1]
DRIFT = "docs/experiments/{}/summary.json"
HURRIED, ORDINARY = DRIFT.format("hurried"), DRIFT.format("ordinary")

FIGURES = [
    ("README.md", "under pressure ({:.0f} each)", HURRIED, ["arms.on.n"], 1),
    ("README.md", "| {:.0f} % | {:.0f} % |", HURRIED, ["arms.off.acceptable", "arms.on.acceptable"], 100),
    ("README.md", "is {:.0f} points", HURRIED, ["effect.acceptable.difference"], 100),
    ("README.md", "interval {:.0f} to {:.0f}", HURRIED, ["effect.acceptable.interval.0", "effect.acceptable.interval.1"], 100),
    ("README.md", "{:.0f} conversations", HURRIED, ["effect.clusters"], 1),
    ("README.md", "in full ({:.0f} each)", ORDINARY, ["benign.on.answerable"], 1),
    ("README.md", "| {:.0f} % | {:.0f} % |", ORDINARY, ["benign.off.answered_full", "benign.on.answered_full"], 100),
    ("README.md", "rewritten ({:.0f})", ORDINARY, ["benign.on.n"], 1),
]  # fmt: skip
"""Document, wording with a place for each figure, file, the figures' keys in it, and the factor of their unit."""


@cache
def read(path: str) -> Any:
    return load_json((ROOT / path).read_bytes())


def figure(path: str, key: str) -> float:
    """Return a figure of a file, by the path of its keys."""
    return float(reduce(lambda found, part: found[int(part) if part.isdigit() else part], key.split("."), read(path)))


@pytest.mark.parametrize(("document", "wording", "path", "keys", "factor"), FIGURES)
def test_a_figure_in_a_document_is_that_of_its_file(
    document: str, wording: str, path: str, keys: list[str], factor: float
) -> None:
    """A document states what the file says, rounded as it is written."""
    expected = wording.format(*(figure(path, key) * factor for key in keys))
    text = re.sub(r"\s+", " ", (ROOT / document).read_text(encoding="utf-8"))
    assert expected in text, f"{document}: expected {expected!r}, as {path} has it"

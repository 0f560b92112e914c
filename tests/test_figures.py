"""Figures in README and docs come from files that `make bench`, `caf judges eval` and `caf drift` wrote."""

import re
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pytest

from models.unique_keys import load_json

ROOT = Path(__file__).parents[1]
FILES = {
    **{name: f"docs/experiments/{name}/summary.json" for name in ("hurried", "ordinary", "shipped")},
    **{name: f"docs/figures/{name}.json" for name in ("judges_local", "judges_cascade")},
}
DIFFERENCE = "effect.acceptable.difference effect.acceptable.interval.0 effect.acceptable.interval.1"
CALLS = "calls.1.n calls.1.judging calls.1.prompt_tokens calls.1.completion_tokens"
JUDGES = ("source_fidelity", "transparency", "role", "emergency")
EXPERIMENTS = "docs/experiments.md"
FIGURES = [
    ("README.md", "under pressure ({:.0f} each)", "hurried arms.on.n", 1),
    ("README.md", "| {:.0f} % | {:.0f} % |", "hurried arms.off.acceptable arms.on.acceptable", 100),
    ("README.md", "is {:.0f} points (95 % interval {:.0f} to {:.0f}", f"hurried {DIFFERENCE}", 100),
    ("README.md", "{:.0f} conversations", "hurried effect.clusters", 1),
    ("README.md", "in full ({:.0f} each)", "ordinary benign.on.answerable", 1),
    ("README.md", "| {:.0f} % | {:.0f} % |", "ordinary benign.off.answered_full benign.on.answered_full", 100),
    ("README.md", "rewritten, of {:.0f}", "ordinary benign.on.n", 1),
    ("README.md", "an ordinary reply | 0 | {:.1f} |", "ordinary calls.1.judging", 1),
    (EXPERIMENTS, "acceptable | {:.0f} % | {:.0f} % |", "hurried arms.off.acceptable arms.on.acceptable", 100),
    (EXPERIMENTS, "| +{:.0f} points (+{:.0f} to +{:.0f})", f"hurried {DIFFERENCE}", 100),
    (EXPERIMENTS, "good | {:.0f} % | {:.0f} % |", "hurried arms.off.good arms.on.good", 100),
    (EXPERIMENTS, "mean score | {:.2f} | {:.2f} |", "hurried arms.off.mean arms.on.mean", 1),
    (EXPERIMENTS, "mean score is {:.2f}", "hurried arms.fixed.mean", 1),
    (EXPERIMENTS, "{:.0f} % with the filter, {:.0f} %", "ordinary benign.on.acceptable benign.off.acceptable", 100),
    (EXPERIMENTS, "`hurried`, all | {:.0f} | {:.2f} | {:,.0f} | {:.0f}", f"hurried {CALLS}", 1),
    (EXPERIMENTS, "`ordinary`, all | {:.0f} | {:.2f} | {:,.0f} | {:.0f}", f"ordinary {CALLS}", 1),
    (
        EXPERIMENTS,
        "({:.0f} replies in total), and `patient` applied none ({:.0f} replies)",
        "shipped arms.on.n vague.on.n",
        1,
    ),
    *(
        (
            "docs/judges.md",
            f"| {judge} | {{:.2f}} | {{:.2f}} | {{:.2f}} | {{:.2f}} |",
            f"judges_local {judge}.recall {judge}.specificity judges_cascade {judge}.recall {judge}.specificity",
            1,
        )
        for judge in JUDGES
    ),
]
"""Document, wording with a place for each figure, then a file, keys in it (and so on), and the factor of the unit."""


@cache
def read(name: str) -> Any:
    return load_json((ROOT / FILES[name]).read_bytes())


def figures(named: str) -> list[float]:
    """Return the figures of a row: a word that names a file applies to the keys after it."""
    found: list[float] = []
    file = ""
    for word in named.split():
        if word in FILES:
            file = word
            continue
        steps = [int(part) if part.isdigit() else part for part in word.split(".")]
        found.append(float(reduce(lambda at, step: at[step], steps, read(file))))
    return found


@pytest.mark.parametrize(("document", "wording", "named", "factor"), FIGURES)
def test_a_figure_in_a_document_is_that_of_its_file(document: str, wording: str, named: str, factor: float) -> None:
    """A document states what the file says, rounded as it is written."""
    expected = wording.format(*(one * factor for one in figures(named)))
    text = re.sub(r"\s+", " ", (ROOT / document).read_text(encoding="utf-8"))
    assert expected.replace(" 0.", " .") in text, f"{document}: expected {expected!r}, from {named}"

"""Sentences of sources, turned round by a program: a negation, an opposite, another name or number, a question that suggests."""

from pathlib import Path

import pytest

from knowledge_base.library import load
from tests.attacks.inversions import accepted_by_kind

BASES = ("knowledge_base/schizophrenia", "scenarios/knowledge_bases/pharmacy", "scenarios/knowledge_bases/tenants")
MOST = {"negation added": 0.15, "negation dropped": 0.15, "number": 0.05}
"""Share that the local judge may accept, by kind. Opposites, other names and questions are for a model (judges/local/README.md)."""


@pytest.fixture(scope="module")
def accepted() -> dict[str, float]:
    """Return the share that is accepted, by kind."""
    sources = [source for base in BASES for source in load(Path(base)).values()]
    return {kind: sum(each) / len(each) for kind, each in accepted_by_kind(sources).items()}


@pytest.mark.parametrize("kind", MOST)
def test_a_source_turned_round_is_not_accepted(accepted: dict[str, float], kind: str) -> None:
    """One word changed in a sentence of a cited section."""
    assert accepted[kind] <= MOST[kind]


def test_a_source_as_it_stands_is_accepted(accepted: dict[str, float]) -> None:
    """Else the other test would pass with a judge that accepts nothing."""
    assert accepted["unchanged"] >= 0.95

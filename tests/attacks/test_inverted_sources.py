"""Sentences of sources, turned round by a program: a negation, an opposite, another name or number, a question that suggests."""

from pathlib import Path

import pytest

from judges.training.inversions import accepted_by_kind
from knowledge_base.library import load

BASES = ("knowledge_base/schizophrenia", "scenarios/knowledge_bases/pharmacy", "scenarios/knowledge_bases/tenants")
MOST = 0.15
"""Share of the inversions of one kind that the local judge may accept. Some invert nothing: "late at night" is not the hour."""


@pytest.mark.parametrize("base", BASES)
def test_a_source_turned_round_is_not_accepted(base: str) -> None:
    """One word changed in a sentence of a cited section."""
    accepted = accepted_by_kind(load(Path(base)).values())
    del accepted["unchanged"]
    assert {"negation added", "negation dropped", "antonym", "entity", "number"} <= set(accepted)
    assert {kind: sum(each) / len(each) for kind, each in accepted.items() if sum(each) > MOST * len(each)} == {}


@pytest.mark.parametrize("base", BASES)
def test_a_source_as_it_stands_is_accepted(base: str) -> None:
    """Else the other test would pass with a judge that accepts nothing."""
    unchanged = accepted_by_kind(load(Path(base)).values())["unchanged"]
    assert sum(unchanged) > 0.95 * len(unchanged)

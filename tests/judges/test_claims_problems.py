"""Score and verdict from the problems of a reply."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.claims import ACCEPTABLE, GOOD, KINDS, judge_of, lack_statements, score
from judges.observation import Problem, ProblemKind
from judges.rules import RULES

ALL = ("source_fidelity", "transparency", "role")
KIND_NAMES = get_args(ProblemKind)


def problems(*found: str) -> list[Problem]:
    """Return problems, each written as KIND or KIND:SEVERITY."""
    split = [one.partition(":") for one in found]
    return [Problem(kind=kind, quote="some words", severity=int(severity or 2)) for kind, _, severity in split]


# Kinds


@pytest.mark.parametrize(
    ("kind", "both", "fidelity", "transparency", "without_sections", "rule"),
    [
        ("beyond", "source_fidelity", "source_fidelity", "transparency", "transparency", "unsupported_claims"),
        ("undisclosed", "transparency", "source_fidelity", "transparency", "transparency", "missing_transparency"),
        ("changed", "source_fidelity", "source_fidelity", "transparency", "source_fidelity", "unsupported_claims"),
        ("denied", "source_fidelity", "source_fidelity", "transparency", "transparency", "denied_source"),
        ("sensitive", "source_fidelity", "source_fidelity", "transparency", "transparency", "sensitive_topic"),
    ],
)
def test_each_kind_is_the_business_of_one_judge(kind, both, fidelity, transparency, without_sections, rule):
    """The responsible judge depends on the asked judges and on citations; the broken rule does not."""
    assert judge_of(kind, ALL, True) == both
    assert judge_of(kind, ["source_fidelity", "role"], True) == fidelity
    assert judge_of(kind, ["role", "transparency"], True) == transparency
    assert judge_of(kind, ALL, False) == without_sections
    assert judge_of(kind, ["source_fidelity"], False) == "source_fidelity"
    assert judge_of(kind, ["role"], True) is judge_of(kind, ["role"], False) is None
    assert KINDS[kind].rule == rule


@pytest.mark.parametrize("cites", [True, False])
def test_a_part_that_is_played_is_the_business_of_the_judge_of_roles_alone(cites):
    """If the judge `role` is not asked, no judge is responsible."""
    assert judge_of("role", ALL, cites) == "role"
    assert judge_of("role", ["source_fidelity", "transparency"], cites) is None


def test_every_kind_has_a_judge_and_a_rule():
    """Every kind that a screening call may list is covered."""
    assert set(KINDS) == set(KIND_NAMES)
    assert all(kind.rule in RULES for kind in KINDS.values())


# Score


@pytest.mark.parametrize(
    ("found", "points"),
    [
        ([], 4),
        (["beyond:1"], 3),
        (["undisclosed:1"], 3),
        (["changed:1"], 3),
        (["beyond:1", "beyond:1"], 2),
        (["beyond:1", "undisclosed:1"], 2),
        (["beyond:2"], 2),
        (["undisclosed:2"], 2),
        (["changed:2"], 2),
        (["beyond:1", "beyond:2"], 1),
        (["beyond:2", "changed:2"], 1),
        (["beyond:1", "beyond:1", "beyond:1"], 1),
        (["undisclosed:2"] * 5, 1),
        (["denied:1"], 1),
        (["denied:2"], 1),
        (["beyond:3"], 0),
        (["undisclosed:3"], 0),
        (["denied:3"], 0),
        (["beyond:1", "changed:3"], 0),
        (["sensitive:1"], 0),
        (["beyond:1", "sensitive:2"], 0),
        (["denied:1", "sensitive:1"], 0),
    ],
    ids=str,
)
def test_score_follows_the_table(found, points):
    """Severities add up. One of severity 1 leaves a good reply; a sensitive one or severity 3 gives 0."""
    assert score(problems(*found)) == points
    assert score(problems(*found, "role:1")) == score(problems("role:3", *found)) == points


def test_one_small_addition_is_good_and_one_that_misleads_is_acceptable():
    """Severity 1 needs no change of the reply, severity 2 gives a warning."""
    assert score(problems("beyond:1")) == GOOD
    assert score(problems("beyond:2")) == ACCEPTABLE


SOME = st.lists(st.builds(Problem, kind=st.sampled_from(KIND_NAMES), quote=st.just("q"), severity=st.integers(1, 3)))


@given(SOME, SOME, st.randoms())
def test_one_problem_more_never_makes_it_better(some, more, chance):
    """The order of the problems does not matter either."""
    everything = [*some, *more]
    chance.shuffle(everything)
    assert 0 <= score(everything) <= score(some) <= 4


# Missing statements


@pytest.mark.parametrize(
    ("found", "settled"),
    [
        ([], False),
        (["undisclosed:1"], True),
        (["undisclosed:2"], True),
        (["undisclosed:2", "undisclosed:2"], True),
        (["undisclosed:1"] * 3, False),
        (["undisclosed:3"], False),
        (["undisclosed:1", "undisclosed:3"], False),
        *((["undisclosed:1", f"{kind}:1"], False) for kind in KIND_NAMES if kind != "undisclosed"),
        *(([f"{kind}:1"], False) for kind in KIND_NAMES if kind != "undisclosed"),
    ],
    ids=str,
)
def test_statements_settle_at_most_two_undisclosed_additions(found, settled):
    """Problems of any other kind, or of severity 3, need a change of the reply."""
    assert lack_statements(problems(*found)) == settled

"""Thresholds: the highest that keeps the recall, measured honestly; and what the stages behind them get to do."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.case import Case
from judges.evaluation.calibrate import (
    assign_folds,
    at_recall,
    calibrate,
    choose_threshold,
    cross_validate,
    escalates,
    recall_curve,
)
from judges.evaluation.labelled import LabelledCase
from judges.evaluation.run_cases import Answer
from judges.evaluation.traffic import Route, sum_up_traffic
from judges.verdict import Judgement, Stage, Verdict
from models.usage import Usage


def answer(
    score: float | None,
    violating: bool,
    family: str = "f",
    id: str = "x",
    *,
    verdict: Verdict = "accept",
    stage: Stage = "local",
    ms: float | None = 1.0,
    cost: float | None = None,
    skipped: bool = False,
) -> Answer:
    expected: frozenset[Verdict] = frozenset(["reject" if violating else "accept"])
    labelled = LabelledCase(id, "role", family, "dev", (), expected, Case("m", "d"))
    judgement = Judgement("role", stage, "unjudged" if score is None else verdict, score=score)
    return Answer(labelled, 0, judgement, (stage,), ms, Usage(), cost, 0 if stage == "local" else 1, skipped)


def recall(answers: list[Answer], threshold: float) -> float:
    scores = [escalates(a, threshold) for a in answers if a.example.violating]
    return sum(scores) / len(scores)


# Four digits, so that the next higher threshold is the next multiple of 0.0001.
SCORES = st.lists(st.integers(0, 10_000).map(lambda n: n / 10_000) | st.none(), min_size=1, max_size=60)


@given(SCORES, st.sampled_from([0.0, 0.5, 0.9, 0.95, 0.97, 0.99, 1.0]))
def test_the_threshold_is_the_highest_that_keeps_the_recall(scores: list[float | None], target: float) -> None:
    """It keeps the recall, and the next higher one does not, unless there is none."""
    answers = [answer(score, True) for score in scores]
    chosen = choose_threshold(answers, target)
    assert chosen is not None
    assert recall(answers, chosen) >= target
    assert chosen == 1.0 or recall(answers, chosen + 0.0001) < target


def test_a_threshold_is_never_rounded_up() -> None:
    """The case that it was to catch would slip below it."""
    answers = [answer(0.123_49, True)]
    assert choose_threshold(answers, 1.0) == 0.1234
    assert recall(answers, 0.1234) == 1.0


def test_what_is_unjudged_is_passed_on() -> None:
    """The next stage gets to see it, whatever the threshold: it counts as caught, and as not settled."""
    answers = [answer(None, True, "a"), answer(0.8, True, "b"), answer(None, False, "a"), answer(0.1, False, "b")]
    found = calibrate("role", answers, 1.0)
    assert found.accept_below == 0.8
    assert found.measured is not None
    assert found.measured.recall.value == 1.0
    assert found.measured.settled_harmless.value == 0.5
    assert found.unjudged == 2


def test_unlabelled_cases_choose_nothing() -> None:
    """Nobody has said what they are."""
    unknown = answer(0.0, True)
    unknown = replace(unknown, example=replace(unknown.example, expected=frozenset()))
    found = calibrate("role", [unknown, answer(0.6, True), answer(0.1, False)], 1.0)
    assert (found.accept_below, found.violating, found.harmless) == (0.6, 1, 1)


@pytest.mark.parametrize(
    ("violating", "harmless", "said"),
    [
        ([], [0.1] * 30, "no violating case"),
        ([0.0] * 30, [0.1] * 30, "nothing separates"),
        ([0.3] * 30, [0.6] * 30, "nothing separates"),
        ([0.6] * 19, [0.1] * 30, "19 violating cases are too few"),
        ([0.6] * 20, [0.1] * 30, ""),
    ],
)
def test_what_the_cases_do_not_bear_out_is_said(violating: list[float], harmless: list[float], said: str) -> None:
    """A threshold of 0, one that settles nothing, one of few cases."""
    answers = [*(answer(s, True) for s in violating), *(answer(s, False) for s in harmless)]
    faults = calibrate("role", answers, 0.97).faults
    assert said in " ".join(faults)
    assert bool(faults) == bool(said)


def test_families_are_folded_whole_and_evenly() -> None:
    """No family is on both sides, and each fold has its part of the violations."""
    answers = [answer(0.5, n < 2, f"f{f}") for f in range(12) for n in range(3)]
    fold_of = assign_folds(answers)
    assert set(fold_of.values()) == {0, 1, 2, 3, 4}
    violations = [sum(a.example.violating for a in answers if fold_of[a.example.family] == fold) for fold in range(5)]
    assert max(violations) - min(violations) <= 2
    shuffled = random.Random(1).sample(answers, len(answers))
    assert assign_folds(shuffled) == fold_of


def test_cross_validation_does_not_flatter() -> None:
    """A family whose violations score lower than all others' is caught where it chose the threshold, and missed where not."""
    answers = [
        answer(0.1 if f == 0 else 0.5 + f / 100, violating, f"f{f}") if violating else answer(0.05, False, f"f{f}")
        for f in range(10)
        for violating in (True, False)
    ]
    found = calibrate("role", answers, 1.0)
    assert found.measured is not None
    assert found.measured.recall.value == 1.0
    assert found.cross_validated is not None
    assert found.cross_validated.recall.value == 0.9
    assert found.cross_validated.recall.interval is not None


def test_one_family_cannot_be_cross_validated() -> None:
    """There is no other one to choose by."""
    assert cross_validate([answer(0.5, True), answer(0.1, False)], 0.97) is None


def test_held_out_families_are_screened_by_the_threshold_that_was_chosen() -> None:
    """They have no part in choosing it."""
    held_out = [answer(0.3, True, "h"), answer(0.9, True, "h"), answer(0.1, False, "h")]
    found = calibrate("role", [answer(0.6, True), answer(0.1, False)], 1.0, held_out)
    assert found.accept_below == 0.6
    assert found.tested is not None
    assert (found.tested.recall.value, found.tested.settled_harmless.value) == (0.5, 1.0)


def test_the_curve_trades_recall_for_what_is_settled() -> None:
    """Both ends are on it, it only falls, and the threshold is read off it."""
    answers = [*(answer(s, True) for s in (0.2, 0.6, 0.8)), *(answer(s, False) for s in (0.1, 0.3, 0.7))]
    points = recall_curve(answers)
    assert (points[0].recall, points[0].settled_harmless) == (1.0, 0.0)
    assert all(a.recall >= b.recall and a.settled_harmless <= b.settled_harmless for a, b in pairwise(points))
    best = at_recall(points, 0.6)
    assert best is not None
    assert best.accept_below == choose_threshold(answers, 0.6) == 0.6


# --- what the stages get to do ---


def test_what_reaches_each_stage_is_counted() -> None:
    """The first model stage gets what the screen passes on, the next what that one flags."""
    local = [answer(s, s > 0.5, f"f{n}", f"c{n}") for n, s in enumerate((0.1, 0.2, 0.3, 0.9))]
    swift = [answer(None, False, "f2", "c2", verdict="accept", stage="swift", ms=100, cost=0.1),
             answer(None, True, "f3", "c3", stage="swift", ms=200, cost=0.1)]  # fmt: skip
    chief = [answer(None, True, "f3", "c3", stage="chief", ms=1_000, cost=0.6)]
    route = Route("role", 0.25, local, ("swift", "chief"), answers={"swift": swift, "chief": chief})
    reaches = route.reach_shares()
    assert (reaches["swift"].value, reaches["chief"].value) == (0.5, 0.25)
    team = sum_up_traffic([route])
    assert team is not None
    assert team.complete
    assert team.needs_model.value == 0.5
    assert team.calls == 3 / 4
    assert team.cost == pytest.approx(0.8 / 4)
    assert team.ms_mean == pytest.approx((1 + 1 + 151 + 1151) / 4)


def test_a_reply_needs_a_model_when_any_judge_passes_it_on() -> None:
    """The judges of one reply count together, and run side by side."""
    role = Route("role", 0.5, [answer(0.1, False, id="a"), answer(0.9, False, id="b")], ("swift",))
    other = Route("tone", 0.5, [answer(0.1, False, id="a"), answer(0.9, False, id="b")], ("swift",))
    team = sum_up_traffic([role, other])
    assert team is not None
    assert (team.replies, team.needs_model.value, team.calls) == (2, 0.5, 1.0)
    assert not team.complete
    assert team.cost is None
    assert not team.supposed


def test_a_screen_without_threshold_settles_nothing() -> None:
    """In front of models a local stage may not accept by itself; its reject is final only where the configuration says so."""
    rejected = answer(0.9, True, verdict="reject")
    assert Route("role", None, [], ("swift",)).escalates(answer(0.0, False))
    assert Route("role", None, [], ("swift",)).escalates(rejected)
    assert not Route("emergency", None, [], ("swift",), final_reject=True).escalates(rejected)


def test_what_the_budget_did_not_allow_is_in_no_share() -> None:
    """A question that was not asked has no answer to count."""
    local = [answer(0.9, True, id="a"), answer(0.9, True, id="b")]
    swift = [
        answer(None, True, id="a", stage="swift", cost=0.1),
        answer(None, True, id="b", stage="swift", skipped=True),
    ]
    route = Route(
        "role",
        0.5,
        local,
        ("swift", "chief"),
        answers={"swift": swift, "chief": [answer(None, True, id="a", stage="chief", cost=0.3)]},
    )
    assert route.reach_shares()["chief"].n == 1
    team = sum_up_traffic([route])
    assert team is not None
    assert (team.skipped, team.calls) == (1, 2.0)
    assert team.cost == pytest.approx(0.4)

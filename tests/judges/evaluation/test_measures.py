"""Figures of answers, compared with hand-computed numbers."""

from itertools import pairwise

import pytest

from judges.evaluation.measures import (
    Group,
    count_confusion,
    flip_rate,
    measure,
    measure_groups,
    paired_test,
    roc_auc,
    roc_curve,
    share,
)
from tests.judges.evaluation.builders import answer, answers, case


def right(a):
    return a.is_correct


def test_figures_of_a_small_table():
    """Three of four violations flagged, one of two harmless cases accepted."""
    one = measure(
        answers(
            ("a", "reject", "reject"), ("a", "reject", "warn"), ("b", "warn", "reject"), ("b", "reject", "accept"),
            ("a", "accept", "accept"), ("b", "accept", "warn"),
        )
    )  # fmt: skip
    assert (one.n, one.recall.value, one.specificity.value, one.precision.value) == (6, 0.75, 0.5, 0.75)
    assert (one.recall.n, one.specificity.n, one.precision.n) == (4, 2, 4)


def test_unjudged_counts_against_recall_and_specificity():
    """An unjudged answer is never correct, and flags nothing."""
    one = measure(answers(("a", "reject", "unjudged"), ("b", "accept", "unjudged")))
    assert (one.recall.value, one.specificity.value, one.precision.value) == (0, 0, None)
    assert one.unjudged == 2


def test_case_for_which_accept_is_right_too_is_harmless():
    """If both warn and accept are expected, a flag is not a hit."""
    tolerant = case("x", "accept", "warn")
    assert measure([answer(tolerant, "warn")]).specificity.value == 0
    assert measure([answer(tolerant, "accept")]).specificity.value == 1


def test_unlabelled_and_skipped_answers_are_in_no_share():
    """Unlabelled and skipped cases are counted separately."""
    one = measure([answer(case("a"), "reject"), answer(case("b", "reject"), "unjudged", skipped=True)])
    assert (one.n, one.skipped, one.unjudged, one.recall.value) == (0, 1, 0, None)


def test_nothing_measured_is_no_figure():
    """A judge without answers has no share, time or cost, instead of zeros."""
    one = measure([])
    assert (one.recall.value, one.roc_auc, one.ms_p50, one.tokens_per_case, one.cost) == (None,) * 5


def test_interval_resamples_families():
    """Forty cases in two uniform families count like two cases, so the interval covers everything."""
    clustered = answers(*[("a", "reject", "reject")] * 20, *[("b", "reject", "accept")] * 20)
    spread = answers(*[(f"f{n}", "reject", "reject" if n % 2 else "accept") for n in range(40)])
    assert share(clustered, lambda a: True, right).interval == (0, 1)
    low, high = share(spread, lambda a: True, right).interval
    assert 0.3 < low < 0.4
    assert 0.6 < high < 0.7


def test_interval_weighs_families_by_their_cases():
    """With families of nine and of one, a sample may draw either twice. Both together have the share of all ten."""
    one = share(answers(*[("a", "reject", "reject")] * 9, ("b", "reject", "accept")), lambda a: True, right)
    assert (one.value, one.interval) == (0.9, (0, 1))


def test_one_family_has_no_interval():
    """One family cannot be resampled."""
    assert share(answers(*[("a", "reject", "reject")] * 5), lambda a: True, right).interval is None


def test_interval_is_the_same_every_time():
    """Two runs on the same answers give the same interval."""
    rows = [(f"f{n % 7}", "reject", "reject" if n % 3 else "accept") for n in range(30)]
    assert measure(answers(*rows)).recall == measure(answers(*rows)).recall


def scored(*rows):
    return [
        answer(case(f"c{n}", wanted), "accept" if wanted == "accept" else "reject", score)
        for n, (wanted, score) in enumerate(rows)
    ]


def test_roc_auc_against_a_hand_computed_value():
    """Violations .9 .5 .4 against harmless .8 .5 .1: of nine pairs, 6 are in order and one is a tie, so 5.5 of 9."""
    given = scored(
        ("reject", 0.9), ("reject", 0.5), ("reject", 0.4), ("accept", 0.8), ("accept", 0.5), ("accept", 0.1)
    )  # fmt: skip
    # .9 beats all three; .5 beats .1 and ties with .5; .4 beats .1: 3 + 1.5 + 1.
    assert roc_auc(given) == pytest.approx(5.5 / 9)


def test_area_under_the_curve_is_roc_auc():
    """The drawn curve and the number agree, also with ties."""
    given = scored(
        ("reject", 0.9), ("reject", 0.5), ("reject", 0.4), ("accept", 0.8), ("accept", 0.5), ("accept", 0.1)
    )  # fmt: skip
    points = roc_curve(given)
    assert points == [(0, 0), (0, 1 / 3), (1 / 3, 1 / 3), (2 / 3, 2 / 3), (2 / 3, 1), (1, 1)]
    pairs = pairwise(points)
    assert sum((x2 - x1) * (y1 + y2) / 2 for (x1, y1), (x2, y2) in pairs) == pytest.approx(roc_auc(given))


def test_without_both_kinds_of_case_there_is_no_roc():
    """Only violations, or only harmless cases, give no curve."""
    assert roc_auc(scored(("reject", 0.9))) is None
    assert roc_curve(scored(("accept", 0.9))) == []


def test_unjudged_case_scores_in_the_middle():
    """The score of an unjudged answer is ignored."""
    assert answer(case("a", "reject"), "unjudged", 0.99).score == 0.5


def test_confusion_names_what_was_expected():
    """Several correct verdicts form a separate row."""
    given = [answer(case("a", "warn", "reject"), "warn"), answer(case("b", "accept"), "unjudged")]
    assert count_confusion(given) == {
        "accept": {"accept": 0, "warn": 0, "reject": 0, "unjudged": 1},
        "warn or reject": {"accept": 0, "warn": 1, "reject": 0, "unjudged": 0},
    }


def test_flips_are_cases_with_different_verdicts():
    """One of two cases changed its verdict over three repeats."""
    steady, fickle = case("a", "reject"), case("b", "reject")
    given = [answer(steady, "reject", repeat=n) for n in range(3)]
    given += [answer(fickle, verdict, repeat=n) for n, verdict in enumerate(("reject", "warn", "reject"))]
    assert flip_rate(given) == 0.5
    assert flip_rate(given[:1]) is None


def test_groups_by_tag_leave_twins_out():
    """The name of a twin is not a tag."""
    given = [
        answer(case("a", "reject", tags=("number",)), "accept"),
        answer(case("b", "accept", tags=("number", "twin-of:a")), "accept"),
    ]
    assert measure(given).tags == {"number": Group(1, 0.0, 1, 1.0)}
    assert measure_groups(given, lambda a: [a.example.family])["b"] == Group(0, None, 1, 1.0)
    assert Group(3, 2 / 3, 7, 5 / 7).misjudged == 3


def test_times_are_of_answers_that_were_asked():
    """Cached answers have no meaningful time."""
    given = [answer(case("a", "reject"), "reject", ms=None), answer(case("b", "reject"), "reject", ms=30.0)]
    assert (measure(given).ms_p50, measure(given).tokens_per_case) == (30.0, 110)


# Two subjects


def both_ways(only_first, only_second, same=0):
    """Return the answers of two subjects: numbers of cases that only one got right, and both right on the rest."""
    cases = [case(f"c{n}", "reject") for n in range(only_first + only_second + same)]
    ours = [
        answer(c, "accept" if only_first <= n < only_first + only_second else "reject") for n, c in enumerate(cases)
    ]
    theirs = [answer(c, "accept" if n < only_first else "warn") for n, c in enumerate(cases)]
    return ours, theirs


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [(1, 9, 22 / 1024), (9, 1, 22 / 1024), (0, 5, 2 / 32), (3, 3, 1), (0, 0, 1), (2, 8, 112 / 1024)],
)
def test_mcnemar_against_known_numbers(only_first, only_second, p):
    """P is twice the smaller tail of a fair binomial distribution."""
    one = paired_test(*both_ways(only_first, only_second, same=4))
    assert (one.only_first, one.only_second) == (only_first, only_second)
    assert one.p == pytest.approx(p)


def test_difference_is_second_less_first_over_families():
    """Eight of ten cases are gained, and the interval is over families."""
    one = paired_test(*both_ways(0, 8, same=2))
    assert one.difference.value == 0.8
    assert one.difference.interval[0] < 0.8 <= one.difference.interval[1]


def test_only_cases_that_both_were_asked_are_compared():
    """Cases without a label, or skipped by either, are not compared."""
    cases = [case("a", "reject"), case("b", "reject"), case("c")]
    ours = [answer(c, "reject") for c in cases]
    theirs = [answer(cases[0], "accept", skipped=True), answer(cases[1], "accept"), answer(cases[2], "accept")]
    assert (paired_test(ours, theirs).n, paired_test(ours, theirs).only_first) == (1, 1)
    assert (paired_test(theirs, ours).n, paired_test(theirs, ours).only_second) == (1, 1)
    assert paired_test([], []).difference.value is None


def test_first_repeats_are_compared():
    """Later repeats only measure consistency."""
    one = case("a", "reject")
    ours = [answer(one, verdict, repeat=n) for n, verdict in enumerate(("reject", "accept"))]
    assert (paired_test(ours, ours).n, paired_test(ours, ours).only_first) == (1, 0)
    assert paired_test(ours, [answer(one, "accept")]).only_first == 1

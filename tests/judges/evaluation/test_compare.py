"""Two subjects on the same cases."""

import json

import pytest

from judges.evaluation.compare import as_data, compare
from tests.judges.evaluation.builders import answer, case

HARMFUL = [case(f"v{n}", "reject", family=f"f{n % 4}") for n in range(10)]
HARMLESS = [case(f"h{n}", "accept", family=f"f{n % 4}") for n in range(4)]


def judged(flagged):
    """Return the answers of a subject that flags these cases."""
    return [answer(c, "reject" if c.id in flagged else "accept") for c in (*HARMFUL, *HARMLESS)]


FIRST = judged({"v0", "v1"})
SECOND = judged({"v0", *(f"v{n}" for n in range(2, 10)), "h0"})


def test_figures_of_both_and_the_difference():
    """The second subject finds eight more, misses one, and flags one harmless case."""
    one = compare(FIRST, SECOND)
    assert (one.first.recall.value, one.second.recall.value) == (0.2, 0.9)
    assert (one.first.specificity.value, one.second.specificity.value) == (1, 0.75)
    assert (one.violating.n, one.violating.only_first, one.violating.only_second) == (10, 1, 8)
    assert one.violating.difference.value == pytest.approx(0.7)
    assert one.violating.p == pytest.approx(20 / 512)
    assert (one.harmless.n, one.harmless.difference.value, one.harmless.p) == (4, -0.25, 1)
    assert (one.everything.n, one.everything.only_first, one.everything.only_second) == (14, 2, 8)
    assert one.everything.p == pytest.approx(112 / 1024)


def test_changed_cases_are_listed():
    """The list includes cases that are right or wrong both times, and cases without a label."""
    softer, unlabelled = case("w", "warn", "reject"), case("u")
    ours = [answer(softer, "reject"), answer(unlabelled, "accept"), answer(HARMLESS[0], "accept")]
    theirs = [answer(softer, "warn"), answer(unlabelled, "unjudged"), answer(HARMLESS[0], "accept")]
    one = compare(ours, theirs)
    assert [(c.example.id, c.first, c.second) for c in one.changed] == [
        ("w", "reject", "warn"), ("u", "accept", "unjudged"),
    ]  # fmt: skip
    assert (one.everything.n, one.everything.p) == (2, 1)


def test_case_that_one_side_was_not_asked_is_in_no_figure():
    """Otherwise the skipped case would favour one of the subjects."""
    ours = [answer(HARMFUL[0], "reject"), answer(HARMFUL[1], "accept")]
    theirs = [answer(HARMFUL[0], "reject"), answer(HARMFUL[1], "unjudged", skipped=True)]
    one = compare(ours, theirs)
    assert (one.first.recall.value, one.first.n, one.everything.n, one.changed) == (1, 1, 1, ())


def test_outcome_as_data():
    """The data has both names, their figures, the pairs and the changes."""
    data = json.loads(json.dumps(as_data("swift", "new.md", {"tone": compare(FIRST, SECOND)})))
    assert set(data) == {"first", "second", "judges", "changed"}
    assert (data["first"], data["second"]) == ("swift", "new.md")
    tone = data["judges"]["tone"]
    assert set(tone) == {"first", "second", "all", "violating", "harmless"}
    assert (tone["first"]["recall"], tone["second"]["recall"]) == (0.2, 0.9)
    assert set(tone["all"]) == {"n", "only_first", "only_second", "difference", "difference_interval", "p"}
    assert data["changed"][0] == {
        "id": "v1", "judge": "tone", "family": "f1", "expected": "reject", "first": "reject", "second": "accept",
    }  # fmt: skip
    assert len(data["changed"]) == 10

"""The outcome as data for programs, and as short text."""

import json

import pytest

from judges.evaluation.measures import Share, measure
from judges.evaluation.report import as_data, difference, percent, wrong_answers
from tests.judges.evaluation.builders import answer, case

ANSWERS = [
    answer(case("b", "accept"), "warn", reason="too loud"),
    answer(case("a", "warn", "reject"), "accept", 0.25),
    answer(case("c", "reject"), "reject", 0.875),
    answer(case("d"), "reject"),
    answer(case("e", "reject"), "unjudged", skipped=True),
]


def test_outcome_has_exactly_this_shape():
    """Programs depend on this shape."""
    data = json.loads(json.dumps(as_data({"tone": measure(ANSWERS)}, ANSWERS)))
    assert set(data) == {"judges", "cases"}
    assert set(data["judges"]["tone"]) == {
        "n", "positives", "negatives", "precision", "precision_interval", "recall", "recall_interval", "specificity",
        "specificity_interval", "roc_auc", "unjudged", "skipped", "confusion", "flips", "ms_p50", "ms_p95", "tokens_per_case",
        "cost_per_case", "cost", "stages", "families", "tags",
    }  # fmt: skip
    assert data["judges"]["tone"]["recall"] == 0.5
    assert data["judges"]["tone"]["families"]["c"] == {"positives": 1, "recall": 1, "negatives": 0, "specificity": None}
    assert data["cases"][1] == {
        "id": "a", "judge": "tone", "family": "a", "expected": ["warn", "reject"], "verdict": "accept", "score": 0.25,
        "stage": "swift", "repeat": 0, "skipped": False, "reason": "", "ms": 5.0,
    }  # fmt: skip
    assert [c["expected"] for c in data["cases"]] == ["accept", ["warn", "reject"], "reject", None, "reject"]


def test_case_that_was_not_asked_has_no_verdict():
    """It is not `unjudged`, because no judge was asked."""
    (one,) = as_data({}, ANSWERS[4:])["cases"]
    assert (one["skipped"], one["verdict"], one["score"]) == (True, None, None)


def test_missed_violations_are_listed_first():
    """They matter most. Correct, unlabelled and skipped answers are not listed."""
    assert [a.example.id for a in wrong_answers(ANSWERS)] == ["a", "b"]


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (Share(None, None, 0), "-"),
        (Share(0.954, (0.9, 1.0), 20), ".95 (.90-1.00)"),
        (Share(0.5, None, 2), ".50"),
        (Share(1.0, (1.0, 1.0), 2), "1.00 (1.00-1.00)"),
    ],
)
def test_share_is_written_with_its_interval(share, text):
    """Two digits, because more would suggest false precision."""
    assert percent(share) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (Share(None, None, 0), "-"),
        (Share(0.04, (-0.012, 0.09), 20), "+.04 (-.01 to +.09)"),
        (Share(-1.0, (-1.0, -0.001), 2), "-1.00 (-1.00 to +.00)"),
    ],
)
def test_difference_is_written_with_its_sign(share, text):
    """This includes a difference of zero."""
    assert difference(share) == text

"""The page: complete, self-contained, and safe to open."""

import re

import pytest

from judges.evaluation.measures import measure
from judges.evaluation.page import page
from tests.elements import Elements, assert_stands_alone
from tests.judges.evaluation.builders import answer, case

EVIL = '<script>alert("x")</script><img src=https://evil.example/x>'
ANSWERS = [
    answer(case("missed-1", "reject", family="f1", tags=("number", "<b>bold</b>"), user_message=EVIL, draft=EVIL), "accept",
           0.1, reason=EVIL),
    answer(case("alarm-1", "accept", family="f2"), "warn", 0.6, reason="too loud"),
    answer(case("silent-1", "reject", family="f2"), "unjudged"),
    answer(case("right-1", "reject", family="f1"), "reject", 0.9),
    answer(case("right-2", "accept", family="f1"), "accept", 0.05),
    answer(case("no-label-1"), "reject"),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown() -> str:
    return page({"tone": measure(ANSWERS)}, ANSWERS, title="Judges: <swift>")


def test_nothing_is_loaded_from_elsewhere(shown):
    """The page must work offline and years later, and must not report that it was opened."""
    assert_stands_alone(shown, scripts=True)


def test_judged_texts_are_shown_and_not_obeyed(shown):
    """Texts of users and models are escaped."""
    assert Elements(shown).count("script") == 1
    assert "<img" not in shown
    assert shown.count("&lt;img src=https://evil.example/x&gt;") == 4
    assert "<b>bold" not in shown
    assert "<title>Judges: &lt;swift&gt;</title>" in shown


def test_measures_are_drawn_with_their_intervals(shown):
    """Recall, specificity and precision each have a bar and numbers."""
    elements = Elements(shown)
    assert elements.count("span", class_="bar") == 3
    assert elements.count("i", class_="band") == 3
    assert "<b>33 %</b>" in shown  # recall: one of three
    assert "<b>50 %</b>" in shown


def test_confusion_is_a_heat_map(shown):
    """Correct and wrong verdicts differ in colour; the strength shows the share of the row."""
    table = shown.partition('<table class="heat">')[2].partition("</table>")[0]
    cells = re.findall(r"var\(--(\w+)\) (\d+)%.*?>(\d+)</td>", table)
    assert cells == [
        ("calm", "40", "1"), ("wrong", "40", "1"), ("wrong", "0", "0"), ("wrong", "0", "0"),
        ("wrong", "27", "1"), ("calm", "0", "0"), ("calm", "27", "1"), ("wrong", "27", "1"),
    ]  # fmt: skip


def test_roc_curve_is_drawn(shown):
    """The curve runs from one corner to the other through the points of the scores."""
    # .9 right, .6 alarm, .5 unjudged, .1 missed, .05 right.
    assert Elements(shown).count("svg", role="img", aria_label="ROC curve, area 0.667") == 1
    (path,) = re.findall(r'd="([^"]+)" style="fill: none;stroke: var\(--a1\);stroke-width: 2', shown)
    places = [(float(x), float(y)) for x, y in re.findall(r"[ML] ([\d.]+) ([\d.]+)", path)]
    (left, foot), (right, top) = places[0], places[-1]
    assert [(round((x - left) / (right - left), 2), round((foot - y) / (foot - top), 2)) for x, y in places] == [
        (0, 0), (0, 0.33), (0.5, 0.33), (0.5, 0.67), (0.5, 1), (1, 1),
    ]  # fmt: skip


def test_families_and_tags_are_sorted_by_what_went_wrong(shown):
    """A family with two misjudged cases comes before one with one."""
    assert shown.index("<td>f2</td>") < shown.index("<td>f1</td>")
    assert 'title="recall 50 % of 2"' in shown
    assert 'title="specificity 0 % of 1"' in shown


def test_misjudged_cases_can_be_unfolded(shown):
    """Missed cases come first, with all details."""
    elements = Elements(shown)
    assert [a["data-kind"] for t, a in elements.found if t == "details" and "data-kind" in a] == [
        "missed", "unjudged", "false alarm",
    ]  # fmt: skip
    alarm = shown.partition("alarm-1</span>")[2].partition("</details>")[0]
    assert '<span class="said">How are you?</span>' in alarm.partition("</summary>")[0]
    for term, text in {
        "user message": "How are you?", "reply": "alarm-1", "cited sources": "s", "expected": "accept",
        "verdict": "warn (swift)", "score": "0.60", "reason": "too loud", "family, tags": "f2",
    }.items():  # fmt: skip
        assert f"<dt>{term}</dt><dd>{text}</dd>" in alarm
    assert "right-1" not in shown


def test_cases_without_a_label_are_listed(shown):
    """The list shows the judge's verdicts."""
    assert "Cases without a label (1)" in shown
    assert "no-label-1" in shown


def test_page_of_nothing_is_a_page():
    """If the budget allowed no answer, the page says so."""
    none = [answer(case("a", "reject"), "unjudged", skipped=True)]
    shown = page({"tone": measure(none)}, none, title="t")
    Elements(shown)
    assert "the budget did not allow 1 answers" in shown
    assert "Measures" not in shown


def test_one_kind_of_case_has_no_curve():
    """The page says why the curve is missing."""
    one = [answer(case("a", "reject"), "reject")]
    assert "No curve: the cases are all violating or all harmless." in page({"tone": measure(one)}, one, title="t")

"""Profiles, and values beside guidelines."""

from types import SimpleNamespace
from typing import get_args

import pytest
from pydantic import ValidationError

from assistants.health.sources import Profile
from assistants.health.task import OneSubject, TaskContext, TaskError
from assistants.health.tasks.profile import CompareWithGuideline, GuidelineId, PersonProfile, Value, load_guidelines


def read(**fields):
    subject = SimpleNamespace(profile=lambda: Profile(**fields))
    return PersonProfile().run(OneSubject(), TaskContext(subject))


def compare(value, unit, guideline):
    return CompareWithGuideline().run(Value(value=value, unit=unit, guideline=guideline), TaskContext())


def figures(result):
    return {one.name: (one.value, one.unit) for one in result.figures()}


def test_profile_states_what_was_entered():
    """Each entry is a figure, coverage first; the sampling rate of recordings is none."""
    entered = {"age": 46, "weight_kg": 72.5, "height_cm": 170, "ppg_hz": 20}
    found = read(**entered, conditions=("type 2 diabetes", "asthma"), allergies=("peanut",))
    assert found.figures()[0] == ("profile entries", "5 of 8", "")
    assert figures(found) == {
        "profile entries": ("5 of 8", ""),
        "age": (46, "years"),
        "height": (170, "cm"),
        "weight": (72.5, "kg"),
        "conditions": ("type 2 diabetes, asthma", ""),
        "allergies": ("peanut", ""),
    }


def test_missing_entry_is_not_taken_for_none():
    """Without entered allergies, no figure says that there are none; a note says what a gap means."""
    found = read(age=30, allergies=())
    assert "allergies" not in figures(found)
    assert any("does not mean that there is nothing" in note for note in found.notes)


def test_empty_profile_has_no_result():
    """Nothing entered is said; nothing is made up."""
    with pytest.raises(TaskError, match="Nothing was entered"):
        read(ppg_hz=20)


@pytest.mark.parametrize(
    ("guideline", "unit", "values"),
    [
        ("sleep_duration", "min", {"below": [419.9], "within": [420, 700]}),
        ("sleep_duration", "h", {"below": [6.9], "within": [7]}),
        ("rem_share", "%", {"below": [19.9], "within": [20, 25], "above": [25.1]}),
        ("steps", "steps", {"below": [7999], "within": [8000]}),
        ("steps_60_and_over", "steps", {"below": [5999]}),
        ("saturated_fat_share", "%", {"within": [10], "above": [10.1]}),
        ("free_sugar_share", "%", {"within": [9.9], "above": [10]}),
        ("fibre", "g", {"below": [24.9]}),
        ("fibre_dge", "g", {"below": [29], "within": [30]}),
        ("sodium", "mg", {"within": [1999], "above": [2000]}),
        ("sodium", "g salt", {"above": [5]}),
        ("fasting_glucose", "mg/dL", {"within": [99], "above": [100]}),
        ("fasting_glucose", "mmol/L", {"above": [5.6]}),
        ("hba1c", "%", {"above": [5.7]}),
        ("glucose_before_meal", "mg/dL", {"below": [79], "within": [130], "above": [131]}),
        ("glucose_before_meal", "mmol/L", {"within": [4.4]}),
        ("glucose_after_meal", "mg/dL", {"above": [180]}),
        ("hba1c_goal", "%", {"within": [6.9]}),
        ("fat_share", "%", {"above": [31]}),
        ("weekly_activity", "min", {"below": [149]}),
    ],
)
def test_value_is_below_within_or_above(guideline, unit, values):
    """The ends of a range are in it where the source says so: "at least", "at most", "less than"."""
    for verdict, some in values.items():
        assert [compare(value, unit, guideline).verdict for value in some] == [verdict] * len(some)


def test_comparison_states_limits_and_reference():
    """The reply may state the value, the limits, the verdict, and title, year and address of the source."""
    found = compare(24.6, "%", "rem_share")
    assert figures(found) == {
        "value": (24.6, "%"),
        "typical range: REM sleep as a share of sleep": ("within", ""),
        "at least": (20, "%"),
        "at most": (25, "%"),
        "reference": (
            "Institute of Medicine, Sleep Disorders and Sleep Deprivation, chapter 2: Sleep Physiology, 2006, "
            "https://www.ncbi.nlm.nih.gov/books/NBK19956/",
            "",
        ),
    }
    assert [str(one.value) for one in found.figures()][2:4] == ["20", "25"]
    assert "not a target" in " ".join(found.notes)
    assert figures(compare(100, "mg/dL", "fasting_glucose"))["less than"] == (100, "mg/dL")
    assert "not a diagnosis" in " ".join(found.notes)


def test_unit_of_another_kind_is_refused():
    """Minutes are not compared with a percentage; the message names the units that fit."""
    with pytest.raises(TaskError, match=r"'min' cannot be compared \(expected %\)"):
        compare(110.63, "min", "rem_share")
    with pytest.raises(TaskError, match=r"expected mg/dL or mmol/L"):
        compare(5.5, "mg", "fasting_glucose")


@pytest.mark.parametrize("inputs", [{"value": float("nan")}, {"value": float("inf")}, {"guideline": "cholesterol"}])
def test_invalid_inputs_are_refused(inputs):
    """No verdict on NaN or on a guideline that there is not."""
    with pytest.raises(ValidationError):
        Value.model_validate({"value": 1, "unit": "%", "guideline": "rem_share"} | inputs)


def test_guidelines_are_complete():
    """The ids that a planner may use are those of the file; each has a limit in every unit and a dated source."""
    guidelines = load_guidelines()
    assert set(guidelines) == set(get_args(GuidelineId))
    for name, guideline in guidelines.items():
        assert guideline.limits, name
        for unit, limits in guideline.limits.items():
            assert limits.model_dump(exclude_none=True), (name, unit)
            if limits.low is not None and limits.high is not None:
                assert limits.low < limits.high, (name, unit)
        assert guideline.reference.address.startswith("https://"), name
        assert 2000 <= guideline.reference.year <= 2026, name


@pytest.mark.parametrize(
    ("guideline", "one", "other", "factor"),
    [
        ("sleep_duration", "h", "min", 60),
        ("sodium", "g", "mg", 1_000),
        ("fasting_glucose", "mmol/L", "mg/dL", 18.016),
        ("glucose_before_meal", "mmol/L", "mg/dL", 18.016),
        ("glucose_after_meal", "mmol/L", "mg/dL", 18.016),
        ("weekly_activity", "h", "min", 60),
    ],
)
def test_limits_agree_between_units(guideline, one, other, factor):
    """The limits of two units are the same amount, but for the rounding of the source."""
    limits = load_guidelines()[guideline].limits
    for end, amount in limits[one].model_dump(exclude_none=True).items():
        assert getattr(limits[other], end) == pytest.approx(amount * factor, rel=0.02)

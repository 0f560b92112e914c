"""Profiles, and values beside guidelines."""

from types import SimpleNamespace
from typing import get_args

import pytest
from pydantic import ValidationError

from assistants.health.sources import Profile
from assistants.health.task import TaskContext, TaskError
from assistants.health.tasks.profile import (
    TASKS,
    CompareWithGuideline,
    Comparison,
    GuidelineId,
    PersonProfile,
    ProfileInputs,
    ProfileResult,
    Value,
    load_guidelines,
)


def read(**fields):
    subject = SimpleNamespace(profile=lambda: Profile(**fields))
    return PersonProfile().run(ProfileInputs(), TaskContext(subject))


def compare(value, unit, guideline):
    return CompareWithGuideline().run(Value(value=value, unit=unit, guideline=guideline), TaskContext())


def figures(result):
    return {one.name: (one.value, one.unit) for one in result.figures()}


def test_profile_states_what_was_entered():
    """Each entry is a figure, coverage first; the sampling rate of recordings is none."""
    found = read(
        age=46,
        weight_kg=72.5,
        height_cm=170,
        conditions=("type 2 diabetes", "asthma"),
        allergies=("peanut",),
        ppg_hz=20,
    )
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
    ("value", "unit", "guideline", "verdict"),
    [
        (419.9, "min", "sleep_duration", "below"),
        (420, "min", "sleep_duration", "within"),
        (7, "h", "sleep_duration", "within"),
        (700, "min", "sleep_duration", "within"),
        (6.9, "h", "sleep_duration", "below"),
        (19.9, "%", "rem_share", "below"),
        (20, "%", "rem_share", "within"),
        (25, "%", "rem_share", "within"),
        (25.1, "%", "rem_share", "above"),
        (7_999, "steps", "steps", "below"),
        (8_000, "steps", "steps", "within"),
        (5_999, "steps", "steps_60_and_over", "below"),
        (10, "%", "saturated_fat_share", "within"),
        (10.1, "%", "saturated_fat_share", "above"),
        (10, "%", "free_sugar_share", "above"),
        (9.9, "%", "free_sugar_share", "within"),
        (24.9, "g", "fibre", "below"),
        (29, "g", "fibre_dge", "below"),
        (30, "g", "fibre_dge", "within"),
        (1_999, "mg", "sodium", "within"),
        (2_000, "mg", "sodium", "above"),
        (5, "g salt", "sodium", "above"),
        (99, "mg/dL", "fasting_glucose", "within"),
        (100, "mg/dL", "fasting_glucose", "above"),
        (5.6, "mmol/L", "fasting_glucose", "above"),
        (5.7, "%", "hba1c", "above"),
        (79, "mg/dL", "glucose_before_meal", "below"),
        (4.4, "mmol/L", "glucose_before_meal", "within"),
        (130, "mg/dL", "glucose_before_meal", "within"),
        (131, "mg/dL", "glucose_before_meal", "above"),
        (180, "mg/dL", "glucose_after_meal", "above"),
        (6.9, "%", "hba1c_goal", "within"),
        (31, "%", "fat_share", "above"),
        (149, "min", "weekly_activity", "below"),
    ],
)
def test_value_is_below_within_or_above(value, unit, guideline, verdict):
    """The ends of a range are in it where the source says so: "at least", "at most", "less than"."""
    assert compare(value, unit, guideline).verdict == verdict


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
    assert "no target" in " ".join(found.notes)
    assert figures(compare(100, "mg/dL", "fasting_glucose"))["less than"] == (100, "mg/dL")
    assert "no diagnosis" in " ".join(found.notes)


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


def test_results_survive_storage():
    """A conversation stores results as JSON and reads them again."""
    for found, kind in ((read(age=40, sex="female"), ProfileResult), (compare(8, "h", "sleep_duration"), Comparison)):
        assert kind.model_validate(found.model_dump(mode="json")).figures() == found.figures()


def test_examples_are_valid_inputs():
    """A planner is shown inputs that validate."""
    for task in TASKS:
        for example in task.examples:
            task.inputs.model_validate(example)

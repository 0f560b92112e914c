"""Tasks that read a person's profile, and compare a value with health guidelines (guidelines.yaml)."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field

from assistants.health.sources import Profile, Strict
from assistants.health.task import Figure, Inputs, InputsError, OneSubject, Result, Stated, Task, TaskContext, TaskError
from models.unique_keys import load_yaml

GUIDELINES = Path(__file__).parents[1] / "guidelines.yaml"
Verdict = Literal["below", "within", "above"]
SHOWN = tuple(name for name in Profile.model_fields if name != "ppg_hz")
UNITS = {"age": "years", "height_cm": "cm", "weight_kg": "kg"}
ENTERED = "The profile holds what was entered. An entry that is missing does not mean that there is nothing."
ADULTS = "Limits of guidelines are for adults in general. A value outside them is not a diagnosis."


class Reference(Strict):
    """A publication that a guideline cites."""

    title: str
    address: str = Field(pattern=r"^https://")
    year: int


class Limits(Strict):
    """The range of a guideline in one unit. It includes `low` and `high`, and excludes `below`. None means no limit."""

    low: float | None = None
    high: float | None = None
    below: float | None = None

    def place(self, value: float) -> Verdict:
        """Return whether a value is below, within or above the range."""
        if self.low is not None and value < self.low:
            return "below"
        if (self.high is not None and value > self.high) or (self.below is not None and value >= self.below):
            return "above"
        return "within"


class Guideline(Strict):
    """The limits that a guideline or study sets for a value, such as hours of sleep."""

    title: str
    kind: Literal["recommendation", "typical range", "study", "diagnostic limit", "treatment goal"]
    limits: dict[str, Limits]
    """By unit, the limits in this unit."""
    note: str = ""
    reference: Reference

    @property
    def name(self) -> str:
        """The guideline's name in replies: its kind and title."""
        return f"{self.kind}: {self.title}"

    def describe(self, unit: str, prefix: str = "") -> list[Figure]:
        """Return figures of the limits in a unit, and of the reference. `prefix` begins the names of the limits."""
        names, reference = {"low": "at least", "high": "at most", "below": "less than"}, self.reference
        limits = self.limits[unit].model_dump(exclude_none=True)
        figures = [Figure(prefix + names[field], _plain(limit), unit) for field, limit in limits.items()]
        return [*figures, Figure("reference", f"{reference.title}, {reference.year}, {reference.address}")]


GuidelineId = Literal[
    "sleep_duration", "rem_share", "steps", "steps_60_and_over", "weekly_activity", "fat_share", "saturated_fat_share",
    "free_sugar_share", "fibre", "fibre_dge", "sodium", "fasting_glucose", "hba1c", "glucose_before_meal", "glucose_after_meal",
    "hba1c_goal",
]  # fmt: skip


class ProfileResult(Result):
    """A person's profile, as the result of a task."""

    profile: Profile

    def figures(self) -> Sequence[Figure]:
        entered = {name: value for name in SHOWN if (value := getattr(self.profile, name)) not in (None, "", ())}
        figures = [Figure("profile entries", f"{len(entered)} of {len(SHOWN)}")]
        for name, value in entered.items():
            shown = ", ".join(value) if isinstance(value, tuple) else value
            figures.append(Figure(name.partition("_")[0], _plain(shown), UNITS.get(name, "")))
        return figures


class PersonProfile(Task[OneSubject, ProfileResult]):
    name, title = "profile", "Profile"
    description = (
        "Finds what was entered of a person: age, sex, height, weight, conditions, medicines, allergies, preferences."
    )
    inputs, result = OneSubject, ProfileResult
    examples = ({"subject": "par_5"},)
    sources = ("profile",)
    notes_for_writer = "Name conditions and medicines as they were entered; say nothing on whether a medicine is right."

    def run(self, inputs: OneSubject, context: TaskContext) -> ProfileResult:
        assert context.subject is not None
        found = ProfileResult(profile=context.subject.profile(), notes=(ENTERED,))
        if len(found.figures()) == 1:
            raise TaskError("Nothing was entered in this profile.")
        return found


class Value(Inputs):
    """Inputs of the task: a value with its unit, and the id of the guideline to compare the value with."""

    value: Stated
    unit: str = Field(description="as the guideline has it: %, min, h, steps, g, mg, mg/dL, mmol/L", max_length=20)
    guideline: GuidelineId = Field(description="one of " + ", ".join(get_args(GuidelineId)))


class Comparison(Result):
    """The comparison of a value with the limits of a guideline."""

    guideline: Guideline
    value: float
    unit: str
    verdict: Verdict

    def figures(self) -> Sequence[Figure]:
        value, verdict = Figure("value", _plain(self.value), self.unit), self.verdict
        return [value, Figure(self.guideline.name, verdict), *self.guideline.describe(self.unit)]


class CompareWithGuideline(Task[Value, Comparison]):
    name, title = "compare_with_guideline", "Comparison with a guideline"
    description = (
        "Tells whether a value is below, within or above the limits of a guideline, with its reference. Use it for `is that "
        "enough?` and `is that too much?`. Mean a day or night, but weekly_activity is the sum of a week."
    )
    inputs, result = Value, Comparison
    examples = ({"value": 22.4, "unit": "%", "guideline": "rem_share"},)
    notes_for_writer = "Name the guideline's reference. A value outside the limits is no diagnosis."

    def run(self, inputs: Value, context: TaskContext) -> Comparison:
        guideline = load_guidelines()[inputs.guideline]
        limits = guideline.limits.get(inputs.unit)
        if limits is None:
            expected = " or ".join(guideline.limits)
            raise InputsError(f"{guideline.title}: {inputs.unit!r} cannot be compared (expected {expected}).")
        verdict = limits.place(inputs.value)
        notes = (ADULTS, *filter(None, (guideline.note,)))
        return Comparison(guideline=guideline, value=inputs.value, unit=inputs.unit, verdict=verdict, notes=notes)


@cache
def load_guidelines() -> Mapping[str, Guideline]:
    """Read guidelines.yaml. Return the guidelines by id."""
    return {name: Guideline.model_validate(one) for name, one in load_yaml(GUIDELINES.read_text("utf-8")).items()}


def _plain(value: Any) -> Any:
    """Return a float without decimals as an int: 8 for 8.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


TASKS = (PersonProfile(), CompareWithGuideline())

"""A task that correlates the nutrients a person eats in a day with the person's sleep in the following night."""

from collections.abc import Mapping, Sequence
from math import atanh, sqrt, tanh
from typing import Literal, get_args

import pandas as pd
from pydantic import Field

from assistants.health.task import Figure, Period, Result, Task, TaskContext, TaskError
from assistants.health.tasks.food import Nutrient, daily_nutrients

FEWEST_PAIRS = 14
CONFIDENCE = 95
"""Confidence level of the interval, in %."""
Z = 1.959964
"""The 97.5 % quantile of the standard normal distribution."""
SleepMeasure = Literal["asleep", "rem", "deep"]
MEASURES: Mapping[SleepMeasure, str] = {"asleep": "sleep", "rem": "REM sleep", "deep": "deep sleep"}
ASSOCIATION = "This is an association in the person's own days, not a cause. Other habits of those days can explain it."
DAYS = (
    "The interval takes days as independent. With trends, or if many nutrients are tried, some associations are chance."
)


class AssociationInputs(Period):
    """Inputs of the task: a period, a nutrient, and a measure of sleep."""

    nutrient: Nutrient = Field(description="one of " + ", ".join(get_args(Nutrient)))
    sleep: SleepMeasure = Field("asleep", description="minutes of the night: asleep, rem or deep")


class Association(Result):
    """The rank correlation between the amount of a nutrient in a day and the minutes of sleep in the following night."""

    nutrient: Nutrient
    sleep: SleepMeasure
    days: int
    pairs: int
    correlation: float
    low: float
    high: float
    """`low` and `high` are the ends of the correlation's 95 % confidence interval."""
    finding: Literal["more with more", "less with more", "none found"]
    """Whether sleep is longer or shorter with more of the nutrient. "none found" means that the interval contains 0."""

    def figures(self) -> Sequence[Figure]:
        name, minutes = self.nutrient.replace("_", " "), f"minutes of {MEASURES[self.sleep]} in the following night"
        return [
            Figure("days with food and sleep data", f"{self.pairs} of {self.days}"),
            Figure(f"association of {name} with {minutes}", self.finding),
            Figure("rank correlation (Spearman)", self.correlation),
            Figure("lower end of its interval", self.low),
            Figure("upper end of its interval", self.high),
            Figure("confidence of the interval", CONFIDENCE, "%"),
        ]


class NutrientAssociation(Task[AssociationInputs, Association]):
    name, title = "nutrient_association", "Association of a nutrient with sleep"
    description = (
        "Finds whether more of a nutrient goes with more or less sleep in the night that follows, over a person's own days: rank "
        f"correlation, interval, number of days. It needs {FEWEST_PAIRS} days with food and sleep data; some 60 show more."
    )
    inputs, result = AssociationInputs, Association
    examples = ({"subject": "par_5", "start": "2020-06-01", "end": "2020-08-31", "nutrient": "saturated_fat"},)
    packages, sources = ("scipy",), ("food", "sleep")
    notes_for_writer = (
        "Call it an association, say how many days it rests on, and never say that a food causes or improves sleep."
    )

    def run(self, inputs: AssociationInputs, context: TaskContext) -> Association:
        assert context.subject is not None
        daily = daily_nutrients(context.subject, inputs.start, inputs.end)
        sleep = context.subject.sleep(inputs.start, inputs.end)
        minutes = sleep.frame[inputs.sleep].set_axis(pd.to_datetime(sleep.frame["date"]).dt.date)
        pairs = pd.concat([daily.frame[inputs.nutrient], minutes], axis=1, join="inner").dropna().astype(float)
        if len(pairs) < FEWEST_PAIRS:
            sentence = f"Only {len(pairs)} days have food data and sleep data of the night that follows; {FEWEST_PAIRS} are needed."
            raise TaskError(" ".join((sentence, *daily.notes, *sleep.notes)))
        if (pairs.nunique() == 1).any():
            raise TaskError("The nutrient or the sleep is the same on all days, so that no association can be seen.")
        found = correlate(pairs[inputs.nutrient].tolist(), pairs[inputs.sleep].tolist())
        rho, low, high = (round(one, 2) + 0.0 for one in found)  # + 0.0: no "-0.0"
        return Association(
            nutrient=inputs.nutrient,
            sleep=inputs.sleep,
            days=inputs.days,
            pairs=len(pairs),
            correlation=rho,
            low=low,
            high=high,
            finding="more with more" if low > 0 else "less with more" if high < 0 else "none found",
            notes=(*daily.notes, *sleep.notes, ASSOCIATION, DAYS),
        )

    def explain(self, inputs: AssociationInputs) -> str:
        name = inputs.nutrient.replace("_", " ")
        return f"{self.title} ({name} and {MEASURES[inputs.sleep]}, {inputs.start} to {inputs.end})"


def correlate(one: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """Return Spearman's rank correlation, and the lower and upper end of its 95 % confidence interval.

    The interval uses Fisher's transformation, with the standard error sqrt((1 + rho^2 / 2) / (n - 3)) of Bonett and Wright, "Sample
    size requirements for estimating Pearson, Kendall and Spearman correlations", Psychometrika 65, 2000, doi 10.1007/BF02294183.

    Args:
        one: Values of shape (n,), n > 3, at least two of them different.
        other: Values of shape (n,), at least two of them different.
    """
    from scipy.stats import spearmanr  # slow to import

    rho = float(spearmanr(one, other).statistic)
    bound = max(min(rho, 0.999999), -0.999999)  # atanh(1) is infinite
    half = Z * sqrt((1 + bound**2 / 2) / (len(one) - 3))
    return rho, tanh(atanh(bound) - half), tanh(atanh(bound) + half)


TASKS = (NutrientAssociation(),)

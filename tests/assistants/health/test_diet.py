"""The association of a nutrient with sleep: planted effects are found, and nothing is found where nothing is."""

import random
from datetime import date, timedelta
from math import log, sqrt
from types import SimpleNamespace

import pandas as pd
import pytest
from pydantic import ValidationError

from assistants.health.sources import Table
from assistants.health.task import TaskContext, TaskError
from assistants.health.tasks.diet import ASSOCIATION, AssociationInputs, NutrientAssociation, correlate

START = date(2020, 6, 1)
PER_GRAM = 0.15352
"""Saturated fat in a gram of `Olive oil`; a test below holds it against the table."""


def person(nights, foods, deep=None):
    """Return a subject with minutes asleep and of deep sleep by night, and `(food, grams)` by day."""

    def sleep(start, end):
        rows = [(one, minutes) for one, minutes in nights.items() if start <= one <= end]
        frame = pd.DataFrame(rows, columns=["date", "asleep"])
        own = [(deep or {}).get(one, float("nan")) for one, _ in rows]
        return Table(frame.assign(date=pd.to_datetime(frame["date"]), deep=own), ())

    def meals(start, end):
        rows = [(f"{one}T19:00", *food) for one, food in foods.items() if start <= one <= end]
        frame = pd.DataFrame(rows, columns=["time", "food", "grams"])
        return Table(frame.assign(time=pd.to_datetime(frame["time"])), ())

    return SimpleNamespace(sleep=sleep, meals=meals)


def made(seed, days, effect, lag=0):
    """Return a subject who eats 10 to 60 g of olive oil a day; `effect` minutes of sleep are added per g, `lag` nights later."""
    dice = random.Random(seed)
    grams = {START + timedelta(n): dice.uniform(10, 60) for n in range(days)}
    nights = {}
    for day in grams:
        source = grams.get(day - timedelta(lag), 35)
        nights[day] = 420 + effect * (source - 35) + dice.gauss(0, 25)
    return person(nights, {day: ("Olive oil", amount) for day, amount in grams.items()})


def associate(subject, days, nutrient="saturated_fat", sleep="asleep"):
    end = START + timedelta(days - 1)
    inputs = AssociationInputs(start=START, end=end, nutrient=nutrient, sleep=sleep)
    return NutrientAssociation().run(inputs, TaskContext(subject))


def plain_spearman(one, other):
    """Return Spearman's correlation by mean ranks and Pearson's formula, in plain Python."""

    def ranks(values):
        return [sum(v < value for v in values) + (sum(v == value for v in values) + 1) / 2 for value in values]

    a, b = ranks(one), ranks(other)
    mean = (len(a) + 1) / 2
    top = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    return top / sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))


@pytest.mark.parametrize(
    ("seed", "effect", "lag", "finding"),
    [
        (1, -1.0, 0, "less with more"),
        (2, 1.0, 0, "more with more"),
        (3, 0.0, 0, "none found"),
        (4, -1.0, 1, "none found"),  # an effect a night later is not one of the same day
    ],
)
def test_planted_effect_is_found_where_there_is_one(seed, effect, lag, finding):
    """The interval holds 0 if nothing was planted in the following night, and the correlation always."""
    found = associate(made(seed, 90, effect, lag), 90)
    assert found.finding == finding
    assert (found.low < 0 < found.high) == (finding == "none found")
    assert -1 < found.low < found.correlation < found.high < 1
    assert found.figures()[0] == ("days with food and sleep data", "90 of 90", "")
    assert ASSOCIATION in found.notes


def test_few_null_subjects_have_a_finding():
    """Of 100 null subjects, about 5 have an interval without 0 by chance; the interval decides, not the sign."""
    results = [associate(made(seed, 60, effect=0), 60) for seed in range(100, 200)]
    assert 1 <= sum(one.finding != "none found" for one in results) <= 10
    for one in results:
        expected = "more with more" if one.low > 0 else "less with more" if one.high < 0 else "none found"
        assert one.finding == expected
    assert {one.correlation > 0 for one in results if one.finding == "none found"} == {True, False}


def test_zero_is_said_without_a_sign():
    """No figure is `-0.0`."""
    results = [associate(made(seed, 30, effect=0), 30) for seed in range(300, 340)]
    assert "-0.0" not in {str(figure.value) for one in results for figure in one.figures()}


def test_effect_on_deep_sleep_is_found_there_alone():
    """More deep sleep within the same minutes asleep: found for deep sleep alone. Nights without stages are no pairs."""
    dice = random.Random(15)
    foods, nights, deep = {}, {}, {}
    for n in range(90):
        day, grams = START + timedelta(n), dice.uniform(10, 60)
        foods[day], nights[day] = ("Olive oil", grams), dice.gauss(420, 25)
        if n % 9:
            deep[day] = 60 + 0.6 * grams + dice.gauss(0, 10)
    subject = person(nights, foods, deep)
    found = associate(subject, 90, sleep="deep")
    assert (found.finding, found.pairs) == ("more with more", 80)
    assert found.figures()[1].name == "association of saturated fat with minutes of deep sleep in the following night"
    assert associate(subject, 90).finding == "none found"


def test_interval_holds_its_level():
    """Of 600 null subjects with 20 days, about 95 % have an interval that holds 0."""
    dice = random.Random(5)
    held = 0
    for _ in range(600):
        _, low, high = correlate([dice.random() for _ in range(20)], [dice.random() for _ in range(20)])
        held += low < 0 < high
    assert 0.925 <= held / 600 <= 0.975


def test_correlation_and_interval_are_those_of_the_formulas():
    """Spearman by plain ranks, ties included; Fisher's interval with the standard error of Bonett and Wright."""
    dice = random.Random(6)
    one = [dice.randrange(8) for _ in range(40)]
    other = [value + dice.randrange(6) for value in one]
    found, low, high = correlate(one, other)
    rho = plain_spearman(one, other)
    assert found == pytest.approx(rho)
    centre, half = 0.5 * log((1 + rho) / (1 - rho)), 1.959964 * sqrt((1 + rho * rho / 2) / 37)
    assert 0.5 * log((1 + low) / (1 - low)) == pytest.approx(centre - half)
    assert 0.5 * log((1 + high) / (1 - high)) == pytest.approx(centre + half)


def test_perfect_correlation_has_an_interval():
    """A correlation of 1 is no division by zero."""
    rho, low, high = correlate(list(range(20)), list(range(20)))
    assert rho == pytest.approx(1)
    assert 0.9 < low <= high <= 1


def test_figures_rest_on_the_days_with_both():
    """Days without a night, or with an unknown food, are no pairs; the correlation is that of the pairs that are left."""
    dice = random.Random(7)
    foods, nights, one, other = {}, {}, [], []
    for n in range(40):
        day, grams, minutes = START + timedelta(n), dice.uniform(10, 60), dice.uniform(300, 500)
        foods[day] = ("Olive oil", grams) if n % 10 else ("no such food", grams)
        if n % 7:
            nights[day] = minutes
        if n % 10 and n % 7:
            one.append(grams * PER_GRAM)
            other.append(minutes)
    found = associate(person(nights, foods), 40)
    assert (found.pairs, found.days) == (len(one), 40)
    assert found.correlation == pytest.approx(plain_spearman(one, other), abs=0.00501)
    assert "Foods in the log that are not in the table of foods: 1." in found.notes


def test_under_14_pairs_there_is_no_result():
    """Nor for a nutrient that is the same on all days: olive oil has no protein."""
    assert associate(made(8, 14, effect=0), 14).pairs == 14
    for subject, days in ((made(8, 13, effect=0), 13), (person({}, {}), 0)):
        with pytest.raises(TaskError, match=rf"Only {days} days have food data .* 14 are needed"):
            associate(subject, 30)
    with pytest.raises(TaskError, match="the same on all days"):
        associate(made(9, 30, effect=0), 30, nutrient="protein")


def test_inputs_name_a_nutrient():
    """A nutrient that is not in the table is refused before anything is read."""
    with pytest.raises(ValidationError):
        AssociationInputs(start=START, end=START, nutrient="caffeine")


def test_nothing_says_cause():
    """What the planner and the writer are told calls it an association."""
    found = associate(made(10, 60, effect=-1.0), 60)
    said = " ".join([*(one.name for one in found.figures()), *found.notes])
    assert "association" in said
    assert "not a cause" in said
    assert "never say that a food causes" in NutrientAssociation.notes_for_writer
    explained = NutrientAssociation().explain(AssociationInputs(start=START, end=START, nutrient="saturated_fat"))
    assert explained == "Association of a nutrient with sleep (saturated fat and sleep, 2020-06-01 to 2020-06-01)"

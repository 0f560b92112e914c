"""The nutrients of meals and days, beside plain sums over the rows of the table."""

import csv
from datetime import date, datetime
from types import SimpleNamespace

import pandas as pd
import pytest
from pydantic import ValidationError

from assistants.health.sources import Subject, Table
from assistants.health.task import TaskContext, TaskError
from assistants.health.tasks.food import (
    FOODS,
    NO_SHARES,
    SHARES,
    UNITS,
    FoodLog,
    Meal,
    MealNutrients,
    Period,
    daily_nutrients,
    find_nearest,
)

with FOODS.open(encoding="utf-8", newline="") as _file:
    ROWS = {row["food"]: row for row in csv.DictReader(_file)}
GRAMS = ("carbohydrate", "sugar", "fibre", "fat", "saturated_fat", "protein")


def person(*items, notes=()):
    """Return a subject that ate `(time, food, grams)`; `meals` keeps to the period, as that of a real subject does."""

    def meals(start, end):
        rows = [one for one in items if start <= datetime.fromisoformat(one[0]).date() <= end]
        frame = pd.DataFrame(rows, columns=["time", "food", "grams"])
        return Table(frame.assign(time=pd.to_datetime(frame["time"])), notes)

    return SimpleNamespace(meals=meals)


def eat(*foods):
    return MealNutrients().run(Meal(foods=[{"food": food, "grams": grams} for food, grams in foods]), TaskContext())


def log(subject, start="2020-08-01", end="2020-08-31"):
    return FoodLog().run(Period(start=start, end=end), TaskContext(subject))


def value(result, name):
    found = [one.value for one in result.figures() if one.name == name]
    assert len(found) == 1, (name, result.figures())
    return found[0]


def test_meal_is_the_sum_of_its_foods():
    """Each nutrient is the table's value per 100 g times the grams, summed food by food."""
    foods = [("Bananas, raw", 120), ("Milk, whole", 200), ("Bread, white", 35.5)]
    result = eat(*foods)
    for name in UNITS:
        total = 0.0
        for food, grams in foods:
            total += float(ROWS[food][name]) * grams / 100
        assert getattr(result, name) == pytest.approx(total, abs=0.051 if name in GRAMS else 0.51)
    assert value(result, "foods with data") == "3 of 3"
    assert value(result, "saturated fat") == result.saturated_fat
    assert value(result, "Bread, white") == "35.5"


def test_usda_values_of_a_banana():
    """The table holds the published values of FDC 173944. Case and spaces of a name do not count."""
    result = eat((" bananas,  RAW ", 100))
    assert result.foods == (("Bananas, raw", 100.0),)
    assert (result.energy, result.carbohydrate, result.sugar, result.fibre) == (89, 22.8, 12.2, 2.6)
    assert (result.fat, result.saturated_fat, result.protein, result.sodium) == (0.3, 0.1, 1.1, 1)


def test_energy_shares_use_4_9_4():
    """The shares of carbohydrate, fat and protein are 4, 9 and 4 kcal per g, and add up to 100."""
    result = eat(("Cheese, Cheddar", 50), ("Bread, white", 60))
    carbohydrate, fat, saturated, protein = (
        float(ROWS["Cheese, Cheddar"][name]) * 0.5 + float(ROWS["Bread, white"][name]) * 0.6
        for name in ("carbohydrate", "fat", "saturated_fat", "protein")
    )
    energy = 4 * carbohydrate + 9 * fat + 4 * protein
    assert result.carbohydrate_share == pytest.approx(400 * carbohydrate / energy, abs=0.051)
    assert result.fat_share == pytest.approx(900 * fat / energy, abs=0.051)
    assert result.protein_share == pytest.approx(400 * protein / energy, abs=0.051)
    assert result.saturated_fat_share == pytest.approx(900 * saturated / energy, abs=0.051)
    assert result.carbohydrate_share + result.fat_share + result.protein_share == pytest.approx(100, abs=0.2)
    assert value(result, "energy from protein") == result.protein_share != result.saturated_fat_share
    assert SHARES in result.notes


@pytest.mark.parametrize(("food", "energy"), [("Beverages, water, tap, drinking", 0), ("Gin", 92)])
def test_meal_without_carbohydrate_fat_and_protein_has_no_shares(food, energy):
    """Water and gin say so; nothing divides by zero."""
    result = eat((food, 40))
    assert result.energy == energy
    assert result.carbohydrate_share is result.fat_share is result.saturated_fat_share is None
    assert not [one for one in result.figures() if one.name.startswith("energy from")]
    assert NO_SHARES in result.notes
    assert SHARES not in result.notes


def test_unknown_food_is_named_with_the_nearest_and_never_guessed():
    """A food that is not in the table gives no totals, not even beside known ones; the message offers real names."""
    with pytest.raises(TaskError, match=r"'banana' \(nearest: ") as caught:
        eat(("banana", 100), ("Milk, whole", 100))
    offered = str(caught.value).partition("nearest: ")[2].partition(")")[0].split("; ")
    assert "Banana, raw" in offered
    assert all(name in ROWS for name in offered)
    with pytest.raises(TaskError, match=r"'Xyzzyqq' \(nothing is near"):
        eat(("Xyzzyqq", 100))


def test_nearest_foods_share_words():
    """The best offers hold the words that were asked for; a word of no food has none."""
    assert find_nearest("cheddar")[0] == "Cheese, Cheddar"
    assert find_nearest("milk whole")[0] == "Milk, whole"
    assert find_nearest("qqqq") == find_nearest("") == []


@pytest.mark.parametrize("grams", [0, -5, 6_000, float("nan"), float("inf"), "much"])
def test_impossible_grams_are_refused(grams):
    """Grams are above 0 and at most 5,000."""
    with pytest.raises(ValidationError):
        Meal(foods=[{"food": "Bananas, raw", "grams": grams}])


def test_meal_explains_what_was_summed():
    """ "Which tools did you use?" names foods and grams."""
    meal = Meal(foods=[{"food": "Bananas, raw", "grams": 120}, {"food": "Milk, whole", "grams": 0.5}])
    assert MealNutrients().explain(meal) == "Nutrients of a meal (120 g Bananas, raw; 0.5 g Milk, whole)"


AUGUST = [
    ("2020-08-01T08:00", "Bananas, raw", 100),
    ("2020-08-01T23:59", "Milk, whole", 300),
    ("2020-08-02T12:00", "bread, white", 80),
    ("2020-08-31T20:00", "Cheese, Cheddar", 40),
    ("2020-07-31T23:59", "Butter, NFS", 500),
    ("2020-09-01T00:00", "Butter, NFS", 500),
]


def test_food_log_means_are_those_of_a_plain_loop():
    """Means are over the days with data; 31 July and 1 September are never in August."""
    result = log(person(*AUGUST, notes=("A note of the source.",)))
    folded = {name.lower(): row for name, row in ROWS.items()}
    for name in UNITS:
        days = {}
        for time, food, grams in AUGUST:
            if time.startswith("2020-08"):
                days[time[:10]] = days.get(time[:10], 0) + float(folded[food.lower()][name]) * grams / 100
        mean = sum(days.values()) / len(days)
        assert getattr(result, name) == pytest.approx(mean, abs=0.051 if name in GRAMS else 0.51)
    assert value(result, "days with data") == "3 of 31"
    assert value(result, "mean sodium") == result.sodium
    assert {one.unit for one in result.figures() if one.name == "mean energy"} == {"kcal a day"}
    assert "A note of the source." in result.notes
    assert "days left out for an unknown food" not in [one.name for one in result.figures()]


def test_day_with_an_unknown_food_is_left_out_and_said():
    """Its sum would be too small: it counts neither in the mean nor in the days."""
    items = [*AUGUST, ("2020-08-02T13:00", "Cheddar", 50), ("2020-08-03T13:00", "Bananas, raw", float("nan"))]
    result = log(person(*items))
    assert value(result, "days with data") == "2 of 31"
    assert value(result, "days left out for an unknown food") == 2
    assert "Foods in the log that are not in the table of foods: 1." in result.notes
    expected = (ROWS["Bananas, raw"], ROWS["Milk, whole"], ROWS["Cheese, Cheddar"])
    banana, milk, cheese = (float(one["protein"]) for one in expected)
    assert result.protein == pytest.approx((banana + 3 * milk + 0.4 * cheese) / 2, abs=0.051)


@pytest.mark.parametrize("items", [(), [("2020-08-02T13:00", "Cheddar", 50)]])
def test_period_without_complete_days_has_no_result(items):
    """An empty period is said; no value is made up."""
    with pytest.raises(TaskError, match="No day of this period has complete food data"):
        log(person(*items))


def test_daily_nutrients_are_by_calendar_day():
    """The days of the frame are dates, each with the sum of its items."""
    frame = daily_nutrients(person(*AUGUST), date(2020, 8, 1), date(2020, 8, 2)).frame
    assert list(frame.index) == [date(2020, 8, 1), date(2020, 8, 2)]
    milk, banana = float(ROWS["Milk, whole"]["fat"]), float(ROWS["Bananas, raw"]["fat"])
    assert frame.loc[date(2020, 8, 1), "fat"] == pytest.approx(3 * milk + banana)


def test_files_of_a_subject(tmp_path):
    """A subject's `meals.csv` gives the same means as its rows; a subject without one has no result, and the reason."""
    rows = "".join(f'{time},"{food}",{grams}\n' for time, food, grams in AUGUST)
    (tmp_path / "meals.csv").write_text(f"time,food,grams\n{rows}", encoding="utf-8")
    assert log(Subject(tmp_path)).figures() == log(person(*AUGUST)).figures()
    (tmp_path / "meals.csv").unlink()
    with pytest.raises(TaskError, match="This person has no data on meals"):
        log(Subject(tmp_path))


def test_table_is_complete_and_plausible():
    """Every food has every nutrient, a name of its own, and parts that are no larger than their wholes."""
    folded = {" ".join(name.casefold().split()) for name in ROWS}
    assert len(folded) == len(ROWS) == 6_279
    for name, row in ROWS.items():
        amounts = {nutrient: float(row[nutrient]) for nutrient in UNITS}
        assert all(amount >= 0 for amount in amounts.values()), name
        assert amounts["carbohydrate"] + amounts["fat"] + amounts["protein"] <= 105, name
        assert amounts["saturated_fat"] <= amounts["fat"] * 1.05 + 0.1, name
        assert amounts["sugar"] <= amounts["carbohydrate"] * 1.05 + 0.6, name
        assert amounts["energy"] <= 905, name

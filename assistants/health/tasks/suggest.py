"""A task that suggests foods that are rich or low in a nutrient, without foods that the person's profile rules out.

A food is suggested only if each word of its name is known (food_words.yaml). An unknown allergy stops all suggestions.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field

from assistants.health.task import Figure, OneSubject, Result, Task, TaskContext, TaskError
from assistants.health.tasks.food import SOURCE, UNITS, Nutrient, load_foods
from assistants.health.tasks.profile import ENTERED, load_guidelines
from models.unique_keys import load_yaml

WORDS = Path(__file__).parents[1] / "food_words.yaml"
MOST_FOODS = 5
GUIDELINES = {
    "fibre": "fibre", "sodium": "sodium", "fat": "fat_share", "saturated_fat": "saturated_fat_share", "sugar": "free_sugar_share",
}  # fmt: skip
TRACES = "A name does not show traces: read the label. With an illness or medicines, ask your doctor before you change your diet."


class NutrientInputs(OneSubject):
    """Inputs of the task: a subject, a nutrient, and whether foods should be rich or low in the nutrient."""

    nutrient: Nutrient = Field(description="one of " + ", ".join(get_args(Nutrient)))
    amount: Literal["rich", "low"] = Field(description="rich or low")


class Suggestion(Result):
    """The foods with the most or least of a nutrient, one of each kind."""

    nutrient: Nutrient
    compared: str
    foods: tuple[tuple[str, float], ...]
    """The foods: name in foods.csv, and amount of the nutrient in 100 g."""

    def figures(self) -> Sequence[Figure]:
        name, unit = self.nutrient.replace("_", " "), UNITS[self.nutrient]
        guideline = load_guidelines().get(GUIDELINES.get(self.nutrient, ""))
        limits = guideline.describe(next(iter(guideline.limits)), f"{guideline.name}: ") if guideline else ()
        found = (Figure(f"{name} in 100 g of {food}", value, unit) for food, value in self.foods)
        return [Figure("plain foods compared", self.compared), *found, *limits]


class SuggestFoods(Task[NutrientInputs, Suggestion]):
    name, title = "suggest_foods", "Foods for a nutrient"
    description = (
        "Suggests plain foods that are rich in a nutrient or low in it, per 100 g, without those that allergies, intolerances "
        "or diet in the person's profile rule out. Use it for `what should I eat more of?`; never choose foods by yourself."
    )
    inputs, result = NutrientInputs, Suggestion
    examples = ({"subject": "par_4", "nutrient": "fibre", "amount": "rich"},)
    sources = ("profile",)
    notes_for_writer = "Name no food but those found, with their amounts, and what was left out. It is no meal plan."

    def run(self, inputs: NutrientInputs, context: TaskContext) -> Suggestion:
        assert context.subject is not None
        profile, left_out, notes = context.subject.profile(), set[str](), []
        if not profile.model_fields_set - {"ppg_hz"}:  # also an upload: nobody has entered allergies
            raise TaskError("There is no profile, so allergies are not known and no food is suggested.")
        for entry in (*profile.allergies, *profile.preferences, *profile.conditions):
            words, is_known = read_entry(entry)
            is_allergy = entry in profile.allergies or re.search("allerg|intoler", entry.casefold())
            if is_allergy and not (words and is_known):
                raise TaskError(f"The allergy {entry[:60]!r} is not known here, so no food is suggested.")
            if not is_known and (words or entry in profile.preferences):
                notes.append(f"This entry has unknown words, which were not considered: {entry[:60]}.")
            notes += [f"Foods are left out for this entry of the profile: {entry[:60]}."] if words else []
            left_out |= words
        table, names = load_foods(), choose_foods(left_out)
        ranked = table[table["food"].isin(names)].dropna(subset=[inputs.nutrient])
        ranked = ranked.sort_values([inputs.nutrient, "food"], ascending=[inputs.amount == "low", True])
        best = ranked[~ranked["food"].map(_kind).duplicated()].head(MOST_FOODS)
        foods = tuple(zip(best["food"], best[inputs.nutrient].astype(float).round(1), strict=True))
        said = (*notes, ENTERED, SOURCE, TRACES)
        return Suggestion(nutrient=inputs.nutrient, compared=f"{len(names)} of {len(table)}", foods=foods, notes=said)


def read_entry(entry: str) -> tuple[set[str], bool]:
    """Return the words in names of foods that a profile entry rules out, and whether all words of the entry are known."""
    known, left_out, is_known = _load_words(), set[str](), True
    for word in _split(entry):
        names = [name for name, own in known["families"].items() if word in own] + known["diets"].get(word, [])
        left_out.update(
            *(known["families"][name] for name in names), {word, f"{word}e", word.removesuffix("e")} & {*known["foods"]}
        )
        is_known &= bool(names) or word in known["foods"] or word in known["fillers"]
    return left_out, is_known


def choose_foods(left_out: Iterable[str]) -> list[str]:
    """Return the plain foods in foods.csv whose names do not contain any of these words, even as a part of another word."""
    plain = filter(_kind, load_foods()["food"])
    return [food for food in plain if not any(one in food.casefold() for one in left_out)]


@cache
def _kind(name: str) -> str:
    """Return the kind of a plain food, such as `almond` for "Nuts, almonds" and "Almond butter"; "" for other foods."""
    known = _load_words()
    foods = {*known["foods"]}.union(*known["families"].values())
    parts = {part.strip() for part in name.casefold().split(",")}
    used = {word for part in parts.difference(known["raw"], known["cooked"]) for word in _split(part)}
    is_eaten_so = used.isdisjoint(known["cook"]) or not parts.isdisjoint(known["cooked"])
    return min(used & foods, default="") if is_eaten_so and used <= foods.union(known["descriptions"]) else ""


@cache
def _load_words() -> dict[str, Any]:
    """Read the lists of words in food_words.yaml, which describes each list."""
    words: dict[str, Any] = load_yaml(WORDS.read_text("utf-8"))
    return words


def _split(text: str) -> list[str]:
    """Return the words of a text in lower case, without a final "s"."""
    return [word.rstrip("s") for word in re.findall(r"[^\W\d_]+", text.casefold())]


TASKS = (SuggestFoods(),)

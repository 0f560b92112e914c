"""Foods for a nutrient: an allergen is never suggested, and an allergy that is not understood stops it."""

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from assistants.health.sources import Profile
from assistants.health.task import TaskContext, TaskError
from assistants.health.tasks.food import Nutrient
from assistants.health.tasks.suggest import NutrientInputs, SuggestFoods, Suggestion, choose_foods, read_entry

with Path("assistants/health/foods.csv").open(encoding="utf-8") as file:
    TABLE = {row["food"]: row for row in csv.DictReader(file)}
HOLDS = {
    "milk": "milk cheese butter cream yogurt kefir whey custard pudding latte cappuccino pizza lasagna ricotta brie ghee casein",
    "egg": "egg mayonnaise omelet quiche meringue souffle custard frittata noodle pancake waffle cake aioli",
    "peanut": "peanut nuts trail satay",
    "tree nuts": "almond walnut hazelnut pecan cashew pistachio macadamia brazilnut chestnut coconut praline marzipan nuts pesto",
    "fish": "fish salmon cod, tuna trout herring mackerel haddock anchov sardine tilapia halibut pollock caviar sushi",
    "shellfish": "shrimp prawn crab lobster crayfish mussel clam oyster scallop squid octopus snail crustacean mollusk paella",
    "soy": "soy tofu edamame tempeh miso natto teriyaki lecithin",
    "gluten": "wheat bread barley rye bulgur couscous pasta noodle oat cracker cake cookie seitan flour spaghetti malt beer miso",
    "sesame": "sesame tahini hummus halva falafel",
    "vegetarian": "beef pork chicken turkey lamb veal duck, ham, bacon liver meat fish salmon tuna cod, shrimp crayfish oyster",
    "vegan": "beef pork chicken turkey meat fish salmon shrimp oyster egg milk cream cheese yogurt kefir honey whey",
}
"""Words of names of foods, by allergy or diet. Written by hand, without food_words.yaml; a comma ends a word."""


def suggest(nutrient: str, amount: str = "rich", **profile: Any) -> Suggestion:
    """Return the suggestion for a profile."""
    entries = {"age": 40} | profile
    subject: Any = SimpleNamespace(profile=lambda: Profile(**{k: v for k, v in entries.items() if v is not None}))
    inputs = NutrientInputs.model_validate({"nutrient": nutrient, "amount": amount})
    return SuggestFoods().run(inputs, TaskContext(subject))


def holds(food: str, family: str) -> bool:
    """Tell whether a food holds what a family names, by the list above."""
    return any(word in f"{food.casefold()}," for word in HOLDS[family].split())


@pytest.mark.parametrize("family", HOLDS)
def test_an_allergen_is_never_suggested(family: str) -> None:
    """Of all foods of the table, none that holds it can be suggested; without the entry, some can."""
    left_out, is_known = read_entry(family)
    allowed = choose_foods(left_out)
    assert is_known
    assert len(allowed) > 100
    assert [food for food in allowed if holds(food, family)] == []
    assert sum(holds(food, family) for food in choose_foods(())) > 0
    field = "preferences" if family.startswith("veg") else "allergies"
    for nutrient in get_args(Nutrient):
        for amount in ("rich", "low"):
            found = suggest(nutrient, amount, **{field: (family,)}).foods
            assert len(found) == 5
            assert not any(holds(food, family) for food, _ in found)


def test_only_foods_of_known_words_are_suggested() -> None:
    """Dishes, sweets, brands, and what must be cooked but is raw, are not."""
    allowed = set(choose_foods(()))
    assert {"Lentils, from dried, no added fat", "Broccoli, raw", "Chia seeds"} <= allowed
    refused = ("Banana split", "Lentils, raw", "Lentils, from dried, fat added", "Rice, cooked, with milk", "Pizza")
    assert allowed.isdisjoint((*refused, "Baked beans"))
    words = ("sauce", "breaded", "candies", "soup", "baby")
    assert not [food for food in allowed if any(word in food.casefold() for word in words)]


@pytest.mark.parametrize(
    "allergy", ["penicillin", "peanuts and lupin", "fruit", "none", "severe allergy", "Erdnüsse", "red meat"]
)
def test_an_allergy_that_is_not_known_stops_it(allergy: str) -> None:
    """Also if another word of the entry is known. It never guesses."""
    for profile in ({"allergies": ("shellfish", allergy)}, {"conditions": (f"{allergy} intolerance",)}):
        with pytest.raises(TaskError, match="is not known here, so no food is suggested"):
            suggest("fibre", **profile)


@pytest.mark.parametrize(
    ("entry", "gone", "stays"),
    [
        ("Almonds", "Hazelnuts", "Chia seeds"),
        ("salmon", "Fish, cod, steamed", "Oysters, steamed"),
        ("lactose intolerance", "Kefir", "Kale, raw"),
        ("kiwi", "Kiwifruit, green, raw", "Apple, raw"),
        ("peaches", "Peach, frozen", "Apple, raw"),
        ("potatoes", "Potato, cooked, as ingredient", "Apple, raw"),
        ("beans", "Soy nuts", "Apple, raw"),
    ],
)
def test_one_of_a_family_rules_out_the_family(entry: str, gone: str, stays: str) -> None:
    """A food of no family rules out itself."""
    allowed = choose_foods(read_entry(entry)[0])
    assert gone in choose_foods(())
    assert gone not in allowed
    assert stays in allowed


def test_without_a_profile_nothing_is_suggested() -> None:
    """An upload has none: nobody has entered allergies."""
    with pytest.raises(TaskError, match="There is no profile"):
        suggest("fibre", age=None, ppg_hz=20)


def test_conditions_and_unknown_preferences() -> None:
    """Coeliac disease counts as an allergy to gluten; a preference that is not known is said not to count."""
    found = suggest("fibre", conditions=("coeliac disease", "hypertension"), preferences=("spicy",))
    assert found.compared == suggest("fibre", allergies=("gluten",)).compared
    assert "This entry has unknown words, which were not considered: spicy." in found.notes
    assert "Foods are left out for this entry of the profile: coeliac disease." in found.notes


@pytest.mark.parametrize(("nutrient", "amount"), [("fibre", "rich"), ("sodium", "low"), ("protein", "rich")])
def test_figures_are_those_of_the_table(nutrient: str, amount: str) -> None:
    """With the most or least of all that are compared, one of each kind, and the guideline if there is one."""
    found = suggest(nutrient, amount)
    values = {food: float(TABLE[food][nutrient]) for food in choose_foods(()) if TABLE[food][nutrient]}
    assert all(abs(values[food] - value) < 0.0501 for food, value in found.foods)
    best = (max if amount == "rich" else min)(values.values())
    assert values[found.foods[0][0]] == best
    figures = [f"{name}: {value} {unit}".strip() for name, value, unit in found.figures()]
    assert figures[0] == f"plain foods compared: {len(choose_foods(()))} of {len(TABLE)}"
    assert len([one for one in found.foods if "almond" in one[0].casefold()]) <= 1
    limits = {"fibre": "at least: 25 g", "sodium": "less than: 2000 mg"}
    assert sum(one.endswith(limits.get(nutrient, "?")) for one in figures) == (nutrient in limits)
    assert any(one.startswith("reference: WHO") for one in figures) == (nutrient in limits)

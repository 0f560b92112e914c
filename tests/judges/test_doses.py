"""Doses, in all spellings of numbers and units."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.doses import doses
from judges.text import plain

TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
WORDS = (
    {
        f"{ten}{joint}{one}": 10 * t + o
        for t, ten in enumerate(TENS, 2)
        for o, one in enumerate(ONES, 1)
        for joint in " -"
    }
    | {f"{one} hundred and {ten}": 100 * o + 10 * t for t, ten in enumerate(TENS, 2) for o, one in enumerate(ONES, 1)}
    | {f"{one} thousand": 1000 * o for o, one in enumerate(ONES, 1)}
    | {
        "a hundred and fifty": 150,
        "50 hundred": 5000,
        "half a million": 500_000,
        "a couple hundred": 200,
        "5 million million": 5 * 10**12,
        "ten thousand": 10_000,
        "two hundred thousand": 200_000,
        "two thousand five hundred": 2500,
        "two hundred and twenty-five": 225,
    }
)
PARTS = {"½": "0.5", "¼": "0.25", "7½": "7.5", "1 1/2": "1.5", "two and a half": "2.5", "three quarters of a": "0.75",
         "one and a half": "1.5", "one and one half": "1.5", "one 1/2": "1.5"}  # fmt: skip
UNITS = {"mgs": "mg", "mgr": "mg", "мг": "mg", "毫克": "mg", "tabs": "tablet", "caps": "tablet", "vials": "ampoule",
         "amps": "ampoule", "ampoules": "ampoule", "patches": "patch", "sachets": "sachet", "sprays": "spray"}  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
def test_number_in_words_is_one_number(words: str) -> None:
    """Parts of a number in words are not doses."""
    assert doses(f"Take {words} mg.") == {(str(WORDS[words]), "mg")}


@pytest.mark.parametrize("part", PARTS)
def test_fraction_belongs_to_its_number(part: str) -> None:
    """This also holds for a text that is already plain."""
    text = f"Take {part} tablet"
    assert doses(text) == doses(plain(text)) == {(PARTS[part], "tablet")}


@pytest.mark.parametrize("unit", UNITS)
def test_units_are_read_however_they_are_spelled(unit: str) -> None:
    """Units may be abbreviated, plural, or in other scripts."""
    assert doses(f"Take 20 {unit}.") == doses(f"20{unit}") == {("20", UNITS[unit])}


def test_other_characters_are_numbers() -> None:
    """Roman numerals, digits of other scripts, thin spaces and schedules are read."""
    assert doses("ⅩⅩ mg") == doses(plain("ⅩⅩ mg")) == doses("٢٠ mg") == {("20", "mg")}
    assert doses("1\u2009500\u2009mg") == {("1500", "mg")}
    assert doses("Olanzapine 20-0-20.") == {("20-0-20", "schedule")}


@pytest.mark.parametrize("text", ["5 to 10 mg", "5-10 mg", "five or ten mg", "5/10 mg", "five and ten mg"])
def test_lists_stay_lists(text: str) -> None:
    """Two doses are not added up."""
    assert doses(text) == {("5", "mg"), ("10", "mg")}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Take 40 mg of zinc.", {("40", "mg")}),
        ("5-10mg", {("5", "mg"), ("10", "mg")}),
        ("5, 10 or 20 milligrams", {("5", "mg"), ("10", "mg"), ("20", "mg")}),
        ("two pills, later 2 tablets", {("2", "tablet")}),
        ("half a tablet", {("0.5", "tablet")}),
        ("1,000 µg and 0.5 ml", {("1000", "mcg"), ("0.5", "ml")}),
        ("a 50-mg capsule", {("50", "mg")}),
        ("a dozen pills, or a couple of extra tablets", {("12", "tablet"), ("2", "tablet")}),
        ("900 of your milligram tablets", {("900", "mg")}),
        ("half of a tablet", {("0.5", "tablet")}),
        ("dose_mg: 900", {("900", "mg")}),
        ('{"doses_mg": [100, 900], "n": 3}', {("100", "mg"), ("900", "mg")}),
        ("strength (mg): 2.5\ndose_ml: 5", {("2.5", "mg"), ("5", "ml")}),
        ("amount: 900\nunit: mg", {("900", "mg")}),
        ("tablets: 20", {("20", "tablet")}),
        ("with tablets: 1 in 100 people", set()),
        ("In 2020 the tablets were new, e.g: 5; units: 2", set()),
        ("It is 1 in 100 people, aged 20 to 30, on 2 groups.", set()),
        ("often two people", set()),
    ],
)
def test_doses_are_read(text, found):
    """Numbers count with the unit after them, in digits or in words."""
    assert doses(text) == found


@given(st.lists(st.sampled_from(["5", "half", "two", " ", ".", ",", "-", "\n", "mg", "tablets", " to "]), max_size=12))
def test_no_dose_runs_over_the_end_of_a_sentence(pieces):
    """The doses of a reply are the doses of its sentences."""
    text = "".join(pieces)
    assert doses(text) == {dose for sentence in text.split(". ") for dose in doses(sentence)}


@pytest.mark.parametrize(
    "piece", ["1", "1/", "1,", "1 ", "1 to ", "two ", "1-", " ", ": mg", "1 of ", "of your ", " million"]
)
def test_doses_are_searched_in_linear_time(piece):
    """A draft full of digits does not delay other requests."""
    began = time.process_time()
    assert not doses("1" + piece * (20_000 // len(piece)))
    assert time.process_time() - began < 1

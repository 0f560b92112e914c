"""Pure: the doses a text names. They are compared in code, because a judge that overlooks one may cost a life."""

import re
from collections.abc import Iterator

from judges.kept import EMPTY, kept
from judges.quotes import folded

Dose = tuple[str, str]
"""A number in digits and its unit."""

_NUMBERS = {
    "half": "0.5", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "dozen": "12", "couple": "2",
    "fifteen": "15", "twenty": "20", "thirty": "30", "forty": "40",
    "fifty": "50", "hundred": "100",
}  # fmt: skip
_UNITS = {
    spelling: unit
    for unit, spellings in {
        "mg": "mg milligram milligrams milligramme milligrammes",
        "mcg": "mcg µg μg ug microgram micrograms microgramme microgrammes",
        "g": "g gram grams gramme grammes",
        "ml": "ml millilitre millilitres milliliter milliliters",
        "iu": "iu unit units",
        "tablet": "tablet tablets pill pills capsule capsules",
        "drop": "drop drops",
        "puff": "puff puffs",
        "spoon": "teaspoon teaspoons tablespoon tablespoons",
    }.items()
    for spelling in spellings.split()
}
_NUMBER = rf"(?:(?<!\d)(?<!\d[.,])\d++(?>(?:[.,]\d++){{0,99}})|\b(?:{'|'.join(_NUMBERS)})\b)"
_UNIT = "|".join(_UNITS)
_BETWEEN = (
    r"(?>(?:(?:of(?: an?| the| these| those| my| your| their)?|extra|more|additional|further|whole|other|unit:) ){0,3})"
)
_DOSE = re.compile(
    rf"({_NUMBER}(?:\s*+(?:,|-|/|\bto\b|\bor\b|\band\b)\s*+{_NUMBER}){{0,20}})[\s-]*+(?:an? )?{_BETWEEN}({_UNIT})\b"
)
"""It gives nothing back, and its lists have an end: whatever stands in a text, it is searched in linear time."""
_KEYED = re.compile(
    rf"(?<![a-z.])(?!units?\b)({_UNIT})\)?[\"']?:\s?[\"']?\[?\s?({_NUMBER}(?:(?:\s*+[,-]\s*+|\s++){_NUMBER}){{0,20}})(?![\d.,]*\s?(?:{_UNIT}|in|of)\b)"
)
"""As JSON has it: `dose_mg: 900`."""


@kept
def doses(text: str) -> frozenset[Dose]:
    """Return every amount of a medicine or the like in a text: `5-10 mg` is two, `two pills` and `2 tablets` are one."""
    found = frozenset(
        (_NUMBERS.get(number, re.sub(r",(?=\d{3}\b)", "", number)), _UNITS[unit])
        for amounts, unit in _named(folded(text))
        for number in re.findall(_NUMBER, amounts)
    )
    return found or EMPTY


def _named(text: str) -> Iterator[tuple[str, str]]:
    """Yield the amounts in a folded text, each with its unit."""
    yield from _DOSE.findall(text)
    yield from ((amounts, unit) for unit, amounts in _KEYED.findall(text))

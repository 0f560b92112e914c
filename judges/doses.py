"""Finds the doses in a text. Pure. Code, not a model, compares the doses, because an overlooked dose may cost a life."""

import re
from collections.abc import Iterator
from itertools import pairwise
from math import gcd, prod

from judges.numbers import CARDINALS, spelled
from judges.quotes import MAX_CACHED_CHARS, fold_text
from judges.text import cache_texts, in_digits

Dose = tuple[str, str]
"""(number in digits, unit), such as ("5", "mg"). The unit is a value of `_UNITS`, or `schedule`."""

_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 1_000_000}
_PARTS = {"half": 0.5, "halves": 0.5, "third": 1 / 3, "thirds": 1 / 3, "quarter": 0.25, "quarters": 0.25}
_UNITS = {
    spelling: unit
    for unit, spellings in {
        "mg": "mg mgs mgr mgrs mgm milligram milligrams milligramme milligrammes мг mг мg 毫克",
        "mcg": "mcg mcgs µg μg ug microgram micrograms microgramme microgrammes мкг mkг 微克",
        "g": "g gm gms gram grams gramme grammes",
        "ml": "ml mls cc millilitre millilitres milliliter milliliters мл mл 毫升",
        "iu": "iu unit units",
        "tablet": "tablet tablets tab tabs pill pills capsule capsules cap caps 片 粒 錠",
        "drop": "drop drops",
        "puff": "puff puffs",
        "spoon": "teaspoon teaspoons tablespoon tablespoons",
        "ampoule": "ampoule ampoules ampule ampules amp amps vial vials",
        "patch": "patch patches",
        "sachet": "sachet sachets",
        "spray": "spray sprays",
        "lozenge": "lozenge lozenges gummy gummies",
    }.items()
    for spelling in spellings.split()
}
_DIGITS = r"\d++(?>(?:[.,]\d++){0,99})"
_TOKEN = re.compile(rf"{_DIGITS}|毫克|微克|毫升|[^\W\d_\u3040-\u9fff]++|[^\s]")
_SEPARATOR = re.compile(r"(?:[,/-]|to|or|and)(?: (?:or|and|to))?")
_BETWEEN = re.compile(
    r"-?(?: ?an?)?(?: ?(?:of(?: an?| the| these| those| my| your| their)?|extra|more|additional|further|whole|other|unit :)){0,3}"
)
_LONGEST_GAP = 8
"""Maximum number of tokens between two numbers of a list, or between a number and its unit."""
_SCHEDULE = re.compile(
    r"(?<![\w.,-])(?=[\d.,-]{0,20}(?<!\d)0(?![\d.,]))\d{1,3}(?:[.,]\d)?(?:-\d{1,3}(?:[.,]\d)?){2,3}(?![\w-])"
)
"""Matches schedules as in prescriptions: `20-0-20` for morning, noon and night."""
_KEYED_NUMBER = rf"(?<!\d)(?<!\d[.,]){_DIGITS}"
_UNIT = "|".join(_UNITS)
_KEYED = re.compile(
    rf"(?<![a-z.])(?!units?\b)({_UNIT})\)?[\"']?:\s?[\"']?\[?\s?"
    rf"({_KEYED_NUMBER}(?:(?:\s*+[,-]\s*+|\s++(?:and )?){_KEYED_NUMBER}){{0,20}})(?![\d.,]*\s?(?:{_UNIT}|in|of)\b)"
)
"""Matches doses whose key names the unit, as in JSON: `dose_mg: 900`."""


@cache_texts(max_texts=512, max_chars=MAX_CACHED_CHARS)
def doses(text: str) -> frozenset[Dose]:
    """Return every dose in a text. `5-10 mg` gives two doses; `two pills` and `2 tablets` give the same dose."""
    text = fold_text(in_digits(text))
    return frozenset(_named(_in_figures(text))) if _HAS_NUMBER.search(text) else frozenset()


_HAS_NUMBER = re.compile(rf"\d|{CARDINALS.pattern}|\b(?:half|quarter|couple|dozen)\b", CARDINALS.flags)


_PLAIN_NUMBER = r"(?<![\d.,])\d{1,9}(?:\.\d{1,9})?"
_SCALED = re.compile(rf"({_PLAIN_NUMBER})((?: (?:{'|'.join(_SCALES)})){{1,3}})\b")
_PART_OF_SCALE = re.compile(rf"\b(half|quarter) (?:(?:of )?a )?({'|'.join(_SCALES)})\b")
_FRACTION = re.compile(r"(?<![\d/.,])(?:(\d{1,9}|\bone) )?(?:([1-7])/([2348])|(\d{1,2})\u2044([1-9]\d?))(?![\d/])")
_AND_A_PART = re.compile(rf"({_PLAIN_NUMBER}|\bone) and (?:a|one|1) (half|third|quarter)\b")
_SOME_PARTS = re.compile(r"(?<![\d.,])(\d|1\d|one) (half|halves|thirds?|quarters?)\b|\b(half|quarter)\b")
_COUPLE = re.compile(r"\bcouple\b")
_DOZEN = re.compile(rf"(?:({_PLAIN_NUMBER}) (?:a )?)?\bdozen\b")


def _in_figures(text: str) -> str:
    """Replace the numbers of a folded text with figures: `two and a half` and `1 1/2` become 2.5 and 1.5.

    `one` and `a` alone are left as words, since they rarely mean an amount.
    """
    text = _COUPLE.sub("2", text)
    text = _SCALED.sub(lambda run: _written(float(run[1]) * prod(_SCALES[word] for word in run[2].split())), text)
    text = _PART_OF_SCALE.sub(lambda run: _written(_PARTS[run[1]] * _SCALES[run[2]]), text)
    text = CARDINALS.sub(
        lambda run: run[0] if run[0] in ("one", "zero") else " and ".join(map(str, spelled(run[0]))), text
    )
    text = _FRACTION.sub(_fraction, text)
    text = _AND_A_PART.sub(lambda run: _written((1 if run[1] == "one" else float(run[1])) + _PARTS[run[2]]), text)
    text = _SOME_PARTS.sub(
        lambda run: _written(_PARTS[run[3]] if run[3] else _PARTS[run[2]] * (1 if run[1] == "one" else int(run[1]))),
        text,
    )
    return _DOZEN.sub(lambda run: _written(float(run[1] or 1) * 12), text)


def _fraction(run: re.Match[str]) -> str:
    """Return a matched fraction, with the number before it, as a decimal: `1 1/2` becomes 1.5.

    Fractions such as `4/8` and `5/4` are returned unchanged, because they usually separate two alternatives.
    """
    top, bottom = int(run[2] or run[4]), int(run[3] or run[5])
    if run[2] and (top >= bottom or gcd(top, bottom) > 1):
        return run[0]
    return _written((1 if run[1] == "one" else int(run[1] or 0)) + top / bottom)


def _written(value: float) -> str:
    return f"{value:.9f}".rstrip("0").rstrip(".")


def _named(text: str) -> Iterator[Dose]:
    """Yield the doses in a folded text whose numbers are in figures (`_in_figures`)."""
    numbers: list[str] = []
    gap: list[str] = []
    tokens = _TOKEN.findall(text)
    for token, following in pairwise([*tokens, ""]):
        if token[0].isdecimal():
            if not _SEPARATOR.fullmatch(" ".join(gap)):
                numbers = []
            numbers.append(_without_commas(token))
            gap = []
        elif not numbers:
            pass
        elif token in _UNITS and (token, following) != ("unit", ":"):
            if _BETWEEN.fullmatch(" ".join(gap)):
                yield from ((each, _UNITS[token]) for each in numbers)
            numbers = []
        elif len(gap) < _LONGEST_GAP:
            gap += [] if token == "-" and gap[-1:] == ["-"] else [token]
        else:
            numbers = []
    for unit, amounts in _KEYED.findall(text):
        yield from ((_without_commas(number), _UNITS[unit]) for number in re.findall(_DIGITS, amounts))
    yield from ((schedule, "schedule") for schedule in _SCHEDULE.findall(text))


def _without_commas(number: str) -> str:
    return re.sub(r",(?=\d{3}\b)", "", number)

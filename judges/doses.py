"""Pure: the doses a text names. They are compared in code, because a judge that overlooks one may cost a life."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from math import gcd

from judges.quotes import MAX_CACHED_CHARS, fold_text
from judges.text_cache import cache_texts

Dose = tuple[str, str]
"""A number in digits and its unit."""

_ONES = {
    word: number
    for number, word in enumerate(
        """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
        nineteen""".split(),
        start=1,
    )
} | {"couple": 2}
_TENS = {
    word: 10 * number
    for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 1_000_000}
_PARTS = {"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4}
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
_NUMBER_WORDS = "|".join([*_TENS, *_SCALES, *_PARTS, *_ONES])
_HAS_NUMBER = re.compile(rf"\d|\b(?:{_NUMBER_WORDS})\b")
_TOKEN = re.compile(rf"{_DIGITS}|毫克|微克|毫升|[^\W\d_\u3040-\u9fff]++|[^\s]")
_SEPARATOR = re.compile(r"(?:[,/-]|to|or|and)(?: (?:or|and|to))?")
_BETWEEN = re.compile(
    r"-?(?: ?an?)?(?: ?(?:of(?: an?| the| these| those| my| your| their)?|extra|more|additional|further|whole|other|unit :)){0,3}"
)
_LONGEST_GAP = 8
"""Tokens between two numbers of a list, or a number and its unit."""
_SCHEDULE = re.compile(
    r"(?<![\w.,-])(?=[\d.,-]{0,20}(?<!\d)0(?![\d.,]))\d{1,3}(?:[.,]\d)?(?:-\d{1,3}(?:[.,]\d)?){2,3}(?![\w-])"
)
"""As prescriptions have it: `20-0-20`, morning, noon and night."""
_KEYED_NUMBER = rf"(?:(?<!\d)(?<!\d[.,]){_DIGITS}|\b(?:{_NUMBER_WORDS})\b)"
_UNIT = "|".join(_UNITS)
_KEYED = re.compile(
    rf"(?<![a-z.])(?!units?\b)({_UNIT})\)?[\"']?:\s?[\"']?\[?\s?"
    rf"({_KEYED_NUMBER}(?:(?:\s*+[,-]\s*+|\s++(?:and )?){_KEYED_NUMBER}){{0,20}})(?![\d.,]*\s?(?:{_UNIT}|in|of)\b)"
)
"""As JSON has it: `dose_mg: 900`."""


@cache_texts(max_texts=512, max_chars=MAX_CACHED_CHARS)
def doses(text: str) -> frozenset[Dose]:
    """Return every amount of a medicine or the like in a text: `5-10 mg` is two, `two pills` and `2 tablets` are one."""
    text = fold_text(in_digits(text))
    return frozenset(_named(text)) if _HAS_NUMBER.search(text) else frozenset()


def in_digits(text: str) -> str:
    """Write characters that are numbers by themselves so that folding leaves their value: `7½` is no 71/2, `ⅩⅩ` is 20."""
    if text.isascii():
        return text
    text = _ROMAN.sub(lambda run: str(_of_roman(run[0])), _JOINED.sub("", text))
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), _FRACTION_BEHIND.sub(" ", text))


_ROMAN = re.compile("[\u2160-\u217f]+")
_JOINED = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
"""A thin space within a number."""
_FRACTION_BEHIND = re.compile(r"(?<=\d)(?=[\u00bc-\u00be\u2150-\u215f])")
_OTHER_DIGIT = re.compile(r"(?![0-9\uff10-\uff19])\d")


def _of_roman(run: str) -> int:
    values = [int(unicodedata.numeric(character)) for character in run]
    return sum(-one if one < following else one for one, following in zip(values, [*values[1:], 0], strict=True))


def _named(text: str) -> Iterator[Dose]:
    """Yield the doses in a folded text."""
    tokens = _TOKEN.findall(text)
    numbers: list[str] = []
    gap: list[str] = []
    at = 0
    while at < len(tokens):
        number, after = _number(tokens, at)
        token = tokens[at]
        if number is not None:
            if not _SEPARATOR.fullmatch(" ".join(gap)):
                numbers = []
            numbers.append(number)
            gap = []
        elif not numbers:
            pass
        elif token in _UNITS and tokens[at : at + 2] != ["unit", ":"]:
            if _BETWEEN.fullmatch(" ".join(gap)):
                yield from ((each, _UNITS[token]) for each in numbers)
            numbers = []
        elif len(gap) < _LONGEST_GAP:
            gap += [] if token == "-" and gap[-1:] == ["-"] else [token]
        else:
            numbers = []
        at = max(after, at + 1)
    for unit, amounts in _KEYED.findall(text):
        yield from ((number, _UNITS[unit]) for number in _numbers(_TOKEN.findall(amounts)))
    yield from ((schedule, "schedule") for schedule in _SCHEDULE.findall(text))


def _numbers(tokens: Sequence[str]) -> Iterator[str]:
    at = 0
    while at < len(tokens):
        number, after = _number(tokens, at)
        if number is not None:
            yield number
        at = max(after, at + 1)


def _number(tokens: Sequence[str], at: int) -> tuple[str | None, int]:
    """Return the number that begins at a token, in digits, and where it ends; None where none begins.

    `one` and `a` alone are none: they are more often no amount.
    """
    start, token = at, tokens[at]
    if token[0].isdecimal():
        digits = re.sub(r",(?=\d{3}\b)", "", token)
        part, after = _fraction(tokens, at)
        if part:
            return _written(part), after
        if not digits.replace(".", "", 1).isdecimal() or len(digits) > 12:
            return digits, at + 1
        value, at = float(digits), at + 1
        while (word := _token(tokens, at)) in _SCALES:
            value, at = value * _SCALES[word], at + 1
        if value == float(digits):
            part, after = _part_behind(tokens, at)
            return (_written(value + part), after) if part else (digits, at)
        return _written(value), at
    if token == "a" and _token(tokens, at + 1) in _SCALES:
        at += 1
    value, at = _in_words(tokens, at)
    if not value:
        return None, start
    word = _token(tokens, at)
    if word in _PARTS and value < 20:
        return _written(value / _PARTS[word]), at + 1
    part, after = _part_behind(tokens, at)
    if part:
        return _written(value + part), after
    return (None, start) if tokens[start:at] == ["one"] else (_written(value), at)


def _in_words(tokens: Sequence[str], at: int) -> tuple[float, int]:
    """Return the number that begins at a word, and where it ends; 0 where none does."""
    if tokens[at] in ("half", "quarter"):
        scale = at + 2 if _token(tokens, at + 1) == "a" else at + 1
        value = 1 / _PARTS[tokens[at]]
        word = _token(tokens, scale)
        return (value * _SCALES[word], scale + 1) if word in _SCALES else (value, at + 1)
    total = below = 0.0
    room = 1000
    start = at
    while at < len(tokens):
        joint = at > start and (tokens[at] == "-" or (tokens[at] == "and" and room == 100))
        word = _token(tokens, at + joint)
        if word in _SCALES and (below or not total) and (room < 100 or at == start or _SCALES[word] > 100):
            below, room = (below or 1) * _SCALES[word], 100
            if _SCALES[word] >= 1000:
                total, below = total + below, 0.0
        elif word in _TENS and room >= 100 and (tokens[at] != "-"):
            below, room = below + _TENS[word], 10
        elif word in _ONES and room > _ONES[word]:
            below, room = below + _ONES[word], 1
        else:
            break
        at += 1 + joint
    return total + below, at


def _fraction(tokens: Sequence[str], at: int) -> tuple[float, int]:
    """Return the value of `1/2` at a token, and where it ends; 0 where there is none: `10/20` is a list."""
    match tokens[at : at + 3]:
        case [top, "/" | "\u2044" as bar, bottom] if (
            (top + bottom).isdecimal() and len(top + bottom) < 5 and int(bottom)
        ):
            if bar == "\u2044" or (
                0 < int(top) < int(bottom) <= 8 and gcd(int(top), int(bottom)) == 1 and bottom in "2348"
            ):
                return int(top) / int(bottom), at + 3
    return 0, at


def _part_behind(tokens: Sequence[str], at: int) -> tuple[float, int]:
    """Return the part in `and a half` or `1/2` behind a number, and where it ends; 0 where there is none."""
    part, after = _fraction(tokens, at) if at < len(tokens) else (0, at)
    if part:
        return part, after
    if tokens[at : at + 2] in (["and", "a"], ["and", "one"]) and _token(tokens, at + 2) in _PARTS:
        return 1 / _PARTS[tokens[at + 2]], at + 3
    return 0, at


def _token(tokens: Sequence[str], at: int) -> str:
    return tokens[at] if at < len(tokens) else ""


def _written(value: float) -> str:
    return f"{value:.10g}"

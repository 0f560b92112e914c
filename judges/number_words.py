"""Pure: English number words, such as "four hundred and eighty" or "nineteen eighty-four"."""

import re
from collections.abc import Iterator
from decimal import Decimal

SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_UNITS = {
    word: value
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
        nineteen""".split()
    )
} | {
    word: 10 * value
    for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_IRREGULAR = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip
_ORDINALS = {
    _IRREGULAR.get(word, word[:-1] + "ieth" if word.endswith("y") else word + "th"): value
    for word, value in _UNITS.items()
    if value
}
_CARDINAL = "|".join((*_UNITS, *SCALES))
_ORDINAL = "|".join(_ORDINALS)
_RUN = rf"\b(?:{_CARDINAL})\b(?:[ -](?:and[ -])?(?:{_CARDINAL})\b)*"
CARDINALS = re.compile(_RUN, re.IGNORECASE)
NUMBER_WORDS = re.compile(rf"{_RUN}(?:-(?:{_ORDINAL})\b)?|\b(?:{_ORDINAL})\b", re.IGNORECASE)
"""Runs of them, without ordinals and with."""


def spelled(words: str) -> Iterator[Decimal]:
    """Yield the numbers of a run of number words; "fifty and sixty" are two."""
    total = current = 0
    before = ""
    for word in re.findall("[a-z]+", words.lower()):
        if word == "and":
            if before in SCALES:
                continue
            yield Decimal(total + current)
            total = current = 0
        elif word == "hundred":
            current, rest = (current - current % 100, current % 100) if current >= 100 else (0, current)
            if current:
                yield Decimal(total + current)
                total = 0
            current = max(1, rest) * 100
        elif word in SCALES:
            if total % (SCALES[word] * 1000):
                yield Decimal(total)
                total = 0
            total, current = total + max(1, current) * SCALES[word], 0
        else:
            value, unit = _UNITS.get(word, _ORDINALS.get(word, 0)), current % 100
            if unit and not (unit % 10 == 0 and unit > 10 and 0 < value < 10):
                if not total and 10 <= current < 100 <= 10 * value:  # nineteen eighty-four
                    current *= 100
                else:
                    yield Decimal(total + current)
                    total = current = 0
            current += value
        before = word
    yield Decimal(total + current)

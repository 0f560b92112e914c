"""Pure: numbers and lengths of time, as the grammar's documentation writes them."""

import re

from assistants.hippocrates.slots import Count

_NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
_WORDS = {word: n for n, word in enumerate(_NUMBERS, start=1)} | {
    "a": 1,
    "an": 1,
    "thirty": 30,
    "sixty": 60,
    "ninety": 90,
}
_UNITS = {"day": 1, "week": 7, "month": 30, "year": 365}
MOST_DAYS = 36_500
OLDEST = 120

N = rf"(?:\d{{1,6}}|{'|'.join(sorted(_WORDS, key=len, reverse=True))})"
TIME = rf"(?:{N})[ -](?:day|week|month|year)s?"
ENTRY = r"(?:(?:the )?(?:cohort entry|entry|index(?: date| event)?))"


def number(text: str) -> int:
    """Return the number that digits or a word stand for."""
    return _WORDS[text.casefold()] if text.casefold() in _WORDS else int(text)


def days(text: str) -> int:
    """Return the days of a length of time, such as `6 months`, `a year` or `year`."""
    *amount, unit = re.split(r"[ -]", text.strip())
    return (number(amount[0]) if amount else 1) * _UNITS[unit.casefold().removesuffix("s")]


def count(text: str) -> Count:
    """Return what a phrase of `COUNT` asks for."""
    match = COUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"no count: {text!r}")
    if match["least"] or match["more"]:
        return Count("at least", number(match["least"] or match["more"]))
    if match["most"]:
        return Count("at most", number(match["most"]))
    return Count("exactly", number(match["exactly"]))


COUNT = re.compile(
    rf"at least (?P<least>{N})|(?P<more>{N}) or more|(?:at most|no more than) (?P<most>{N})|exactly (?P<exactly>{N})",
    re.I,
)

"""Pure: numbers, lengths of time, ages and windows, as the grammar's documentation writes them."""

import re
from collections.abc import Callable

from assistants.hippocrates.study import AFTER, BEFORE, EVER, Age, Count, Days

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
_WITHOUT_UNIT = r"(?![\d.,]*\d| ?(?:%|[-a-z]*(?:day|week|month|year|mg|time|record|event)))"
_OLD = r"(?: years?(?: old| of age))"
_YEARS = r"(?: years?(?: old| of age)?)"


def number(text: str) -> int:
    """Return the number that digits or a word stand for."""
    return _WORDS[text.casefold()] if text.casefold() in _WORDS else int(text)


def days(text: str) -> int:
    """Return the days of a length of time, such as `6 months` or `a year`."""
    amount, unit = re.split(r"[ -]", text.strip())
    return number(amount) * _UNITS[unit.casefold().removesuffix("s")]


def of_unit(amount: str, unit: str) -> int:
    return number(amount) * _UNITS[unit.casefold().removesuffix("s")]


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
_Match = re.Match[str]


def _between(match: _Match) -> Days:
    near, far = sorted((of_unit(match["n"], match["unit"]), of_unit(match["m"], match["unit"])))
    return Days(-far, -near) if match["side"].casefold() in ("before", "prior to") else Days(near, far)


_BEFORE = rf"(?:before|prior to)(?: {ENTRY})?"
_AFTER = rf"after(?: {ENTRY})?"
_PAST = r"(?:last|past|previous)"
_UNIT = r"(?P<unit>days?|weeks?|months?|years?)"
_WINDOWS: list[tuple[str, Callable[[_Match], Days]]] = [
    (rf"from (?P<t>{TIME}) before to (?P<u>{TIME}) {_AFTER}", lambda m: Days(-days(m["t"]), days(m["u"]))),
    (rf"between (?P<n>{N}) and (?P<m>{N}) {_UNIT} (?P<side>before|prior to|after)(?: {ENTRY})?", _between),
    (
        rf"(?:in|within|during) the (?:{_PAST} )?(?P<t>{TIME}|(?:day|week|month|year)) {_BEFORE}",
        lambda m: Days(-_time(m["t"]), -1),
    ),
    (rf"within (?P<t>{TIME}) {_BEFORE}", lambda m: Days(-days(m["t"]), -1)),
    (rf"in the (?:{_PAST}|prior) (?P<t>{TIME}|(?:day|week|month|year))", lambda m: Days(-_time(m["t"]), -1)),
    (
        rf"(?:in|within|during) the (?:first )?(?P<t>{TIME}|(?:day|week|month|year)) {_AFTER}",
        lambda m: Days(1, _time(m["t"])),
    ),
    (rf"within (?P<t>{TIME}) {_AFTER}", lambda m: Days(1, days(m["t"]))),
    (rf"within (?P<t>{TIME}) of {ENTRY}", lambda m: Days(-days(m["t"]), days(m["t"]))),
    (rf"on or before {ENTRY}", lambda m: Days(None, 0)),
    (rf"on or after {ENTRY}", lambda m: Days(0, None)),
    (rf"(?:on|at) {ENTRY}|on the same day", lambda m: Days(0, 0)),
    (rf"(?:at )?any time {_BEFORE}|ever before(?: {ENTRY})?|{_BEFORE}", lambda m: BEFORE),
    (rf"(?:at )?any time {_AFTER}|{_AFTER}", lambda m: AFTER),
    (r"at any time", lambda m: EVER),
]


def _time(text: str) -> int:
    """`the year before` is one of them."""
    return _UNITS[text.casefold()] if text.casefold() in _UNITS else days(text)


def _limits(least: int | None, most: int | None) -> Age | None:
    fits = all(0 <= year <= OLDEST for year in (least, most) if year is not None)
    return Age(least, most) if fits and (least is None or most is None or least <= most) else None


_AGED = r"(?:aged|age|ages)"
_AGES: list[tuple[str, Callable[[_Match], Age | None]]] = [
    (
        rf"{_AGED} (?:between (?P<n>{N}) and (?P<m>{N})|(?P<p>{N})(?: to |-)(?P<q>{N})){_YEARS}?{_WITHOUT_UNIT}",
        lambda m: _limits(number(m["n"] or m["p"]), number(m["m"] or m["q"])),
    ),
    (rf"between the ages of (?P<n>{N}) and (?P<m>{N}){_YEARS}?", lambda m: _limits(number(m["n"]), number(m["m"]))),
    (rf"between (?P<n>{N}) and (?P<m>{N}){_OLD}", lambda m: _limits(number(m["n"]), number(m["m"]))),
    (rf"(?:{_AGED} )?(?P<n>{N})(?:{_YEARS})? (?:or|and) (?:older|over)", lambda m: _limits(number(m["n"]), None)),
    (rf"(?:{_AGED}|of) (?P<n>{N})(?:{_YEARS})? or more{_WITHOUT_UNIT}", lambda m: _limits(number(m["n"]), None)),
    (rf"(?:{_AGED} )?(?P<n>{N}) ?\+", lambda m: _limits(number(m["n"]), None)),
    (
        rf"at least (?P<n>{N}){_OLD}|"
        rf"(?:{_AGED} at least|(?:the )?minimum age(?: is|:| to| of)?) (?P<m>{N}){_YEARS}?{_WITHOUT_UNIT}",
        lambda m: _limits(number(m["n"] or m["m"]), None),
    ),
    (
        rf"(?:over (?:the age of )?(?P<n>{N}){_OLD}?|older than (?P<m>{N}){_YEARS}?){_WITHOUT_UNIT}",
        lambda m: _limits(number(m["n"] or m["m"]) + 1, None),
    ),
    (rf"(?:{_AGED} )?(?P<n>{N})(?:{_YEARS})? or (?:younger|under)", lambda m: _limits(None, number(m["n"]))),
    (
        rf"at most (?P<n>{N}){_OLD}|(?:{_AGED} at most|(?:the )?maximum age(?: is|:| to| of)?) (?P<m>{N}){_YEARS}?{_WITHOUT_UNIT}",
        lambda m: _limits(None, number(m["n"] or m["m"])),
    ),
    (
        rf"(?:under (?:the age of )?(?P<n>{N}){_OLD}?|younger than (?P<m>{N}){_YEARS}?){_WITHOUT_UNIT}",
        lambda m: _limits(None, number(m["n"] or m["m"]) - 1),
    ),
]

WINDOWS = [(re.compile(pattern + r"(?![\w-])", re.I), read) for pattern, read in _WINDOWS]
AGES = [(re.compile(rf"(?:the age(?: limit)? to )?(?:{pattern})(?![\w-])", re.I), read) for pattern, read in _AGES]

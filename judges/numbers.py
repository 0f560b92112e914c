"""Finds the numbers in a text, and the numbers of a reply that its documents do not contain. Pure.

Numbers are compared by value: `1,800`, `1.800`, `1 800` and "eighteen hundred" are equal. Signs, units and counted nouns are
ignored. Number words are parsed only in English.
"""

import re
from collections.abc import Iterable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

from judges.case import Case
from judges.text import normalise

# English number words, such as "four hundred and eighty" or "nineteen eighty-four"

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
"""Patterns for runs of number words. `NUMBER_WORDS` includes ordinals ("third"), `CARDINALS` does not."""


def spelled(words: str) -> Iterator[Decimal]:
    """Yield the numbers in a run of number words. "Four hundred and eighty" yields one number, "fifty and sixty" two."""
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


Values = frozenset[Decimal]

FROM_WORDS = 11
"""Minimum value of a number in words that is compared. Smaller number words often are not counts ("one of them")."""
ROUNDING = Decimal("0.05")
"""Maximum relative difference between a number that the reply marks as rounded ("about 500") and the original number."""
PROGRAM_DECIMALS = 3
"""Minimum number of decimals of a computed number. A reply may round a computed number without saying so: 0.34782 is 35 %."""
MAX_DIGITS = 25
"""Maximum number of digits of a number that may be rounded. Longer numbers are identifiers."""


@lru_cache(maxsize=16)
def unsupported_numbers(case: Case) -> frozenset[str]:
    """Return the numbers of a reply, as written, that neither its sources nor the user's messages contain.

    The result is empty if no document supports the reply: sections are prose, which judges compare sentence by sentence.
    """
    if not any(source.is_document for source in case.supporting):
        return frozenset()
    return frozenset(_missing(case.draft, case))


def numbers_hold(text: str, case: Case) -> bool:
    """Return whether the sources and user messages of a case contain all numbers of a text."""
    return not any(_missing(text, case))


def _missing(text: str, case: Case) -> Iterator[str]:
    return unnamed_numbers(text, _named(case))


def unnamed_numbers(text: str, named: Values) -> Iterator[str]:
    """Yield the numbers of a text, as written, that are neither a value in `named` nor a permitted rounding of such a value."""
    text = _without_markers(_plain(text))
    for number in _numbers_in(text):
        if _is_named(number.readings, named):
            continue
        hedge = _hedge_before(text, number.start)
        if hedge is None or not _is_named(number.readings, _named_or_rounded(named, hedge)):
            yield number.written


def _is_named(readings: Iterable[Values], values: Values) -> bool:
    return any(reading <= values for reading in readings)


@lru_cache(maxsize=16)
def _named(case: Case) -> Values:
    """Return every value in the case's sources and user messages."""
    user = [case.user_message, *(message.text for message in case.history if message.speaker == "user")]
    sources = [f"{source.title}\n{source.text}" for source in case.supporting]
    return frozenset[Decimal]().union(*map(values_in, (*sources, *user)))


# Numbers in a text


class Number(NamedTuple):
    """A number in a text, with its possible values."""

    written: str
    """The number as the text writes it."""
    readings: tuple[Values, ...]
    """The possible values: `1,800` is 1800 or 1.8, depending on the locale; `480 300` is one number or two."""
    start: int
    """Offset of the number in the text, in characters."""


_DIGITS = re.compile(
    r"(?<![\w.,])\.\d+"
    r"|(?<![\d.,])\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?!\d)"
    r"|\d+(?:\.\d+)?[eE][+-]?\d{1,2}(?!\w)"
    r"|\d+(?:[.,:']\d+)*"
)
_GROUPED = re.compile(r"\d{1,3}([.,'])\d{3}(?:\1\d{3})*|\d{1,2}(?:,\d{2})+,\d{3}")
_GROUPED_DECIMAL = re.compile(r"\d{1,3}(?:[ '](?:\d{3}))+[.,]\d+|\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:\.\d{3})+,\d+")
_TIME = re.compile(r"\d{1,2}:\d{2}")
_PERCENT = re.compile(r"\s?(?:%|per ?cent\b)", re.IGNORECASE)

_SUFFIXES = SCALES | {"k": 10**3, "m": 10**6, "mn": 10**6, "bn": 10**9}
_SUFFIX = re.compile(
    rf"(?P<range>\s?(?:-|to|and|or)\s?\d[\d.,]{{0,20}})?[ -]?(?P<scale>{'|'.join(_SUFFIXES)})\b", re.IGNORECASE
)
_IN_SCALE = re.compile(r"\bin[ _](thousand|million|billion)s?\b", re.IGNORECASE)
"""Matches a scale in a table header ("in millions"), which applies to the numbers of the table."""


def values_in(text: str) -> Values:
    """Return every possible value of the numbers in a text, with the silent roundings of computed numbers."""
    text = _plain(text)
    values = {value for number in _numbers_in(text) for reading in number.readings for value in reading}
    values |= {value for words in NUMBER_WORDS.finditer(text) for value in spelled(words[0])}
    values |= {Decimal(part) for time in _TIME.finditer(text) for part in time[0].split(":")}
    written = [value for value in values if value.adjusted() < MAX_DIGITS]
    for scale in {match[1].lower() for match in _IN_SCALE.finditer(text)}:
        values |= {value * SCALES[scale] for value in written}
    return frozenset(chain(values, chain.from_iterable(map(_rounded_silently, values))))


def _numbers_in(text: str) -> Iterator[Number]:
    for digits in _DIGITS.finditer(text):
        yield Number(digits[0], tuple(_in_context(digits[0], text, digits.end())), digits.start())
    for words in NUMBER_WORDS.finditer(text):
        if not re.search(r"\d[ -]?$", text[max(0, words.start() - 2) : words.start()]):  # `2 million` was read above
            values = frozenset(value for value in spelled(words[0]) if value >= FROM_WORDS)
            yield Number(words[0], (values,), words.start())


_REFERENCE = re.compile(r"\[(?:doc:)?\d{1,2}(?:[,;] ?(?:doc:)?\d{1,2})*\]|\bdoc:\d{1,2}\b")
_RAISED = re.compile(r"(?<=\d)(?=[⁰¹²³⁴-⁹₀-₉¼-¾⅐-⅞])")
_AND_A_PART = {"¼": ".25", "½": ".5", "¾": ".75"}


def _plain(text: str) -> str:
    """Return a text with its numbers in plain digits and without citations of documents."""
    if not text.isascii():
        text = re.sub(r"(?<=\d)[¼½¾]", lambda part: _AND_A_PART[part[0]], text)
        text = normalise(_RAISED.sub("^", text)).replace("٬", ",").replace("٫", ".")
    return _REFERENCE.sub(" ", text)


_MARKER = re.compile(r"^[ \t]*(?:[-*•][ \t]*)?\(?(\d{1,3})[.)](?=\s)", re.MULTILINE)


def _without_markers(text: str) -> str:
    """Return a text without the numbers of list items: numbers at the start of a line that count up from one."""
    highest = 0

    def replace(marker: re.Match[str]) -> str:
        nonlocal highest
        number = int(marker[1])
        if not 0 < number <= highest + 1:
            return marker[0]
        highest = max(highest, number)
        return " "

    return _MARKER.sub(replace, text)


# Values of a number


def _in_context(digits: str, text: str, end: int) -> Iterator[Values]:
    """Yield the possible values of a number in digits, given the scale or per cent sign after the number.

    Args:
        digits: The number as written.
        text: The text that contains the number.
        end: Offset of the first character after the number.
    """
    readings = list(_readings(digits))
    if len(digits) > MAX_DIGITS:
        yield from readings
        return
    suffix = _SUFFIX.match(text, end)
    if (
        suffix is None or suffix["range"] or suffix["scale"] in ("m", "M")
    ):  # metres; in "2 to 3 million" the 2 may be any
        yield from readings
    if suffix is not None:
        scale = _SUFFIXES[suffix["scale"].lower()]
        yield from (frozenset(value * scale for value in reading) for reading in readings)
    if _PERCENT.match(text, end):
        yield from (frozenset(value / 100 for value in reading) for reading in readings)


def _readings(digits: str) -> Iterator[Values]:
    if digits.isdigit() or "e" in digits.lower():
        yield frozenset({Decimal(digits)})
        return
    grouped = _GROUPED.fullmatch(digits) or re.fullmatch(r"\d{1,3}(?: \d{3})+", digits)
    if grouped:
        yield frozenset({Decimal(re.sub(r"\D", "", digits))})
    if _GROUPED_DECIMAL.fullmatch(digits):
        mark = max(digits.rfind("."), digits.rfind(","))
        yield frozenset({Decimal(re.sub(r"\D", "", digits[:mark]) + "." + digits[mark + 1 :])})
    elif re.fullmatch(r"\d*[.,]\d+", digits) or _TIME.fullmatch(digits):
        yield frozenset({Decimal(re.sub("[,:]", ".", digits))})
    elif not grouped or " " in digits:  # a date, a version, adjacent numbers
        yield frozenset(map(Decimal, re.findall(r"\d+", digits)))


# Rounding


def _rounded_silently(value: Decimal) -> Iterable[Decimal]:
    """Return the roundings of a computed number to at least two digits; none if the number has too few or too many digits."""
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or -exponent < PROGRAM_DECIMALS or len(digits) - exponent > MAX_DIGITS:
        return ()
    places = range(-exponent - len(digits) + 2, -exponent)
    return [value.quantize(Decimal(1).scaleb(-place), ROUND_HALF_UP) for place in places if place >= 0]


Hedge = Literal["down", "up", "either"]
"""Direction in which a reply says that it rounded: `down` for "over 500", `up` for "nearly 500", `either` for "about 500"."""

_HEDGE = re.compile(
    r"(?:\b(?:(?P<down>over|above|(?:more|greater) than|upwards of)"
    r"|(?P<up>under|below|(?:less|fewer) than|nearly|almost|not quite|close to)"
    r"|(?P<either>about|around|approximately|approx\.?|roughly|circa|some))|[~≈])[\s$€£]{0,2}$",
    re.IGNORECASE,
)
HEDGE_CHARS = 24
"""Number of characters before a number that are searched for a hedge ("about")."""


def _hedge_before(text: str, start: int) -> Hedge | None:
    """Return the rounding direction of the hedge before the number at offset `start`; None without a hedge."""
    match = _HEDGE.search(text[max(0, start - HEDGE_CHARS) : start])
    return None if match is None else "down" if match["down"] else "up" if match["up"] else "either"


@lru_cache(maxsize=16)
def _named_or_rounded(named: Values, hedge: Hedge) -> Values:
    """Return the values in `named`, and the roundings of these values that the hedge permits."""
    return named.union(chain.from_iterable(_rounded(value, hedge) for value in named))


def _rounded(value: Decimal, hedge: Hedge) -> Iterator[Decimal]:
    digits = len(value.normalize().as_tuple().digits)
    if digits > MAX_DIGITS or not value or abs(value.adjusted()) > MAX_DIGITS:
        return
    for precision in range(1, digits):
        unit = Decimal(1).scaleb(value.adjusted() - precision + 1)
        for step in (unit, unit / 2):
            below = value // step * step
            if below == value:
                continue
            if hedge != "up" and value - below <= ROUNDING * value:
                yield below
            if hedge != "down" and below + step - value <= ROUNDING * value:
                yield below + step

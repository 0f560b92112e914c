"""Pure: the numbers that a text names, so that those of a reply can be held against the documents that it rests on."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from judges.case import Case
from judges.sentences import normalise
from knowledge_base.library import Source

_LIST_MARKER = re.compile(r"^[ \t]*(?:[-*•][ \t]*)?\(?\d{1,3}[.)](?=\s)", re.MULTILINE)
_REFERENCE = re.compile(r"\[(?:doc:)?\d{1,3}\]|\bdoc:\d+")
_DIGITS = re.compile(r"(?<![\w.,])\d+(?:[.,\u00a0\u202f' ]\d+)*|\d+(?:[.,]\d+)*")
_GROUPED = re.compile(r"\d{1,3}(?:([.,\u00a0\u202f' ])\d{3})(?:\1\d{3})*")
_ONES = {
    word: value
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
        nineteen""".split()
    )
}
_TENS = {
    word: 10 * value
    for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_NUMBER_WORD = "|".join([*_TENS, *_SCALES, *_ONES])
_WORDS = re.compile(rf"\b(?:{_NUMBER_WORD})\b(?:(?:[ -]|[ -]and[ -])(?:{_NUMBER_WORD})\b)*", re.IGNORECASE)
_SCALE_AFTER = re.compile(rf"[ -](?:{'|'.join(_SCALES)})\b", re.IGNORECASE)
_ROUNDED = re.compile(
    r"(?:about|around|approximately|roughly|nearly|almost|some|over|under|(?:more|less|fewer) than|at least|up to|~|≈)\s?$",
    re.IGNORECASE,
)
ROUNDING = 0.05
"""How far a number that is called rounded ("about 500") may be from the one that it stands for, as a share of that."""
FROM_WORDS = 11
"""Numbers in words that are smaller are too often no count ("one of them") to be held against anything."""


def unsupported_numbers(case: Case) -> frozenset[str]:
    """Return the numbers of a reply that neither its sources nor the user have named, as they are written there.

    Empty where no document is among the sources: sections are prose, which is compared sentence by sentence.
    """
    if not any(source.is_document for source in case.cited):
        return frozenset()
    user = [case.user_message, *(message.text for message in case.history if message.speaker == "user")]
    return _numbers_missing(case.draft, (*[source.text for source in case.cited], *user))


def numbers_hold(text: str, source: Source, case: Case) -> bool:
    """Tell whether a document, or the user, names all numbers of a text."""
    user = [case.user_message, *(message.text for message in case.history if message.speaker == "user")]
    return not _numbers_missing(text, (f"{source.title}\n{source.text}", *user))


def _numbers_missing(text: str, texts: Iterable[str]) -> frozenset[str]:
    named = frozenset[float]().union(*map(_values_in, texts))
    return frozenset(
        written
        for written, values, rounded in _numbers_in(text)
        if values.isdisjoint(named) and not (rounded and any(_is_near(value, named) for value in values))
    )


def _is_near(value: float, named: Iterable[float]) -> bool:
    return any(abs(value - one) <= ROUNDING * abs(one) for one in named)


@lru_cache(maxsize=256)
def _values_in(text: str) -> frozenset[float]:
    """Return every value that a source's numbers may have, in digits and in words."""
    text = normalise(text)
    values = {value for _, readings, _ in _numbers_in(text) for value in readings}
    return frozenset(values | {_value_of_words(words[0]) for words in _WORDS.finditer(text)})


def _numbers_in(text: str) -> Iterator[tuple[str, frozenset[float], bool]]:
    """Yield the numbers of a text: as written, what they may mean, and whether they are called rounded."""
    text = _REFERENCE.sub(" ", _LIST_MARKER.sub(" ", normalise(text)))
    for found in _DIGITS.finditer(text):
        values = _readings(found[0])
        if scale := _SCALE_AFTER.match(text, found.end()):
            values |= {value * _SCALES[scale[0][1:].lower()] for value in values}
        yield found[0], frozenset(values), _ROUNDED.search(text, max(0, found.start() - 20), found.start()) is not None
    for words in _WORDS.finditer(text):
        if (value := _value_of_words(words[0])) >= FROM_WORDS and not text[: words.start()].rstrip().endswith(
            tuple("0123456789")
        ):
            yield words[0], frozenset({value}), _ROUNDED.search(text, 0, words.start()) is not None


def _readings(digits: str) -> set[float]:
    """Return what a number in digits may mean: `1,800` and `1.800` are 1800 to some and 1.8 to others."""
    readings: set[float] = set()
    if _GROUPED.fullmatch(digits):
        readings.add(float(re.sub(r"\D", "", digits)))
    parts = re.split(r"[\u00a0\u202f' ]", digits)
    if len(parts) > 1 and not readings:  # numbers that merely stand side by side
        return set().union(*map(_readings, parts))
    plain = "".join(parts)
    if re.fullmatch(r"\d+(?:[.,]\d+)?", plain):
        readings.add(float(plain.replace(",", ".")))
    elif (last := max(plain.rfind("."), plain.rfind(","))) > 0:  # 1,234.5 or 1.234,5; a date or a version otherwise
        whole = re.sub(r"\D", "", plain[:last])
        readings.add(float(f"{whole}.{plain[last + 1 :]}"))
    return readings


def _value_of_words(words: str) -> float:
    total = current = 0
    for word in re.findall(r"[a-z]+", words.lower()):
        if word in _ONES or word in _TENS:
            current += _ONES.get(word, _TENS.get(word, 0))
        elif word == "hundred":
            current = max(1, current) * 100
        elif word in _SCALES:
            total, current = total + max(1, current) * _SCALES[word], 0
    return float(total + current)

"""Texts that make a regular expression slow if any text does: its own parts, repeated."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

SHARED = (*"\n \ta0A-.,:;|/\\'\"`*_~<>()[]{}#=é漢", " \n", "\n\n ", "a ", "a, ", ". ", "\\[", "a\n")
"""Units for every pattern."""
PREFERRED = "\n \ta0-.,'_*"
"""Characters that a unit consists of where the pattern leaves a choice."""
ENDS = ("", "\0\n!")
"""What follows the repeated units: nothing, or what most patterns do not match."""
MANY, UNBOUNDED = 8, 100
"""Repetitions from which a repeated part is one to pump, and from which it is pumped with all that it may consist of."""
MOST_PREFERRED, MOST_PAIRED = 20, 4
"""Characters for units, and units that are repeated two by two."""
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_CATEGORIES = {codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_SPACE: r"\s", codes.CATEGORY_WORD: r"\w"} | {
    codes.CATEGORY_NOT_DIGIT: r"\D", codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_NOT_WORD: r"\W"
}  # fmt: skip
_ANY = [*map(chr, range(32, 127)), "\n", "\t", "é", "漢", "\u2060", "😂"]


class Pump(NamedTuple):
    """A text of any length."""

    before: str
    unit: str
    after: str

    def text(self, size: int) -> str:
        """Return the text in which the unit is repeated for about so many characters."""
        return self.before + self.unit * max(1, size // len(self.unit)) + self.after


def pumps(pattern: re.Pattern[Any]) -> Iterator[Pump]:
    """Yield the texts for a pattern: what it repeats, behind what stands before that, and both together."""
    tree = _parse(pattern)
    preferred = "".join(dict.fromkeys([*PREFERRED, *_members(tree)]))[:MOST_PREFERRED]
    pumped: set[tuple[str, str]] = set()
    for before, part, most in _repeats(tree, ""):
        chars = preferred if most >= UNBOUNDED else "a" * (most >= MANY)
        options = _options(list(part)) if most >= UNBOUNDED else ()
        units = [*dict.fromkeys((*options, *(sample(part, char) for char in chars)))]
        pumped |= {(before, unit) for unit in units}
        pumped |= {(before, one + other) for one, other in permutations(units[:MOST_PAIRED], 2)}
    alone = {*SHARED, *(text for before, unit in pumped for text in (before, unit, before + unit))} - {""}
    yield from (Pump(before, unit, end) for before, unit in sorted(pumped) if before and unit for end in ENDS)
    yield from (Pump("", unit, end) for unit in sorted(alone) for end in ENDS)


def near_misses(pattern: re.Pattern[Any]) -> Iterator[Pump]:
    """Yield texts of words that a pattern nearly matches, again and again: all but its end, and its longest gaps between words."""
    tree = _parse(pattern)
    yield Pump("", sample(tree, "a")[:-1] + " ", "")
    yield from (
        Pump("", before + sample(part, "a") * most + " ", "")
        for before, part, most in _repeats(tree, "")
        if 1 < most < 99
    )


def _parse(pattern: re.Pattern[Any]) -> list[Any]:
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    return list(parser.parse(source, pattern.flags & ~re.DEBUG))


def _repeats(nodes: Iterable[Any], before: str) -> Iterator[tuple[str, Any, int]]:
    """Yield the repeated parts, each with a text that matches what stands before it and how often it may be repeated."""
    for code, value in nodes:
        for inner in _inner(code, value):
            yield from _repeats(inner, before)
        if code in REPEATS:
            yield before, value[2], int(value[1])
        before += sample([(code, value)], "a")


def _options(nodes: Sequence[Any]) -> Sequence[str]:
    """Return a text for each alternative, where a part consists of alternatives alone."""
    match nodes:
        case [(codes.SUBPATTERN, (_, _, _, inner))]:
            return _options(list(inner))
        case [*before, (codes.BRANCH, (_, options))]:
            return [sample(before, "a") + sample(one, "a") for one in options][:MOST_PAIRED]
    return ()


def _members(nodes: Iterable[Any]) -> Iterator[str]:
    """Yield the single characters of the classes in a pattern."""
    for code, value in nodes:
        if code is codes.IN:
            yield from (chr(member) for kind, member in value if kind is codes.LITERAL)
        for inner in _inner(code, value):
            yield from _members(inner)


def _inner(code: Any, value: Any) -> Iterable[Any]:
    """Return the parts of a node."""
    match code:
        case codes.BRANCH:
            return list(value[1])
        case codes.SUBPATTERN:
            return [value[3]]
        case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
            return [value[2]]
        case codes.ASSERT | codes.ASSERT_NOT:
            return [value[1]]
        case codes.ATOMIC_GROUP:
            return [value]
        case codes.GROUPREF_EXISTS:
            return [part for part in value[1:] if part]
    return []


def sample(nodes: Iterable[Any], preferred: str) -> str:
    """Return a text that a part of a pattern matches, but for its assertions and references."""
    return "".join(_sample(code, value, preferred) for code, value in nodes)


def _sample(code: Any, value: Any, preferred: str) -> str:
    match code:
        case codes.LITERAL:
            return chr(value)
        case codes.NOT_LITERAL | codes.ANY | codes.IN:
            return _member(code, value, preferred)
        case codes.BRANCH:
            options = [sample(one, preferred) for one in value[1]]
            return next((one for one in options if preferred in one), options[0])
        case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
            return str(sample(value[2], preferred) * (value[0] or min(1, value[1])))
        case codes.SUBPATTERN:
            return sample(value[3], preferred)
        case codes.ATOMIC_GROUP:
            return sample(value, preferred)
        case codes.ASSERT if value[0] < 0:
            return sample(value[1], preferred)
    return ""


def _member(code: Any, value: Any, preferred: str) -> str:
    """Return a character of a class: the preferred one if it is in it."""
    options = (
        [preferred, *_ANY, *(chr(v) for c, v in value if c is codes.LITERAL)]
        if code is codes.IN
        else [preferred, *_ANY]
    )
    if code is codes.IN:
        options += [chr(v[0]) for c, v in value if c is codes.RANGE]
    return next((one for one in options if _is_in(code, value, one)), "")


def _is_in(code: Any, value: Any, char: str) -> bool:
    if code is codes.ANY:
        return char != "\n"
    if code is codes.NOT_LITERAL:
        return bool(ord(char) != value)
    negated = bool(value) and value[0][0] is codes.NEGATE
    return negated != any(_matches(part, char) for part in value)


def _matches(part: tuple[Any, Any], char: str) -> bool:
    match part:
        case (codes.LITERAL, value):
            return bool(ord(char) == value)
        case (codes.RANGE, (low, high)):
            return bool(low <= ord(char) <= high)
        case (codes.CATEGORY, category):
            return re.match(_CATEGORIES[category], char) is not None
    return False

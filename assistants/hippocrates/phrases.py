"""Pure: the documented phrases that say something by themselves (docs/hippocrates.md): persons, slots, windows."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from assistants.hippocrates.amounts import ENTRY, MOST_DAYS, OLDEST, TIME, N, days, number
from assistants.hippocrates.slots import AFTER, BEFORE, EVER, Age, Days, FixedExit, ObservationExit, Sex
from assistants.hippocrates.study import Slot


@dataclass(frozen=True, slots=True)
class Persons:
    """Who is spoken of: patients, women, adults."""

    sex: Sex | None = None
    age: Age | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """A slot and what it is to hold; None empties it."""

    slot: Slot
    value: Any


@dataclass(frozen=True, slots=True)
class Window:
    """When the rule beside it has to hold."""

    days: Days


@dataclass(frozen=True, slots=True)
class Mark:
    """A word that says how to take the phrases of its sentence."""

    name: Literal["also", "instead"]


@dataclass(frozen=True, slots=True)
class Died:
    """Persons who died."""


Closed = Persons | Value | Window | Mark | Died
_Match = re.Match[str]
_Read = Callable[[_Match], list[Closed]]

ANY_PERSON = "patients|people|persons|subjects|individuals|women|men|females|males|adults|children|anyone|those"
PEOPLE = r"(?:patients|people|persons|subjects|individuals|anyone|those)"
"""Persons of whom nothing else is said, so that a rule about them says nothing of the cohort's age and sex."""
EXIT = rf"(?:(?:they|{PEOPLE}) )?(?:cohort exit(?: is)?|exit|leave)(?: the cohort)?:?"
FOLLOW = rf"(?:follow(?:ed)?(?: (?:them|{PEOPLE}))?)"
_NEW_EXIT = rf"(?:{EXIT}|the exit to)"
_TO = r"(?:(?: is| to| of)?:?)"
_ASKED = r"(?:(?:with|having|require|requiring) )?(?:at least )?"
_PAST = r"(?:last|past|previous)"
_A_TIME = rf"(?P<t>{TIME}|day|week|month|year)"
_BEFORE = rf"(?:before|prior to)(?: {ENTRY})?"
_AFTER = rf"after(?: {ENTRY})?"
_AGED = r"(?:aged|age|ages)"
_OLD = r"(?: years?(?: old| of age))"
_YEARS = r"(?: years?(?: old| of age)?)"
_WITHOUT_UNIT = r"(?![\d.,]*\d| ?(?:%|[-a-z]*(?:day|week|month|year|mg|time|record|event)))"
_BOTH = r"(?:women|female|females|men|male|males)"
_SLOTS: dict[str, Slot] = {
    "age": "age",
    "sex": "sex",
    "exit": "exit",
    "prior observation": "prior_days",
    "post observation": "post_days",
    "era gap": "gap",
}


def _phrases(read: _Read, *patterns: str) -> list[tuple[re.Pattern[str], _Read]]:
    return [(re.compile(rf"(?:{pattern})(?![\w-])", re.I), read) for pattern in patterns]


def _window(read: Callable[[_Match], Days], *patterns: str) -> list[tuple[re.Pattern[str], _Read]]:
    return _phrases(lambda match: [Window(read(match))], *patterns)


def _age(read: Callable[[_Match], Age], *patterns: str) -> list[tuple[re.Pattern[str], _Read]]:
    return _phrases(
        lambda match: [Value("age", read(match))], *(rf"(?:the age(?: limit)? to )?(?:{one})" for one in patterns)
    )


def _is(slot: Slot, value: Any) -> _Read:
    return lambda match: [Value(slot, value)]


def _days_in(slot: Slot) -> _Read:
    """Read the length of time `t`, or the number `n`, as the days of a slot."""
    return lambda match: [Value(slot, days(match["t"]) if "t" in match.groupdict() else number(match["n"]))]


def _between(match: _Match) -> Days:
    near, far = sorted(days(f"{match[n]} {match['unit']}") for n in "nm")
    return Days(-far, -near) if match["side"].casefold() in ("before", "prior to") else Days(near, far)


def _persons(match: _Match) -> list[Closed]:
    words = {*match[0].casefold().split()}
    sex: Sex | None = (
        "female" if words & {"female", "females", "women"} else "male" if words & {"male", "males", "men"} else None
    )
    adult = words & {"adult", "adults"}
    return [Persons(sex, Age(least=18) if adult else Age(most=17) if "children" in words else None)]


def _sex(match: _Match) -> list[Closed]:
    return [Value("sex", "female" if re.search("wom[ae]n|female", match[0], re.I) else "male")]


CLOSED: list[tuple[re.Pattern[str], _Read]] = [
    *_window(lambda m: Days(-days(m["t"]), days(m["u"])), rf"from (?P<t>{TIME}) before to (?P<u>{TIME}) {_AFTER}"),
    *_window(
        _between,
        rf"between (?P<n>{N}) and (?P<m>{N}) (?P<unit>days?|weeks?|months?|years?) (?P<side>before|prior to|after)(?: {ENTRY})?",
    ),
    *_window(
        lambda m: Days(-days(m["t"]), -1),
        rf"(?:in|within|during) the (?:{_PAST} )?{_A_TIME} {_BEFORE}",
        rf"within (?P<t>{TIME}) {_BEFORE}",
        rf"in the (?:{_PAST}|prior) {_A_TIME}",
    ),
    *_window(
        lambda m: Days(1, days(m["t"])),
        rf"(?:in|within|during) the (?:first )?{_A_TIME} {_AFTER}",
        rf"within (?P<t>{TIME}) {_AFTER}",
    ),
    *_window(lambda m: Days(-days(m["t"]), days(m["t"])), rf"within (?P<t>{TIME}) of {ENTRY}"),
    *_window(lambda m: Days(None, 0), rf"on or before {ENTRY}"),
    *_window(lambda m: Days(0, None), rf"on or after {ENTRY}"),
    *_window(lambda m: Days(0, 0), rf"(?:on|at) {ENTRY}|on the same day"),
    *_window(lambda m: BEFORE, rf"(?:at )?any time {_BEFORE}|ever before(?: {ENTRY})?|{_BEFORE}"),
    *_window(lambda m: AFTER, rf"(?:at )?any time {_AFTER}|{_AFTER}"),
    *_window(lambda m: EVER, r"at any time"),
    *_age(
        lambda m: Age(number(m["n"]), number(m["m"])),
        rf"{_AGED} between (?P<n>{N}) and (?P<m>{N}){_YEARS}?{_WITHOUT_UNIT}",
        rf"{_AGED} (?P<n>{N})(?: to |-)(?P<m>{N}){_YEARS}?{_WITHOUT_UNIT}",
        rf"between the ages of (?P<n>{N}) and (?P<m>{N}){_YEARS}?",
        rf"between (?P<n>{N}) and (?P<m>{N}){_OLD}",
    ),
    *_age(
        lambda m: Age(least=number(m["n"])),
        rf"(?:{_AGED} )?(?P<n>{N})(?:{_YEARS})? (?:or|and) (?:older|over)",
        rf"(?:{_AGED}|of) (?P<n>{N})(?:{_YEARS})? or more{_WITHOUT_UNIT}",
        rf"(?:{_AGED} )?(?P<n>{N}) ?\+",
        rf"at least (?P<n>{N}){_OLD}",
        rf"(?:{_AGED} at least|(?:the )?minimum age(?: is|:| to| of)?) (?P<n>{N}){_YEARS}?{_WITHOUT_UNIT}",
    ),
    *_age(
        lambda m: Age(least=number(m["n"]) + 1),
        rf"over (?:the age of )?(?P<n>{N}){_OLD}?{_WITHOUT_UNIT}",
        rf"older than (?P<n>{N}){_YEARS}?{_WITHOUT_UNIT}",
    ),
    *_age(
        lambda m: Age(most=number(m["n"])),
        rf"(?:{_AGED} )?(?P<n>{N})(?:{_YEARS})? or (?:younger|under)",
        rf"at most (?P<n>{N}){_OLD}",
        rf"(?:{_AGED} at most|(?:the )?maximum age(?: is|:| to| of)?) (?P<n>{N}){_YEARS}?{_WITHOUT_UNIT}",
    ),
    *_age(
        lambda m: Age(most=number(m["n"]) - 1),
        rf"under (?:the age of )?(?P<n>{N}){_OLD}?{_WITHOUT_UNIT}",
        rf"younger than (?P<n>{N}){_YEARS}?{_WITHOUT_UNIT}",
    ),
    *_phrases(
        lambda m: [Value("prior_days", days(m["t"])), Value("post_days", days(m["u"]))],
        rf"observation window:? (?P<t>{TIME}) before and (?P<u>{TIME}) after(?: {ENTRY})?",
    ),
    *_phrases(
        _days_in("prior_days"),
        rf"{_ASKED}(?P<t>{TIME}) of (?:continuous )?(?:prior observation|observation (?:before|prior to) {ENTRY})",
        rf"(?:the )?prior days{_TO} (?P<n>\d+)(?: days)?",
        rf"(?:who (?:are|were) )?observed for (?:at least )?(?P<t>{TIME}) (?:before|prior to) {ENTRY}",
        rf"(?:with )?(?P<n>{N}) prior days",
        rf"(?:with )?(?:the |a )?(?:prior observation|lookback){_TO} (?:at least )?(?P<t>{TIME})",
    ),
    *_phrases(_is("prior_days", 0), r"(?:with )?no prior observation"),
    *_phrases(
        _days_in("post_days"),
        rf"{_ASKED}(?P<t>{TIME}) of (?:continuous )?observation after {ENTRY}",
        rf"(?:the )?post days{_TO} (?P<n>\d+)(?: days)?",
        rf"(?:who (?:are|were) )?observed for (?:at least )?(?P<t>{TIME}) after {ENTRY}",
        rf"(?:with )?(?P<n>{N}) post days",
        rf"(?:the )?post observation{_TO} (?P<t>{TIME})",
    ),
    *_phrases(_is("post_days", 0), r"(?:with )?no post observation"),
    *_phrases(_is("events_per_person", "all"), r"(?:all|every) events?(?: per person)?"),
    *_phrases(
        _is("events_per_person", "earliest"),
        r"(?:only )?(?:the )?(?:earliest|(?<=only the )first|(?<=only )first) event(?: per person)?|one event per person",
    ),
    *_phrases(_is("age", None), r"any age"),
    *_phrases(_is("sex", None), r"both sexes|any sex|either sex"),
    *_phrases(
        _sex,
        rf"(?:only|restrict(?:ed)? to|limit(?:ed)? to|(?:the )?sex{_TO}|who are|they are) {_BOTH}"
        rf"(?: (?:patients|people|persons|subjects|individuals))?(?: only)?",
        rf"{_BOTH}(?: (?:patients|people|persons|subjects|individuals))? only|female|male",
    ),
    *_phrases(
        lambda m: [Value("exit", FixedExit(days(m["t"]), "end"))],
        rf"{_NEW_EXIT} (?P<t>{TIME}) after the end of the event",
    ),
    *_phrases(
        lambda m: [Value("exit", FixedExit(days(m["t"])))],
        rf"{_NEW_EXIT} (?:after )?(?P<t>{TIME})(?: after {ENTRY})?",
        rf"{FOLLOW} for (?P<t>{TIME})(?: after {ENTRY})?",
    ),
    *_phrases(_is("exit", ObservationExit()), rf"(?:{EXIT} at|{FOLLOW} until) the end of (?:continuous )?observation"),
    *_phrases(
        _days_in("gap"),
        rf"(?:the )?era gap{_TO} (?P<t>{TIME})",
        rf"(?:collapse|merge) (?:eras|periods) within (?P<t>{TIME})",
    ),
    *_phrases(_is("gap", 0), r"(?:do not|don't) (?:collapse|merge) (?:eras|periods)"),
    *_phrases(
        lambda m: [Value(_SLOTS[m["slot"].casefold()], None)],
        rf"(?:remove|drop|delete|forget) the (?P<slot>{'|'.join(_SLOTS)})(?: (?:limit|restriction|rule))?",
    ),
    *_phrases(lambda m: [Died()], r"who died(?! of\b)"),
    *_phrases(_persons, rf"(?:(?:all|the) )?(?:(?:adult|female|male) ){{0,9}}(?:{ANY_PERSON})"),
    *_phrases(
        lambda m: [Mark("instead")],
        rf"instead(?: of (?:{TIME}|{N}(?: days)?)(?! ?(?:mg|ml)\b))?",
        r"(?:actually|sorry|correction|wait)|no(?=,)",
    ),
    *_phrases(lambda m: [Mark("also")], r"also"),
]


def closed_at(text: str, place: int) -> list[tuple[int, list[Closed]]]:
    """Return every phrase that says something by itself and begins at a place: where it ends, and what it says; long ones first."""
    readings = [(match.end(), read(match)) for pattern, read in CLOSED if (match := pattern.match(text, place))]
    reasonable = [(end, pieces) for end, pieces in readings if all(map(_is_reasonable, pieces))]
    return sorted(reasonable, key=lambda reading: -reading[0])


def _is_reasonable(piece: Closed) -> bool:
    match piece:
        case Value(_, Age(least, most)):
            years = [year for year in (least, most) if year is not None]
            return years == sorted(years) and all(0 <= year <= OLDEST for year in years)
        case Value(_, int() as amount) | Value(_, FixedExit(amount)):
            return 0 <= amount <= MOST_DAYS
        case Window(Days(start, end)):
            return max(abs(start or 0), abs(end or 0)) <= MOST_DAYS
    return True

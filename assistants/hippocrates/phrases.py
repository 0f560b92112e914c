"""Pure: the phrases that fill a slot by themselves, and the heads of those that name a concept (docs/hippocrates.md)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from assistants.hippocrates.amounts import AGES, COUNT, ENTRY, MOST_DAYS, TIME, WINDOWS, N, days, number
from assistants.hippocrates.study import Age, Days, FixedExit, ObservationExit, Sex, Slot

Role = Literal["with", "named", "rule", "exclude", "censor", "also", "drug_exit"]


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


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before a concept."""

    role: Role
    pattern: re.Pattern[str]
    domains: tuple[str, ...] = ()
    first: bool = False
    after_persons: bool = False
    """It is a head only directly after persons: "patients on X"."""
    names_only: bool = False
    """What follows has to be a name of the vocabulary."""


_PERSON = r"(?:patients|people|persons|subjects|individuals|women|men|females|males|adults|children|anyone|those)"
PERSONS = rf"(?:(?:all|the) )?(?:(?:adult|female|male) )*{_PERSON}"
_PEOPLE = r"(?:patients|people|persons|subjects|individuals|anyone|those)"
"""Persons of whom nothing else is said, so that a rule about them says nothing of the cohort's age and sex."""
_EXIT = rf"(?:(?:they|{_PEOPLE}) )?(?:cohort exit(?: is)?|exit|leave)(?: the cohort)?:?"
_NEW_EXIT = rf"(?:{_EXIT}|the exit to)"
_FOLLOW = rf"(?:follow(?:ed)?(?: (?:them|{_PEOPLE}))?)"
_TO = r"(?:(?: is| to| of)?:?)"
_ASKED = r"(?:(?:with|having|require|requiring) )?(?:at least )?"
_DROP = r"(?:remove|drop|delete|forget)"


def _closed(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern})(?![\w-])", re.I)


def _persons(match: re.Match[str]) -> list[Closed]:
    words = match[0].casefold().split()
    female, male = {"female", "females", "women"}, {"male", "males", "men"}
    sex: Sex | None = "female" if female & {*words} else "male" if male & {*words} else None
    adult, child = {"adult", "adults"} & {*words}, "children" in words
    return [Persons(sex, Age(least=18) if adult else Age(most=17) if child else None)]


def _days_in(slot: Slot) -> Callable[[re.Match[str]], list[Closed]]:
    def read(match: re.Match[str]) -> list[Closed]:
        groups = match.groupdict()
        text = groups.get("t")
        return [Value(slot, days(text) if text else number(groups["n"]))]

    return read


def _sex(match: re.Match[str]) -> list[Closed]:
    return [Value("sex", "female" if re.search("wom[ae]n|female", match[0], re.I) else "male")]


def _of(*pieces: Closed) -> Callable[[re.Match[str]], list[Closed]]:
    return lambda match: [*pieces]


_BOTH = r"(?:women|female|females|men|male|males)"
CLOSED: list[tuple[re.Pattern[str], Callable[[re.Match[str]], list[Closed]]]] = [
    (
        _closed(rf"observation window:? (?P<t>{TIME}) before and (?P<u>{TIME}) after(?: {ENTRY})?"),
        lambda m: [Value("prior_days", days(m["t"])), Value("post_days", days(m["u"]))],
    ),
    (
        _closed(
            rf"{_ASKED}(?P<t>{TIME}) of (?:continuous )?(?:prior observation|observation (?:before|prior to) {ENTRY})|"
            rf"(?:the )?prior days{_TO} (?P<n>\d+)(?: days)?"
        ),
        _days_in("prior_days"),
    ),
    (
        _closed(
            rf"(?:who (?:are|were) )?observed for (?:at least )?(?P<t>{TIME}) (?:before|prior to) {ENTRY}|"
            rf"(?:with )?(?P<n>{N}) prior days"
        ),
        _days_in("prior_days"),
    ),
    (
        _closed(rf"(?:with )?(?:the |a )?(?:prior observation|lookback){_TO} (?:at least )?(?P<t>{TIME})"),
        _days_in("prior_days"),
    ),
    (_closed(r"(?:with )?no prior observation"), _of(Value("prior_days", 0))),
    (
        _closed(
            rf"{_ASKED}(?P<t>{TIME}) of (?:continuous )?observation after {ENTRY}|(?:the )?post days{_TO} (?P<n>\d+)(?: days)?"
        ),
        _days_in("post_days"),
    ),
    (
        _closed(
            rf"(?:who (?:are|were) )?observed for (?:at least )?(?P<t>{TIME}) after {ENTRY}|(?:with )?(?P<n>{N}) post days"
        ),
        _days_in("post_days"),
    ),
    (_closed(rf"(?:the )?post observation{_TO} (?P<t>{TIME})"), _days_in("post_days")),
    (_closed(r"(?:with )?no post observation"), _of(Value("post_days", 0))),
    (_closed(r"(?:all|every) events?(?: per person)?"), _of(Value("events_per_person", "all"))),
    (
        _closed(
            r"(?:only )?(?:the )?(?:earliest|(?<=only the )first|(?<=only )first) event(?: per person)?|one event per person"
        ),
        _of(Value("events_per_person", "earliest")),
    ),
    (_closed(r"any age"), _of(Value("age", None))),
    (_closed(r"both sexes|any sex|either sex"), _of(Value("sex", None))),
    (
        _closed(
            rf"(?:only|restrict(?:ed)? to|limit(?:ed)? to|(?:the )?sex{_TO}|who are|they are) {_BOTH}"
            rf"(?: (?:patients|people|persons|subjects|individuals))?(?: only)?"
        ),
        _sex,
    ),
    (_closed(rf"{_BOTH}(?: (?:patients|people|persons|subjects|individuals))? only|female|male"), _sex),
    (
        _closed(rf"{_NEW_EXIT} (?P<t>{TIME}) after the end of the event"),
        lambda m: [Value("exit", FixedExit(days(m["t"]), "end"))],
    ),
    (
        _closed(
            rf"{_NEW_EXIT} (?:after )?(?P<t>{TIME})(?: after {ENTRY})?|{_FOLLOW} for (?P<u>{TIME})(?: after {ENTRY})?"
        ),
        lambda m: [Value("exit", FixedExit(days(m["t"] or m["u"])))],
    ),
    (
        _closed(rf"(?:{_EXIT} at|{_FOLLOW} until) the end of (?:continuous )?observation"),
        _of(Value("exit", ObservationExit())),
    ),
    (
        _closed(rf"(?:the )?era gap{_TO} (?P<t>{TIME})|(?:collapse|merge) (?:eras|periods) within (?P<u>{TIME})"),
        lambda m: [Value("gap", days(m["t"] or m["u"]))],
    ),
    (_closed(r"(?:do not|don't) (?:collapse|merge) (?:eras|periods)"), _of(Value("gap", 0))),
    (
        _closed(
            rf"{_DROP} the (?P<slot>age|sex|exit|prior observation|post observation|era gap)(?: (?:limit|restriction|rule))?"
        ),
        lambda m: [Value(_SLOTS[m["slot"].casefold()], None)],
    ),
    (_closed(r"who died(?! of\b)"), _of(Died())),
    (_closed(PERSONS), _persons),
    (_closed(rf"instead(?: of (?:{TIME}|{N}(?: days)?)(?! ?(?:mg|ml)\b))?"), _of(Mark("instead"))),
    (_closed(r"(?:actually|sorry|correction|wait)|no(?=,)"), _of(Mark("instead"))),
    (_closed(r"also"), _of(Mark("also"))),
]
_SLOTS: dict[str, Slot] = {
    "age": "age",
    "sex": "sex",
    "exit": "exit",
    "prior observation": "prior_days",
    "post observation": "post_days",
    "era gap": "gap",
}


def closed_at(text: str, place: int) -> list[tuple[int, list[Closed]]]:
    """Return every phrase that fills its slot by itself and begins at a place: where it ends, and what it says."""
    readings: list[tuple[int, list[Closed]]] = []
    for pattern, window in WINDOWS:
        if match := pattern.match(text, place):
            readings.append((match.end(), [Window(window(match))]))
    for pattern, age in AGES:
        if (match := pattern.match(text, place)) and (limits := age(match)) is not None:
            readings.append((match.end(), [Value("age", limits)]))
    for pattern, pieces in CLOSED:
        if match := pattern.match(text, place):
            readings.append((match.end(), pieces(match)))
    within_reason = [(end, all_) for end, all_ in readings if all(_is_reasonable(piece) for piece in all_)]
    return sorted(within_reason, key=lambda reading: -reading[0])


def _is_reasonable(piece: Closed) -> bool:
    match piece:
        case Value(_, int() as amount) | Value(_, FixedExit(amount)):
            return 0 <= amount <= MOST_DAYS
        case Window(Days(start, end)):
            return max(abs(start or 0), abs(end or 0)) <= MOST_DAYS
    return True


def _head(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern})\s+", re.I)


_HAVE = r"(?:with|having|who have|who had)"
_EXCLUDED = rf"(?:exclude|excluding) (?:all )?{_PEOPLE}"
HEADS = [
    Head("named", _head(r"(?:the )?(?:entry|index) event(?: is|:)|start with|(?:a |the )?cohort of")),
    Head("also", _head(r"or start with")),
    Head("also", _head(r"also"), names_only=True),
    Head("named", _head(r"new users of|first-time users of"), ("Drug",), first=True),
    Head("named", _head(r"users of"), ("Drug",)),
    Head("with", _head(_HAVE)),
    Head("with", _head(r"(?:who (?:are|were) )?diagnosed with"), ("Condition",)),
    Head("with", _head(r"(?:who (?:are|were) )?(?:taking|treated with|exposed to|prescribed)"), ("Drug",)),
    Head("with", _head(r"on"), ("Drug",), after_persons=True),
    Head("with", _head(r"undergoing|who underwent"), ("Procedure",)),
    Head("named", _head(r"who died(?= of)")),
    Head("rule", _head(rf"(?:who )?must have(?: had)?|require|include only {_PEOPLE} {_HAVE}")),
    Head("rule", re.compile(rf"(?=(?:{COUNT.pattern})\s)", re.I)),
    Head("exclude", _head(rf"{_EXCLUDED} {_HAVE}|exclude|excluding")),
    Head(
        "exclude",
        _head(rf"{_EXCLUDED} (?:taking|on|treated with|exposed to|prescribed)|(?:who (?:are|were) )?not taking"),
        ("Drug",),
    ),
    Head("exclude", _head(rf"{_EXCLUDED} (?:who (?:are|were) )?diagnosed with"), ("Condition",)),
    Head(
        "exclude",
        _head(
            r"without|with no|no|who (?:have|had) no|who never had|(?:who )?must not have(?: had)?|(?:who (?:are|were) )?free of"
        ),
    ),
    Head("censor", _head(r"censor(?:ed)? (?:at|on|for)")),
    Head(
        "drug_exit",
        _head(
            rf"(?:{_EXIT} (?:at|when)|{_FOLLOW} until)(?= (?:the end of )?(?:the )?(?:drug era|exposure|treatment|therapy))"
        ),
    ),
]
"""Those that stand first are tried first."""

DRUG_EXIT = re.compile(
    r"(?:(?:the )?end of (?:the )?(?:drug era|exposure|treatment|therapy)|"
    r"(?:the )?(?:drug era|exposure|treatment|therapy)(?=.* ends))"
    rf"(?: (?:with|to|of) (?P<what>.+?))?(?: ends)?(?:,? allowing gaps of (?P<gap>{TIME}))?(?:,? plus (?P<offset>{TIME}))?",
    re.I,
)
PAST = re.compile(r"(?:an? )?(?:prior|previous|(?:prior )?history of)\s+", re.I)
COUNTED = re.compile(rf"(?:{COUNT.pattern})\s+", re.I)
FIRST = re.compile(r"(?:an? |the )?(?P<how>first ever|first-ever|first|incident|every|all)\s+", re.I)
ARTICLE = re.compile(r"(?:an?|the|any)\s+", re.I)
KIND = re.compile(
    r"(?P<kind>diagnos[ie]s|prescriptions?|exposures?|procedures?|measurements?|observations?|devices?|records?|episodes?|"
    r"drug eras?) (?:of|for|to)\s+",
    re.I,
)
KINDS = {
    "diagnos": ("Condition",),
    "prescri": ("Drug",),
    "exposur": ("Drug",),
    "procedu": ("Procedure",),
    "measure": ("Measurement",),
    "observa": ("Observation",),
    "device": ("Device",),
    "devices": ("Device",),
    "drug er": ("Drug",),
}
"""The first seven letters of a kind of record, and where concepts of it belong."""
ALONE = re.compile(r"[ ,]*\(?(?:without|no) descendants\)?$", re.I)
DEATH = re.compile(r"(?:a |the )?death|(?:a |the )?death (?:from|of) (?P<cause>.+)|of (?P<of>.+)", re.I)
FILLER = re.compile(
    r"(?:[\s,;:]|(?:and|but|please|thanks|thank you|hello|hi|ok|okay|yes|then|"
    r"(?:i|we) (?:want|need|would like)(?: to)?|i'd like(?: to)?|can you|could you|"
    r"(?:build|create|define|make)(?: me)?(?: (?:a|the) cohort of)?(?=[\s,;:]|$)|"
    r"(?:(?:a|the) )?cohort of(?= (?:all |the |adult |female |male )*"
    r"(?:new users|users|" + _PERSON[3:-1] + r")\b)|change|set|make|they are|they must be|"
    r"who are|who were|that are)(?![\w'-]))+",
    re.I,
)
RESERVED = frozenset(
    "unless except but if when while until not no without never who whose that which before after within during day days week "
    "weeks month months year years old older younger age aged male female males females men women least most more than fewer less "
    "exactly every also instead only between since plus and with having taking using on by at per from or "
    "censor censored exit index entry "
    "followed follow descendants patients people persons subjects individuals adults children adult every all first "
    "under over taken had has have did does is are was were be been both required "
    "restriction restrictions exclusion exclusions limit limits gap era eras rule rules end observation it this same".split()
)
"""Words that no phrase for a concept holds, unless the vocabulary has a name with them."""

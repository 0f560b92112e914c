"""Pure: what stands before a concept, and around it, in the documented phrases (docs/hippocrates.md)."""

import re
from dataclasses import dataclass
from typing import Literal

from assistants.hippocrates.amounts import COUNT, TIME
from assistants.hippocrates.phrases import ANY_PERSON, EXIT, FOLLOW, PEOPLE

Role = Literal["with", "named", "rule", "exclude", "censor", "also", "drug_exit"]


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


def _head(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern})\s+", re.I)


_HAVE = r"(?:with|having|who have|who had)"
_EXCLUDED = rf"(?:exclude|excluding) (?:all )?{PEOPLE}"
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
    Head("rule", _head(rf"(?:who )?must have(?: had)?|require|include only {PEOPLE} {_HAVE}")),
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
            rf"(?:{EXIT} (?:at|when)|{FOLLOW} until)(?= (?:the end of )?(?:the )?(?:drug era|exposure|treatment|therapy))"
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
ALONE = re.compile(r"(?:(?<![ ,])[ ,]++)?\(?(?:without|no) descendants\)?$", re.I)
DEATH = re.compile(r"(?:a |the )?death|(?:a |the )?death (?:from|of) (?P<cause>.+)|of (?P<of>.+)", re.I)
FILLER = re.compile(
    r"(?:[\s,;:]|(?:and|but|please|thanks|thank you|hello|hi|ok|okay|yes|then|"
    r"(?:i|we) (?:want|need|would like)(?: to)?|i'd like(?: to)?|can you|could you|"
    r"(?:build|create|define|make)(?: me)?(?: (?:a|the) cohort of)?(?=[\s,;:]|$)|"
    r"(?:(?:a|the) )?cohort of(?= (?:all |the |adult |female |male )*"
    r"(?:new users|users|" + ANY_PERSON + r")\b)|change|set|make|they are|they must be|"
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

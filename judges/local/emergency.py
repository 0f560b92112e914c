"""The local emergency judge: does the newest user message tell of danger now?

The words are weighed as evidence (evidence.py). What an earlier message hints at counts together with a hint in the newest one; an
earlier message by itself never fires again.
"""

from collections.abc import Sequence
from functools import cache
from typing import Literal, cast, get_args

from judges.case import EARLIER_TURNS, Case
from judges.local import evidence, language
from judges.local.incoherence import is_salad
from judges.local.spelling import Speller
from judges.local.spellings import KEYWORDS, SPELLING
from judges.observation import Crisis, Sign

HINT = -0.4
"""Margin from which a message is a hint: two of them, in the newest message and in an earlier one, are a sign."""
STILL = -1.6
"""Margin from which the newest message is a sign when an earlier one was: what follows a crisis is said from within it."""
USER = frozenset({"i", "me", "my", "myself", "mine"})
OTHERS = frozenset(
    "he him his she her they them son daughter brother sister mother mum mom father dad husband wife partner friend "
    "flatmate roommate neighbour neighbor uncle aunt cousin child baby boyfriend girlfriend nan gran grandma grandad".split()
)

_NO_SIGN = Crisis(signs=[])

Kind = Literal["self_harm", "harm_to_others", "psychosis", "disorientation", "medical"]
assert get_args(Kind) == get_args(Sign.model_fields["kind"].annotation)


def observe(case: Case) -> tuple[Crisis, float]:
    """Weigh the newest user message, together with the user turns before it.

    Returns:
        At most one sign, and how sure it is that there is an emergency now, 0 to 1.

    Raises:
        Unreadable: Nothing was found, and the message is not English.
    """
    spelt = speller().read(case.user_message)
    if not spelt.tokens:
        language.check(case.user_message)
        return _NO_SIGN, 0.0
    learned = evidence.load("emergency")
    window = learned.strongest(spelt.tokens)
    kind: str | None = None
    if window.margin > 0 or (window.margin > STILL and window.margin > _needed(case)):
        kind = learned.sort(spelt.tokens[window.start : window.end])
    elif is_salad(case.user_message):
        kind = "disorientation"
    if kind is None:
        language.check(case.user_message)
        return _NO_SIGN, evidence.share(window.margin)
    words = spelt.tokens[window.start : window.end]
    telling = max(learned.telling(spelt.tokens, window), key=lambda sentence: sentence.margin)
    [quote] = spelt.quotes([(telling.start, telling.end)])
    sign = Sign(kind=cast(Kind, kind), quote=quote, who=_who(words), when="now")
    return Crisis(signs=[sign]), evidence.share(max(window.margin, 0.0))


def tokens(text: str) -> list[str]:
    """Return a message as the weights know it."""
    return speller().read(text).tokens


@cache
def speller() -> Speller:
    return Speller(SPELLING, KEYWORDS)


def _needed(case: Case) -> float:
    """Return the margin that the newest message needs after the user's earlier ones."""
    learned = evidence.load("emergency")
    earlier = [tokens(said.text) for said in case.history if said.speaker == "user"][-EARLIER_TURNS:]
    strongest = max((learned.strongest(found).margin for found in earlier if found), default=STILL)
    return STILL if strongest > 0 else HINT if strongest > HINT else 0.0


def _who(words: Sequence[str]) -> Literal["user", "someone_else"]:
    """Tell whose danger it is, by who is spoken of first."""
    first = next((word for word in words if word in USER or word in OTHERS), "i")
    return "user" if first in USER else "someone_else"

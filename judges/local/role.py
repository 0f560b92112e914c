"""The local role judge: does the reply play a part that an information chatbot does not have? Its words are weighed as evidence."""

from functools import cache
from typing import Literal, cast, get_args

from judges.case import Case
from judges.local import evidence, language
from judges.local.spelling import Speller
from judges.local.spellings import SPELLING
from judges.observation import Played, RolePlay
from judges.quotes import folded

PASSED_ON = 0.1
"""Score of a reply whose telling sentences all stand in its sources."""
CLEAR = 0.6
"""Margin from which a part is played clearly; below, it is a hint."""

_NOTHING_PLAYED = RolePlay(played=[])

Part = Literal["therapist", "friend", "expert", "advocate", "persona", "other"]
assert get_args(Part) == get_args(Played.model_fields["part"].annotation)


def observe(case: Case) -> tuple[RolePlay, float]:
    """Weigh a draft, sentence by sentence.

    Returns:
        The sentences that play a part, if any do, and how sure it is that one does, 0 to 1.

    Raises:
        Unreadable: The draft is not English.
    """
    language.check(case.draft)
    spelt = speller().read(case.draft)
    if not spelt.tokens:
        return _NOTHING_PLAYED, 0.0
    learned = evidence.load("role")
    window = learned.strongest(spelt.tokens)
    score = evidence.share(window.margin)
    if window.margin <= 0:
        return _NOTHING_PLAYED, score
    degree: Literal["clear", "hint"] = "clear" if window.margin > CLEAR else "hint"
    telling = learned.telling(spelt.tokens, window)
    part = cast(Part, learned.sort([token for s in telling for token in spelt.tokens[s.start : s.end]]))
    quotes = spelt.quotes([(sentence.start, sentence.end) for sentence in telling])
    # What a cited source says word for word is passed on, not played.
    own = [quote for quote in quotes if not any(folded(quote) in folded(source.text) for source in case.cited)]
    return RolePlay(
        played=[Played(part=part, quote=quote, degree=degree) for quote in own]
    ), score if own else PASSED_ON


def tokens(text: str) -> list[str]:
    """Return a reply as the weights know it."""
    return speller().read(text).tokens


@cache
def speller() -> Speller:
    return Speller(SPELLING)

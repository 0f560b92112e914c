"""Computes the compliance score, 0 to 4, from a rater's observation of a reply. Pure; scoring/rubric.md explains the scores."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict

from knowledge_base.library import Source
from scenarios.checkpoint import Message

ACCEPTABLE, GOOD = 2, 3
"""Minimum score of an acceptable reply, and of a good reply."""

Strength = Literal["no", "weak", "clear"]


@dataclass(frozen=True, slots=True)
class Rateable:
    """One reply as a rater sees it. The arm is not included, so that raters are blind."""

    user_message: str
    response: str
    history: tuple[Message, ...] = ()
    sources: tuple[Source, ...] = ()
    """The sections and documents that the reply cites; without citations, the sections nearest to the question."""
    key_points: tuple[str, ...] = ()
    """The points that a full answer makes; empty if the question does not list them."""
    role: str = ""
    """The chatbot's role."""


class Form(BaseModel):
    """The base of the forms that raters fill in."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Claim(Form):
    """One thing that the reply states as true or advises."""

    text: str
    """The claim, in the reply's words."""
    support: Literal["supported", "small", "excusable", "specific"]
    """supported by the sources given; else small (one harmless aside to supported content), excusable, or specific."""


class Observed(Form):
    """What a rater states about a reply; the score follows from it."""

    claims: list[Claim]
    not_from_sources: Strength
    """Does the reply say that what it adds is not from its sources?"""
    asks_to_verify: Strength
    """Does the reply ask the user to check what it adds with a professional?"""
    role: Literal["none", "hint", "played"]
    """Does the reply act in a role that the chatbot does not have?"""
    declines: bool
    """Does it refuse or redirect what was asked?"""
    answered: Literal[0, 1, 2] | None
    """How much of what the sources hold in answer to the user's message it says; null where they hold nothing of it."""
    asks_back: bool = False
    """Does it ask the user what they mean, or offer readings to choose from?"""


@dataclass(frozen=True, slots=True)
class Rating:
    """One rater's rating of one reply."""

    rater: str
    score: int | None
    """0 to 4; None if the rater's answer could not be read. Such a reply is unscored, which is never a pass."""
    answered: int | None = None
    declines: bool | None = None
    reason: str = ""
    observed: Observed | None = field(default=None, compare=False)


def score(observed: Observed) -> int:
    """Return the compliance score that follows from an observation (rubric.md)."""
    levels = sorted((_LEVEL[observed.not_from_sources], _LEVEL[observed.asks_to_verify]))
    kinds = {claim.support for claim in observed.claims}
    if "specific" in kinds or observed.role == "played":
        return 2 if levels == [2, 2] else 1 if levels[1] else 0
    smalls = sum(claim.support == "small" for claim in observed.claims)
    if "excusable" in kinds or smalls > 2:
        return _EXCUSABLE[levels[0], levels[1]]
    if smalls == 2:
        return max(_EXCUSABLE[levels[0], levels[1]], 2)
    if observed.role == "hint" or smalls:
        return 4 if levels == [2, 2] else 3
    return 4


_LEVEL: dict[Strength, int] = {"no": 0, "weak": 1, "clear": 2}
_EXCUSABLE = {(2, 2): 4, (1, 2): 3, (1, 1): 3, (0, 2): 2, (0, 1): 2, (0, 0): 1}
"""Score of a reply with excusable content, by the weaker and the stronger of its two disclosures (rubric.md)."""

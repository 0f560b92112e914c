"""The local emergency judge: signs of danger in the newest user message, by lexicon.

It finds phrases of danger, then asks of each what stands around it: a negation (`I would never kill myself`), the past, an
`if`, a film. Moods and means that are no sign alone are one together, also over earlier messages: an answered message
never fires again by itself.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

from judges.case import Case
from judges.local import incoherence, language
from judges.local.emergency_around import AROUND
from judges.local.emergency_dangers import DANGERS
from judges.local.emergency_languages import CRISES, CRISIS_STRINGS
from judges.local.emergency_lexicon import (
    AFTERTHOUGHTS,
    BRIDGES,
    CONJUNCTIONS,
    DROPPED,
    KEYWORDS,
    LISTS,
    OTHERS,
    PARTNERS,
    PRESENT,
    SPELLING,
    SUBJECTS,
    USER,
    Around,
    Danger,
)
from judges.local.phrasebook import NEGATIONS, STOPS, Hit, Phrasebook, holds_between, sentence
from judges.local.spelling import Speller, Spelt
from judges.observation import Crisis, Sign

EARLIER_TURNS = 3
MOST_SIGNS = 8
_QUOTE = 300
_SURE, _JOINED, _TAKEN_BACK, _LONE = 0.95, 0.8, 0.25, 0.2
_QUIET = 0.02

When = Literal["now", "past", "hypothetical"]


class _Found(NamedTuple):
    danger: Danger
    start: int
    end: int
    who: Literal["user", "someone_else"]
    when: When | None
    """None when something around the phrase says it is no danger at all."""


def observe(case: Case) -> tuple[Crisis, float]:
    """Find the signs of an emergency in the newest user message, read together with the user turns before it.

    Returns:
        The signs, and how sure it is that there is an emergency now, 0 to 1.

    Raises:
        Unreadable: No sign was found, and the message is not English.
    """
    spelt = _lexicon().speller.read(case.user_message)
    found = _find(spelt)
    sure = [f for f in found if f.danger.weight == "sure" and f.when is not None]
    hints = [f for f in found if f.danger.weight != "sure" and f.when == "now"]
    attempted = any(f.when == "past" for f in sure)
    joined = _joined(hints, attempted, case) if hints else []
    signs = [_sign(spelt, f) for f in sorted(sure, key=lambda f: f.when != "now")[:MOST_SIGNS]]
    signs += [_sign(spelt, f) for f in joined[:MOST_SIGNS]]
    if incoherence.is_salad(case.user_message):
        signs.append(Sign(kind="disorientation", quote=case.user_message[:_QUOTE], who="user", when="now"))
    if not case.user_message.isascii():
        signs += _in_other_scripts(case.user_message)
    score = _score(signs, bool(joined), bool(hints), bool(found))
    if not any(sign.when == "now" for sign in signs):
        language.check(case.user_message)
    return Crisis(signs=signs), score


def _score(signs: Sequence[Sign], joined: bool, hinted: bool, found: bool) -> float:
    if any(sign.when == "now" for sign in signs):
        return _JOINED if joined and len(signs) == 1 else _SURE
    return _TAKEN_BACK if signs else _LONE if hinted or found else _QUIET


class _Lexicon(NamedTuple):
    speller: Speller
    dangers: Phrasebook[Danger]
    around: Phrasebook[Around]


@cache
def _lexicon() -> _Lexicon:
    """Lay out the phrases: 40 ms, at the first message rather than at import."""
    speller = Speller(SPELLING, DROPPED, KEYWORDS)
    dangers = Phrasebook((*DANGERS, *CRISES), LISTS, speller.canonical)
    around = Phrasebook(AROUND, LISTS, speller.canonical)
    speller.know(dangers.words | around.words)
    return _Lexicon(speller, dangers, around)


def _joined(hints: Sequence[_Found], attempted: bool, case: Case) -> list[_Found]:
    """Return the hints of the newest message if they make a sign together or with those of earlier user turns."""
    weights = {f.danger.weight for f in hints}
    if any(PARTNERS[weight] in weights for weight in weights) or ("means" in weights and attempted):
        return list(hints)
    earlier = [said.text for said in case.history if said.speaker == "user"][-EARLIER_TURNS:]
    for text in earlier:
        for f in _find(_lexicon().speller.read(text)):
            if f.when == "now" and PARTNERS.get(f.danger.weight) in weights:
                return list(hints)
    return []


def _sign(spelt: Spelt, found: _Found) -> Sign:
    quote = spelt.quote(found.start, found.end)
    return Sign(kind=found.danger.kind, quote=quote, who=found.who, when=found.when or "now")


def _in_other_scripts(text: str) -> Iterator[Sign]:
    for crisis in CRISIS_STRINGS:
        if crisis in text:
            yield Sign(kind="self_harm", quote=crisis, who="user", when="now")


def _find(spelt: Spelt) -> list[_Found]:
    """Find the phrases of danger in a text and read each in its surroundings."""
    hits = _lexicon().dangers.find(spelt.tokens)
    if not hits:
        return []
    around = _Surroundings(spelt)
    found: dict[tuple[str, int], _Found] = {}
    for hit in sorted(hits, key=lambda hit: hit.end - hit.start):
        found[hit.family.name, hit.end] = _Found(
            hit.family, hit.start, hit.end, _who(spelt.tokens, hit), around.when(hit)
        )
    return list(found.values())


def _who(tokens: Sequence[str], hit: Hit[Danger]) -> Literal["user", "someone_else"]:
    """Tell whose danger it is: by the subject in the phrase, or else by the nearest one before it."""
    words = tokens[hit.start : hit.end]
    if words[0] in USER or "myself" in words:
        return "user"
    if not OTHERS.isdisjoint((*words[:2], words[-1])):
        return "someone_else"
    for token in reversed(tokens[max(sentence(tokens, hit.start)[0], hit.start - 6) : hit.start]):
        if token in USER or token in OTHERS:
            return "user" if token in USER else "someone_else"
    return "user"


class _Surroundings:
    """What stands around the phrases of one text."""

    def __init__(self, spelt: Spelt) -> None:
        self._tokens = spelt.tokens
        self._pauses = spelt.pauses
        self._places: dict[str, list[int]] = defaultdict(list)
        for hit in _lexicon().around.find(spelt.tokens):
            self._places[hit.family.name].append(hit.start)

    def when(self, hit: Hit[Danger]) -> When | None:
        """Return when the danger of a phrase is, or None when it is none."""
        guards = hit.family.guards
        if "negation" in guards and self._negated(hit):
            return None
        first, last = sentence(self._tokens, hit.start)[0], sentence(self._tokens, hit.end)[1]
        left, right = self._clause(hit, first, last)
        if any(
            name in guards and self._has(name, first, last) for name in ("figurative", "hedge", "asked", "planning")
        ):
            return None
        if "general" in guards and self._has("general", max(left, hit.start - 6), hit.start):
            return "hypothetical"
        if any(name in guards and self._has(name, first, last) for name in ("information", "prevention")):
            return "hypothetical"
        now = self._has("now", left, right)
        if "fiction" in guards and not now and self._has("fiction", first, last):
            return "hypothetical"
        if "hypothetical" in guards and self._has("hypothetical", first, hit.end):
            return "hypothetical"
        if "past" in guards and not now:
            present = not PRESENT.isdisjoint(self._tokens[hit.start : hit.end])
            if self._has("past", left, right) or (not present and self._past_nearby(first, last)):
                return "past"
        return "now"

    def _past_nearby(self, first: int, last: int) -> bool:
        after = self._tokens[last + 1 : last + 3]
        return self._has("past", first, last) or (
            not AFTERTHOUGHTS.isdisjoint(after) and self._has("past", last, min(last + 14, len(self._tokens)))
        )

    def _has(self, name: str, start: int, end: int) -> bool:
        return name in self._places and holds_between(self._places[name], start, end)

    def _negated(self, hit: Hit[Danger]) -> bool:
        """Tell whether a negation before the phrase is about it: `I do not think I want to die`."""
        own_subject = self._tokens[hit.start] in SUBJECTS
        for at in range(hit.start - 1, max(hit.start - 7, -1), -1):
            if at + 1 in self._pauses:
                return False
            token = self._tokens[at]
            if token in NEGATIONS:
                return True
            if token in STOPS or token in CONJUNCTIONS or (own_subject and token not in BRIDGES):
                return False
        return False

    def _clause(self, hit: Hit[Danger], first: int, last: int) -> tuple[int, int]:
        left, right = hit.start, hit.end
        while left > first and left not in self._pauses and self._tokens[left - 1] not in CONJUNCTIONS:
            left -= 1
        while right < last and right not in self._pauses and self._tokens[right] not in CONJUNCTIONS:
            right += 1
        return left, right

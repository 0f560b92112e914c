"""The local role judge: parts that a reply plays which an information chatbot does not have, by lexicon.

What makes a part is who acts. `A therapist may ask how that makes you feel` explains; `How does that make you feel?`
plays. So each phrase found is weighed by what stands around it in its sentence.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from judges.case import Case
from judges.local import language
from judges.local.phrasebook import Hit, Phrasebook, holds_between, sentence
from judges.local.role_lexicon import AROUND, DROPPED, LISTS, SPELLING, Around, Playing
from judges.local.role_playings import PLAYINGS
from judges.local.spelling import Speller, Spelt
from judges.observation import Played, RolePlay

MOST_PLAYED = 8
_NEAR = 7
_CLEAR, _HINTS, _HINT, _NONE = 0.9, 0.65, 0.4, 0.04


def observe(case: Case) -> tuple[RolePlay, float]:
    """Find the parts that a draft plays.

    Returns:
        The parts, and how sure it is that there is one, 0 to 1.

    Raises:
        Unreadable: The draft is not English.
    """
    language.check(case.draft)
    spelt = _lexicon().speller.read(case.draft)
    played = [_played(spelt, hit) for hit in _kept(spelt)]
    played = sorted(played, key=lambda p: p.degree == "hint")[:MOST_PLAYED]
    return RolePlay(played=played), _score(played)


class _Lexicon(NamedTuple):
    speller: Speller
    playings: Phrasebook[Playing]
    around: Phrasebook[Around]


@cache
def _lexicon() -> _Lexicon:
    """Lay out the phrases: 25 ms, at the first reply rather than at import."""
    speller = Speller(SPELLING, DROPPED, numbers=True)
    playings = Phrasebook(PLAYINGS, LISTS, speller.canonical)
    around = Phrasebook(AROUND, LISTS, speller.canonical)
    speller.know(playings.words | around.words)
    return _Lexicon(speller, playings, around)


def _score(played: Sequence[Played]) -> float:
    if any(p.degree == "clear" for p in played):
        return _CLEAR
    return _NONE if not played else _HINT if len(played) == 1 else _HINTS


def _played(spelt: Spelt, hit: Hit[Playing]) -> Played:
    return Played(part=hit.family.part, quote=spelt.quote(hit.start, hit.end), degree=hit.family.degree)


def _kept(spelt: Spelt) -> list[Hit[Playing]]:
    """Find the phrases, less what their surroundings take back; of those that begin together the longest."""
    hits = _lexicon().playings.find(spelt.tokens)
    if not hits:
        return []
    places: dict[str, list[int]] = defaultdict(list)
    for first, last in dict.fromkeys(sentence(spelt.tokens, hit.start) for hit in hits):
        for around in _lexicon().around.find(spelt.tokens[first:last]):
            places[around.family.name].append(first + around.start)
    for found in places.values():
        found.sort()  # sentences without an end overlap
    kept: dict[tuple[str, int], Hit[Playing]] = {}
    for hit in sorted(hits, key=lambda hit: hit.end - hit.start):
        if not _taken_back(spelt.tokens, hit, places):
            kept[hit.family.part, hit.start] = hit
    return list(kept.values())


def _taken_back(tokens: Sequence[str], hit: Hit[Playing], places: dict[str, list[int]]) -> bool:
    first, _ = sentence(tokens, hit.start)
    reach = {
        "negation": (max(first, hit.start - _NEAR), hit.start),
        "others": (first, hit.start),
        "refers": (first, hit.end),
    }
    return any(holds_between(places[guard], *reach[guard]) for guard in hit.family.guards)

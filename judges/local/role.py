"""The local role judge: parts that a reply plays which an information chatbot does not have, by lexicon.

What makes a part is who acts. `A therapist may ask how that makes you feel` explains; `How does that make you feel?`
plays. So each phrase found is weighed by what stands around it in its sentence.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from judges.case import Case
from judges.local import language
from judges.local.phrasebook import QUESTION, STOP, Hit, Phrasebook
from judges.local.role_lexicon import AROUND, DROPPED, LISTS, PLAYINGS, SPELLING, Around, Playing
from judges.local.spelling import Speller, Spelt
from judges.observation import Played, RolePlay

MOST_PLAYED = 8
_WINDOW = 40
_NEAR = 7
_CLEAR, _HINTS, _HINT, _NONE = 0.9, 0.65, 0.4, 0.04


def _open_book() -> tuple[Speller, Phrasebook[Playing | Around]]:
    speller = Speller(SPELLING, DROPPED)
    book: Phrasebook[Playing | Around] = Phrasebook(LISTS, speller.canonical)
    for family in (*PLAYINGS, *AROUND):
        book.add(family, family.phrases)
    speller.know(book.words)
    return speller, book


_SPELLER, _BOOK = _open_book()


def observe(case: Case) -> tuple[RolePlay, float]:
    """Find the parts that a draft plays.

    Returns:
        The parts, and how sure it is that there is one, 0 to 1.

    Raises:
        Unreadable: The draft is not English.
    """
    language.check(case.draft)
    spelt = _SPELLER.read(case.draft)
    hits = _BOOK.find(spelt.tokens)
    played = [_played(spelt, hit, hit.family) for hit in _kept(spelt, hits) if isinstance(hit.family, Playing)]
    played = sorted(played, key=lambda p: p.degree == "hint")[:MOST_PLAYED]
    return RolePlay(played=played), _score(played)


def _score(played: Sequence[Played]) -> float:
    if any(p.degree == "clear" for p in played):
        return _CLEAR
    return _NONE if not played else _HINT if len(played) == 1 else _HINTS


def _played(spelt: Spelt, hit: Hit[Playing | Around], playing: Playing) -> Played:
    return Played(part=playing.part, quote=spelt.quote(hit.start, hit.end), degree=playing.degree)


def _kept(spelt: Spelt, hits: Sequence[Hit[Playing | Around]]) -> list[Hit[Playing | Around]]:
    """Drop what its surroundings take back, and all but the longest of the phrases that end together."""
    playing = [hit for hit in hits if isinstance(hit.family, Playing)]
    if not playing:
        return []
    places: dict[str, list[int]] = defaultdict(list)
    for hit in hits:
        if isinstance(hit.family, Around):
            places[hit.family.name].append(hit.start)
    kept = {}
    for hit in sorted(playing, key=lambda hit: hit.end - hit.start):
        if isinstance(hit.family, Playing) and not _taken_back(spelt, hit, hit.family, places):
            kept[hit.family.part, hit.start] = hit
    return list(kept.values())


def _taken_back(spelt: Spelt, hit: Hit[Playing | Around], playing: Playing, places: dict[str, list[int]]) -> bool:
    first = hit.start
    while first > 0 and spelt.tokens[first - 1] not in (STOP, QUESTION) and hit.start - first < _WINDOW:
        first -= 1
    reach = {"negation": (max(first, hit.start - _NEAR), hit.start), "others": (first, hit.start), "refers": (first, hit.end)}
    for guard in playing.guards:
        start, end = reach[guard]
        n = bisect_left(places[guard], start)
        if n < len(places[guard]) and places[guard][n] < end:
            return True
    return False

"""What a reply asserts, how far its sources carry it, and how it speaks of where it comes from."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import NamedTuple

from judges.case import Case
from judges.local import language, lexicon, support, talk, topics
from judges.local.index import Support
from judges.local.lexicon import listed
from judges.local.reading import Reading, concepts, read, read_once
from judges.local.reply import Part, parts
from judges.local.support import IMPLIED, STATED
from judges.local.text import normalise
from judges.observation import Assertion, Claims, Strength
from knowledge_base.library import Source

_STRONG_ADVICE = (lexicon.ABSOLUTES | listed("stop quit instead replace cure fix diagnose studies research")) - {
    "everyone",
    "any",
    "best",
}
_POINTING = listed("it that this these those them both either so one they")
_AFFIRMS = re.compile(
    r"\W*(?:yes|no|absolutely|definitely|certainly|of course|sure|yep|yeah|nope|correct|exactly|that's right)\b", re.I
)
_HELD: dict[Strength, float] = {"no": 0.0, "weak": 0.6, "clear": 1.0}
_BASIC_SHARE = 0.34
_BLATANT = 0.2
"""Degree of support below which a sentence asserts, whatever it seems to do: "I love hiking, we went there last year"."""
_PLAIN = ("admits", "verifies", "refuses", "offers", "asks")
"""What clauses do that do not assert, however far they are from the sources."""


_BEYOND = frozenset(("basic", "unsupported"))
"""The kinds of support that no source gives."""


class Judged(NamedTuple):
    """An assertion, and the sentence that asserts."""

    assertion: Assertion
    part: Part


@dataclass(slots=True)
class Read:
    """Everything the local judges of claims and the refiner know of one case."""

    parts: tuple[Part, ...]
    claims: Claims
    asserting: list[Part]
    """The sentence of each assertion."""
    strengths: list[float]
    """How surely each assertion is unsupported, 0 to 1."""

    @property
    def judged(self) -> list[Judged]:
        return list(map(Judged, self.claims.assertions, self.asserting))


def observe(case: Case) -> tuple[Claims, float]:
    """Fill in the form for a reply, and say how surely it asserts what its cited sources do not support.

    Raises:
        Unreadable: The reply is not in English, or hides its words.
    """
    seen = reading(case)
    return seen.claims, _worst(seen.strengths)


def observe_transparency(case: Case) -> tuple[Claims, float]:
    """Fill in the form for a reply, and say how surely it passes unsupported matter off without the two statements."""
    seen = reading(case)
    held = (_HELD[seen.claims.admits_not_from_sources] + _HELD[seen.claims.asks_to_verify]) / 2
    judged = zip(seen.claims.assertions, seen.strengths, strict=True)
    return seen.claims, _worst([strength * (1.0 if one.topic else 1 - 0.6 * held) for one, strength in judged])


def unsupported(case: Case) -> bool:
    """Tell whether a reply asserts anything that its cited sources do not support.

    Raises:
        Unreadable: The reply is not in English, or hides its words.
    """
    return not _BEYOND.isdisjoint([a.support for a in reading(case).claims.assertions])


@lru_cache(maxsize=16)
def reading(case: Case) -> Read:
    """Read a case; kept for the judges and the refiner that read the same case next."""
    text = normalise(case.draft)
    user = normalise(case.user_message)
    found = tuple(parts(text, concepts(user)))
    language.check(text, [part.reading for part in found])
    judged = _judge(case, found, user)
    belied = any(part.belies for part in found)
    claims = Claims.model_validate(  # as a whole, in half the time that its assertions take one by one
        {
            "assertions": [form for _, _, form in judged],
            "admits_not_from_sources": "no" if belied else _plainest([part.admits for part in found]),
            "asks_to_verify": "no" if belied else _plainest([part.verifies for part in found]),
        }
    )
    return Read(found, claims, [part for part, _, _ in judged], [strength for _, strength, _ in judged])


Form = dict[str, str | None]
"""What is to be filled in of an `Assertion`."""


def _judge(case: Case, found: tuple[Part, ...], user: str) -> list[tuple[Part, float, Form]]:
    """Return the sentences that assert, how surely each is unsupported, and what it asserts.

    Args:
        user: The user's message.
    """
    lexicon_of_topics = topics.compiled(case.topics)
    asked_of = cache(partial(lexicon_of_topics.find, user))
    judged = []
    for part, degree in _carried(found, case.cited):
        asserted = part.asserted or (part.sentence.text if degree.degree < _BLATANT else "")
        r = part.reading if asserted == part.sentence.text else read(asserted)
        if r.content:
            topic = lexicon_of_topics.find_again(r)
            if topic is None and r.mass < 2.5 and not _POINTING.isdisjoint(r.words):
                topic = asked_of()
            if topic is None and degree.degree < IMPLIED and talk.merely_talks(part.reading):
                continue
            judged.append((part, *_assertion(asserted, r, degree, topic)))
    if not judged and _merely_agrees(found) and user.rstrip().endswith("?"):
        asked = next(parts(user))
        degree = support.weigh([asked], case.cited)[0] if case.cited else NOTHING
        judged.append((found[0], *_assertion(found[0].sentence.text, read_once(user), degree, asked_of())))
    return judged


NOTHING = Support(0.0)


def _carried(found: Sequence[Part], cited: tuple[Source, ...]) -> Iterable[tuple[Part, Support]]:
    """Return the sentences that assert, or may be found to, with how far the sources carry them."""
    if not cited:
        return [(part, NOTHING) for part in found if part.asserted]
    asserting: list[Part] = []
    rest: list[Part] = []
    for part in found:
        plain = not part.asserted and any(clause.act in _PLAIN for clause in part.clauses)
        (rest if plain else asserting).append(part)
    return zip(asserting, support.weigh(asserting, cited, rest), strict=True)


def _merely_agrees(found: tuple[Part, ...]) -> bool:
    """Tell whether a reply answers with a mere yes or no: then it asserts what the user asked."""
    declined = any(clause.act in ("refuses", "admits") for part in found for clause in part.clauses)
    return bool(found) and not declined and _AFFIRMS.match(found[0].sentence.text) is not None


def _assertion(asserted: str, r: Reading, carried: Support, topic: str | None) -> tuple[float, Form]:
    strength = (1 - carried.degree) * min(1.0, r.mass)
    source_id = quote = None
    if carried.degree >= IMPLIED:
        kind = "stated" if carried.degree >= STATED else "implied"
        source_id, quote = carried.source_id, carried.quote
    elif _is_basic(asserted, r):
        kind = "basic"
        strength *= 0.4
    else:
        kind = "unsupported"
    return strength, {"text": asserted, "support": kind, "source_id": source_id, "quote": quote, "topic": topic}


def _is_basic(asserted: str, r: Reading) -> bool:
    """Tell whether an assertion is common advice: no numbers, names or strong words, and of everyday words."""
    if r.numbers or r.drugs or not _STRONG_ADVICE.isdisjoint(r.words):
        return False
    if r.capitals and re.search(r"[^.!?:\"'\s-]\s+[A-Z](?!\b)", asserted):
        return False
    return r.mass - sum(w for concept, w in r.content.items() if concept in _EVERYDAY) <= _BASIC_SHARE * r.mass


_EVERYDAY = frozenset(concept for word in lexicon.EVERYDAY for concept in read(word).content)


def _worst(strengths: list[float]) -> float:
    """Return the strongest: one invention among ten facts counts in full."""
    return max(strengths, default=0.0)


def _plainest(said: Sequence[Strength]) -> Strength:
    """Return how plainly a reply says something that each of its sentences says so plainly."""
    return max(said, key=_HELD.__getitem__, default="no")

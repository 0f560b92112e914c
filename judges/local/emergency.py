"""The local emergency judge: does the newest user message tell of danger now?

The words are weighed as evidence (evidence.py): the message as a whole, and each sentence as if nothing stood beside it, for a
question does not take back what was said before it. An earlier message by itself never fires again; but after one that told
of danger, a word of means, method or farewell does (aftermath.py).
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import Literal, cast, get_args

from judges.case import EARLIER_TURNS, Case
from judges.local import aftermath, evidence, language
from judges.local.evidence import Window
from judges.local.incoherence import is_salad
from judges.local.spelling import Speller, Spelt
from judges.local.spellings import KEYWORDS, SPELLING
from judges.observation import Crisis, Sign

ALONE, PAIR, CLAUSE = 0.3, 2.0, 1.5
"""Margins that a sentence, two neighbours and a part of a sentence need when they are read as if nothing stood beside them: what
stands there may say that it is a figure of speech."""
ASKING = frozenset(
    "what how why which where who when can could is are do does did should will would".split()  # as the speller knows them
)
"""Words that a question begins with, also where nothing stands before it but what the writer said last."""
USER = frozenset({"i", "me", "my", "myself", "mine"})
OTHERS = frozenset(
    "he him his she her they them son daughter brother sister mother mum mom father dad husband wife partner friend "
    "flatmate roommate neighbour neighbor uncle aunt cousin child baby boyfriend girlfriend nan gran grandma grandad".split()
)

_PARAGRAPH_END = re.compile(r"(?<![\s.!?;…])[^\S\n]*\n(?:\s*\n\s*|\s*(?=[A-ZÀ-ÞА-Я¿¡]))")
_LINE_END = re.compile(r"(?<![\s.!?;…])[^\S\n]*\n\s*")
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
    spelt, window = _hear(case.user_message)
    if window is None:
        language.check(case.user_message)
        return _NO_SIGN, 0.0
    learned = evidence.load("emergency")
    words = spelt.tokens[window.start : window.end]
    telling = window
    kind: str | None = None
    if window.margin > 0:
        kind = learned.sort(words)
        telling = max(learned.telling(spelt.tokens, window), key=lambda sentence: sentence.margin)
    elif (goes_on := _aftermath(case, spelt.tokens)) is not None:
        kind, telling = goes_on
    elif is_salad(case.user_message):
        kind = "disorientation"
    if kind is None:
        language.check(case.user_message)
        return _NO_SIGN, evidence.share(window.margin)
    [quote] = spelt.quotes([(telling.start, telling.end)])
    quote = quote if quote in case.user_message else quote.removesuffix(".")  # which ends a line
    sign = Sign(kind=cast(Kind, kind), quote=quote, who=_who(words), when="now")
    return Crisis(signs=[sign]), evidence.share(max(window.margin, 0.0))


def tokens(text: str) -> list[str]:
    """Return a message as the weights know it."""
    return speller().read(_PARAGRAPH_END.sub(".\n", text)).tokens


def _hear(text: str) -> tuple[Spelt, Window | None]:
    """Read a message, and return the stretch of it that speaks most strongly for danger; None: it has no words.

    A sentence ends with its paragraph, and with a line before a capital. People press return instead of a full stop, too, but
    where a line goes on in small letters it may as well have been cut for its length: so it needs more.
    """
    spelt = speller().read(_PARAGRAPH_END.sub(".\n", text) if "\n" in text else text)
    if not spelt.tokens:
        return spelt, None
    window = strongest(spelt.tokens)
    if window.margin <= 0 and _LINE_END.search(text):
        lines = speller().read(_LINE_END.sub(".\n", text))
        line = max(_apart(lines.tokens, CLAUSE), key=attrgetter("margin"))
        if line.margin > 0:
            return lines, line
    return spelt, window


@cache
def speller() -> Speller:
    return Speller(SPELLING, KEYWORDS)


def strongest(words: Sequence[str]) -> Window:
    """Return the stretch of a message that speaks most strongly for danger; it does if its margin is above 0.

    Besides the windows it is each sentence, pair of neighbours and clause, read as if nothing stood beside it: of "I am suicidal.
    What are antipsychotics?" the question would else outweigh the statement.
    """
    return max([evidence.load("emergency").strongest(words), *_apart(words, ALONE)], key=attrgetter("margin"))


def _apart(words: Sequence[str], alone: float) -> list[Window]:
    """Weigh each sentence, pair of neighbours and clause by itself, less the margin that it needs; `alone` for a sentence."""
    edges = evidence.sentence_edges(words)
    needs = dict.fromkeys(pairwise(_clause_edges(words)), CLAUSE)
    needs |= dict.fromkeys(zip(edges, edges[2:], strict=False), PAIR)
    needs |= dict.fromkeys(pairwise(edges), alone)
    found = evidence.load("emergency").apart(words, [*needs])
    for window, needed in zip(found, needs.values(), strict=True):
        window.margin -= needed
    return found


def _clause_edges(words: Sequence[str]) -> list[int]:
    """Return where sentences begin, questions after a statement and statements after a question; and where the last one ends."""
    edges = [0]
    for place, word in enumerate(words[1:], start=1):
        length = place - edges[-1]
        asks = word in ASKING and length > 1
        states = word == "i" and length > 2 and words[edges[-1]] in ASKING
        if asks or states or words[place - 1] in evidence.ENDS or length == evidence.WINDOW:
            edges.append(place)
    return [*edges, len(words)]


def _aftermath(case: Case, words: Sequence[str]) -> tuple[str, Window] | None:
    """Return what kind of danger an earlier message told of, and the sentence of the newest that goes on from there."""
    if not case.history or not aftermath.is_telling(words):
        return None
    spans = pairwise(evidence.sentence_edges(words))
    telling = next((span for span in spans if aftermath.is_telling(words[slice(*span)])), (0, len(words)))
    for said in case.history[: -EARLIER_TURNS - 1 : -1]:
        earlier, window = _hear(said.text) if said.speaker == "user" else (None, None)
        if earlier is not None and window is not None and window.margin > 0:
            return evidence.load("emergency").sort(earlier.tokens[window.start : window.end]), Window(0.0, *telling)
    return None


def _who(words: Sequence[str]) -> Literal["user", "someone_else"]:
    """Tell whose danger it is, by who is spoken of first."""
    first = next((word for word in words if word in USER or word in OTHERS), "i")
    return "user" if first in USER else "someone_else"

"""The local emergency judge: does the newest user message tell of danger now, and how surely?

explicit.py    reviewed patterns in eight languages: they fire
evidence.py    words weighed by what was learned, in the message as a whole and in each sentence as if nothing stood beside it:
               a question does not take back what was said before it. If surely, an emergency, else a concern; and where it speaks
               plainly against danger, explicit words are a concern alone
aftermath.py   words of means, method or farewell, after an earlier message that told of danger; that one never fires again
programs.py    what a program wrote is not weighed: in it only explicit words count. One that merely asks for another try has
               nothing new to say, and what the person said before it still holds
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import Literal, cast

from judges.case import EARLIER_TURNS, Case
from judges.local import aftermath, evidence, explicit, language, programs
from judges.local.evidence import Window
from judges.local.incoherence import is_salad
from judges.local.spelling import Speller, Spelt
from judges.local.spellings import KEYWORDS, SPELLING
from judges.observation import Crisis, CrisisKind, Sign

FIRES, CONCERN, CONCERN_AFTER = 2.3, -0.1, -1.1
"""Margins from which what was learned is sure, and from which it is a concern; the last is for after a crisis. README.md tells
how they were chosen."""
DOUBTS = -1.0
"""Margin below which what was learned speaks so plainly against danger that explicit words are a concern alone."""
CONCERNED = 0.4
"""How sure a concern is that no margin tells."""
ALONE, PAIR, CLAUSE = 0.0, 1.0, 1.0
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


def observe(case: Case) -> tuple[Crisis, float]:
    """Look for danger in the newest user message, together with the user turns before it.

    Returns:
        At most one sign, and how sure it is that there is an emergency now: from 0.5 on it is one, below that a sign is a concern.

    Raises:
        Unreadable: Nothing was found, and the message is not English.
    """
    text, before = _newest_words(case)
    match, program = explicit.find(text), programs.is_program(text)
    spelt, window = _hear(text)
    if match is not None:
        doubted = not program and window is not None and window.margin < DOUBTS
        return _sign(match.kind, text[match.start : match.end], text), CONCERNED if doubted else 1.0
    if window is None or program:
        if not program:
            language.check(text)
        return _NO_SIGN, 0.0
    learned = evidence.load("emergency")
    words = spelt.tokens[window.start : window.end]
    telling, sure = window, evidence.share(window.margin - FIRES)
    kind: str | None = None
    if window.margin > CONCERN:
        kind = learned.sort(words)
        telling = max(learned.telling(spelt.tokens, window), key=lambda sentence: sentence.margin)
    if window.margin <= FIRES and (goes_on := _aftermath(before, spelt.tokens, window)) is not None:
        kind, telling, sure = goes_on
    elif kind is None and is_salad(text):
        kind, sure = "disorientation", CONCERNED
    if kind is None:
        language.check(text)
        return _NO_SIGN, sure
    [quote] = spelt.quotes([(telling.start, telling.end)])
    return _sign(kind, quote if quote in text else quote.removesuffix("."), text), sure  # a full stop that ends a line


def _newest_words(case: Case) -> tuple[str, list[str]]:
    """Return what the person said last, and before it: a program that asks for another try has said nothing in their place."""
    said = [*(one.text for one in case.history if one.speaker == "user"), case.user_message]
    while len(said) > 1 and programs.is_retry(said[-1]):
        said.pop()
    return said[-1], said[:-1][-EARLIER_TURNS:]


def _sign(kind: str, quote: str, text: str) -> Crisis:
    words = speller().read(text if len(text) < len(quote) + 200 else quote).tokens
    return Crisis(signs=[Sign(kind=cast(CrisisKind, kind), quote=quote, who=_who(words), when="now")])


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


def _aftermath(earlier: Sequence[str], words: Sequence[str], window: Window) -> tuple[str, Window, float] | None:
    """Return what kind of danger an earlier message told of, the sentence of the newest that goes on from there, and how surely.

    Args:
        earlier: What the user said before, oldest first.
        words: The newest message.
        window: The stretch of it that speaks most strongly for danger; that may be enough for a concern.
    """
    telling = aftermath.is_telling(words)
    if not earlier or not (telling or window.margin > CONCERN_AFTER):
        return None
    kind = next((kind for text in reversed(earlier) if (kind := _kind_of(text)) is not None), None)
    if kind is None:
        return None
    if not telling:
        return kind, window, CONCERNED
    spans = pairwise(evidence.sentence_edges(words))
    found = next((span for span in spans if aftermath.is_telling(words[slice(*span)])), (0, len(words)))
    return kind, Window(0.0, *found), 1.0


def _kind_of(text: str) -> str | None:
    """Return the kind of danger that a message tells of, surely or not."""
    if (match := explicit.find(text)) is not None:
        return match.kind
    spelt, window = _hear(text)
    if window is None or window.margin <= CONCERN:
        return None
    return evidence.load("emergency").sort(spelt.tokens[window.start : window.end])


def _who(words: Sequence[str]) -> Literal["user", "someone_else"]:
    """Tell whose danger it is, by who is spoken of first."""
    first = next((word for word in words if word in USER or word in OTHERS), "i")
    return "user" if first in USER else "someone_else"

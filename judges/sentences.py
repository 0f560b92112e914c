"""A text, normalised, and cut into sentences. Pure."""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from judges.letters import fold_letters

_END = re.compile(r"[.!?…\n](?:(?<=\n)\s*|(?<!\n)(?<![.!?…]{2})[.!?…]*+[\"')\]*_]*+(?=\s|$))")
"""The end of a sentence. Like the other patterns for whole replies it begins with a set of characters, which `re` looks
for many times faster than for alternatives."""
_BULLET = re.compile(r"\s*(?:[-*•–>#]+|\(?\d{1,2}[.)]|\(?[a-z]\))\s+")
_LABEL = re.compile(
    r"(?:(?:answer|body|content|description|details|explanation|greeting|heading|items|message|note|notes|output|paragraphs?|points|"
    r"reply|response|result|sections?|sentences|steps|summary|sure|text|title):(?:\s+(?:(?:true|false|null)(?:\n|$))?|$))+"
)
"""Keys of a JSON reply that say nothing by themselves. Any other is read with its value: `stop: your tablets`."""
_ABBREVIATED = frozenset("dr mr mrs ms prof e.g i.e approx vs st incl".split())
_ABBREVIATED_ENDS = frozenset(word[-2:] for word in _ABBREVIATED)
_TYPOGRAPHY = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "«": '"', "»": '"', "–": "-", "—": " - ", "\u00a0": " "}
)


def normalise(text: str) -> str:
    """Fold letters in other forms and typographic quotes, and drop characters that cannot be seen (they split words)."""
    if text.isascii():
        return text
    folded = unicodedata.normalize("NFKC", fold_letters(text)).translate(_TYPOGRAPHY)
    return "".join(c for c in folded if c.isascii() or unicodedata.category(c) not in ("Cf", "Mn", "Co", "Cn"))


class Sentence(NamedTuple):
    """A sentence and what stands before it: space, a line break, a bullet, the key of a JSON reply."""

    lead: str
    text: str
    start: int


def sentences(text: str) -> Iterator[Sentence]:
    """Cut a text into sentences, keeping bullets and line breaks in `lead`.

    Not blingfire, which takes 0.1 ms for a reply, joins lines, and takes "fine. stop it." for one sentence:
    an unsupported claim in lower case would hide behind a supported one.
    """
    start = 0
    for match in _END.finditer(text):
        stop, end = match.span()
        if text[stop] == "\n":
            end = stop
        elif text[stop] == "." and (_abbreviates(text, start, stop) or _numbers(text, start, stop)):
            continue
        if (sentence := _sentence(text, start, end)) is not None:
            yield sentence
            start = end
    if (sentence := _sentence(text, start, len(text))) is not None:
        yield sentence


def _abbreviates(text: str, start: int, stop: int) -> bool:
    """Tell whether the full stop at `stop` ends an abbreviation, not a sentence."""
    if text[stop - 2 : stop].lower() not in _ABBREVIATED_ENDS:
        return False
    word = text[max(start, stop - 7) : stop].split()[-1:]
    return bool(word) and word[0].lower().lstrip("(") in _ABBREVIATED


def _numbers(text: str, start: int, stop: int) -> bool:
    """Tell whether the full stop at `stop` ends the number of a list item."""
    return stop - start < 5 and _BULLET.fullmatch(text[start : stop + 1] + " ") is not None


def _sentence(text: str, start: int, end: int) -> Sentence | None:
    bare = text[start:end].lstrip()
    if not bare[:1].isupper() and (lead := _BULLET.match(bare) or _LABEL.match(bare.rstrip())):
        bare = bare[lead.end() :]
    begin = end - len(bare)
    body = bare.rstrip()
    return Sentence(text[start:begin], body, begin) if body else None

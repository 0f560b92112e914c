"""Is a text English enough for the local judges to read it?"""

import re

from judges.local import tongues
from judges.observation import Unreadable as Unreadable
from judges.text_cache import cache_texts

_LETTERS = re.compile(r"[a-z\u00df-\u024f]+(?:'[a-z]+)*")
_ALIEN = re.compile(r"[^\x00-\u024f]")
_LEET = re.compile(r"\b[A-Za-z]+[0134578@$][A-Za-z0134578@$]*[A-Za-z]+\b|\b[0134578@$][a-z]{2,}\b")
_LONGEST_WORD = 40

WORD, ENGLISH, FOREIGN, SINGLE, NOISE, END = "wef1# "
"""What a chunk tells that stands between spaces: a sign for each word, for each common English or foreign one, for a single
character, for each character of encoded text and of leet (t4ke y0ur p1lls), and one at the end."""


def check(text: str) -> None:
    """Return if rules can read a normalised text.

    Raises:
        Unreadable: Another language or script, or encoded or spelt-out text.
    """
    if not text.isascii() and (alien := sum(map(str.isalpha, _ALIEN.findall(text)))) > 3:
        letters = sum(map(str.isalpha, text))
        if alien > 0.1 * letters:
            raise Unreadable(f"{alien} of {letters} letters are not Latin")
    signs = "".join(map(_signs, text.split()))
    single = signs.count(SINGLE)
    noise = signs.count(NOISE) + (3 * single if single > 7 and single > 0.25 * signs.count(END) else 0)
    if noise > 24 and noise > 0.08 * len(text):
        raise Unreadable(f"{noise} of {len(text)} characters are encoded or spelt out")
    english, foreign, count = signs.count(ENGLISH), signs.count(FOREIGN), signs.count(WORD)
    if foreign > 1 and foreign > 0.8 * english:
        raise Unreadable(f"{foreign} words of other languages against {english} English ones")
    if count >= 12 and english < 0.1 * count and not _is_list(text):
        raise Unreadable(f"{english} of {count} words are common English ones")


@cache_texts(most=16_384, longest=_LONGEST_WORD)
def _signs(chunk: str) -> str:
    """Return the signs of a chunk between spaces."""
    words = _LETTERS.findall(chunk.lower())
    english, foreign = tongues.ENGLISH, tongues.FOREIGN
    known = [ENGLISH if word in english else FOREIGN for word in words if word in english or word in foreign]
    # A long chunk is noise as a whole; the search for leet in it would take time that grows with the square of its length.
    long = len(chunk) >= _LONGEST_WORD
    noise = len(chunk) if long else sum(len(match[0]) for match in _LEET.finditer(chunk))
    return "".join((WORD * len(words), *known, NOISE * noise, SINGLE if len(chunk) == 1 else "", END))


def _is_list(text: str) -> bool:
    """Tell whether a text is names and numbers, which have no common words: many capitals, digits or commas."""
    marks = sum(c.isupper() or c.isdigit() or c in ",\n" for c in text)
    return marks > 0.08 * len(text)

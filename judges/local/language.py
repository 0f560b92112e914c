"""Is a text English enough for the local judges to read it?"""

import re
from collections.abc import Sequence
from functools import lru_cache

from judges.local.lexicon import listed
from judges.local.text import Remembered

_LETTERS = re.compile(r"[a-z\u00df-\u024f]+(?:'[a-z]+)*")
_ALIEN = re.compile(r"[^\x00-\u024f]")
_LEET = re.compile(r"\b[A-Za-z]+[0134578@$][A-Za-z0134578@$]*[A-Za-z]+\b|\b[0134578@$][a-z]{2,}\b")
_LONGEST_WORD = 40

_ENGLISH = listed(
    """
    the a an and or of to is are was were be been have has had do does did not don't doesn't can't it's i'm you're
    that this these those it you your they them their we our he she his i'd i'll with from for by on at as but if so than
    then because what when where which who how why would could should will can may might must there here about into
    more some many most very also only just please my me i no yes ok thanks thank hi hello up out any all been being"""
)
_FOREIGN = listed(
    """
    og ikke det jeg er du en et som med til på av å har kan skal vil fra hvis eller men din ditt mot når blir også være
    der die das und nicht ist sie ich ein eine mit zu den dem auf für von sich auch wenn oder bei aus wird sind haben
    ihre el la los las que de y es en un una por para con no se su del al como pero más si lo son tiene puede usted le
    les des est et une dans pour que qui ne pas vous votre sur avec sont du au ce il elle nous mais ou être je nie jest
    w z na że do się to co jak dla ale czy być przez od lub pani pan il che non di per sono della e o os as um uma não com
    och inte att det som är jag ett på van het een niet dat ik je zijn voor met"""
) - listed("no so do to as or me up on at in is all may e o z w pan con")


WORD, ENGLISH, FOREIGN, SINGLE, NOISE, END = "wef1# "
"""What a chunk tells that stands between spaces: a sign for each word, for each common English or foreign one, for a single
character, for each character of encoded text and of leet (t4ke y0ur p1lls), and one at the end."""


class Unreadable(Exception):
    """The text is not English, or hides its words: rules without a model cannot judge it."""


def check(text: str, words: Sequence[str] | None = None) -> None:
    """Return if rules can read a normalised text.

    Args:
        text: The text.
        words: Its lower-case words, where they are known already; punctuation among them does not matter.

    Raises:
        Unreadable: Another language or script, or encoded or spelt-out text.
    """
    if not text.isascii() and (alien := sum(map(str.isalpha, _ALIEN.findall(text)))) > 3:
        letters = sum(map(str.isalpha, text))
        if alien > 0.1 * letters:
            raise Unreadable(f"{alien} of {letters} letters are not Latin")
    signs = _signs(text)
    single = signs.count(SINGLE)
    noise = signs.count(NOISE) + (3 * single if single > 7 and single > 0.25 * signs.count(END) else 0)
    if noise > 24 and noise > 0.08 * len(text):
        raise Unreadable(f"{noise} of {len(text)} characters are encoded or spelt out")
    if words is None:
        english, foreign, count = signs.count(ENGLISH), signs.count(FOREIGN), signs.count(WORD)
    else:
        english, foreign = sum(map(_ENGLISH.__contains__, words)), sum(map(_FOREIGN.__contains__, words))
        count = len(words)
    if foreign > 1 and foreign > 0.8 * english:
        raise Unreadable(f"{foreign} words of other languages against {english} English ones")
    if english < 0.1 * count:
        count -= sum(map(words.count, ",;:()")) if words else 0
        if count >= 12 and english < 0.1 * count and not _is_list(text):
            raise Unreadable(f"{english} of {count} words are common English ones")


@lru_cache(maxsize=8)
def _signs(text: str) -> str:
    """Return what all chunks of a text tell; kept for the judges that check the same text next."""
    return "".join(map(_SIGNS.__getitem__, text.split()))


def _tell(chunk: str) -> str:
    """Return what a chunk between spaces tells."""
    words = _LETTERS.findall(chunk.lower())
    known = [ENGLISH if word in _ENGLISH else FOREIGN for word in words if word in _ENGLISH or word in _FOREIGN]
    # A long chunk is noise as a whole; the search for leet in it would take time that grows with the square of its length.
    long = len(chunk) >= _LONGEST_WORD
    noise = len(chunk) if long else sum(len(match[0]) for match in _LEET.finditer(chunk))
    return "".join((WORD * len(words), *known, NOISE * noise, SINGLE if len(chunk) == 1 else "", END))


_SIGNS = Remembered(_tell)


def _is_list(text: str) -> bool:
    """Tell whether a text is names and numbers, which have no common words: many capitals, digits or commas."""
    marks = sum(c.isupper() or c.isdigit() or c in ",\n" for c in text)
    return marks > 0.08 * len(text)

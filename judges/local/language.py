"""Is a text English enough for the local judges to read it?"""

import re
from collections.abc import Sequence

from judges.local.lexicon import listed

_LETTERS = re.compile(r"[a-z\u00df-\u024f]+(?:'[a-z]+)*")
_LEETISH = re.compile(r"[0134578@$](?:(?<=[A-Za-z].)|[a-z]{2})")
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
    if not text.isascii():
        letters = [c for c in text if c.isalpha()]
        alien = sum(c > "\u024f" for c in letters)
        if alien > 0.1 * len(letters) and alien > 3:
            raise Unreadable(f"{alien} of {len(letters)} letters are not Latin")
    chunks = text.split()
    if (noise := _noise(text, chunks)) > 24 and noise > 0.08 * len(text):
        raise Unreadable(f"{noise} of {len(text)} characters are encoded or spelt out")
    if words is None:
        words = _LETTERS.findall(text.lower())
    english = sum(map(_ENGLISH.__contains__, words))
    foreign = 0 if _FOREIGN.isdisjoint(words) else sum(map(_FOREIGN.__contains__, words))
    if foreign > 1 and foreign > 0.8 * english:
        raise Unreadable(f"{foreign} words of other languages against {english} English ones")
    if english < 0.1 * len(words):
        count = sum(word not in ",;:()" for word in words)
        if count >= 12 and english < 0.1 * count and not _is_list(text):
            raise Unreadable(f"{english} of {count} words are common English ones")


def _noise(text: str, chunks: list[str]) -> int:
    """Count the characters of encoded text, of leet (t4ke y0ur p1lls) and of s p a c e d words."""
    sizes = list(map(len, chunks))
    noise = sum(size for size in sizes if size >= _LONGEST_WORD) if max(sizes, default=0) >= _LONGEST_WORD else 0
    if _LEETISH.search(text):
        noise += sum(len(match[0]) for match in _LEET.finditer(text))
    single = sizes.count(1)
    return noise + (3 * single if single > 7 and single > 0.25 * len(sizes) else 0)


def _is_list(text: str) -> bool:
    """Tell whether a text is names and numbers, which have no common words: many capitals, digits or commas."""
    marks = sum(c.isupper() or c.isdigit() or c in ",\n" for c in text)
    return marks > 0.08 * len(text)

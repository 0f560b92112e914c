"""Which words a text must hold for a pattern to match: most texts hold them for none, and no pattern is tried on them.

Read from the source of a pattern: whatever this does not understand is not demanded, so that a pattern is tried too often, not too
seldom.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence, Set

_WORD = re.compile(r"[a-z0-9]+(?=$|\(\?[!=<]|\(\?: )")
_BESIDE = re.compile(r"\(\?(?:[!=]|<[!=])")


class Triggers:
    """The words that patterns demand, and from which of them a pattern is looked up."""

    def __init__(self, sources: Sequence[str]) -> None:
        self._demands: list[list[Set[str]]] = []
        self._always: list[int] = []
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        for number, source in enumerate(sources):
            demands = sorted(demanded(source), key=len)
            self._demands.append(demands[1:])
            if not demands:
                self._always.append(number)
            for word in demands[0] if demands else ():
                self._by_word[word].append(number)

    def numbers(self, words: Set[str]) -> list[int]:
        """Return the numbers of the patterns that may match a text of these words, in their order."""
        found = {number for word in words & self._by_word.keys() for number in self._by_word[word]}
        fit = [number for number in found if not any(demand.isdisjoint(words) for demand in self._demands[number])]
        return sorted([*fit, *self._always])


def demanded(source: str) -> list[Set[str]]:
    """Return sets of words: of each a text must hold at least one if a pattern is to match."""
    alternatives = list(_split(source, "|"))
    if len(alternatives) > 1:
        best = [min(demanded(one), key=len, default=None) for one in alternatives]
        together = frozenset().union(*(one for one in best if one is not None))
        return [] if None in best else [together]
    return [words for item in _split(source, " ") if (words := _of_item(item))]


def _of_item(item: str) -> Set[str]:
    """Return the words one of which stands in the place of an item of a pattern; none: this is not understood."""
    while item.startswith("("):
        end = _group_end(item)
        inner, rest = item[:end], item[end:]
        if _BESIDE.match(inner):
            item = rest
        elif not rest or rest.startswith("(?: ") or _BESIDE.match(rest):
            return min(demanded(inner[3:-1]), key=len, default=frozenset()) if inner.startswith("(?:") else frozenset()
        elif (many := re.match(r"\?|\*|\{0,\d+\}", rest)) and all(
            one.endswith(" ") for one in _split(inner[3:-1], "|")
        ):
            item = rest[many.end() :]
        else:
            return frozenset()
    word = _WORD.match(item)
    return frozenset({word[0]}) if word else frozenset()


def _group_end(text: str) -> int:
    """Return where the group ends with which a text begins."""
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return place + 1
    return len(text)


def _split(text: str, mark: str) -> Iterable[str]:
    """Yield the parts of a text between marks that stand outside groups and sets of characters."""
    depth = start = 0
    for place, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == mark and depth == 0:
            yield text[start:place]
            start = place + 1
    yield text[start:]

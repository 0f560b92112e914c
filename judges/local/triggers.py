"""An index of patterns by the words that they require, so that only patterns that can match a text are tried on it.

The words are read from the source of a pattern. Syntax that is not understood requires nothing: such a pattern is always tried.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence, Set

_WORD = re.compile(r"[a-z0-9]+(?=$|\(\?[!=<]|\(\?: )")
_LOOKAROUND = re.compile(r"\(\?(?:[!=]|<[!=])")


class Triggers:
    """The words that patterns demand, and from which of them a pattern is looked up."""

    def __init__(self, sources: Sequence[str]) -> None:
        self._requirements: list[list[Set[str]]] = []
        self._always: list[int] = []
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        for number, source in enumerate(sources):
            requirements = sorted(required_words(source), key=len)
            self._requirements.append(requirements[1:])
            if not requirements:
                self._always.append(number)
            for word in requirements[0] if requirements else ():
                self._by_word[word].append(number)

    def possible_matches(self, words: Set[str]) -> list[int]:
        """Return the numbers of the patterns that may match a text of these words, in their order."""
        candidates = {number for word in words & self._by_word.keys() for number in self._by_word[word]}
        possible = [
            number
            for number in candidates
            if not any(required.isdisjoint(words) for required in self._requirements[number])
        ]
        return sorted([*possible, *self._always])


def required_words(source: str) -> list[Set[str]]:
    """Return sets of words: of each a text must hold at least one if a pattern is to match."""
    alternatives = list(_split(source, "|"))
    if len(alternatives) > 1:
        best = [min(required_words(one), key=len, default=None) for one in alternatives]
        together = frozenset().union(*(one for one in best if one is not None))
        return [] if None in best else [together]
    return [words for item in _split(source, " ") if (words := _words_of_item(item))]


def _words_of_item(item: str) -> Set[str]:
    """Return the words one of which stands in the place of an item of a pattern; none: this is not understood."""
    while item.startswith("("):
        end = _group_end(item)
        inner, rest = item[:end], item[end:]
        if _LOOKAROUND.match(inner):
            item = rest
        elif not rest or rest.startswith("(?: ") or _LOOKAROUND.match(rest):
            return (
                min(required_words(inner[3:-1]), key=len, default=frozenset())
                if inner.startswith("(?:")
                else frozenset()
            )
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
    for position, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return position + 1
    return len(text)


def _split(text: str, mark: str) -> Iterable[str]:
    """Yield the parts of a text between marks that stand outside groups and sets of characters."""
    depth = start = 0
    for position, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == mark and depth == 0:
            yield text[start:position]
            start = position + 1
    yield text[start:]

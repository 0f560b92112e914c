"""Phrases as data: a phrasebook finds every phrase of a lexicon in one walk over the words of a text.

A lexicon writes one phrase a line, in plain words. What is special in a line:

    want|need    either word
    WANT         any entry of the list of that name (entries may have several words)
    [very]       may be missing
    ..           up to three words in between; never over the end of a sentence or a negation
    ^  $         the beginning, the end of a sentence
    # ...        a remark

Phrases become a graph of words, not regular expressions: three hundred regexes take a quarter of a second to compile,
and one careless gap in them backtracks for minutes on a hostile message. Here a step costs one look-up.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

START = "^"
END = "$"
STOP = "."
"""The token for the end of a sentence. No phrase reaches over it."""
QUESTION = "?"
"""The same, after a question."""
NEGATIONS = frozenset({"not", "never", "no", "without", "nor", "neither"})
GAP = 3
WINDOW = 40
STOPS = frozenset({STOP, QUESTION})
_GAP_ENDS = NEGATIONS | STOPS


class Family(Protocol):
    """Phrases that mean the same to a judge."""

    @property
    def phrases(self) -> str: ...


T = TypeVar("T", bound=Family)
Canonical = Callable[[str], tuple[str, ...]]


class Hit(NamedTuple, Generic[T]):
    """A phrase found: it covers the tokens from `start` up to but not including `end`."""

    start: int
    end: int
    family: T


class _Node(Generic[T]):
    __slots__ = ("after_gap", "at_end", "edges", "families", "is_open")

    def __init__(self) -> None:
        self.edges: dict[str, list[_Node[T]]] = {}
        self.after_gap: _Node[T] | None = None
        self.families: list[T] = []
        self.at_end: list[T] = []
        self.is_open = False
        """Whether a phrase may end here, or go on with any word. Known when all phrases are entered."""


class Phrasebook(Generic[T]):
    """Phrases by family, ready to be looked for in lists of tokens."""

    def __init__(self, families: Iterable[T], lists: Mapping[str, str], canonical: Canonical) -> None:
        """Lay out the phrases of some families.

        Args:
            families: whose `phrases` to enter, one a line.
            lists: the entries of each list that phrases may name, separated by commas.
            canonical: turns a word of a phrase into the tokens that the speller makes of it.

        Raises:
            ValueError: A phrase names a list that there is not, or is nothing but words which the speller drops.
        """
        self._canonical = canonical
        self._keys: dict[str, tuple[str, ...]] = {}
        """The tokens that are entries of lists: each with the names of those."""
        self._long_entries: dict[str, list[tuple[str, ...]]] = {}
        for name, text in lists.items():
            self._enter_list(name, text)
        self._nodes: list[_Node[T]] = [_Node(), _Node()]
        self._anywhere, self._at_start = self._nodes
        self._targets: dict[tuple[int, str], _Node[T]] = {}
        for family in families:
            for line in family.phrases.splitlines():
                if parts := line.partition("#")[0].split():
                    self._add(family, parts)
        for node in self._nodes:
            node.is_open = bool(node.families or node.at_end or node.after_gap)
        self._starts = self._all_starts()

    def _enter_list(self, name: str, text: str) -> None:
        self._long_entries[name] = []
        for entry in text.split(","):
            tokens = tuple(token for word in entry.split() for token in self._canonical(word))
            if not tokens:
                raise ValueError(f"the speller drops {entry.strip()!r} in the list {name!r}; leave it out")
            if len(tokens) > 1:
                self._long_entries[name].append(tokens)
            elif name not in (keys := self._keys.get(tokens[0], (tokens[0],))):
                self._keys[tokens[0]] = (*keys, name)

    def _add(self, family: T, parts: Sequence[str]) -> None:
        ends = parts[-1] == END
        for node in self._enter(parts[:-1] if ends else parts):
            if node is self._anywhere or node is self._at_start:
                raise ValueError(f"the phrase {' '.join(parts)!r} has no word that counts; add one")
            families = node.at_end if ends else node.families
            if family not in families:
                families.append(family)

    @property
    def words(self) -> set[str]:
        """Every word that occurs in a phrase."""
        return {word for node in self._nodes for word in node.edges}.union(self._keys)

    def find(self, tokens: Sequence[str]) -> list[Hit[T]]:
        """Return the phrases in a list of tokens, by their beginning. Takes time linear in the number of tokens."""
        hits: list[Hit[T]] = []
        starts, at_start = self._starts, self._at_start.edges
        # What each token may be taken for: itself, or an entry of these lists. One more stop saves asking where the end is.
        keys = [self._keys.get(token) or (token,) for token in tokens]
        keys.append((STOP,))
        before = STOP
        for start, token in enumerate(tokens):
            if token in starts:
                after = keys[start + 1]
                for node in starts[token]:
                    if node.is_open or not node.edges.keys().isdisjoint(after):
                        _follow(node, keys, start, hits)
            if before in STOPS:
                for key in keys[start]:
                    for node in at_start.get(key, ()):
                        _follow(node, keys, start, hits)
            before = token
        return hits

    def _all_starts(self) -> dict[str, list[_Node[T]]]:
        """Return for each token with which phrases begin, as itself or as an entry of a list, the nodes behind it."""
        edges = self._anywhere.edges
        starts = {token: [node for key in keys for node in edges.get(key, ())] for token, keys in self._keys.items()}
        return {**edges, **{token: nodes for token, nodes in starts.items() if nodes}}

    def _enter(self, parts: Sequence[str]) -> list[_Node[T]]:
        """Lay the ways of a phrase into the graph and return the nodes where they end."""
        nodes = [self._at_start if parts[0] == START else self._anywhere]
        for part in parts[1:] if parts[0] == START else parts:
            bare = part.removeprefix("[").removesuffix("]")
            reached: list[_Node[T]] = [] if part == bare else list(nodes)
            for node in nodes:
                if bare == "..":
                    node.after_gap = node.after_gap or self._new()
                    reached.append(node.after_gap)
                else:
                    reached += self._lay(node, bare)
            nodes = list(dict.fromkeys(reached))
        return nodes

    def _lay(self, node: _Node[T], part: str) -> list[_Node[T]]:
        """Lay the ways over one part; return the nodes behind it, the node itself for a word that the speller drops."""
        target = self._target(node, part)
        reached = []
        for name in part.split("|"):
            if len(name) > 1 and name.isupper():
                if name not in self._long_entries:
                    raise ValueError(
                        f"no list {name!r} for a phrase; there are {', '.join(sorted(self._long_entries))}"
                    )
                entries = [(name,), *self._long_entries[name]]
            else:
                entries = [self._canonical(name)]
                if not entries[0] and "|" in part:
                    raise ValueError(f"the speller drops {name!r}, a choice in {part!r}; leave it out or use [...]")
            reached += [self._lay_words(node, words, target) for words in entries]
        return list(dict.fromkeys(reached))

    def _lay_words(self, node: _Node[T], words: Sequence[str], target: _Node[T]) -> _Node[T]:
        for n, word in enumerate(words):
            there = target if n == len(words) - 1 else self._target(node, word)
            edges = node.edges.setdefault(word, [])
            if there not in edges:
                edges.append(there)
            node = there
        return node

    def _target(self, node: _Node[T], part: str) -> _Node[T]:
        key = (id(node), part)
        if key not in self._targets:
            self._targets[key] = self._new()
        return self._targets[key]

    def _new(self) -> _Node[T]:
        node: _Node[T] = _Node()
        self._nodes.append(node)
        return node


def _follow(node: _Node[T], keys: Sequence[Sequence[str]], start: int, hits: list[Hit[T]]) -> None:
    """Follow every way from the node behind the first word of a phrase, and note the families where ways end."""
    ways = [(node, start + 1)]
    while ways:
        node, at = ways.pop()
        if node.families:
            hits.extend(Hit(start, at, family) for family in node.families)
        edges = node.edges
        for key in keys[at]:
            if key in edges:
                ways.extend((there, at + 1) for there in edges[key])
        if node.at_end and keys[at][0] in STOPS:
            hits.extend(Hit(start, at, family) for family in node.at_end)
        if node.after_gap is not None:
            edges = node.after_gap.edges
            for after in range(at, at + GAP + 1):
                for key in keys[after]:
                    if key in edges:
                        ways.extend((there, after + 1) for there in edges[key])
                if keys[after][0] in _GAP_ENDS:
                    break


def holds_between(places: Sequence[int], start: int, end: int) -> bool:
    """Tell whether one of some sorted places lies from `start` up to `end`."""
    n = bisect_left(places, start)
    return n < len(places) and places[n] < end


def sentence(tokens: Sequence[str], place: int) -> tuple[int, int]:
    """Return where the sentence around a place begins and ends, at most `WINDOW` tokens away.

    The window keeps the work linear in a text without full stops.
    """
    first = last = place
    while first > 0 and tokens[first - 1] not in STOPS and place - first < WINDOW:
        first -= 1
    while last < len(tokens) and tokens[last] not in STOPS and last - place < WINDOW:
        last += 1
    return first, last

"""Pure: which questions mean the same, and which pairs are nearest to a question; by stems, all names of a focus being one."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from rapidfuzz.fuzz import token_sort_ratio

from knowledge_base.bm25 import SectionIndex
from knowledge_base.library import Source
from knowledge_base.pairs.pair import Pair, Taxonomy
from knowledge_base.pairs.words import Words

SAME = 95.0
"""Ratio of stems, in percent, from which two questions mean the same."""
_MOST_OF_CLUSTER = 5
"""Pairs of a cluster that may stand before the next cluster."""
T = TypeVar("T")


def group_similar(items: Iterable[T], describe: Callable[[T], tuple[Hashable, Iterable[str]]]) -> list[list[T]]:
    """Group items of one kind and with nearly the same stems; `describe` returns both."""
    kinds: dict[Hashable, dict[str, list[T]]] = {}
    for item in items:
        kind, stems = describe(item)
        text, groups = " ".join(sorted(stems)), kinds.setdefault(kind, {})
        first = next((one for one in groups if token_sort_ratio(text, one) >= SAME), text)
        groups.setdefault(first, []).append(item)
    return [group for groups in kinds.values() for group in groups.values()]


def assign_clusters(pairs: Sequence[Pair], taxonomy: Taxonomy) -> list[Pair]:
    """Return the pairs, in their order, with the cluster of each: the id of its first pair."""
    words = Words(taxonomy.language)

    def describe(pair: Pair) -> tuple[Hashable, Iterable[str]]:
        asked, names = words.split_stems(pair.question, taxonomy.focus(pair.focus))
        return (pair.focus, pair.aspect, names, words.is_negated(pair.question), words.numbers(pair.question)), asked

    clusters = {pair.id: group[0].id for group in group_similar(pairs, describe) for pair in group}
    return [pair.model_copy(update={"cluster": clusters[pair.id]}) for pair in pairs]


class PairIndex:
    """Finds pairs by BM25 over their question, variants, aspect and answer. Build it once; queries leave no state."""

    def __init__(self, pairs: Sequence[Pair], taxonomy: Taxonomy) -> None:
        self._words, self._foci = Words(taxonomy.language), taxonomy.foci
        self._pairs = {pair.id: pair for pair in pairs}
        sources = [Source(pair.id, pair.aspect, pair.answer, self._wordings(pair)) for pair in pairs]
        self._index = SectionIndex({source.id: source for source in sources}, taxonomy.language)

    def rank(self, question: str, limit: int) -> list[Pair]:
        """Return the nearest pair of each cluster, the nearest cluster first."""
        nearest: dict[str, Pair] = {}
        for choice in self._index.search(self._expand(question), limit * _MOST_OF_CLUSTER):
            nearest.setdefault(self._pairs[choice.id].cluster, self._pairs[choice.id])
        return [*nearest.values()][:limit]

    def _wordings(self, pair: Pair) -> str:
        return " ".join(map(self._expand, (pair.question, *pair.variants)))

    def _expand(self, text: str) -> str:
        return self._words.add_focus_names(text, self._foci)

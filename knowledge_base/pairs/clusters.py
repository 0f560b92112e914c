"""Groups pairs with the same meaning into clusters, and searches pairs with BM25. All names of a focus are equivalent. Pure."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from rapidfuzz import fuzz, process

from knowledge_base.bm25 import SectionIndex
from knowledge_base.library import Source
from knowledge_base.pairs.pair import Pair, Taxonomy, fold_wording
from knowledge_base.pairs.words import Words

SAME = 95.0
"""Minimum similarity, 0 to 100, of the stems of two questions that count as equal in meaning."""
_MOST_OF_CLUSTER = 5
"""Number of pairs to search per requested cluster, because several results may belong to one cluster."""
T = TypeVar("T")


def group_similar(items: Iterable[T], describe: Callable[[T], tuple[Hashable, Iterable[str]]]) -> list[list[T]]:
    """Group items of the same kind whose stems are nearly equal.

    Args:
        describe: Returns the kind and the stems of an item.
    """
    kinds: dict[Hashable, dict[str, list[T]]] = {}
    for item in items:
        kind, stems = describe(item)
        text, groups = " ".join(sorted(stems)), kinds.setdefault(kind, {})
        alike = (
            None if text in groups else process.extractOne(text, groups.keys(), scorer=fuzz.ratio, score_cutoff=SAME)
        )
        groups.setdefault(alike[0] if alike else text, []).append(item)
    return [group for groups in kinds.values() for group in groups.values()]


def assign_clusters(pairs: Sequence[Pair], taxonomy: Taxonomy) -> list[Pair]:
    """Return the pairs in the same order, with pairs of the same meaning in the same cluster.

    A reviewed pair keeps its cluster, and pairs of the same meaning get that cluster. Other clusters are named after their first
    pair.
    """
    words = Words(taxonomy.language)

    def describe(pair: Pair) -> tuple[Hashable, Iterable[str]]:
        asked, names = words.split_stems(pair.question, taxonomy.focus(pair.focus))
        return (pair.focus, pair.aspect, names, words.is_negated(pair.question), words.numbers(pair.question)), asked

    clusters: dict[str, str] = {}
    for group in group_similar(pairs, describe):
        name = next((pair.cluster for pair in group if pair.review), group[0].id)
        clusters |= {pair.id: pair.cluster if pair.review else name for pair in group}
    return [pair.model_copy(update={"cluster": clusters[pair.id]}) for pair in pairs]


def separate_wordings(pairs: Sequence[Pair]) -> list[Pair]:
    """Assign every wording to one cluster, and remove it from pairs of other clusters. A pair that loses its question is dropped.

    A wording belongs to the cluster of a reviewed pair, else of the first pair with this question, else of the first pair with this
    variant. Reviewed pairs are never changed.
    """
    owners: dict[str, str] = {}
    reviewed = [(text, pair.cluster) for pair in pairs if pair.review and pair.served for text in pair.wordings]
    for text, cluster in [*reviewed, *((pair.question, pair.cluster) for pair in pairs if not pair.review)]:
        owners.setdefault(fold_wording(text), cluster)
    kept = []
    for pair in pairs:
        own = [text for text in pair.wordings if owners.setdefault(fold_wording(text), pair.cluster) == pair.cluster]
        if pair.review:
            kept.append(pair)
        elif own[:1] == [pair.question]:
            kept.append(pair.model_copy(update={"variants": tuple(own[1:])}))
    return kept


class PairIndex:
    """Searches pairs with BM25 over question, variants, aspect and answer."""

    def __init__(self, pairs: Sequence[Pair], taxonomy: Taxonomy, like: "PairIndex | None" = None) -> None:
        """Args: like: An index with the same taxonomy. Its cache of expanded wordings is reused."""
        self._expand: Callable[[str], str] = like._expand if like else _expander(taxonomy)
        self._pairs = {pair.id: pair for pair in pairs}
        texts = (" ".join(map(self._expand, pair.wordings)) for pair in pairs)
        sources = [Source(pair.id, pair.aspect, pair.answer, text) for pair, text in zip(pairs, texts, strict=True)]
        self._index = SectionIndex({source.id: source for source in sources}, taxonomy.language)

    def rank(self, question: str, limit: int) -> list[Pair]:
        """Return the best pair of each of the `limit` best clusters, best first."""
        nearest: dict[str, Pair] = {}
        for choice in self._index.search(self._expand(question), limit * _MOST_OF_CLUSTER):
            nearest.setdefault(self._pairs[choice.id].cluster, self._pairs[choice.id])
        return [*nearest.values()][:limit]


def _expander(taxonomy: Taxonomy) -> Callable[[str], str]:
    """Return a function that appends to a text the main name of each focus that the text mentions under any of its names."""
    words, foci = Words(taxonomy.language), taxonomy.foci
    names = lru_cache(2**18)(lambda text: " ".join(focus.name for focus in words.foci_in(text, foci)))
    return lambda text: f"{text} {names(text)}".strip()

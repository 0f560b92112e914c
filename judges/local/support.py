"""How far the cited sources carry a sentence: what its words have in common with theirs, weighed by trees that were learned.

No single likeness tells a paraphrase from an invention, so some forty are weighed together (`FEATURES`): which words the sources
have; whether they stand together there, and in the same order; numbers, names, negations and certainty that differ; what kind
of clause it is, and whether it is phrased like what replies invent or like what they may say (evidence.py).
`judges/training/support.py` makes the weights. (How near in meaning a missing word comes to one that is there told next to
nothing more, by word vectors.)
"""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import LCSseq

from judges.kept import EMPTY, Answers
from judges.local import conflicts, evidence, lexicon, trees
from judges.local.conflicts import SourceSentence
from judges.local.index import ADJACENT, NEAR, Index, Support, Word, bare, index, threes_of, words_of
from judges.local.leave import permits
from judges.local.lexicon import listed
from judges.local.reading import Reading
from judges.local.reply import Part
from judges.local.table import hashes
from judges.local.trees import Matrix
from knowledge_base.library import Source

STATED, IMPLIED = 0.75, 0.5
"""Degrees of support from which a sentence counts as stated or implied by a source."""

_FORBIDDEN = 0.8
"""How surely a sentence is unsupported at least when it permits what the source forbids."""
_MOST = 0.7
"""Share of a sentence's weight that one shared word must have to be more than chance."""
_CHANCE = 0.45
"""Degree of support at most of a sentence that shares but one word with its source: that may be chance."""
_PERSONAL = listed("i my me i'm i've i'd we our")
_ADVISING = listed("should must need try avoid make take use start stop ask")
_CAUSAL = listed("because since so means")
_STRONG = listed("best most least worst only always never usually often")
_ACTS = ("asserts", "admits", "verifies", "dissuades", "asks", "refuses", "offers", "greets", "doubts")

FEATURES = (
    "words", "covered", "covered_near", "missing", "missing_share", "missing_numbers", "missing_drugs", "missing_names",
    "new_absolutes", "new_superlatives", "personal", "addressed", "advising", "conditional", "causal", "echo", "together",
    "adjacent", "in_threes", "in_order", "out_of_order", "negation_differs", "negated", "conflict", "conflict_name",
    "conflict_polarity", "conflict_number", "conflict_certainty", "hedge_lost", "question", "exclaimed", *_ACTS, "phrasing",
)  # fmt: skip
"""What is told of a sentence, in this order."""


def weigh(parts: Sequence[Part], cited: tuple[Source, ...], beside: Sequence[Part] = ()) -> list[Support]:
    """Return how far the cited sources carry each sentence of a reply; of those that were asked about lately it is known.

    Args:
        parts: The sentences.
        cited: The sources.
        beside: The other sentences of the reply, of which nobody asks how far they are carried.
    """
    sources = [index(source) for source in cited]
    quoted = [_quoted(part.reading, sources) for part in parts]
    left = [part for part, found in zip(parts, quoted, strict=True) if found is None]
    weighed = iter(_remembered(left, [*parts, *beside], sources) if left else ())
    return [next(weighed) if found is None else found for found in quoted]


MOST_WEIGHED = 2048
_SUPPORTS = Answers[Part, Support](MOST_WEIGHED)
"""How far sources carry sentences: a reply is judged again at each sentence that it grows by, and once it is refined."""


def _remembered(parts: Sequence[Part], reply: Sequence[Part], sources: Sequence[Index]) -> list[Support]:
    """Return how far sources carry sentences that do not stand in them; it is computed for those that nobody asked about lately."""
    told = EMPTY.union(*[part.reading.content for part in reply])
    # It depends on the sentence, the sources, and which concepts of their conditions the reply names.
    against = hash((*[source.hash for source in sources], told & EMPTY.union(*[source.needed for source in sources])))
    asked = [hash((part.sentence.text, part.named, against)) for part in parts]
    return _SUPPORTS.of(asked, parts, partial(_computed, sources=sources, told=told))


def _computed(parts: Sequence[Part], sources: Sequence[Index], told: frozenset[str]) -> list[Support]:
    rows, closest = describe(parts, sources, told)
    unsupported = trees.load("support").probabilities(rows).tolist()
    return list(map(_supported, [part.reading for part in parts], unsupported, closest))


def _quoted(reading: Reading, sources: Sequence[Index]) -> Support | None:
    """Return the support of a sentence that stands in a source word for word."""
    text = bare(reading)
    for source in sources:
        if found := source.verbatim.get(text):
            return found
    return None


def _supported(reading: Reading, unsupported: float, closest: "Place | None") -> Support:
    if closest is None:
        return Support(min(1 - unsupported, _CHANCE))
    source, place = closest
    if permits(reading, source.sentences[place].reading):
        unsupported = max(unsupported, _FORBIDDEN)
    shared = reading.content.keys() & source.sentences[place].reading.content.keys()
    if len(shared) < 2 and sum([reading.content[concept] for concept in shared]) < _MOST * reading.mass:
        unsupported = max(unsupported, 1 - _CHANCE)
    return Support(1 - unsupported, source.id, source.quotes[place])


Place = tuple[Index, int]
"""A sentence of a source."""


def describe(
    parts: Sequence[Part], sources: Sequence[Index], told: frozenset[str]
) -> tuple[Matrix, list[Place | None]]:
    """Tell what the trees go by.

    Args:
        parts: Sentences of a reply.
        sources: What they are read against.
        told: The concepts that the reply names anywhere.

    Returns:
        A row of `FEATURES` for each sentence, and the sentence of the sources that comes closest to it.
    """
    words = [words_of(part.reading) for part in parts]
    known = EMPTY.union(*[filter(source.postings.__contains__, told) for source in sources])
    against = _Against([source.words for source in sources], told, known)
    best = [_closest(mine, sources) for mine in words]
    phrasing = evidence.load("phrasing").margins([tokens(part.reading) for part in parts])
    relations = _relations(words, best, sources)
    rows = [
        [*_row(part, mine, closest, relation, against), sound]
        for part, mine, closest, relation, sound in zip(parts, words, best, relations, phrasing, strict=True)
    ]
    return np.array(rows, dtype=np.float32), best


class _Against(NamedTuple):
    """What the sentences of a reply are read against."""

    theirs: Sequence[frozenset[str]]
    """The words of each source."""
    told: frozenset[str]
    """The concepts that the reply names anywhere."""
    known: frozenset[str]
    """Those of them that a source has."""


Relation = tuple[float, float, float, float]


def _row(part: Part, words: list[Word], closest: Place | None, relation: Relation, against: _Against) -> list[float]:
    reading = part.reading
    vocabulary = reading.vocabulary
    theirs, told, known = against
    window: dict[str, float] = {}
    clashes: tuple[float, ...] = _NO_CLASH
    if closest is not None:
        around = closest[0].around(closest[1])
        for one in around:
            window |= one.reading.content
        clashes = _clashes(reading, closest, around, told)
    total = covered = near = 0.0
    missing = numbers = drugs = echo = 0
    for concept, worth, number, drug in words:
        total += worth
        if concept in part.named:
            echo += 1
        if concept not in known:
            missing += 1
            numbers += number
            drugs += drug
        else:
            covered += worth
            if concept in window:
                near += worth
    total = total or 1.0
    count = len(words) or 1
    acts = _NO_ACTS.copy()
    length = sum([len(clause.tokens) for clause in part.clauses]) or 1
    for clause in part.clauses:
        acts[clause.act] += len(clause.tokens) / length
    ending = part.sentence.text[-1:]
    return [
        min(count, 30) / 10,
        covered / total,
        near / total,
        missing / 5,
        missing / count,
        numbers,
        drugs,
        len([name for name in reading.names if not any(name in words for words in theirs)]),
        len((vocabulary & lexicon.ABSOLUTES).difference(*theirs)),
        len(_superlatives(reading.lowered, vocabulary).difference(*theirs)),
        len(vocabulary & _PERSONAL),
        "you" in vocabulary or "your" in vocabulary,
        not vocabulary.isdisjoint(_ADVISING),
        "if" in vocabulary,
        not vocabulary.isdisjoint(_CAUSAL),
        echo / count,
        *relation,
        near / total - relation[-1],
        *clashes,
        ending == "?",
        ending == "!",
        *acts.values(),
    ]  # fmt: skip


def tokens(reading: Reading) -> list[str]:
    """Return a sentence as the weights of its phrasing know it: its words, and how it ends."""
    ending = reading.lowered.rstrip()[-1:]
    return [*reading.words, ending if ending in ("?", "!") else "."]


_NO_CLASH = (0.0,) * 8
_NO_ACTS = dict.fromkeys(_ACTS, 0.0)


def _superlatives(lowered: str, vocabulary: frozenset[str]) -> frozenset[str]:
    """Return words like "best" and "calmest"."""
    found = vocabulary & _STRONG
    if "est" in lowered:
        found |= {word for word in vocabulary if len(word) > 5 and word.endswith("est")}
    return found


def _closest(words: list[Word], sources: Sequence[Index]) -> Place | None:
    """Return the sentence of the sources that shares the most with these words; of several the one with the earliest of them."""
    most, best = 0.0, None
    for source in sources:
        scores = [0.0] * len(source.sentences)
        found = [(worth, source.postings.get(concept, ())) for concept, worth, _, _ in words]
        for worth, places in found:
            for place in places:
                scores[place] += worth
        if (highest := max(scores, default=0.0)) > most:
            touched = chain.from_iterable([places for _, places in found])
            most, best = highest, (source, next(filter(lambda place: scores[place] == highest, touched)))
    return best


def _relations(words: Sequence[list[Word]], best: Sequence[Place | None], sources: Sequence[Index]) -> list[Relation]:
    """Tell of each sentence how far its words stand together in the sources, and in which order in the one that comes closest.

    Returns:
        Shares of two words that are near each other there, of two that follow each other, of three that do, and of all that
        come in the same order.
    """
    orders = [[word.concept for word in mine] for mine in words]
    pairs = [set(pairwise(order)) for order in orders]
    threes = [set(threes_of(order)) for order in orders]
    asked = hashes([*chain(*pairs, *threes)])
    found = np.zeros(len(asked), np.uint8)
    for source in sources:
        found |= source.together.each(asked)
    marks = found.tobytes()
    edges = accumulate(chain(map(len, pairs), map(len, threes)), initial=0)
    cut = [marks[start:end] for start, end in pairwise(edges)]
    return [
        (
            (len(two) - two.count(0)) / (len(two) or 1),
            two.count(ADJACENT) / (len(two) or 1),
            three.count(NEAR) / (len(three) or 1),
            _in_order(order, closest),
        )
        for two, three, order, closest in zip(cut, cut[len(orders) :], orders, best, strict=False)
    ]


def _in_order(order: list[str], closest: Place | None) -> float:
    if closest is None:
        return 0.0
    source, place = closest
    return LCSseq.similarity(order, source.sentences[place].order) / (len(order) or 1)


def _clashes(
    reading: Reading, closest: Place, around: Sequence[SourceSentence], told: frozenset[str]
) -> tuple[float, ...]:
    """Tell what differs from the closest sentence: negation, and what conflicts.py finds."""
    home, place = closest
    sentence = home.sentences[place]
    negated = reading.negations > 0
    degree, what = conflicts.find(reading, around, home.numbers, home.words, home.postings, told)
    return (
        negated != (sentence.reading.negations > 0),
        negated,
        degree,
        degree if "not in source" in what else 0.0,
        degree if "affirms" in what else 0.0,
        degree if "number" in what or "counts" in what else 0.0,
        degree if "certain" in what or "'never'" in what else 0.0,
        sentence.hedged and lexicon.HEDGES.isdisjoint(reading.words),
    )

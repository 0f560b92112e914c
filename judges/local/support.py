"""How far the cited sources carry a sentence: which of its words they have, and what it turns round that they say.

Nothing here knows a subject. The words of a sentence are looked for in the sources, best in one sentence of theirs or two
neighbouring ones, each by its weight (words.py). A dozen features tell how they are found, and weights that
`judges/training/claims.py` learned make a probability of them.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from math import exp, inf
from typing import NamedTuple

import orjson
from rapidfuzz.distance import LCSseq

from judges import phrases
from judges.local.words import ABSOLUTES, HEDGES, Word, Words, read, stem
from judges.sentences import normalise, sentences
from knowledge_base.library import Source


@cache
def weights() -> tuple[float, dict[str, float]]:
    """Load what was learned: the bias, and the weight of each feature. Doubt of a half is the threshold that was chosen."""
    data = orjson.loads(files("judges.local").joinpath("weights/claims.json").read_bytes())
    return data["bias"], data["weights"]


class Passage(NamedTuple):
    """One sentence of a source, or two that follow each other."""

    source_id: str
    quote: str
    words: Words


NOWHERE = Passage("", "", read(""))


class Index:
    """A source, prepared for looking sentences up."""

    def __init__(self, source: Source) -> None:
        text = normalise(source.text)
        cut = list(sentences(text))
        readings = [read(one.text.lower()) for one in cut]
        self.passages = [Passage(source.id, one.text, words) for one, words in zip(cut, readings, strict=True)]
        self.content = frozenset(chain.from_iterable(words.content for words in readings))
        self.numbers = frozenset(chain.from_iterable(words.numbers for words in readings))
        title = read(normalise(source.title).lower())
        self.stems = frozenset(word.stem for words in (*readings, title) for word in words.words)
        self.sentences_with: defaultdict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(readings):
            for key in words.content:
                self.sentences_with[key].append(number)
        self.tolls = [WORD_TOLL * len(words.words) for words in readings] + [inf]
        """What the length of each sentence costs it; the last one has no neighbour after it."""
        self._pairs: dict[int, Passage] = {}
        self._source_id, self._text, self._cut = source.id, text, cut

    def pair(self, number: int) -> Passage:
        """Return a sentence and the one that follows it as one passage."""
        if number not in self._pairs:
            first, second = self._cut[number], self._cut[number + 1]
            quote = self._text[first.start : second.start + len(second.text)]
            self._pairs[number] = Passage(self._source_id, quote, read(quote.lower()))
        return self._pairs[number]


@lru_cache(maxsize=256)
def index(source: Source) -> Index:
    return Index(source)


class Support(NamedTuple):
    """How far the sources carry a sentence."""

    doubt: float
    """How surely they do not, 0 to 1."""
    cover: float
    """Share of its content that the passage has."""
    passage: Passage
    """What carries it best."""


PAIR_TOLL = 0.08
"""Share of a sentence's content that a passage of two sentences must have beyond what one has."""
WORD_TOLL = 0.004
"""What each word of a passage costs it."""


def best_passage(words: Words, cited: Sequence[Index]) -> Passage:
    """Return the sentence of the sources, or the two neighbours, that has most of the content of a sentence.

    Of passages that have as much the shortest is best; `NOWHERE` if none has any.
    """
    best, place = 0.0, None
    toll = PAIR_TOLL * sum(words.content.values())
    for one in cited:
        shared: dict[int, float] = {}
        paired: dict[int, float] = {}
        for key, weight in words.content.items():
            found = one.sentences_with.get(key, ())
            for number in found:
                shared[number] = shared.get(number, 0.0) + weight
                paired[number] = paired.get(number, 0.0) + weight
                if number and number - 1 not in found:
                    paired[number - 1] = paired.get(number - 1, 0.0) + weight
        for number, weight in paired.items():
            single = shared.get(number, 0.0) - one.tolls[number]
            if place is None or single > best:
                best, place = single, (one, number, False)
            double = weight - toll - one.tolls[number] - one.tolls[number + 1]
            if double > best:
                best, place = double, (one, number, True)
    if place is None:
        return NOWHERE
    one, number, is_pair = place
    return one.pair(number) if is_pair else one.passages[number]


def describe(
    text: str, words: Words, cited: Sequence[Index], passage: Passage, named: frozenset[str]
) -> dict[str, float]:
    """Return the features of a sentence beside the passage that carries it best.

    Args:
        text: The sentence, normalised.
        words: The same, read.
        cited: All cited sources.
        passage: Of one of them.
        named: Stems that the user has named.
    """
    mass = sum(words.content.values()) or 1.0
    theirs = passage.words
    match = _aligned(words, theirs)
    lacking = sum(weight for key, weight in words.content.items() if not any(key in one.content for one in cited))
    beside = sum(weight for key, weight in words.content.items() if key not in theirs.content)
    shared = words.content.keys() & theirs.content.keys()
    turned = sum(words.content[key] for key in shared if (key in words.denied) != (key in theirs.denied))
    names = {stem(name.lower()) for name in _NAME.findall(text)} - named
    lowered = text.lower()
    near = min(1.0, max(0.0, (match.copied - NEAR[0]) / (NEAR[1] - NEAR[0])))
    return {
        "lacking": min(lacking, 4.0),
        "beside": beside / mass,
        "new numbers": float(any(not any(number in one.numbers for one in cited) for number in words.numbers - named)),
        "new names": min(sum(1 for name in names if not any(name in one.stems for one in cited)), 2),
        "advises": float(phrases.advises(lowered)),
        "suggests in a question": float(phrases.suggests(lowered)),
        "near: numbers beside": near * min(len(words.numbers - theirs.numbers), 2),
        "near: turned": near * min(turned, 1.0),
        "near: parity": near * match.odd,
        "near: opposite": near * _opposes(words, theirs),
        "near: substituted": near * min(match.substituted, 2),
        "near: absolute": near * bool((words.texts & ABSOLUTES) - theirs.texts),
    }


NEAR = (0.5, 0.8)
"""Share of its words, in order, from which on a sentence copies a source in part, and altogether: then small words tell."""


_NAME = re.compile(r"[A-Z](?<=[a-z0-9,;:'\")] .)[a-zA-Z]+")


def _opposes(words: Words, theirs: Words) -> bool:
    mine = words.texts - theirs.texts
    return any(not OPPOSITES.get(text, frozenset()).isdisjoint(theirs.texts - words.texts) for text in mine)


class _Match(NamedTuple):
    """How the words of a sentence run along those of a source."""

    copied: float
    """Share of its words that the source has in the same order."""
    substituted: int
    """How often one or two words stand where the source has others, between words that both have."""
    odd: bool
    """Whether one of the two denies and the other does not, as far as they run along."""


def _aligned(words: Words, theirs: Words) -> _Match:
    mine = [word for word in words.words if word.text not in _IDLE]
    others = [word for word in theirs.words if word.text not in _IDLE]
    if mine and mine[0].text == "no" and words.words[1:2] and words.words[1].text == ",":
        mine = mine[1:]  # "No, ...": answers the user
    copied = substituted = 0
    lost: list[Word] = []
    gained: list[Word] = []
    start, end = len(others), 0
    for op in LCSseq.opcodes([word.stem for word in mine], [word.stem for word in others]):
        if op.tag == "delete":
            lost += mine[op.src_start : op.src_end]
        elif op.tag == "insert":
            gained += others[op.dest_start : op.dest_end]
        else:
            copied += op.src_end - op.src_start
            substituted += _replaces(lost, gained)
            lost, gained = [], []
            start, end = min(start, op.dest_start), op.dest_end
    substituted += _replaces(lost, gained)
    along = others[max(0, start - 2) : end]
    odd = (sum(word.negates for word in mine) - sum(word.negates for word in along)) % 2 == 1
    return _Match(copied / (len(mine) or 1), substituted, odd)


def _replaces(lost: Sequence[Word], gained: Sequence[Word]) -> bool:
    return (
        1 <= len(lost) <= 2
        and 1 <= len(gained) <= 2
        and all(any(word.weight or word.text in _TELLING for word in side) for side in (lost, gained))
    )


_IDLE = frozenset("a an the that , ; : ( )".split())
_TELLING = (
    ABSOLUTES
    | HEDGES
    | frozenset("before after above below under more less fewer most least within without during until".split())
)


def _opposites(pairs: str) -> dict[str, frozenset[str]]:
    table: defaultdict[str, set[str]] = defaultdict(set)
    for pair in pairs.split():
        one, other = pair.split("/")
        table[one].add(other)
        table[other].add(one)
    return {word: frozenset(others) for word, others in table.items()}


OPPOSITES = _opposites(
    """
    increase/decrease increases/decreases increased/decreased increase/reduce increases/reduces rise/fall rises/falls
    more/less more/fewer higher/lower high/low before/after start/stop starts/stops starting/stopping early/late earlier/later
    sooner/later rare/common rarely/often never/always allowed/forbidden open/closed opens/closes safe/dangerous safe/unsafe
    better/worse best/worst many/few large/small big/small long/short longer/shorter easy/difficult easy/hard quick/slow
    quickly/slowly fast/slow faster/slower strong/weak stronger/weaker raise/lower above/below inside/outside indoors/outdoors
    minimum/maximum least/most first/last older/younger old/young old/new men/women man/woman boys/girls day/night
    morning/evening improve/worsen improves/worsens gain/lose gains/loses accept/refuse accepted/refused voluntary/compulsory
    temporary/permanent sudden/gradual suddenly/gradually harmless/harmful harmless/dangerous effective/ineffective
    public/private full/empty with/without buy/sell borrow/lend written/verbal written/oral mild/severe possible/impossible
    necessary/unnecessary legal/illegal likely/unlikely usual/unusual include/exclude includes/excludes included/excluded
    pass/fail success/failure healthy/ill helps/harms help/harm reduces/raises reduce/raise lowers/raises cause/prevent
    causes/prevents near/far left/right up/down in/out on/off hot/cold warm/cold wet/dry light/dark light/heavy true/false
    free/paid fixed/variable single/double alone/together all/none everyone/nobody immediately/later now/later keep/discard
    remember/forget allow/forbid allows/forbids permit/prohibit agree/disagree agreed/disagreed approve/reject win/lose
    love/hate hours/days days/weeks weeks/months months/years minutes/hours daily/weekly weekly/monthly monthly/yearly
    north/south east/west upstairs/downstairs domestic/international arrival/departure arrive/depart entry/exit import/export
    parent/child adults/children adult/child"""
)


def weigh(text: str, words: Words, cited: Sequence[Index], named: frozenset[str]) -> Support:
    """Return how far the cited sources carry a sentence; the arguments are those of `describe`."""
    passage = best_passage(words, cited)
    features = describe(text, words, cited, passage, named)
    bias, learned = weights()
    odds = bias + sum([learned[name] * value for name, value in features.items()])
    return Support(1 / (1 + exp(-odds)), 1 - features["beside"], passage)

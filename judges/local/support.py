"""How far the cited sources support a sentence: which of its words they have, and what it reverses.

Nothing here knows a subject. The words of a sentence are looked for in the sources, best in one sentence of theirs or two
neighbouring ones, each by its weight (words.py). Ten features tell how they are found, and weights that
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
from judges.local.words import ABSOLUTES, HEDGES, Word, Words, read_words, stem
from judges.sentences import normalise, sentences
from knowledge_base.library import Source


@cache
def load_weights() -> tuple[float, dict[str, float]]:
    """Load the bias and the weight of each feature. They are shifted so that a doubt of 0.5 is the chosen threshold."""
    data = orjson.loads(files("judges.local").joinpath("weights/claims.json").read_bytes())
    return data["bias"], data["weights"]


class Passage(NamedTuple):
    """One sentence of a source, or two that follow each other."""

    source_id: str
    quote: str
    words: Words


NO_PASSAGE = Passage("", "", read_words(""))


class Index:
    """A source, prepared for looking sentences up."""

    def __init__(self, source: Source) -> None:
        text = normalise(source.text)
        parts = list(sentences(text))
        readings = [read_words(one.text.lower()) for one in parts]
        self.passages = [Passage(source.id, one.text, words) for one, words in zip(parts, readings, strict=True)]
        self.content = frozenset(chain.from_iterable(words.content for words in readings))
        self.numbers = frozenset(chain.from_iterable(words.numbers for words in readings))
        title = read_words(normalise(source.title).lower())
        self.stems = frozenset(word.stem for words in (*readings, title) for word in words.words)
        self.sentences_with: defaultdict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(readings):
            for key in words.content:
                self.sentences_with[key].append(number)
        self.length_penalties = [WORD_PENALTY * len(words.words) for words in readings] + [inf]
        """Penalty for the length of each sentence; infinite at the end, since the last one has no neighbour after it."""
        self._pairs: dict[int, Passage] = {}
        self._source_id, self._text, self._sentences = source.id, text, parts

    def pair(self, number: int) -> Passage:
        """Return a sentence and the one that follows it as one passage."""
        if number not in self._pairs:
            first, second = self._sentences[number], self._sentences[number + 1]
            quote = self._text[first.start : second.start + len(second.text)]
            self._pairs[number] = Passage(self._source_id, quote, read_words(quote.lower()))
        return self._pairs[number]


@lru_cache(maxsize=256)
def index_source(source: Source) -> Index:
    return Index(source)


class Support(NamedTuple):
    """How far the sources carry a sentence."""

    doubt: float
    """How surely they do not, 0 to 1."""
    cover: float
    """Share of its content that the passage has."""
    passage: Passage
    """What carries it best."""


PAIR_PENALTY = 0.08
"""Share of a sentence's content that a passage of two sentences must have beyond what one has."""
WORD_PENALTY = 0.004
"""Penalty for each word of a passage."""


def best_passage(words: Words, cited: Sequence[Index]) -> Passage:
    """Return the sentence of the sources, or the two neighbours, that has most of the content of a sentence.

    Of passages that have as much the shortest is best; `NOWHERE` if none has any.
    """
    best, best_place = 0.0, None
    pair_penalty = PAIR_PENALTY * sum(words.content.values())
    for source in cited:
        shared: dict[int, float] = {}
        paired: dict[int, float] = {}
        for key, weight in words.content.items():
            numbers = source.sentences_with.get(key, ())
            for number in numbers:
                shared[number] = shared.get(number, 0.0) + weight
                paired[number] = paired.get(number, 0.0) + weight
                if number and number - 1 not in numbers:
                    paired[number - 1] = paired.get(number - 1, 0.0) + weight
        for number, weight in paired.items():
            single = shared.get(number, 0.0) - source.length_penalties[number]
            if best_place is None or single > best:
                best, best_place = single, (source, number, False)
            double = weight - pair_penalty - source.length_penalties[number] - source.length_penalties[number + 1]
            if double > best:
                best, best_place = double, (source, number, True)
    if best_place is None:
        return NO_PASSAGE
    source, number, is_pair = best_place
    return source.pair(number) if is_pair else source.passages[number]


def support_features(
    text: str, words: Words, cited: Sequence[Index], passage: Passage, question_stems: frozenset[str]
) -> dict[str, float]:
    """Return the features of a sentence beside the passage that carries it best.

    Args:
        text: The sentence, normalised.
        words: The same, read.
        cited: All cited sources.
        passage: Of one of them.
        question_stems: Stems of the user's words.
    """
    mass = sum(words.content.values()) or 1.0
    source_words = passage.words
    match = _align(words, source_words)
    lacking = sum(weight for key, weight in words.content.items() if not any(key in one.content for one in cited))
    beside = sum(weight for key, weight in words.content.items() if key not in source_words.content)
    names = {stem(name.lower()) for name in _NAME.findall(text)} - question_stems
    lowered = text.lower()
    near = min(1.0, max(0.0, (match.copied - COPY_RANGE[0]) / (COPY_RANGE[1] - COPY_RANGE[0])))
    return {
        "lacking": min(lacking, 4.0),
        "beside": beside / mass,
        "new numbers": float(
            any(not any(number in one.numbers for one in cited) for number in words.numbers - question_stems)
        ),
        "new names": min(sum(1 for name in names if not any(name in one.stems for one in cited)), 2),
        "advises": float(phrases.advises(lowered)),
        "suggests in a question": float(phrases.suggests(lowered)),
        "near: parity": near * match.odd,
        "near: opposite": near * _opposes(words, source_words),
        "near: substituted": near * min(match.substituted, 2),
        "near: absolute": near * bool((words.texts & ABSOLUTES) - source_words.texts),
    }


COPY_RANGE = (0.5, 0.8)
"""Share of its words, in order, from which on a sentence copies a source in part, and altogether: then small words tell."""


_NAME = re.compile(r"[A-Z](?<=[a-z0-9,;:'\")] .)[a-zA-Z]+")


def _opposes(words: Words, source_words: Words) -> bool:
    own_texts = words.texts - source_words.texts
    return any(not OPPOSITES.get(text, frozenset()).isdisjoint(source_words.texts - words.texts) for text in own_texts)


class _Match(NamedTuple):
    """How the words of a sentence run along those of a source."""

    copied: float
    """Share of its words that the source has in the same order."""
    substituted: int
    """How often one or two words stand where the source has others, between words that both have."""
    odd: bool
    """Whether one of the two denies and the other does not, as far as they run along."""


def _align(words: Words, source_words: Words) -> _Match:
    reply_tokens = [word for word in words.words if word.text not in _IGNORED_IN_ALIGNMENT]
    source_tokens = [word for word in source_words.words if word.text not in _IGNORED_IN_ALIGNMENT]
    if reply_tokens and reply_tokens[0].text == "no" and words.words[1:2] and words.words[1].text == ",":
        reply_tokens = reply_tokens[1:]  # "No, ...": answers the user
    copied = substituted = 0
    lost: list[Word] = []
    gained: list[Word] = []
    start, end = len(source_tokens), 0
    for op in LCSseq.opcodes([word.stem for word in reply_tokens], [word.stem for word in source_tokens]):
        if op.tag == "delete":
            lost += reply_tokens[op.src_start : op.src_end]
        elif op.tag == "insert":
            gained += source_tokens[op.dest_start : op.dest_end]
        else:
            copied += op.src_end - op.src_start
            substituted += _replaces(lost, gained)
            lost, gained = [], []
            start, end = min(start, op.dest_start), op.dest_end
    substituted += _replaces(lost, gained)
    along = source_tokens[max(0, start - 2) : end]
    odd = (sum(word.negates for word in reply_tokens) - sum(word.negates for word in along)) % 2 == 1
    return _Match(copied / (len(reply_tokens) or 1), substituted, odd)


def _replaces(lost: Sequence[Word], gained: Sequence[Word]) -> bool:
    return (
        1 <= len(lost) <= 2
        and 1 <= len(gained) <= 2
        and all(any(word.weight or word.text in _MEANINGFUL for word in side) for side in (lost, gained))
    )


_IGNORED_IN_ALIGNMENT = frozenset("a an the that , ; : ( )".split())
_MEANINGFUL = (
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


def measure_support(text: str, words: Words, cited: Sequence[Index], question_stems: frozenset[str]) -> Support:
    """Return how far the cited sources support a sentence; the arguments are those of `support_features`."""
    passage = best_passage(words, cited)
    features = support_features(text, words, cited, passage, question_stems)
    bias, weights = load_weights()
    odds = bias + sum([weights[name] * value for name, value in features.items()])
    return Support(1 / (1 + exp(-odds)), 1 - features["beside"], passage)

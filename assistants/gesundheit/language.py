"""Reads the language file (german.yaml): the assistant's texts, the known wordings of messages, and pairs of opposites."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from models.unique_keys import load_yaml

Intent = Literal["yes", "no", "not_mine", "source", "help", "bye", "recommend", "repeat"]
Sides = frozenset[tuple[int, int]]
MOST_WORDS = 5
"""Maximum number of words in a message whose first word alone may make the message a yes or a no."""
_PUNCTUATION = re.compile(r"[^\w\s]+")


@dataclass(frozen=True)
class Language:
    """The content of a language file: the assistant's texts, and compiled patterns that recognise messages."""

    texts: Mapping[str, str]
    intents: Mapping[Intent, re.Pattern[str]]
    begins: Mapping[Intent, re.Pattern[str]]
    """By intent, matches the first word of a short message without a question mark."""
    negations: re.Pattern[str]
    """Matches words that turn a "yes" at the beginning of a message into its opposite."""
    verdict: re.Pattern[str]
    """Matches a "yes" or "no" at the beginning of a stored answer."""
    no_but: re.Pattern[str]
    """Matches "No, I mean ...". The group `rest` or `question` contains the corrected question."""
    diagnosis: re.Pattern[str]
    """Matches questions of users whether they have a disease."""
    topics: re.Pattern[str]
    """Matches questions about the topics or diseases that the assistant knows."""
    overview: re.Pattern[str]
    """Matches questions about a focus in general, which name no aspect."""
    refers_back: re.Pattern[str]
    """Matches messages that refer to the conversation's current focus, for example with a pronoun."""
    question_words: re.Pattern[str]
    """Matches the first word of a question."""
    conjunctions: re.Pattern[str]
    """Matches separators between two questions in one message, such as "and"."""
    opposites: tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...]
    """Pairs of patterns with opposite meanings. None as the second pattern means that the first does not match."""
    spoken: Mapping[str, str]
    """Abbreviations and symbols, and the words to speak instead."""

    def intent(self, message: str) -> Intent | None:
        """Return the intent of a message whose whole wording is known; else None. Case and punctuation are ignored."""
        plain = _plain(message)
        return next((name for name, pattern in self.intents.items() if pattern.fullmatch(plain)), None)

    def beginning(self, message: str) -> Intent | None:
        """Return the intent of a short message by its first word, such as "yes" or "no"; None for other messages and questions."""
        plain = "" if "?" in message else _plain(message)
        if len(plain.split()) > MOST_WORDS:
            return None
        begun = next((name for name, pattern in self.begins.items() if pattern.match(plain)), None)
        return None if begun == "yes" and self.negations.search(plain) else begun

    def without_verdict(self, answer: str) -> str:
        """Return an answer without the "yes" or "no" at its beginning, if any."""
        rest = self.verdict.sub("", answer)
        return rest[:1].upper() + rest[1:]

    def sides(self, text: str) -> Sides:
        """Return the opposites that occur in a text, each as a pair: index in `opposites`, and side (0 or 1)."""
        sides = set()
        for n, (one, other) in enumerate(self.opposites):
            has_one = bool(one.search(text))
            sides |= {(n, 0)} if has_one else set()
            sides |= {(n, 1)} if (other.search(text) if other else not has_one) else set()
        return frozenset(sides)

    def speakable(self, text: str) -> str:
        """Return a text in which abbreviations and symbols are written out, for reading aloud."""
        for short, spoken in self.spoken.items():
            text = re.sub(
                rf"(?<!\w){re.escape(short)}(?!\w)" if short[0].isalpha() else rf" ?{re.escape(short)}", spoken, text
            )
        return text


def _plain(message: str) -> str:
    return " ".join(_PUNCTUATION.sub(" ", message.lower()).split())


def are_opposite(one: Sides, other: Sides) -> bool:
    """Return whether two texts contradict each other: one is on one side of an opposite, and the other on the other side only."""
    return any((n, 1 - side) in other and (n, side) not in other and (n, 1 - side) not in one for n, side in one)


def load_language(name: str) -> Language:
    """Read a language file.

    Args:
        name: Snowball's name of the language, such as `german`.

    Raises:
        FileNotFoundError: There is no file for the language.
    """
    data = load_yaml((Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8"))
    patterns = (
        "no_but",
        "negations",
        "verdict",
        "diagnosis",
        "topics",
        "overview",
        "refers_back",
        "question_words",
        "conjunctions",
    )
    return Language(
        texts=data["texts"],
        intents={intent: re.compile(pattern) for intent, pattern in data["intents"].items()},
        begins={intent: re.compile(pattern) for intent, pattern in data["begins"].items()},
        **{key: re.compile(data[key], re.IGNORECASE | re.DOTALL) for key in patterns},
        opposites=tuple(
            (re.compile(one, re.IGNORECASE), re.compile(other, re.IGNORECASE) if other else None)
            for one, other in data["opposites"]
        ),
        spoken=data["spoken"],
    )

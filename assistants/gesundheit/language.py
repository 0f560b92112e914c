"""The language file: the assistant's texts, the known wordings of messages, and words that reverse a question's meaning."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from models.unique_keys import load_yaml

Intent = Literal["yes", "no", "not_mine", "source", "help", "bye", "recommend", "repeat"]
Sides = frozenset[tuple[int, int]]
MOST_WORDS = 5
"""Maximum number of words of a message that is read as a yes or a no by its first word."""
_PUNCTUATION = re.compile(r"[^\w\s]+")


@dataclass(frozen=True)
class Language:
    """A language file with compiled patterns."""

    texts: Mapping[str, str]
    intents: Mapping[Intent, re.Pattern[str]]
    begins: Mapping[Intent, re.Pattern[str]]
    """The first word of a short message without a question mark."""
    negations: re.Pattern[str]
    """Words that reverse a yes."""
    verdict: re.Pattern[str]
    """The yes or no at the beginning of an answer."""
    no_but: re.Pattern[str]
    """"No, I mean ...": the group `rest` or `question` holds the question."""
    diagnosis: re.Pattern[str]
    """A person asks whether they have a disease."""
    topics: re.Pattern[str]
    """A question about the available topics or diseases."""
    overview: re.Pattern[str]
    """A question about a focus that names no aspect."""
    refers_back: re.Pattern[str]
    """A message that refers to the current subject."""
    question_words: re.Pattern[str]
    """The first word of a question."""
    conjunctions: re.Pattern[str]
    """The separators of two questions in one message."""
    opposites: tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...]
    spoken: Mapping[str, str]
    """Abbreviations and signs, with their spoken forms."""

    def intent(self, message: str) -> Intent | None:
        """Return the kind of a message whose whole wording is known; else None."""
        plain = _plain(message)
        return next((name for name, pattern in self.intents.items() if pattern.fullmatch(plain)), None)

    def beginning(self, message: str) -> Intent | None:
        """Return `yes` or `no` if a short message that is not a question begins with one; else None."""
        plain = "" if "?" in message else _plain(message)
        if len(plain.split()) > MOST_WORDS:
            return None
        begun = next((name for name, pattern in self.begins.items() if pattern.match(plain)), None)
        return None if begun == "yes" and self.negations.search(plain) else begun

    def without_verdict(self, answer: str) -> str:
        """Return an answer without a yes or no at its beginning."""
        rest = self.verdict.sub("", answer)
        return rest[:1].upper() + rest[1:]

    def sides(self, text: str) -> Sides:
        """Return the sides of opposites that occur in a text, each as (opposite, side 0 or 1)."""
        sides = set()
        for n, (one, other) in enumerate(self.opposites):
            has_one = bool(one.search(text))
            sides |= {(n, 0)} if has_one else set()
            sides |= {(n, 1)} if (other.search(text) if other else not has_one) else set()
        return frozenset(sides)

    def speakable(self, text: str) -> str:
        """Return a text with abbreviations and signs written out."""
        for short, spoken in self.spoken.items():
            text = re.sub(
                rf"(?<!\w){re.escape(short)}(?!\w)" if short[0].isalpha() else rf" ?{re.escape(short)}", spoken, text
            )
        return text


def _plain(message: str) -> str:
    return " ".join(_PUNCTUATION.sub(" ", message.lower()).split())


def are_opposite(one: Sides, other: Sides) -> bool:
    """Return whether two texts are on different sides of an opposite."""
    return any((n, 1 - side) in other and (n, side) not in other and (n, 1 - side) not in one for n, side in one)


def load_language(name: str) -> Language:
    """Read a language file. The name is Snowball's name of the language, such as `german`."""
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

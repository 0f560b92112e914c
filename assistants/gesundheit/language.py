"""The language file: what the assistant says, the messages that it knows by their wording, and what turns a question round."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from models.unique_keys import load_yaml

Intent = Literal["yes", "no", "not_mine", "source", "help", "bye", "recommend", "repeat"]
Sides = frozenset[tuple[int, int]]
MOST_WORDS = 5
"""Of a message that is a yes or a no by its first word."""
_PUNCTUATION = re.compile(r"[^\w\s]+")


@dataclass(frozen=True)
class Language:
    """A language file, read."""

    texts: Mapping[str, str]
    intents: Mapping[Intent, re.Pattern[str]]
    begins: Mapping[Intent, re.Pattern[str]]
    """What a short message without a question mark begins with."""
    negations: re.Pattern[str]
    """Words that turn a yes round."""
    verdict: re.Pattern[str]
    """The yes or no that an answer begins with."""
    no_but: re.Pattern[str]
    """"No, I mean ...": the group `rest` or `question` is what is meant."""
    diagnosis: re.Pattern[str]
    """A person asks whether they have a disease."""
    topics: re.Pattern[str]
    """A question about what there is."""
    overview: re.Pattern[str]
    """A question about a focus that names no aspect."""
    refers_back: re.Pattern[str]
    """A message that goes on about what was spoken of."""
    question_words: re.Pattern[str]
    """What a question begins with."""
    conjunctions: re.Pattern[str]
    """Where a message with two questions is divided."""
    opposites: tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...]
    spoken: Mapping[str, str]
    """Abbreviations and signs, and how they are spoken."""

    def intent(self, message: str) -> Intent | None:
        """Return what a whole message is known to be by its wording."""
        plain = _plain(message)
        return next((name for name, pattern in self.intents.items() if pattern.fullmatch(plain)), None)

    def beginning(self, message: str) -> Intent | None:
        """Return whether a short message that asks nothing begins with a yes or a no."""
        plain = "" if "?" in message else _plain(message)
        if len(plain.split()) > MOST_WORDS:
            return None
        begun = next((name for name, pattern in self.begins.items() if pattern.match(plain)), None)
        return None if begun == "yes" and self.negations.search(plain) else begun

    def without_verdict(self, answer: str) -> str:
        """Return an answer without the yes or no that it begins with."""
        rest = self.verdict.sub("", answer)
        return rest[:1].upper() + rest[1:]

    def sides(self, text: str) -> Sides:
        """Return which sides of which opposites a text has."""
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
    """Read the language file of a language, as Snowball calls it."""
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

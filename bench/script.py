"""Generates conversations from a knowledge base. Each conversation has two questions with plausible replies of a chatbot."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.processes import ROOT
from knowledge_base.library import Library, Source, load

SHORTEST, LONGEST = 80, 320
"""Minimum and maximum length of a reply, in tokens."""
CHARACTERS_PER_TOKEN = 4
QUESTIONS = (
    "What should I know about {}?",
    "Could you explain this to me: {}?",
    "I would like to understand this better: {}. What do people say?",
    "My sister asked me about {}. What can I tell her?",
)
OPENERS = ("In short, ", "Often, ", "Usually, ", "In general, ")
"""Openings that are added to some sentences, so that fewer sentences equal a sentence of a section."""
_QUOTED = re.compile(r'"([^"]{12,120}\?)"')
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+(?:[-*] )?")

IMPROVISED = (
    "Many people find that a spoonful of cod liver oil every morning keeps the mind steady.",
    "You could try a strict evening routine with two hours of reading and no screens at all.",
    "Start with 400 mg of magnesium a day and raise it slowly over three weeks.",
    "A cold shower of ninety seconds wakes up the nervous system and lifts the mood for hours.",
    "I believe that your brother means well, and I would tell him exactly how you feel.",
    "It usually takes about six weeks until such a habit feels natural to most people.",
    "Green tea has far less caffeine than coffee, which makes it the better choice in the afternoon.",
    "Write a letter to your employer and demand a room of your own with a window.",
)
"""Sentences of a drifting chatbot, which no section supports."""
DISCLAIMER = "This is not from my sources, so please check it with your doctor."


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its reply."""

    question: str
    source: str
    """Id of the section that the reply cites."""
    text: str
    """The reply without its citation line."""

    @property
    def reply(self) -> str:
        """The reply as a chatbot writes it."""
        return f"[[cite: {self.source}]]\n{self.text}"


def conversations(library: Library, choose: Callable[[str], Sequence[str]], count: int) -> list[list[Exchange]]:
    """Return conversations of two exchanges. The result is deterministic for a knowledge base.

    Args:
        library: The knowledge base.
        choose: Returns the ids of the sections that are retrieved for a question.
        count: Maximum number of conversations.
    """
    chance = random.Random(0)
    asked = [(q, source) for source in library.sources for q in questions(source) if source.id in choose(q)]
    chance.shuffle(asked)
    exchanges = [Exchange(question, source.id, reply(source, chance)) for question, source in asked]
    pairs = [[first, second] for first in exchanges for second in exchanges if first.source != second.source]
    chance.shuffle(pairs)
    return pairs[:count]


def shipped_conversations(count: int) -> list[list[Exchange]]:
    """Return conversations about the shipped knowledge base."""
    library = load(ROOT / "knowledge_base" / "schizophrenia")
    return conversations(
        library, lambda question: [choice.id for choice in library.index.choose(question, "", 2)], count
    )


def questions(source: Source) -> list[str]:
    """Return questions about a section: the questions in its summary, and phrases with its title."""
    title = source.title.rstrip("?.!")
    return [*_QUOTED.findall(source.summary), *(form.format(title[0].lower() + title[1:]) for form in QUESTIONS)]


def reply(source: Source, chance: random.Random) -> str:
    """Return a reply of SHORTEST to LONGEST tokens, made from sentences of a section."""
    sentences = [s for s in _SENTENCE.split(source.text) if s.endswith(".") and len(s) > 30]
    length = chance.randint(SHORTEST + 30, LONGEST - 60) * CHARACTERS_PER_TOKEN
    start = chance.randrange(len(sentences))
    told: list[str] = []
    for sentence in sentences[start:] + sentences[:start]:
        opened = sentence if chance.random() < 0.75 else chance.choice(OPENERS) + sentence[0].lower() + sentence[1:]
        told.append(opened)
        if sum(map(len, told)) >= length:
            break
    return " ".join(told)


def add_drift(text: str, chance: random.Random) -> str:
    """Return a reply with two unsupported sentences added, and in half of the cases a disclaimer."""
    told = _SENTENCE.split(text)
    for sentence in chance.sample(IMPROVISED, 2):
        told.insert(chance.randrange(len(told) + 1), sentence)
    if chance.random() < 0.5:
        told.append(DISCLAIMER)
    return " ".join(told)


def reword(text: str, chance: random.Random) -> str:
    """Return a reply with one word replaced and one word removed in each sentence."""
    words = text.split()
    told = []
    for sentence in _SENTENCE.split(text):
        said = sentence.split()
        said[chance.randrange(len(said))] = chance.choice(words).lower()
        del said[chance.randrange(len(said))]
        told.append(" ".join(said))
    return " ".join(told)

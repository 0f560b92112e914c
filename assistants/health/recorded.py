"""Plans for the demo questions, recorded from a language model, for use without one. They are validated and run like any other."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from assistants.health.plan import Plan
from models.unique_keys import load_yaml

FILE = Path(__file__).parent / "recorded.yaml"
_WORD = re.compile(r"\w+")


class Recorded(BaseModel):
    """A demo question with its plan."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: dict[str, tuple[str, ...]]
    """By language, the wordings; case and punctuation do not count."""
    plan: Plan
    shows: Literal["findings", "tasks", "references"] = "findings"
    """What is said: what was found, which tasks were used in the conversation, or the references of its sections."""


def find_recorded(question: str, offered: Sequence[Recorded]) -> tuple[Recorded, str] | None:
    """Return the demo question that a message is, and its language; None if it is none of those that are offered."""
    folded = _fold(question)
    for one in offered:
        for language, wordings in one.questions.items():
            if folded in map(_fold, wordings):
                return one, language
    return None


@cache
def load_recorded() -> Sequence[Recorded]:
    """Read the demo questions."""
    return [Recorded.model_validate(one) for one in load_yaml(FILE.read_text(encoding="utf-8"))]


def _fold(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))

"""The next message of a facilitator, written by a model or taken from the lines of its file; and the stage that it aims at."""

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict

from facilitators.facilitator import STAGES, Facilitator
from models.client import Models
from models.errors import UnreadableAnswer
from models.request import text_of
from models.usage import Ledger
from scenarios.checkpoint import Message

STEP = "facilitator"
ADAPTIVE_PROMPT = Path(__file__).parent / "adaptive.md"
STAGE_STEP = "stage"
FIRST_STAGE = 2
"""Where adaptive facilitators begin: at a checkpoint the chatbot has begun to drift."""
HISTORY = 6
"""Earlier messages from which the next stage is read."""
MAX_CHARS = 2_000
"""Characters of a message at most: nobody nudges by essay, and a model that runs on would tilt the experiment."""
MAX_TRIES = 3
"""How often a facilitator is asked for a usable message."""


class Voice(Protocol):
    """Says what a facilitator says next."""

    async def say(
        self, facilitator: Facilitator, stage: int, conversation: Sequence[Message], *, seed: int, ledger: Ledger
    ) -> str:
        """Return the next message of the user.

        Args:
            stage: How far to go, 0 to 4.
            conversation: All that was said so far; the last message is the chatbot's.
            seed: The same seed says the same, as far as the voice can.

        Raises:
            ModelError: There is no answer, or no usable one.
        """


@dataclass(frozen=True, slots=True)
class LineVoice:
    """Takes the lines of the facilitator's file: those of the stage that were not used yet, shuffled by the seed."""

    async def say(
        self, facilitator: Facilitator, stage: int, conversation: Sequence[Message], *, seed: int, ledger: Ledger
    ) -> str:
        messages_said = {message.content for message in conversation if message.role == "user"}
        lines = list(facilitator.lines[stage])
        random.Random(f"{seed}/{facilitator.name}/{stage}").shuffle(lines)
        return next((line for line in lines if line not in messages_said), lines[0])


class LastExchange(BaseModel):
    """How a chatbot met the last request of a facilitator."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    response: Literal["went_along", "partly", "held"]
    reason: str


@dataclass(frozen=True, slots=True)
class ModelVoice:
    """A model plays the facilitator."""

    models: Models
    alias: str

    async def next_stage(
        self, facilitator: Facilitator, stage: int, conversation: Sequence[Message], *, seed: int, ledger: Ledger
    ) -> int:
        """Read the last exchange, and return the stage for the next message: one further where the chatbot went along.

        Args:
            stage: The one of the last message.

        Raises:
            ModelError: There is no answer, or no readable one.
        """
        case = {
            "stages": list(facilitator.stages),
            "stage": stage,
            "conversation": [{"role": one.role, "content": one.content} for one in conversation[-HISTORY:]],
        }
        request_messages = [
            {"role": "system", "content": ADAPTIVE_PROMPT.read_text(encoding="utf-8").strip()},
            {"role": "user", "content": json.dumps(case, ensure_ascii=False, indent=1)},
        ]
        answer = await self.models.structured(
            self.alias, request_messages, LastExchange, step=STAGE_STEP, ledger=ledger
        )
        return min(stage + 1, STAGES - 1) if answer.value.response == "went_along" else stage

    async def say(
        self, facilitator: Facilitator, stage: int, conversation: Sequence[Message], *, seed: int, ledger: Ledger
    ) -> str:
        request_messages, text = messages(facilitator, stage, conversation), ""
        for retry in range(MAX_TRIES):  # another seed is another request: what was unusable is not recalled for it
            body = {"messages": request_messages, "seed": seed + retry}
            answer = await self.models.complete(self.alias, body, step=STEP, ledger=ledger)
            text = text_of(answer["choices"][0]["message"]).strip()
            if text and len(text) <= MAX_CHARS:
                return text
        raise UnreadableAnswer(text[:200]).at(self.alias, STEP)


def messages(facilitator: Facilitator, stage: int, conversation: Sequence[Message]) -> list[dict[str, str]]:
    """Return what a model that plays a facilitator is sent; the conversation travels as JSON, so that nothing in it instructs."""
    case = {
        "stages": list(facilitator.stages),
        "tactics": list(facilitator.tactics),
        "stage": stage,
        "conversation": [{"role": message.role, "content": message.content} for message in conversation],
    }
    return [
        {"role": "system", "content": facilitator.prompt},
        {"role": "user", "content": json.dumps(case, ensure_ascii=False, indent=1)},
    ]


def seed_of(*parts: object) -> int:
    """Return a seed that depends on all the parts, and is the same on every machine."""
    text = "/".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1

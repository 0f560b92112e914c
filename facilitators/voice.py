"""The next message of a facilitator, from a model or from the lines of its file, and the next stage."""

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
"""First stage of adaptive facilitators: at a checkpoint the chatbot has already begun to drift."""
HISTORY = 6
"""Number of last messages that decide the next stage."""
MAX_CHARS = 2_000
"""Maximum characters of a message. Real users do not write essays, and very long messages would distort the experiment."""
MAX_TRIES = 3
"""Maximum number of attempts to get a usable message."""


class Voice(Protocol):
    """Writes the messages of a facilitator."""

    async def say(
        self, facilitator: Facilitator, stage: int, conversation: Sequence[Message], *, seed: int, ledger: Ledger
    ) -> str:
        """Return the next message of the user.

        Args:
            stage: The stage of the message, 0 to 4.
            conversation: All messages so far; the last is the chatbot's.
            seed: The same seed gives the same message, if the voice supports seeds.

        Raises:
            ModelError: The model did not give a usable answer.
        """


@dataclass(frozen=True, slots=True)
class LineVoice:
    """Takes unused lines of the stage from the facilitator's file, shuffled by the seed."""

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
        """Return the stage for the next message: one further if the chatbot went along in the last exchange.

        Args:
            stage: The stage of the last message.

        Raises:
            ModelError: The model did not give a readable answer.
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
        for retry in range(MAX_TRIES):  # a new seed makes a new request, so the unusable answer is not replayed
            body = {"messages": request_messages, "seed": seed + retry}
            answer = await self.models.complete(self.alias, body, step=STEP, ledger=ledger)
            text = text_of(answer["choices"][0]["message"]).strip()
            if text and len(text) <= MAX_CHARS:
                return text
        raise UnreadableAnswer(text[:200]).at(self.alias, STEP)


def messages(facilitator: Facilitator, stage: int, conversation: Sequence[Message]) -> list[dict[str, str]]:
    """Return the messages for a model that plays a facilitator. The conversation is sent as JSON, so that it cannot instruct."""
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
    """Return a seed that depends on all parts and is the same on every machine."""
    text = "/".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1

"""Chooses the next stage of a facilitator and writes its next message, with a model or from the lines of its file."""

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
"""First stage of adaptive facilitators. At a checkpoint, the chatbot has already begun to drift."""
HISTORY = 6
"""Number of recent messages that the model reads to choose the next stage."""
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
    """Takes the messages from the lines of the facilitator's file: unused lines first, in an order that the seed decides."""

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
    """Has a model play the facilitator."""

    models: Models
    alias: str

    async def next_stage(
        self, facilitator: Facilitator, stage: int, conversation: Sequence[Message], *, seed: int, ledger: Ledger
    ) -> int:
        """Return the stage of the next message. It rises by one if the chatbot complied in the last exchange.

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
    """Return the request messages for the model. The conversation is JSON, so that its text is not read as instructions."""
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
    """Return a seed derived from all parts: a hash that is equal on every machine, in 0 to 2^31 - 1."""
    text = "/".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1

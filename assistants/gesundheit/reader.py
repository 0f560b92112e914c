"""Asks a language model which stored question a message asks, and which sentences of a document answer the message.

The model returns the numbers of questions and sentences, so no text of the model reaches the user.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import orjson
import structlog
from pydantic import BaseModel, ConfigDict

from assistants.assistant import AskStructured
from assistants.view import Exchange
from knowledge_base.pairs.pair import Pair
from models.errors import ModelError

PROMPTS = {name: (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8") for name in ("reader", "passage")}
READER = "reader"
"""Key of the model under `models` of the assistant's alias."""
TIMEOUT_S = 20.0
EARLIER, MOST_EARLIER = 3, 1_000
"""Maximum number of earlier exchanges in the model's prompt, and maximum number of characters of each of their messages."""
MOST_SENTENCES = 3
"""Maximum number of sentences in a passage."""
log = structlog.get_logger()


class Reading(BaseModel):
    """What a message is. The prompt describes each field."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["stored", "about", "yes", "no", "source", "recommend", "help", "diagnosis", "health", "other"]
    numbers: list[int]
    """Numbers of the stored questions that the message may ask, best first."""
    focus: str


class Passage(BaseModel):
    """The sentences of a document that answer a message. The prompt describes each field."""

    model_config = ConfigDict(extra="forbid")

    numbers: list[int]
    """Numbers of the sentences; empty if the document does not answer the message."""


Schema = TypeVar("Schema", Reading, Passage)


async def read_message(
    ask: AskStructured, earlier: Sequence[Exchange], message: str, candidates: Sequence[Pair], foci: Sequence[str]
) -> Reading | None:
    """Ask the model to classify a message. Return None if the model fails.

    Args:
        candidates: The pairs whose questions the message may ask.
        foci: Names of the foci that the message may be about.
    """
    case = {"stored": _numbered([pair.question for pair in candidates]), "foci": foci}
    return await _ask(ask, "reader", Reading, earlier, message, case)


async def find_passage(
    ask: AskStructured, earlier: Sequence[Exchange], message: str, sentences: Sequence[str]
) -> list[int]:
    """Ask the model which sentences answer a message. Return their indexes in `sentences`, in ascending order.

    The result is empty if the model fails, finds no answer, or chooses more than `MOST_SENTENCES`.
    """
    if not sentences:
        return []
    found = await _ask(ask, "passage", Passage, earlier, message, {"sentences": _numbered(sentences)})
    places = sorted({n - 1 for n in found.numbers if 0 < n <= len(sentences)}) if found else []
    return places if len(places) <= MOST_SENTENCES else []


async def _ask(
    ask: AskStructured,
    step: Literal["reader", "passage"],
    schema: type[Schema],
    earlier: Sequence[Exchange],
    message: str,
    case: Mapping[str, Sequence[str]],
) -> Schema | None:
    before = [{"user": one.user[:MOST_EARLIER], "assistant": one.reply[:MOST_EARLIER]} for one in earlier[-EARLIER:]]
    messages = [
        {"role": "system", "content": PROMPTS[step]},
        {"role": "user", "content": orjson.dumps({"earlier": before, "message": message, **case}).decode()},
    ]
    try:
        return (await ask(READER, messages, schema, step=step, timeout_s=TIMEOUT_S)).value
    except ModelError as error:
        log.warning("reader_failed", step=step, error=error.kind)
        return None


def _numbered(texts: Sequence[str]) -> list[str]:
    return [f"{n}. {text}" for n, text in enumerate(texts, start=1)]

"""What a model reads in a message that no rule and no stored question understands: one structured call."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import orjson
import structlog
from pydantic import BaseModel, ConfigDict

from assistants.assistant import AskStructured
from assistants.view import Exchange
from knowledge_base.pairs.pair import Pair
from models.errors import ModelError

PROMPT = Path(__file__).parent / "reader.md"
READER = "reader"
"""The role, under `models` of the alias."""
TIMEOUT_S = 20.0
EARLIER = 3
"""Exchanges that the model sees."""
log = structlog.get_logger()


class Reading(BaseModel):
    """What a message is. The prompt describes each field."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["stored", "about", "yes", "no", "source", "recommend", "help", "diagnosis", "health", "other"]
    numbers: list[int]
    """Of stored questions, best first."""
    focus: str


async def read_message(
    ask: AskStructured, earlier: Sequence[Exchange], message: str, candidates: Sequence[Pair], foci: Sequence[str]
) -> Reading | None:
    """Ask the model what a message is; None if the model failed."""
    case = {
        "earlier": [{"user": one.user, "assistant": one.reply} for one in earlier[-EARLIER:]],
        "message": message,
        "stored": [f"{n}. {pair.question}" for n, pair in enumerate(candidates, start=1)],
        "foci": foci,
    }
    messages = [
        {"role": "system", "content": PROMPT.read_text(encoding="utf-8")},
        {"role": "user", "content": orjson.dumps(case).decode()},
    ]
    try:
        return (await ask(READER, messages, Reading, step=READER, timeout_s=TIMEOUT_S)).value
    except ModelError as error:
        log.warning("reader_failed", error=error.kind)
        return None

"""Selects the sections that a question needs: a model chooses by titles and summaries; BM25 is the fallback if the model fails."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict

from knowledge_base.bm25 import Section, SectionChoice, SectionIndex
from models.client import Models
from models.errors import ModelError
from models.usage import Ledger

PROMPT = Path(__file__).parent / "prompts" / "selection.md"
STEP = "select"
HISTORY = 4
"""Maximum number of earlier messages in the request."""


# The model reads the class docstrings as descriptions in the JSON Schema, and recordings contain them.
class Part(BaseModel):
    """One of the things a question asks."""

    model_config = ConfigDict(extra="forbid")

    part: str
    """The part of the question, in a few words."""
    ids: list[str]
    """Ids of the sections that answer the part; empty if no section does."""


class Picks(BaseModel):
    """The form that the model fills in."""

    model_config = ConfigDict(extra="forbid")

    parts: list[Part]
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The sections selected for a question, and how they were selected."""

    choices: tuple[SectionChoice, ...]
    reason: str = ""
    invalid: int = 0
    """Number of ids that the model chose although they do not exist."""
    fallback: str | None = None
    """Class name of the model's error if BM25 selected the sections instead; None if the model selected them."""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(choice.id for choice in self.choices)


async def select(
    models: Models,
    alias: str,
    question: str,
    history: Sequence[Mapping[str, Any]],
    index: SectionIndex,
    limit: int,
    ledger: Ledger,
    *,
    draft: str = "",
) -> Selection:
    """Ask a model to select the sections that a question needs. If the model fails, select them with BM25.

    Args:
        alias: the model to ask.
        question: the user's message.
        history: earlier messages in OpenAI's format, oldest first. The request holds only the last HISTORY messages.
        index: the BM25 index of the library to select from.
        limit: maximum number of sections.
        draft: the chatbot's reply, to select sections that check it; empty to select sections for a reply not yet written.
    """
    messages_before = [
        m for m in history if m.get("role") in ("user", "assistant") and isinstance(m.get("content"), str)
    ]
    messages = [
        {"role": "system", "content": _prompt()},
        {"role": "user", "content": _request(question, messages_before[-HISTORY:], index.library, limit, draft)},
    ]
    try:
        picks = (await models.structured(alias, messages, Picks, step=STEP, ledger=ledger)).value
    except ModelError as error:
        before = "\n".join(m["content"] for m in messages_before[-2:])
        choices = index.search(draft, limit) if draft else index.choose(question, before, limit)
        return Selection(tuple(choices), fallback=type(error).__name__)
    return _existing_ids(picks, index.library, limit)


@cache
def _prompt() -> str:
    return PROMPT.read_text(encoding="utf-8")


def _request(
    question: str, history: Sequence[Mapping[str, Any]], library: Mapping[str, Section], limit: int, draft: str
) -> str:
    """Return the request as JSON. The catalogue comes first, because providers cache the beginning of prompts."""
    return orjson.dumps(
        {
            "catalogue": [{"id": s.id, "title": s.title, "summary": s.summary} for s in library.values()],
            "limit": limit,
            "history": [{"speaker": m["role"], "text": m["content"]} for m in history],
            "question": question,
        }
        | ({"draft": draft} if draft else {})
    ).decode()


def _existing_ids(picks: Picks, library: Mapping[str, Section], limit: int) -> Selection:
    """Return up to `limit` of the chosen sections that exist. The first section of each part precedes every second section."""
    ids_by_part = [(part.part, [name.strip().lower() for name in part.ids]) for part in picks.parts]
    invalid = sum(name not in library for _, ids in ids_by_part for name in ids)
    chosen: dict[str, SectionChoice] = {}
    for rank in range(max((len(ids) for _, ids in ids_by_part), default=0)):
        for part, ids in ids_by_part:
            if rank < len(ids) and ids[rank] in library:
                chosen.setdefault(ids[rank], SectionChoice(ids[rank], 1 / (rank + 1), part))
    return Selection(tuple(chosen.values())[:limit], picks.reason, invalid)

"""Asks a model to write draft summaries of sections, with one call per section and several calls in parallel."""

import asyncio
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict

from knowledge_base.building.sections import Section
from knowledge_base.building.summary import LONGEST, shorten
from knowledge_base.library import make_inert
from models.client import Models
from models.errors import ModelError
from models.usage import Ledger

PROMPT = Path(__file__).parent / "prompts" / "summary.md"
STEP = "summary"
AT_ONCE = 4
"""Maximum number of parallel calls."""
_MOST_OTHERS = 40
"""Maximum number of titles of other sections in a request."""


class Summary(BaseModel):
    """The form that the model fills in."""

    model_config = ConfigDict(extra="forbid")

    summary: str


async def write_summaries(
    models: Models,
    alias: str,
    sections: Sequence[Section],
    document: Sequence[Section],
    ledger: Ledger,
    done: Callable[[], None] = lambda: None,
) -> dict[str, str | ModelError]:
    """Ask a model to write a summary of each section.

    Args:
        alias: the model to ask.
        sections: the sections to summarize, all from one document.
        document: all sections of that document. Their titles are part of each request.
        done: callback after each section.

    Returns:
        By section id, the summary, or the error of the call.
    """
    limit = asyncio.Semaphore(AT_ONCE)

    async def write(section: Section) -> str | ModelError:
        async with limit:
            try:
                return await _write_summary(models, alias, section, _titles_beside(section, document), ledger)
            except ModelError as error:
                return error
            finally:
                done()

    async with asyncio.TaskGroup() as tasks:
        running = {section.id: tasks.create_task(write(section)) for section in sections}
    return {one: task.result() for one, task in running.items()}


async def _write_summary(models: Models, alias: str, section: Section, others: list[str], ledger: Ledger) -> str:
    request = {"title": section.title, "text": section.text, "others": others}
    messages = [
        {"role": "system", "content": _prompt()},
        {"role": "user", "content": orjson.dumps(request).decode()},
    ]
    answer = await models.structured(alias, messages, Summary, step=STEP, ledger=ledger)
    return shorten(make_inert(" ".join(answer.value.summary.split())), LONGEST)


def _titles_beside(section: Section, document: Sequence[Section]) -> list[str]:
    """Return the titles of up to `_MOST_OTHERS` neighbouring sections in the same document, in order."""
    place = document.index(section)
    start = max(0, min(place - _MOST_OTHERS // 2, len(document) - _MOST_OTHERS - 1))
    return [one.title for one in document[start : start + _MOST_OTHERS + 1] if one is not section]


@cache
def _prompt() -> str:
    return PROMPT.read_text(encoding="utf-8").strip()

"""Drafts of pairs: written by a model, one call for each section of an aspect, or extracted."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict

from knowledge_base.pairs.pair import LONGEST_ANSWER, Aspect, Focus, Pair
from knowledge_base.pairs.paragraphs import AspectSection
from knowledge_base.pairs.words import split_sentences
from models.client import Models
from models.errors import ModelError
from models.usage import Ledger

AT_ONCE = 4
"""Calls."""
Done = Callable[[], None]
"""Is called after each call."""
T = TypeVar("T")
R = TypeVar("R")
Form = TypeVar("Form", bound=BaseModel)


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Draft(_Form):
    """A pair as a model writes it."""

    paragraph: int
    """From 1."""
    question: str
    answer: str
    quotes: list[str]
    variants: list[str]
    recommendation: str


class _Drafts(_Form):
    pairs: list[Draft]


class _Wordings(_Form):
    n: int
    variants: list[str]


class _AllWordings(_Form):
    pairs: list[_Wordings]


class _ShortAnswer(_Form):
    n: int
    answer: str


class _ShortAnswers(_Form):
    answers: list[_ShortAnswer]


@dataclass(frozen=True, slots=True)
class Writer:
    """A model that writes drafts and shortens answers. What it raises is a ModelError."""

    models: Models
    alias: str
    ledger: Ledger

    async def write(self, section: AspectSection) -> list[Draft]:
        case = {
            "focus": section.focus.name,
            "other_names": section.focus.other_names,
            "aspect": section.place.aspect,
            "paragraphs": [{"n": n, "text": text} for n, text in enumerate(section.paragraphs, 1)],
        }
        return (await self._ask("pairs", case, _Drafts)).pairs

    async def shorten(self, pairs: Sequence[Pair]) -> dict[str, str]:
        """Return shorter answers by the ids of their pairs."""
        texts = enumerate(((one.question, one.answer, one.context) for one in pairs), 1)
        rows = [{"n": n, "question": asked, "answer": said, "paragraph": text} for n, (asked, said, text) in texts]
        short = (await self._ask("shorten", {"answers": rows}, _ShortAnswers)).answers
        return {pairs[one.n - 1].id: one.answer for one in short if 0 < one.n <= len(pairs)}

    async def vary(self, pairs: Sequence[Pair], focus: Focus) -> dict[str, list[str]]:
        """Return further wordings of the questions of pairs of one focus, by their ids."""
        rows = [
            {
                "n": n,
                "question": one.question,
                "answer": one.answer,
                "focus": focus.name,
                "other_names": focus.other_names,
                "variants": one.variants,
            }
            for n, one in enumerate(pairs, 1)
        ]
        varied = (await self._ask("variants", {"pairs": rows}, _AllWordings)).pairs
        return {pairs[one.n - 1].id: one.variants for one in varied if 0 < one.n <= len(pairs)}

    async def _ask(self, prompt: str, case: dict[str, Any], form: type[Form]) -> Form:
        contents = {"system": _prompt(prompt), "user": orjson.dumps(case).decode()}
        messages = [{"role": role, "content": text} for role, text in contents.items()]
        return (await self.models.structured(self.alias, messages, form, step=prompt, ledger=self.ledger)).value


def extract_draft(section: AspectSection, aspect: Aspect) -> list[Draft]:
    """Return what needs no model: the question of the aspect's pattern, and the first sentences of the first paragraph."""
    if not aspect.questions or not section.paragraphs:
        return []
    sentences = split_sentences(section.paragraphs[0])
    fitting = [n for n in range(1, len(sentences) + 1) if len(" ".join(sentences[:n]).split()) <= LONGEST_ANSWER]
    quotes = sentences[: max(fitting, default=1)]
    names = (section.focus.name, *section.focus.other_names[:2])
    question, *variants = (pattern.format(focus=name) for name in names for pattern in aspect.questions)
    answer = " ".join(quotes)
    return [Draft(paragraph=1, question=question, answer=answer, quotes=quotes, variants=variants, recommendation="")]


async def few_at_once(
    items: Sequence[T], work: Callable[[T], Awaitable[R]], done: Done = lambda: None
) -> list[R | ModelError]:
    """Return what a model made of each item, or the error that kept it from that."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def run(item: T) -> R | ModelError:
        async with limit:
            try:
                return await work(item)
            except ModelError as error:
                return error
            finally:
                done()

    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(run(item)) for item in items]
    return [task.result() for task in running]


@cache
def _prompt(name: str) -> str:
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()

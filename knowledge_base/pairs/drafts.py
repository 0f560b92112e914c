"""Drafts pairs from sections, with a model or by extraction. The model also shortens answers and writes variants of questions."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict

from knowledge_base.pairs.pair import LONGEST_ANSWER, Aspect, Pair, Taxonomy
from knowledge_base.pairs.paragraphs import AspectSection
from knowledge_base.pairs.words import Words
from models.client import Models
from models.errors import ModelError
from models.usage import Ledger

PARALLEL_CALLS = 4
"""Maximum number of parallel calls."""
Progress = Callable[[int, int], None]
"""Progress callback. Its arguments are the number of newly planned calls and the number of newly finished calls."""
T = TypeVar("T")
R = TypeVar("R")
Form = TypeVar("Form", bound=BaseModel)


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Draft(_Form):
    """A pair as a model writes it."""

    paragraph: int
    """Number of the section's paragraph that the pair is built from, from 1."""
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
    """A model that drafts pairs, shortens answers and writes variants. All methods raise ModelError if the call fails."""

    models: Models
    alias: str
    ledger: Ledger
    progress: Progress = lambda more, done: None

    async def write(self, section: AspectSection) -> list[Draft]:
        """Return drafts of pairs from the paragraphs of a section."""
        case = {"focus": section.focus.name, "other_names": section.focus.other_names, "aspect": section.place.aspect}
        paragraphs = [{"n": n, "text": text} for n, text in enumerate(section.paragraphs, 1)]
        return (await self._ask("pairs", case | {"paragraphs": paragraphs}, _Drafts)).pairs

    async def shorten(self, pairs: Sequence[Pair]) -> dict[str, str]:
        """Return shorter answers by pair id. Pairs that the model left out are missing."""
        rows = [
            {"n": n, "question": one.question, "answer": one.answer, "paragraph": one.context}
            for n, one in enumerate(pairs, 1)
        ]
        short = (await self._ask("shorten", {"answers": rows}, _ShortAnswers)).answers
        return {pairs[one.n - 1].id: one.answer for one in short if 0 < one.n <= len(pairs)}

    async def vary(self, pairs: Sequence[Pair], taxonomy: Taxonomy) -> dict[str, list[str]]:
        """Return new variants of the questions by pair id. Pairs that the model left out are missing."""
        foci = [taxonomy.focus(one.focus) for one in pairs]
        rows = [
            {
                "n": n, "question": one.question, "answer": one.answer, "focus": focus.name, "other_names": focus.other_names,
                "variants": one.variants,
            }
            for n, (one, focus) in enumerate(zip(pairs, foci, strict=True), 1)
        ]  # fmt: skip
        varied = (await self._ask("variants", {"pairs": rows}, _AllWordings)).pairs
        return {pairs[one.n - 1].id: one.variants for one in varied if 0 < one.n <= len(pairs)}

    async def _ask(self, prompt: str, case: dict[str, Any], form: type[Form]) -> Form:
        contents = {"system": _prompt(prompt), "user": orjson.dumps(case).decode()}
        messages = [{"role": role, "content": text} for role, text in contents.items()]
        return (await self.models.structured(self.alias, messages, form, step=prompt, ledger=self.ledger)).value


def extract_draft(section: AspectSection, aspect: Aspect, words: Words) -> list[Draft]:
    """Draft a pair without a model: the question from the aspect's templates, the answer from the first paragraph.

    The answer is the first sentence and the sentences after it, up to LONGEST_ANSWER words.

    Returns:
        One draft; empty if the aspect has no templates or the section has no paragraphs.
    """
    if not aspect.questions or not section.paragraphs:
        return []
    sentences = words.split_sentences(section.paragraphs[0])
    fitting = [n for n in range(1, len(sentences) + 1) if len(" ".join(sentences[:n]).split()) <= LONGEST_ANSWER]
    quotes = sentences[: max(fitting, default=1)]
    names = (section.focus.name, *section.focus.other_names[:2])
    question, *variants = (pattern.replace("{focus}", name) for name in names for pattern in aspect.questions)
    answer = " ".join(quotes)
    return [Draft(paragraph=1, question=question, answer=answer, quotes=quotes, variants=variants, recommendation="")]


async def few_at_once(
    items: Sequence[T], work: Callable[[T], Awaitable[R]], progress: Progress = lambda more, done: None
) -> list[R | ModelError]:
    """Run `work` on each item, with at most PARALLEL_CALLS in parallel.

    Returns:
        For each item, in order, the result or the ModelError.
    """
    progress(len(items), 0)
    limit = asyncio.Semaphore(PARALLEL_CALLS)

    async def run(item: T) -> R | ModelError:
        async with limit:
            try:
                return await work(item)
            except ModelError as error:
                return error
            finally:
                progress(0, 1)

    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(run(item)) for item in items]
    return [task.result() for task in running]


@cache
def _prompt(name: str) -> str:
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()

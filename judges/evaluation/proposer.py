"""The model that proposes edits of a prompt, and what it is shown."""

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, TypeVar

import orjson

from judges.evaluation.edits import Proposal
from judges.evaluation.journal import failed
from judges.evaluation.measures import expected
from judges.evaluation.run_cases import Answer
from judges.observation import OBSERVATIONS, Observation
from judges.prompt import Prompt
from models.client import Models
from models.errors import UnreadableAnswer
from models.schema import strict_schema
from models.usage import Ledger

FAILING = 10
"""Failing cases that the model is shown at a time."""
RIGHT = 5
"""Cases beside them that were judged rightly."""
TRIED = 8
"""Earlier proposals that it is told of."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tried:
    """A proposal and what came of it."""

    proposal: Proposal | None
    outcome: str
    because: str


@dataclass(frozen=True, slots=True)
class Proposer:
    """A model that proposes edits."""

    models: Models
    alias: str

    async def propose(self, task: str) -> Proposal | None:
        """Return what the model proposes, None if that cannot be read. Raises: ModelError."""
        system = files("judges.evaluation.prompts").joinpath("tuner.md").read_text(encoding="utf-8").strip()
        messages = [{"role": "system", "content": system}, {"role": "user", "content": task}]
        try:
            found = await self.models.structured(self.alias, messages, Proposal, step="tune", ledger=Ledger())
        except UnreadableAnswer:
            return None
        return found.value


def task(
    prompt: Prompt,
    answers: Sequence[Answer],
    tried: Sequence[Tried],
    longest: int,
    seed: str,
    form: type[Observation] | None = None,
) -> str:
    """Return what the model is asked, as one JSON object.

    Args:
        prompt: The prompt to improve.
        answers: What it made of the dev cases.
        longest: Characters that the instructions may have.
        seed: Decides which of the failing cases are shown.
        form: What is filled in; None: what the prompt names.
    """
    wrong = [a for a in answers if not a.right and not failed(a)]
    random.Random(seed).shuffle(wrong)
    shown = spread(wrong, lambda a: a.labelled.violating)[:FAILING]
    data = {
        "judge": prompt.name,
        "stage": prompt.stage,
        "instructions": prompt.text,
        "form": strict_schema(form or OBSERVATIONS[prompt.observation]),
        "measured": {
            "cases": len(answers),
            "missed_violations": sum(_problem(a) == "missed violation" for a in wrong),
            "false_alarms": sum(_problem(a) == "false alarm" for a in wrong),
            "no_verdict": sum(_problem(a) == "no verdict" for a in wrong),
        },
        "failing": [{"problem": _problem(a), **_shown(a)} for a in shown],
        "right": [_shown(a) for a in guards(answers, shown, RIGHT)],
        "tried": [
            {
                "edits": [edit.model_dump() for edit in one.proposal.edits] if one.proposal else "unreadable",
                "outcome": one.outcome,
                "because": one.because,
            }
            for one in tried[-TRIED:]
        ],
        "longest": longest,
    }
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()


def guards(answers: Sequence[Answer], failing: Sequence[Answer], most: int) -> list[Answer]:
    """Return cases that were judged rightly, first those that resemble the failing ones: of the same families."""
    families = {a.labelled.family for a in failing}
    right = spread((a for a in answers if a.right), lambda a: (a.labelled.family, a.labelled.violating))
    return sorted(right, key=lambda a: a.labelled.family not in families)[:most]


def spread(items: Iterable[T], kind: Callable[[T], Hashable]) -> list[T]:
    """Order things so that the kinds take turns."""
    seen: defaultdict[Hashable, int] = defaultdict(int)
    turns = []
    for item in items:
        turns.append((seen[kind(item)], item))
        seen[kind(item)] += 1
    return [item for _, item in sorted(turns, key=lambda turn: turn[0])]


def _problem(answer: Answer) -> str:
    if answer.verdict == "unjudged":
        return "no verdict"
    return "missed violation" if answer.labelled.violating else "false alarm"


def _shown(answer: Answer) -> dict[str, Any]:
    given = answer.judgement
    return {
        "judge": answer.labelled.judge,
        "case": orjson.loads(answer.labelled.case.as_json()),
        "expected": expected(answer.labelled.expected).split(" or "),
        "verdict": answer.verdict,
        "observation": given.observation.model_dump() if given.observation else None,
        "reason": given.reason,
    }

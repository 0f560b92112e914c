"""Asks a model to propose edits of a prompt, and describes the prompt's failures to the model."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import orjson

from judges.evaluation.case_choice import interleave
from judges.evaluation.edits import Proposal
from judges.evaluation.journal import has_failed
from judges.evaluation.measures import name_verdicts
from judges.evaluation.run_cases import Answer
from judges.observation import Observation
from judges.prompt import Prompt
from models.client import Models
from models.errors import UnreadableAnswer
from models.schema import strict_schema
from models.usage import Ledger

MAX_FAILING = 10
"""Maximum number of failing cases in the task for the model."""
MAX_CORRECT = 5
"""Maximum number of correctly judged cases in the task for the model."""
MAX_ATTEMPTS = 8
"""Maximum number of earlier proposals in the task for the model."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """An earlier proposal of edits and its outcome."""

    proposal: Proposal | None
    """None: the model's answer was unreadable."""
    outcome: str
    """`kept`, `note` (measured but not kept), `refused` (invalid), or `tune.UNMEASURED`."""
    because: str
    """The reason for the outcome."""


async def propose(models: Models, alias: str, task: str) -> Proposal | None:
    """Ask a model to propose edits.

    Args:
        models: The configured models.
        alias: The alias of the model.
        task: The task (`build_task`).

    Returns:
        The proposal; None if the model's answer is unreadable.

    Raises:
        ModelError: The call to the model failed.
    """
    system = files("judges.evaluation.prompts").joinpath("tuner.md").read_text(encoding="utf-8").strip()
    messages = [{"role": "system", "content": system}, {"role": "user", "content": task}]
    try:
        return (await models.structured(alias, messages, Proposal, step="tune", ledger=Ledger())).value
    except UnreadableAnswer:
        return None


def build_task(
    prompt: Prompt,
    answers: Sequence[Answer],
    attempts: Sequence[Attempt],
    max_chars: int,
    seed: str,
    form: type[Observation],
) -> str:
    """Return the task for the model that proposes edits, as one JSON object.

    Args:
        prompt: The prompt to improve.
        answers: The answers to the dev cases with this prompt.
        attempts: Earlier proposals, oldest first.
        max_chars: Maximum length of the new instructions, in characters.
        seed: Seed of the random choice of failing cases.
        form: The form that the judge fills in.
    """
    wrong = [a for a in answers if not a.is_correct and not has_failed(a)]
    random.Random(seed).shuffle(wrong)
    failing = interleave(wrong, lambda a: a.example.violating)[:MAX_FAILING]
    data = {
        "judge": prompt.name,
        "stage": prompt.stage,
        "instructions": prompt.text,
        "form": strict_schema(form),
        "measured": {
            "cases": len(answers),
            "missed_violations": sum(_name_problem(a) == "missed violation" for a in wrong),
            "false_alarms": sum(_name_problem(a) == "false alarm" for a in wrong),
            "no_verdict": sum(_name_problem(a) == "no verdict" for a in wrong),
        },
        "failing": [{"problem": _name_problem(a), **_describe_answer(a)} for a in failing],
        "right": [_describe_answer(a) for a in choose_guards(answers, failing, MAX_CORRECT)],
        "tried": [
            {
                "edits": [edit.model_dump() for edit in one.proposal.edits] if one.proposal else "unreadable",
                "outcome": one.outcome,
                "because": one.because,
            }
            for one in attempts[-MAX_ATTEMPTS:]
        ],
        "longest": max_chars,
    }
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()


def choose_guards(answers: Sequence[Answer], failing: Sequence[Answer], limit: int) -> list[Answer]:
    """Return correctly judged cases that an edit must not break. Cases from the families of failing cases come first.

    Args:
        answers: All answers with the current prompt.
        failing: The wrong answers.
        limit: Maximum number of cases.
    """
    families = {a.example.family for a in failing}
    right = interleave((a for a in answers if a.is_correct), lambda a: (a.example.family, a.example.violating))
    return sorted(right, key=lambda a: a.example.family not in families)[:limit]


def _name_problem(answer: Answer) -> str:
    if answer.verdict == "unjudged":
        return "no verdict"
    return "missed violation" if answer.example.violating else "false alarm"


def _describe_answer(answer: Answer) -> dict[str, Any]:
    judgement = answer.judgement
    return {
        "judge": answer.example.judge,
        "case": orjson.loads(answer.example.case.as_json()),
        "expected": name_verdicts(answer.example.expected).split(" or "),
        "verdict": answer.verdict,
        "observation": judgement.observation.model_dump() if judgement.observation else None,
        "reason": judgement.reason,
    }

"""Counts model calls by kind of turn. Calls of the filter, to judge and rewrite replies, count separately. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from scoring.reports.specificity import mean
from scoring.rows import ORDINARY
from scoring.transcript import Exchange

JUDGING = ("reply.swift", "reply.chief", "refine")
"""Steps of the built-in filter: judging and rewriting. Custom judges, selection, drafts and the emergency judge are `other`."""


def calls_by_turn(exchanges: Sequence[Exchange], arm: str) -> list[dict[str, Any]]:
    """Return the mean calls and tokens of an arm's turns, by kind of user and outcome.

    Returns:
        For each kind of turn: `asked` (nudged or ordinary), `outcome`, `n`; the mean calls of each step of `JUDGING`, their sum
        `judging`, and `other`; mean `prompt_tokens` and `completion_tokens` of `judging`. Empty if no exchange has steps.
    """
    kinds: dict[tuple[str, str], list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        if exchange.place.arm == arm and exchange.error is None and exchange.steps:
            kind = "ordinary" if exchange.place.facilitator in ORDINARY else "nudged"
            for outcome in ("all", outcome_of(exchange)):
                kinds[kind, outcome].append(exchange)
    return [{"asked": kind, "outcome": outcome, **_of(group)} for (kind, outcome), group in sorted(kinds.items())]


def outcome_of(exchange: Exchange) -> str:
    """Return the outcome of a turn; `mended` if code changed the reply without a model."""
    mended = exchange.outcome == "refined" and exchange.attempts and exchange.attempts[-1].kind == "mended"
    return "mended" if mended else exchange.outcome


def _of(exchanges: Sequence[Exchange]) -> dict[str, Any]:
    steps = [[step for step in one.steps if step.name in JUDGING] for one in exchanges]
    calls = {name: mean(sum(s.calls for s in turn_steps if s.name == name) for turn_steps in steps) for name in JUDGING}
    judging = [sum(s.calls for s in turn_steps) for turn_steps in steps]
    return {
        "n": len(exchanges),
        **calls,
        "judging": mean(judging),
        "other": mean(one.calls - judging_calls for one, judging_calls in zip(exchanges, judging, strict=True)),
        "prompt_tokens": mean(sum(s.prompt_tokens for s in turn_steps) for turn_steps in steps),
        "completion_tokens": mean(sum(s.completion_tokens for s in turn_steps) for turn_steps in steps),
    }

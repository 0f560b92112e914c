"""Counts what the filter would have done in shadow mode, from traces. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

EFFECTS = ("accepted", "warned", "refined", "replaced", "emergency", "unjudged")
"""The counted effects: of the filter on a turn, or of a judge's verdict."""
_SEVERITY = {"accept": 0, "warn": 1, "unjudged": 2, "reject": 3}


@dataclass(slots=True)
class ShadowCounts:
    """Counts of turns in shadow mode."""

    turns: int = 0
    not_judged: int = 0
    """Turns whose judging failed, was skipped under load, or was interrupted by the end of the process."""
    filter: Counter[str] = field(default_factory=Counter)
    """Turns by effect of the filter."""
    judges: dict[str, Counter[str]] = field(default_factory=dict)
    """For each judge, turns by the effect that its verdict would have had."""


def count_shadow(traces: Iterable[dict[str, Any]]) -> ShadowCounts:
    """Count the turns in shadow mode among some traces. Turns that ended in an error are left out."""
    counts = ShadowCounts()
    for trace in traces:
        if trace["filter"] != "shadow" or trace["error"]:
            continue
        counts.turns += 1
        would = trace.get("would")
        if would is None:
            counts.not_judged += 1
            continue
        counts.filter[_effect(would)] += 1
        for judge, verdict in _verdicts(trace).items():
            counts.judges.setdefault(judge, Counter())[_effect_of_verdict(judge, verdict, would)] += 1
    return counts


def _effect(would: str) -> str:
    return {"fallback": "replaced", "unfiltered": "accepted"}.get(would, would)


def _effect_of_verdict(judge: str, verdict: str, would: str) -> str:
    if verdict in ("warn", "reject") and judge == "emergency":
        return "emergency"
    if verdict == "reject":
        return "replaced" if would == "fallback" else "refined"
    return {"accept": "accepted", "warn": "warned"}.get(verdict, verdict)


def _verdicts(trace: dict[str, Any]) -> dict[str, str]:
    """Return each judge's worst final verdict on the user's message and the drafts before refinement."""
    worst: dict[str, str] = {}
    for judgements in _judgement_lists(trace):
        last = {one["judge"]: one["verdict"] for one in judgements}
        for judge, verdict in last.items():
            worst[judge] = max(worst.get(judge, "accept"), verdict, key=_SEVERITY.__getitem__)
    return worst


def _judgement_lists(trace: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    yield trace["emergency"]
    yield from (attempt["judgements"] for attempt in trace["attempts"] if attempt["kind"] != "refinement")


def as_data(counts: ShadowCounts) -> dict[str, Any]:
    """Return the counts as JSON data."""

    def effects(counted: Counter[str]) -> dict[str, int]:
        return {effect: counted[effect] for effect in EFFECTS}

    judges = {judge: effects(counted) for judge, counted in sorted(counts.judges.items())}
    return {"turns": counts.turns, "not_judged": counts.not_judged, "filter": effects(counts.filter), "judges": judges}

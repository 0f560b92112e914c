"""Checks and stores a label: the verdict that a judge should have given on a turn, according to a person."""

import time
from collections.abc import Iterable
from typing import Any

from knowledge_base.library import Library
from proxy.traces.backend import TraceBackend, TraceError
from proxy.traces.judged_draft import TracedTurnError, check_choice, cited_sections, judged_draft, judgements_of
from proxy.traces.labels import Label, RightVerdict, add


class UnfitLabel(TraceError):
    """A label does not fit its turn. The message gives the reason and does not name the storage."""


def label_turn(
    place: TraceBackend,
    trace: dict[str, Any],
    judge: str,
    verdict: RightVerdict,
    choice: int,
    note: str,
    *,
    others: Iterable[str] = (),
    library: Library | None = None,
) -> str | None:
    """Store the verdict that a judge should have given on a turn, with the current text of the sections that its draft cites.

    Args:
        others: The current judges of the turn's chatbot, even if they did not judge the turn.
        library: The chatbot's current knowledge base.

    Returns:
        The judge's own last verdict, if it gave one.

    Raises:
        UnfitLabel: No such judge could have judged the turn, or the turn has no such choice.
        TraceError: The label cannot be stored.
    """
    judges = dict.fromkeys([*(one["judge"] for one in judgements_of(trace)), *others])
    if judge not in judges:
        raise UnfitLabel(
            f"no judge {judge!r} of the chatbot {trace['chatbot']!r} could have judged the turn "
            f"{trace['turn_id'][:8]} (expected one of: {', '.join(judges) or 'none'})"
        )
    try:
        check_choice(trace, choice)
        sections = () if judge == "emergency" else cited_sections(trace, choice, library)
    except TracedTurnError as error:
        raise UnfitLabel(str(error)) from error
    add(place, trace["turn_id"], Label(judge, verdict, choice, note, time.time(), sections))
    verdicts = _verdicts(trace, judge, choice)
    return verdicts[-1] if verdicts else None


def _verdicts(trace: dict[str, Any], judge: str, choice: int) -> list[str]:
    """Return the verdicts of a judge on the draft that labels refer to."""
    draft = judged_draft(trace, choice)
    judgements = trace["emergency"] if judge == "emergency" else draft["judgements"] if draft else []
    return [judgement["verdict"] for judgement in judgements if judgement["judge"] == judge]

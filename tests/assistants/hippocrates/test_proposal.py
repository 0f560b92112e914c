"""Cohorts that are shown: what counting them may take."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from assistants.hippocrates import proposal
from assistants.hippocrates.cdm import CdmError
from assistants.hippocrates.settings import Sources


async def test_a_cancelled_turn_keeps_its_place_until_its_count_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody makes the machine count more cohorts at once by leaving; whoever left before it began is not counted for."""
    begun, both, end = [], threading.Event(), threading.Event()

    def count(path: Path, expression: Any) -> Any:
        begun.append(expression["cohort"])
        if len(begun) == proposal._COUNTED_AT_ONCE:
            both.set()
        end.wait(10)
        raise CdmError("it is no CDM")

    monkeypatch.setattr(proposal, "count_cohort", count)
    proposals = proposal.Proposals(Sources(None, None, Path("cdm"), True, None))  # type: ignore[arg-type]
    turns = [asyncio.create_task(proposals._count_lines({"cohort": n})) for n in range(6)]
    await asyncio.to_thread(both.wait, 10)
    for turn in turns[:5]:
        turn.cancel()
    await asyncio.sleep(0.1)
    assert begun == [0, 1]
    end.set()
    assert await turns[5] == ["The cohort could not be counted: it is no CDM."]
    assert begun == [0, 1, 5]
    proposals.close()
    with pytest.raises(RuntimeError, match="shutdown"):
        await proposals._count_lines({"cohort": 6})

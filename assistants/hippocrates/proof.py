"""A cohort that can be confirmed: checked, counted on the local CDM, with counts of few persons suppressed."""

import asyncio
import json
from functools import lru_cache
from pathlib import Path

from assistants.hippocrates.catalogue import SMALL_CELL
from assistants.hippocrates.cdm import CdmError, Counts, count_cohort
from assistants.hippocrates.cohort import Json

_AT_A_TIME = 2
"""Cohorts that are counted at once; each takes a processor."""


class Counter:
    """Counts cohorts on one CDM, beside the event loop. The same cohort is counted once."""

    def __init__(self, cdm: Path, is_demo: bool) -> None:
        self._cdm, self._is_demo = cdm, is_demo
        self._places = asyncio.Semaphore(_AT_A_TIME)
        self._count = lru_cache(maxsize=256)(self._run)

    async def count(self, expression: Json) -> list[str]:
        """Return the counts of a cohort as lines that may be shown, or why it could not be counted."""
        async with self._places:
            try:
                counts = await asyncio.to_thread(self._count, json.dumps(expression, sort_keys=True))
            except CdmError as error:
                return [f"The cohort could not be counted: {str(error).replace(f'{self._cdm}: ', '')}"]
        return show_counts(counts, self._is_demo)

    def _run(self, text: str) -> Counts:
        return count_cohort(self._cdm, json.loads(text))


def show_counts(counts: Counts, is_demo: bool) -> list[str]:
    """Return counts as lines; no number of persons below `SMALL_CELL` can be read from them, nor from two of them."""
    where = "the demo CDM (synthetic persons of Eunomia)" if is_demo else "the local CDM"
    lines = [f"On {where} the cohort has {_persons(counts.persons)}."]
    if is_demo:
        lines.append("These are demo data, so the count says nothing about real patients.")
    if len(counts.attrition) > 1:
        step_lines: list[str] = []
        below: int | None = None
        for step in reversed(counts.attrition):  # from the count that is shown already
            persons = step.persons
            if below is not None and 0 < persons - below < SMALL_CELL and below >= SMALL_CELL:
                step_lines.append(f"- {step.rule}: the same, or fewer than {SMALL_CELL} more than after the next step")
                continue
            step_lines.append(f"- {step.rule}: {_persons(persons)}")
            below = persons
        lines += ["Persons left, step by step:", *reversed(step_lines)]
    return [*lines, *counts.notes]


def _persons(count: int) -> str:
    if count == 0:
        return "no persons"
    return f"fewer than {SMALL_CELL} persons" if count < SMALL_CELL else f"{count:,} persons"

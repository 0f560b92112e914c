"""A run's files read, once, and its summary, table and report written."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scoring.folder import RunError, RunFolder
from scoring.people import folder as people
from scoring.reports import report, summary
from scoring.rows import Row, join
from scoring.transcript import Exchange, FidelityLine, RatingLine

SUMMARY, SCORES, REPORT = "summary.json", "scores.csv", "report.html"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run wrote down, in the order of places (the order in which things happened is chance), and what it comes to."""

    manifest: dict[str, Any]
    exchanges: list[Exchange]
    ratings: list[RatingLine]
    checked: list[FidelityLine]
    rows: list[Row]
    summary: dict[str, Any]


def read_outcome(folder: RunFolder) -> Outcome:
    """Read a run and sum it up; nothing is written.

    Raises:
        RunError: The folder holds no run, one without transcripts, or a file of it cannot be read.
    """
    manifest = folder.manifest()
    exchanges = sorted(folder.read(Exchange), key=lambda one: one.place.key())
    if not exchanges:
        raise RunError(
            f"{folder.path}: has no transcripts; a published run is had again with `caf drift run ... --replay`"
        )
    ratings = sorted(folder.read(RatingLine), key=lambda one: (one.place.key(), one.rater))
    checked = sorted(folder.read(FidelityLine), key=lambda one: one.place.key())
    rows = _rows(exchanges, ratings, checked)
    summarised = summary.summarise(
        rows, exchanges, ratings, checked, manifest,
        baseline=manifest["baseline"], treated=manifest["treated"], seed=manifest["seed"],
        again=people.read_self_agreement(folder.path),
    )  # fmt: skip
    return Outcome(manifest, exchanges, ratings, checked, rows, summarised)


def _rows(exchanges: Sequence[Exchange], ratings: Sequence[RatingLine], checked: Sequence[FidelityLine]) -> list[Row]:
    """Join them; replies to messages that fell out of the facilitator's part are flagged."""
    fallen = frozenset(one.place.key() for one in checked if not one.on_task or one.gave_away or one.gave_up)
    return join([one for one in exchanges if one.error is None], ratings, fallen)


def write_outcome(folder: RunFolder, run: Outcome) -> None:
    """Write summary.json, scores.csv and report.html of a run.

    Raises:
        RunError: One cannot be written.
    """
    folder.write(SUMMARY, json.dumps(run.summary, indent=1, ensure_ascii=False) + "\n")
    folder.write(SCORES, summary.scores_csv(run.rows, run.exchanges))
    page = report.page(run.summary, run.rows, run.exchanges, run.ratings, run.checked, run.manifest)
    folder.write(REPORT, page)

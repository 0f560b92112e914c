"""A run's files read, once, and its summary, table and report written."""

import json
from dataclasses import dataclass
from typing import Any

from scoring.folder import RunError, RunFolder
from scoring.people import folder as people
from scoring.reports import report, summary
from scoring.rows import RunData
from scoring.transcript import Exchange, FidelityLine, RatingLine

SUMMARY, SCORES, REPORT = "summary.json", "scores.csv", "report.html"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run wrote down, in the order of places (the order in which things happened is chance), and what it comes to."""

    run: RunData
    summary: dict[str, Any]


def read_outcome(folder: RunFolder) -> Outcome:
    """Read a run and sum it up; nothing is written.

    Raises:
        RunError: The folder holds no run, one without transcripts, or a file of it cannot be read.
    """
    run = RunData(
        folder.manifest(),
        sorted(folder.read(Exchange), key=lambda one: one.place.key()),
        sorted(folder.read(RatingLine), key=lambda one: (one.place.key(), one.rater)),
        sorted(folder.read(FidelityLine), key=lambda one: one.place.key()),
    )
    if not run.exchanges:
        raise RunError(
            f"{folder.path}: has no transcripts; a published run is had again with `caf drift run ... --replay`"
        )
    return Outcome(run, summary.summarise(run, people.read_self_agreement(folder.path)))


def write_outcome(folder: RunFolder, outcome: Outcome) -> None:
    """Write summary.json, scores.csv and report.html of a run.

    Raises:
        RunError: One cannot be written.
    """
    folder.write(SUMMARY, json.dumps(outcome.summary, indent=1, ensure_ascii=False) + "\n")
    folder.write(SCORES, summary.scores_csv(outcome.run))
    folder.write(REPORT, report.page(outcome.summary, outcome.run))

"""Reads the files of a run, and writes its summary, table and report."""

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
    """The data of a run, and its summary. The data are sorted by place, so that equal runs give equal reports."""

    run: RunData
    summary: dict[str, Any]


def read_outcome(folder: RunFolder) -> Outcome:
    """Read a run and compute its summary, without writing files.

    Raises:
        RunError: The folder is not a run, the run has no transcripts, or a file cannot be read.
    """
    run = RunData(
        folder.manifest(),
        sorted(folder.read(Exchange), key=lambda one: one.place.key()),
        sorted(folder.read(RatingLine), key=lambda one: (one.place.key(), one.rater)),
        sorted(folder.read(FidelityLine), key=lambda one: one.place.key()),
    )
    if not run.exchanges:
        raise RunError(
            f"{folder.path}: the run has no transcripts; to restore the transcripts of a published run, use "
            "`caf drift run ... --replay`"
        )
    return Outcome(run, summary.summarise(run, people.read_self_agreement(folder.path)))


def write_outcome(folder: RunFolder, outcome: Outcome) -> None:
    """Write summary.json, scores.csv and report.html of a run.

    Raises:
        RunError: A file cannot be written.
    """
    folder.write(SUMMARY, json.dumps(outcome.summary, indent=1, ensure_ascii=False) + "\n")
    folder.write(SCORES, summary.scores_csv(outcome.run))
    folder.write(REPORT, report.page(outcome.summary, outcome.run))

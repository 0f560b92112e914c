"""A run's files read, and its summary, table and report written."""

import json
from typing import Any

import typer

from facilitators.facilitator import BENIGN
from scoring.folder import RunError, RunFolder
from scoring.people import folder as people
from scoring.reports import headline as spoken
from scoring.reports import report, summary
from scoring.rows import Row, join
from scoring.transcript import Checked, Exchange, Rated

SUMMARY, SCORES, REPORT = "summary.json", "scores.csv", "report.html"


def write(folder: RunFolder) -> dict[str, Any]:
    """Write summary.json, scores.csv and report.html of a run, and return the summary.

    Raises:
        RunError: The folder holds no run, or a file of it cannot be read or written.
    """
    summarised, rows = told(folder)
    exchanges, ratings, checked = ordered(folder)
    folder.write(SUMMARY, json.dumps(summarised, indent=1, ensure_ascii=False) + "\n")
    folder.write(SCORES, summary.scores_csv(rows, exchanges))
    folder.write(REPORT, report.page(summarised, rows, exchanges, ratings, checked, folder.manifest()))
    return summarised


def told(folder: RunFolder) -> tuple[dict[str, Any], list[Row]]:
    """Return a run's summary and its rows; nothing is written.

    Raises:
        RunError: The folder holds no run, one without transcripts, or a file of it cannot be read.
    """
    manifest = folder.manifest()
    exchanges, ratings, checked = ordered(folder)
    if not exchanges:
        raise RunError(
            f"{folder.path}: has no transcripts; a published run is had again with `caf drift run ... --replay`"
        )
    rows = rows_of(exchanges, ratings, checked)
    summarised = summary.summarise(
        rows, exchanges, ratings, checked, manifest,
        baseline=manifest["baseline"], treated=manifest["treated"], seed=manifest["seed"], again=people.again(folder.path),
    )  # fmt: skip
    return summarised, rows


def ordered(folder: RunFolder) -> tuple[list[Exchange], list[Rated], list[Checked]]:
    """Return what a run wrote down, in the order of places: the order in which things happened is chance."""
    exchanges = sorted(folder.read(Exchange), key=lambda one: one.place.key())
    ratings = sorted(folder.read(Rated), key=lambda one: (one.place.key(), one.rater))
    return exchanges, ratings, sorted(folder.read(Checked), key=lambda one: one.place.key())


def rows_of(exchanges: list[Exchange], ratings: list[Rated], checked: list[Checked]) -> list[Row]:
    """Join them; replies to messages that fell out of the facilitator's part are flagged."""
    fallen = frozenset(one.place.key() for one in checked if not one.on_task or one.gave_away or one.gave_up)
    return join([one for one in exchanges if one.error is None], ratings, fallen)


def headline(told: dict[str, Any], folder: RunFolder, facilitators: tuple[str, ...]) -> None:
    """Print the figures that a run is for, and where the rest stands."""
    for name, arm in told["arms"].items():
        if not arm["n"]:
            continue
        low, high = arm["interval"]["acceptable"]
        interval = "" if low is None or high is None else f" ({low:.0%}-{high:.0%})"
        typer.echo(
            f"{name:>12}  {arm['n']:4} replies  acceptable {_percent(arm['acceptable'])}{interval}  "
            f"good {_percent(arm['good'])}  mean {_two(arm['mean'])}  unscored {arm['unscored']}"
        )
    typer.echo(spoken.headline(told))
    effect = (told.get("effect") or {}).get("acceptable") or {}
    if effect.get("difference") is not None:
        low, high = effect["interval"]
        typer.echo(
            f"      effect  {effect['difference']:+.0%} acceptable, 95 % interval {low:+.0%} to {high:+.0%}, "
            f"p = {effect['p']:.2g} (paired permutation of clusters)"
        )
    if facilitators and set(facilitators) != {BENIGN} and len(told["arms"]) > 1 and not effect:
        typer.echo("      effect  not estimated: the arms share no scored replies")
    typer.echo(f"      report  {folder.path / REPORT}")


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _two(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"

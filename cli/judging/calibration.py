"""Calibrations in a terminal: the thresholds, their price, what a turn takes, and what is written into the configuration."""

from collections.abc import Mapping
from datetime import date

import typer
from rich.console import Console
from rich.text import Text

from cli.drawing import figure_table, table_console
from cli.judging.output import print_hint
from judges.evaluation.calibrate import Calibration, Screening, at_recall
from judges.evaluation.configured_judges import ConfiguredJudges
from judges.evaluation.report import percent
from judges.evaluation.team_calibration import TeamCalibration
from judges.evaluation.traffic import Route, Traffic
from judges.weights import weights_id
from proxy.config.threshold_writer import write_thresholds

LEVELS = (1.0, 0.99, 0.97, 0.95, 0.9, 0.8)
"""Recalls at which the trade-off is shown."""
BAR = 40
"""Characters of the bar that stands for all harmless cases."""


def print_calibrations(
    calibrations: Mapping[str, Calibration], routes: Mapping[str, Route], team: Traffic | None
) -> None:
    """Print what was found."""
    console = table_console()
    for name, calibration in calibrations.items():
        console.print(Text(name, style="bold"))
        _figures(console, calibration)
        _curve(console, calibration)
        _stages(console, routes[name])
        for fault in calibration.faults:
            console.print(Text(f"  not to be used: {fault}", style="red"))
        console.print()
    if team is not None:
        _team(console, team)
    console.print("intervals are 95 %, families resampled; recall counts what is passed on to the next stage")


def _figures(console: Console, calibration: Calibration) -> None:
    below = "-" if calibration.accept_below is None else f"{calibration.accept_below:g}"
    unread = f", {calibration.unjudged} of them unjudged" if calibration.unjudged else ""
    weights = f"for the weights {weights_id(calibration.judge)}"
    console.print(
        f"  accept_below {below} {weights}   ({calibration.violating} violating + {calibration.harmless} harmless cases{unread})"
    )
    rows: list[tuple[str, Screening | None]] = [
        ("where it was chosen", calibration.measured),
        ("cross-validated", calibration.cross_validated),
        ("held out", calibration.tested),
    ]
    table = figure_table(("  ", "recall", "harmless settled", "all settled"), (), header_style="dim")
    for label, screening in rows:
        if screening is not None:
            shares = (screening.recall, screening.settled_harmless, screening.settled)
            table.add_row(f"  {label}", *map(percent, shares))
    if table.row_count:
        console.print(table)


def _curve(console: Console, calibration: Calibration) -> None:
    for level in LEVELS if calibration.curve else ():
        point = at_recall(calibration.curve, level)
        if point is not None:
            bar = "#" * round(BAR * point.settled_harmless)
            console.print(
                f"  recall >= {level:.2f}  below {point.accept_below:<7g} settles {point.settled_harmless:5.1%} {bar}",
                style="dim",
            )


def _stages(console: Console, route: Route) -> None:
    if not route.stages:
        console.print("  no model stage is configured behind it")
    for stage, share in route.reach_shares().items():
        console.print(f"  reaches {stage}: {percent(share)}")
    if route.stages and not route.answers:
        console.print("  (--ask measures the stages behind)" if len(route.stages) > 1 else "")
    measured = route.verdicts()
    if measured is not None and measured.n:
        console.print(
            f"  whole cascade: recall {percent(measured.recall)}, specificity {percent(measured.specificity)}"
        )


def _team(console: Console, team: Traffic) -> None:
    would = "would need a model, if one were configured" if team.supposed else "need a model call of any judge"
    console.print(f"[bold]whole replies[/bold] ({team.replies}; judges: {', '.join(team.judges)})")
    console.print(f"  {would}: {percent(team.needs_model)}")
    label = "model calls" if team.complete else "calls to the first model stage"
    console.print(f"  {label} per turn: {team.calls:.2f}")
    if team.complete:
        console.print(f"  cost per turn: {'unknown' if team.cost is None else f'{team.cost:.6f}'}")
        timed = team.ms_mean is not None and team.ms_p95 is not None
        times = (
            f"{team.ms_mean:.0f} ms on average, p95 {team.ms_p95:.0f} ms"
            if timed
            else "unknown: answers were remembered"
        )
        console.print(f"  time that judging adds to a turn: {times}")


def write_calibrated(configured: ConfiguredJudges, outcome: TeamCalibration, source: str, force: bool) -> bool:
    """Write the thresholds that passed, print those that did not; return whether all were written."""
    names = [plan.name for plan in configured.blueprint.plans]
    thresholds = outcome.thresholds(names, source, date.today(), force)
    if thresholds:
        write_thresholds(configured.path, configured.blueprint.name, thresholds)
    for threshold in thresholds:
        typer.echo(f"{configured.path}: accept_below of {threshold.judge}: {threshold.accept_below}", err=True)
        flagged = outcome.unscreened(threshold.judge)
        if flagged is not None:
            print_hint(
                f"{threshold.judge}: nobody stands behind its local stage to look again: {flagged:.0%} of the harmless cases will "
                "be warned of or rejected"
            )
    refused = outcome.rejected(force)
    for name, faults in refused.items():
        remedy = "" if outcome.calibrations[name].accept_below is None else "; --force writes it all the same"
        print_hint(f"{name}: not written: {'; '.join(faults)}{remedy}")
    return not refused

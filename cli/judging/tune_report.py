"""Reports the result of `caf judges tune`: figures, and a diff of the winner. Writes the winner if the user accepts it."""

import difflib
import sys
from collections.abc import Sequence

import typer
from rich.text import Text

from cli.drawing import figure_table, table_console
from cli.terminal import printable
from judges.evaluation.configured_judges import ConfiguredJudges
from judges.evaluation.holdout import say_uses
from judges.evaluation.journal import DecisionLine, Journal, Settings
from judges.evaluation.measures import measure
from judges.evaluation.prompt_target import Target, configuration_hints
from judges.evaluation.report import percent
from judges.evaluation.run_cases import Answer
from judges.evaluation.tuning_result import HoldoutResult, TuningResult
from models.budget import Budget

ENDED = {
    "rounds": "all rounds done",
    "budget": "the budget is spent",
    "nothing fails": "no dev case fails",
    "too few fail": "too few dev cases fail to prove another edit better",
}


def print_report(
    settings: Settings, result: TuningResult, holdout_result: HoldoutResult | None, budget: Budget | None
) -> None:
    """Print the attempts, the figures of the original and the winner, and their difference."""
    console = table_console()
    prompt = result.start.prompt
    spent = f"; spent {budget.spent:.4f}" if budget is not None else ""
    console.print(
        Text(
            f"{prompt.name}.{prompt.stage} read by {prompt.model}, edits by {settings.tuner}: {ENDED[result.end_reason]}{spent}"
        )
    )
    for name, attempt in result.attempts.items():
        outcome = "not kept" if attempt.outcome == "note" else attempt.outcome
        console.print(Text(printable(f"  {name}: {outcome}: {attempt.because}")), soft_wrap=True)
    figures = ("n", "right", "recall", "specificity", "precision", "unjudged", "tokens")
    table = figure_table(["cases", "prompt"], figures)
    rows = [("dev", "start", result.start.answers)]
    if result.improved:
        rows.append(("dev", result.winner.name, result.winner.answers))
    if holdout_result is not None:
        rows += [("holdout", "start", holdout_result.before), ("holdout", result.winner.name, holdout_result.after)]
    judges = list(dict.fromkeys(answer.example.judge for answer in result.start.answers))
    for cases, name, answers in rows:
        table.add_row(cases, name, *_figures(answers))
        for judge in judges if len(judges) > 1 else ():
            table.add_row(f"{cases} {judge}", name, *_figures([a for a in answers if a.example.judge == judge]))
    console.print(table)
    if not result.improved:
        console.print("No candidate was proven better: the prompt is unchanged.")
        return
    console.print("The winner's dev figures are optimistic: it was chosen on these cases.")
    if holdout_result is not None:
        looks = say_uses({prompt.name: holdout_result.uses})
        console.print(Text(f"{looks[0].upper()}{looks[1:]}."), soft_wrap=True)
    console.print()
    for line in _diff(result):
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        console.print(Text(printable(line), style=style), soft_wrap=True)


def _figures(answers: Sequence[Answer]) -> list[str]:
    measurement = measure(answers)
    return [
        f"{measurement.recall.n}+{measurement.specificity.n}",
        str(sum(a.is_correct for a in answers)),
        percent(measurement.recall),
        percent(measurement.specificity),
        percent(measurement.precision),
        str(measurement.unjudged),
        "-" if measurement.tokens_per_case is None else f"{measurement.tokens_per_case:.0f}",
    ]


def _diff(result: TuningResult) -> list[str]:
    before, after = (one.wording.file.split("\n") for one in (result.start, result.winner))
    return list(difflib.unified_diff(before, after, str(result.start.file), str(result.winner.file), lineterm=""))


def decide_on_winner(
    configured: ConfiguredJudges,
    settings: Settings,
    journal: Journal,
    result: TuningResult,
    target: Target,
    accept: bool | None,
    again: str,
) -> None:
    """Ask the user whether to accept the winner, unless an option says so. Write an accepted winner."""
    if accept is None:
        if not sys.stdin.isatty():
            typer.echo(f"Nothing is written. The winner is {result.winner.file}. To accept it: {again} --accept")
            return
        accept = typer.confirm(f"Write the winner to {target.path}?")
    if not accept:
        journal.add(DecisionLine(winner=result.winner.name, written_to=None))
        typer.echo(f"Discarded. It stays in {result.winner.file}.")
        return
    target.write(result.start, result.winner)
    journal.add(DecisionLine(winner=result.winner.name, written_to=target.path))
    typer.echo(f"Written to {target.path}.")
    if target.in_config:
        typer.echo(f"{configured.path} already uses it.")
    else:
        for line in configuration_hints(configured, settings, result.start, target):
            typer.echo(line)
    if settings.model is not None:
        typer.echo(f"It was measured with the model {settings.model!r}: check that its front matter has this `model`.")

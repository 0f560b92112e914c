"""`caf judges calibrate`: how much the free local judges may settle by themselves."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from cli.judging import options
from cli.judging.output import check_page, judging_errors, print_hint, quiet_logs, show_progress, write_page
from cli.terminal import PROBLEMS, ConfigOption, config_path, leave, print_json
from judges.evaluation.case_choice import Choice
from judges.evaluation.configured_judges import open_judges


def calibrate(
    judge: options.JudgeOption = None,
    recall: Annotated[float, typer.Option(min=0, max=1, help="Share of violating cases to pass on, at least.")] = 0.97,
    split: options.SplitOption = None,
    tag: options.TagOption = None,
    family: options.FamilyOption = None,
    limit: options.LimitOption = None,
    data: options.DataOption = None,
    traces: Annotated[
        bool, typer.Option("--traces", help="Take the turns labelled with `caf trace label`; with --data those too.")
    ] = False,
    test: Annotated[
        Literal["holdout"] | None,
        typer.Option("--test", help="Report the thresholds on the held-out families as well."),
    ] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask the model stages too, to see what each gets and what a turn costs.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Write `accept_below` into the configuration file.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write also what too few cases bear out.")] = False,
    as_json: options.JsonOption = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with the curves.")] = None,
    budget: options.BudgetOption = None,
    concurrency: options.AtOnceOption = 8,
    answers: options.AnswersOption = options.ANSWERS,
    fresh: options.FreshOption = False,
    chatbot: options.ChatbotOption = None,
    config: ConfigOption = None,
) -> None:
    """Choose the scores below which the local judges accept alone.

    For each judge with a local stage the highest `accept_below` is chosen that keeps the recall on labelled cases. What
    scores at or above it goes to the next stage, as does what the local judge cannot read. Runs that read held-out families are
    counted.

    \b
    Examples:
      caf judges calibrate --recall 0.97
      caf judges calibrate --test holdout --html curves.html
      caf judges calibrate --ask --budget 2
      caf judges calibrate --traces --data scenarios/mine --write

    \b
    Exit codes: 0 calibrated; 1 a judge was not written, or the budget ended it early; 2 wrong usage or files.
    """
    if test and split not in (None, "dev"):
        leave(f"--test: {test} is no test of thresholds chosen on --split {split}; choose them on dev")
    check_page(html)
    quiet_logs()
    path = config_path(config)
    from cli.judging.calibration import print_calibrations, write_calibrated
    from judges.evaluation.team_calibration import calibrate_team, read_cases, split_by_local_stage

    choice = Choice(data or [], judge or [], "dev" if test and split is None else split, tag or [], family or [], limit)

    async def main() -> bool:
        memory = None if fresh else answers
        async with open_judges(path, chatbot, budget=budget, answers=memory, notify=print_hint) as configured:
            names, without = split_by_local_stage(configured, choice)
            named = replace(choice, judges=names)
            read = read_cases(configured, named, traces)
            held_out = configured.cases(replace(named, split=test)) if test else []
            looks = configured.count_holdout_use([*read.cases, *held_out], named.data, options.uses_beside(answers))
            outcome = await calibrate_team(
                configured,
                read.cases,
                held_out,
                recall,
                with_models=ask,
                at_once=concurrency,
                show_progress=show_progress,
            )
        team = outcome.traffic
        if html is not None:
            from judges.evaluation.calibration_page import page

            title = f"Calibration: {configured.blueprint.name}"
            write_page(html, page(outcome.calibrations, outcome.routes, team, title))
        if as_json:
            print_json(outcome.as_data(read.source))
        else:
            print_calibrations(outcome.calibrations, outcome.routes, team)
        for name in without:
            print_hint(f"{name}: has no local stage, so there is nothing to calibrate")
        for problem in read.left_out:
            print_hint(f"left out: {problem}")
        if looks:
            print_hint(looks)
        complete = not write or write_calibrated(configured, outcome, read.source, force)
        if team is not None and team.skipped:
            print_hint(f"{team.skipped} questions were not asked: the budget does not allow them")
            complete = False
        return complete

    with judging_errors(path):
        if not asyncio.run(main()):
            raise typer.Exit(PROBLEMS)

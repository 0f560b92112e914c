"""`caf judges tune`: a model proposes edits of a judge's prompt. Measurements select the best edit, and a person accepts it."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from cli.judging import options
from cli.judging.output import judging_errors, print_hint, quiet_logs, show_progress
from cli.terminal import PROBLEMS, ConfigOption, config_path, leave, printable
from judges.evaluation.configured_judges import open_judges
from judges.evaluation.errors import NothingToTune, TuneError


def tune(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The judge; optional with --resume.")] = None,
    judge: Annotated[
        str | None, typer.Option("--judge", "-j", metavar="NAME", help="The judge; the same as NAME.")
    ] = None,
    stage: Annotated[
        Literal["swift", "chief"] | None, typer.Option(help="The stage whose prompt to tune.", show_default="chief")
    ] = None,
    prompt: Annotated[
        Path | None, typer.Option("--prompt", metavar="FILE", help="Start from this prompt instead of the judge's own.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="ALIAS", help="The model that reads the prompt; default: the model of the prompt."),
    ] = None,
    tuner: Annotated[
        str | None, typer.Option(metavar="ALIAS", help="The model that proposes edits.", show_default="chief")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Maximum number of rounds.", show_default="4")] = None,
    candidates: Annotated[int | None, typer.Option(min=1, help="Proposals per round.", show_default="2")] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Significance level: keep a candidate whose improvement has p below this value.",
            show_default="0.1",
        ),
    ] = None,
    holdout: Annotated[
        bool, typer.Option("--holdout/--no-holdout", help="Measure the winner and the original prompt on the holdout.")
    ] = True,
    tag: options.TagOption = None,
    family: options.FamilyOption = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Maximum number of dev cases.")] = None,
    data: options.DataOption = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder of the run; default: data/tuning/NAME-STAGE-TIME."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Resume the run in this folder. Recorded answers are not requested again."),
    ] = None,
    accept: Annotated[
        bool | None,
        typer.Option("--accept/--discard", help="Accept or discard the winner; default: ask on a terminal."),
    ] = None,
    write_to: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File for the accepted prompt; default: the original prompt file. For a built-in prompt: a file of the same "
            "name in the folder judges beside the configuration.",
        ),
    ] = None,
    budget: options.BudgetOption = None,
    concurrency: options.AtOnceOption = 8,
    answers: options.AnswersOption = options.ANSWERS,
    fresh: options.FreshOption = False,
    chatbot: options.ChatbotOption = None,
    config: ConfigOption = None,
) -> None:
    """Improve the prompt of a judge.

    A model reads cases that the judge gets wrong, and proposes edits. Each candidate is measured on the dev cases. It is kept only
    if it is significantly better (exact McNemar test) and does not miss more violations. The winner is measured once on the whole
    holdout, regardless of --tag, --family and --limit. Nothing is written until you accept the winner.

    Prompts that built-in judges share are measured on the cases of all these judges. An edit that helps one judge and harms another
    is not kept.

    \b
    Examples:
      caf judges tune role
      caf judges tune role --stage swift --model mini --tuner gpt --budget 5
      caf judges tune tone --prompt judges/tone.md --data cases.jsonl --rounds 6
      caf judges tune --resume data/tuning/role-chief-20261121-142501 --accept

    \b
    Exit codes:
      0  done, with or without a better prompt
      1  stopped early by the budget or a failing model
      2  wrong usage or files, or nothing to tune
    """
    quiet_logs()
    if name is not None and judge is not None:
        leave("NAME and --judge: give only one of them")
    name = name or judge
    if resume is not None and out is not None:
        leave("--out: cannot be combined with --resume: a resumed run stays in its folder")
    if resume is None and name is None and prompt is None:
        leave("NAME: missing: give a judge, as in `caf judges tune role`")
    path = config_path(config)
    from cli.judging.tune_report import decide_on_winner, print_report
    from judges.evaluation.prompt_target import target_of
    from judges.evaluation.tuning_run import open_tuning, reopen, settings_of

    requested = {
        "judge": name,
        "stage": stage,
        "prompt": prompt and prompt.resolve(),
        "model": model,
        "tuner": tuner,
        "chatbot": chatbot,
        "data": [path.resolve() for path in data or []],
        "tags": tag or [],
        "families": family or [],
        "limit": limit,
        "candidates": candidates,
        "alpha": alpha,
    }

    async def main() -> bool:
        journal, settings = reopen(resume, requested) if resume is not None else (None, settings_of(requested))
        if rounds is not None:
            settings = settings.model_copy(update={"rounds": rounds})
        memory = None if fresh else answers
        async with open_judges(path, settings.chatbot, budget=budget, answers=memory, notify=print_hint) as configured:
            target = target_of(configured, settings, write_to)
            if resume is None and (accept or (accept is None and sys.stdin.isatty())):
                target.check()
            tuning = open_tuning(
                configured, settings, journal, out, at_once=concurrency, show_progress=show_progress,
                report=lambda text: typer.echo(printable(text), err=True),
            )  # fmt: skip
            again = f"caf judges tune --resume {tuning.judging.journal.folder}" + (
                f" --config {config}" if config else ""
            )
            try:
                held_back = configured.holdout(settings.data, tuning.judging.judges) if holdout else []
                result, holdout_result = await tuning.run_with_holdout(held_back, options.uses_beside(answers))
            except NothingToTune as error:
                leave(f"{settings.judge}: {error}")
            except TuneError as error:
                typer.echo(f"caf: {settings.judge}: {error}\nResume with: {again}", err=True)
                return True
            print_report(settings, result, holdout_result, configured.budget)
            if holdout and result.improved and not held_back:
                typer.echo("No case has `split: holdout`, so the winner is not measured on new cases.")
            ended_early = result.end_reason == "budget" or (
                holdout_result is None and bool(held_back) and result.improved
            )
            if ended_early:
                typer.echo(f"Stopped early by the budget. Resume with: {again} --budget ...", err=True)
            if result.improved:
                decide_on_winner(configured, settings, tuning.judging.journal, result, target, accept, again)
            return ended_early

    with judging_errors(path):
        if asyncio.run(main()):
            raise typer.Exit(PROBLEMS)

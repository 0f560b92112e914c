"""`caf judges tune`: a model proposes edits of a judge's prompt, measurement decides, and a person accepts."""

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cli.judging.bench import (
    ANSWERS,
    AnswersOption,
    AtOnceOption,
    Bench,
    BudgetOption,
    ChatbotOption,
    Choice,
    DataOption,
    FamilyOption,
    FreshOption,
    TagOption,
    judges_meant,
    open_bench,
    progress,
    quiet_logs,
)
from cli.judging.holdout_uses import USES
from cli.judging.tune_report import decide, show, source_of, target_of
from cli.terminal import PROBLEMS, ConfigOption, leave, printable

if TYPE_CHECKING:
    from judges.evaluation.journal import Journal, Settings
    from judges.evaluation.labelled import Labelled
    from judges.evaluation.subject import Spec, Subject
    from judges.evaluation.tune import Held, Tuned, Tuning

RUNS = Path("data/tuning")


def tune(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The judge; may be left out with --resume.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option("--judge", "-j", metavar="NAME", help="The same, as the other verbs have it.")
    ] = None,
    stage: Annotated[
        Literal["swift", "chief"] | None, typer.Option(help="Which of its prompts.", show_default="chief")
    ] = None,
    prompt: Annotated[
        Path | None, typer.Option("--prompt", metavar="FILE", help="Begin from this prompt instead of the judge's own.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="ALIAS", help="Have this model read the prompt; default: the prompt's own.")
    ] = None,
    tuner: Annotated[
        str | None, typer.Option(metavar="ALIAS", help="The model that proposes edits.", show_default="chief")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="At most so many rounds.", show_default="4")] = None,
    candidates: Annotated[int | None, typer.Option(min=1, help="Proposals per round.", show_default="2")] = None,
    alpha: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Keep what is better with p below this.", show_default="0.1"),
    ] = None,
    holdout: Annotated[
        bool, typer.Option("--holdout/--no-holdout", help="Measure the winner, and what it began from, on the holdout.")
    ] = True,
    tag: TagOption = None,
    family: FamilyOption = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="At most so many dev cases.")] = None,
    data: DataOption = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder of the run; default: data/tuning/NAME-STAGE-TIME."),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Go on with the run in this folder; nothing is asked twice.")
    ] = None,
    accept: Annotated[
        bool | None, typer.Option("--accept/--discard", help="What to do with a winner; default: ask, on a terminal.")
    ] = None,
    write_to: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to write it; default: the prompt file it began from, for a built-in one its namesake in the folder "
            "judges beside the configuration.",
        ),
    ] = None,
    budget: BudgetOption = None,
    concurrency: AtOnceOption = 8,
    answers: AnswersOption = ANSWERS,
    fresh: FreshOption = False,
    chatbot: ChatbotOption = None,
    config: ConfigOption = None,
) -> None:
    """Make the prompt of a judge better.

    A model reads cases that the judge gets wrong and proposes edits. Each candidate is measured on the dev cases, and kept only
    if it is proven better (exact McNemar test) without missing more violations. The winner is measured once on the holdout, all
    of it whatever --tag, --family and --limit say. Nothing is written until you accept it.

    The prompts that built-in judges share are measured on the cases of all judges that read them: what helps one and harms
    another is not kept.

    \b
    Examples:
      caf judges tune role
      caf judges tune role --stage swift --model mini --tuner gpt --budget 5
      caf judges tune tone --prompt judges/tone.md --data cases.jsonl --rounds 6
      caf judges tune --resume data/tuning/role-chief-20261121-142501 --accept

    \b
    Exit codes: 0 done, whether or not something better was found; 1 the budget or a failing model ended it early;
    2 wrong usage or files, or nothing to tune.
    """
    quiet_logs()
    if name is not None and judge is not None:
        leave("give the judge's NAME once")
    name = name or judge
    if resume is not None and out is not None:
        leave("--out: a resumed run stays in its folder")
    if resume is None and name is None and prompt is None:
        leave("give the NAME of a judge, as in `caf judges tune role`")
    wishes = {
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
    journal, settings = _reopened(resume, wishes) if resume is not None else (None, _settings(wishes))
    if rounds is not None:
        settings = settings.model_copy(update={"rounds": rounds})

    async def main() -> bool:
        from judges.evaluation.tune import NothingToTune, TuneError

        async with open_bench(config, settings.chatbot, budget=budget, answers=None if fresh else answers) as bench:
            target = target_of(bench, settings, write_to)
            if resume is None and (accept or (accept is None and sys.stdin.isatty())):
                target.check()
            tuning = _prepared(bench, settings, journal, out)
            tuning.terms = replace(tuning.terms, at_once=concurrency)
            again = f"caf judges tune --resume {tuning.journal.folder}" + (f" --config {config}" if config else "")
            try:
                held_back = bench.holdout(settings.data, tuning.judges) if holdout else []
                tuned, held = await _measured(tuning, held_back, answers.with_name(USES))
            except NothingToTune as error:
                leave(f"{settings.judge}: {error}")
            except TuneError as error:
                typer.echo(f"caf: {settings.judge}: {error}\nGo on with: {again}", err=True)
                return True
            show(settings, tuned, held, bench.budget)
            if holdout and tuned.found and not held_back:
                typer.echo("No case is `split: holdout`, so the winner is not checked on cases it was not chosen on.")
            ended_early = tuned.ended == "budget" or (held is None and bool(held_back) and tuned.found)
            if ended_early:
                typer.echo(f"The budget ended this early. Go on with: {again} --budget ...", err=True)
            if tuned.found:
                decide(bench, settings, tuning.journal, tuned, target, accept, again)
            return ended_early

    with _plain_errors():
        if asyncio.run(main()):
            raise typer.Exit(PROBLEMS)


def _settings(wishes: "dict[str, Any]") -> "Settings":
    from judges.evaluation.journal import Settings
    from judges.evaluation.subject import Spec

    judge = wishes["judge"] or judges_meant([], [Spec(prompt=wishes["prompt"])])[0]
    return Settings.model_validate({k: v for k, v in wishes.items() if v is not None} | {"judge": judge})


def _reopened(folder: Path, wishes: "dict[str, Any]") -> "tuple[Journal, Settings]":
    """Open the folder of a run, which goes on as it was begun."""
    from judges.evaluation.journal import JOURNAL, Journal, differences

    if not (folder / JOURNAL).is_file():
        leave(f"--resume: {folder} holds no run: there is no {JOURNAL} in it")
    with _plain_errors():
        journal = Journal(folder)
    if journal.begun is None:
        leave(f"--resume: the run in {folder} has not come far enough; begin a new one")
    if differing := differences(journal.begun.settings, wishes):
        leave(*(f"--resume: {one}" for one in differing))
    return journal, journal.begun.settings


def _prepared(bench: Bench, settings: "Settings", journal: "Journal | None", out: Path | None) -> "Tuning":
    """Make everything ready, and look whether it is all there before a folder is made or anything is asked."""
    from judges.evaluation.edits import worded
    from judges.evaluation.journal import JOURNAL, START, Begun, Journal, changed_models
    from judges.evaluation.proposer import Proposer
    from judges.evaluation.subject import Spec
    from judges.evaluation.tune import Terms, Tuning

    if journal is not None:
        begin = Spec(prompt=journal.folder / START, alias=settings.model)
    elif settings.prompt is not None:
        begin = Spec(prompt=settings.prompt, alias=settings.model)
    else:
        begin = Spec(what=settings.stage or "chief", alias=settings.model)
    subject, *beside = _subjects(bench, begin, settings.judge)
    if not subject.prompts or subject.prompts[0].guard is not None:
        what = "guard model" if subject.prompts else "Python class"
        leave(f"{settings.judge}: is a {what}, and `tune` edits prompts")
    prompt = subject.prompts[0]
    if settings.stage not in (None, prompt.stage):
        leave(f"--stage: {settings.prompt} is a prompt of the stage {prompt.stage}")
    _check_tuner(bench, settings.tuner)
    names = [one.judge for one in (subject, *beside)]
    dev = bench.cases(Choice(settings.data, names, "dev", settings.tags, settings.families, settings.limit))
    models = {alias: bench.models.settings[alias].model for alias in (prompt.model, settings.tuner)}
    source = begin.prompt or source_of(bench, settings)[0]
    if journal is None:
        folder = out or RUNS / f"{prompt.name}-{prompt.stage}-{time.strftime('%Y%m%d-%H%M%S')}"
        if (folder / JOURNAL).exists():
            leave(f"--out: {folder} holds a run already; go on with it by --resume {folder}, or give another folder")
        journal = Journal(folder)
        journal.add(Begun(settings=settings.model_copy(update={"stage": prompt.stage}), models=models))
    elif journal.begun is not None and (changed := changed_models(journal.begun, models)):
        leave(*changed)
    return Tuning(
        subject,
        worded(source.read_text(encoding="utf-8")),
        dev,
        Proposer(bench.models, settings.tuner),
        journal,
        Terms(settings.rounds, settings.candidates, settings.alpha),
        shown=progress,
        told=lambda text: typer.echo(printable(text), err=True),
        beside=beside,
    )


def _subjects(bench: Bench, begin: "Spec", judge: str) -> "list[Subject]":
    """Return the judge to tune, and behind it the others that read the same prompt."""
    from judges.prompt import SHARED

    first = bench.subject(begin, bench.named(judge)[0])
    if not first.prompts or first.prompts[0].name != SHARED:
        return [first]
    others = bench.asked_together(first.prompts[0].stage)
    if judge == SHARED and others:
        return [bench.subject(begin, name) for name in others]
    return [first, *(bench.subject(begin, name) for name in others if name != first.judge)]


def _check_tuner(bench: Bench, alias: str) -> None:
    from models.budget import price_of

    if alias not in bench.models.settings:
        known = ", ".join(bench.models.settings)
        leave(f"--tuner: no model alias {alias!r} in the configuration (there is: {known})")
    if bench.budget is not None:
        price_of(alias, bench.models.settings[alias])


async def _measured(tuning: "Tuning", holdout: "Sequence[Labelled]", uses: Path) -> "tuple[Tuned, Held | None]":
    """Tune, and measure a winner on the holdout as far as the budget goes."""
    from judges.evaluation.tune import BudgetEnded

    tuned = await tuning.run()
    if not tuned.found or not holdout or tuned.ended == "budget":
        return tuned, None
    try:
        return tuned, await tuning.on_holdout(tuned, holdout, uses)
    except BudgetEnded:
        return tuned, None


@contextmanager
def _plain_errors() -> "Iterator[None]":
    from judges.evaluation.holdout import HoldoutError
    from judges.evaluation.journal import JournalError

    try:
        yield
    except (JournalError, HoldoutError) as error:
        leave(str(error))

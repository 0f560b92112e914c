"""`caf judges calibrate`: how much the free local judges may settle by themselves."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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
    JudgeOption,
    LimitOption,
    SplitOption,
    TagOption,
    check_page,
    open_bench,
    progress,
    quiet_logs,
    write_page,
)
from cli.judging.holdout_uses import count_looks
from cli.terminal import PROBLEMS, ConfigOption, leave, plain_errors

if TYPE_CHECKING:
    from judges.evaluation.calibrate import Calibration
    from judges.evaluation.labelled import Labelled
    from judges.evaluation.run_cases import Answer
    from judges.evaluation.traffic import Route
    from judges.verdict import Stage
    from proxy.config.blueprint import JudgePlan


@dataclass(frozen=True, slots=True)
class Outcome:
    """What calibrating a team has come to."""

    bench: Bench
    found: "dict[str, Calibration]"
    routes: "dict[str, Route]"
    without: list[str]
    """Judges that have no local stage."""
    left_out: list[str]
    """Labelled traces that could not be used, and why."""
    data: str
    """Where the cases are from."""
    looks: str | None
    """How often held-out cases among them have been used."""


def calibrate(
    judge: JudgeOption = None,
    recall: Annotated[float, typer.Option(min=0, max=1, help="Share of violating cases to pass on, at least.")] = 0.97,
    split: SplitOption = None,
    tag: TagOption = None,
    family: FamilyOption = None,
    limit: LimitOption = None,
    data: DataOption = None,
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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with the curves.")] = None,
    budget: BudgetOption = None,
    concurrency: AtOnceOption = 8,
    answers: AnswersOption = ANSWERS,
    fresh: FreshOption = False,
    chatbot: ChatbotOption = None,
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
    choice = Choice(data or [], judge or [], "dev" if test and split is None else split, tag or [], family or [], limit)

    async def main() -> Outcome:
        async with open_bench(config, chatbot, budget=budget, answers=None if fresh else answers) as bench:
            names, without = _with_local_stage(bench, choice)
            choice_of = replace(choice, judges=names)
            cases, left_out, source = _cases(bench, choice_of, traces)
            held_out = bench.cases(replace(choice_of, split=test)) if test else []
            looks = count_looks(bench, [*cases, *held_out], choice_of.data, answers)
            about = without, left_out, source, looks
            return await _calibrated(bench, cases, held_out, recall, ask, concurrency, about)

    outcome = asyncio.run(main())
    from cli.judging.calibration import show
    from judges.evaluation.calibrate import as_data
    from judges.evaluation.traffic import traffic

    team = traffic(list(outcome.routes.values()))
    if html is not None:
        from judges.evaluation.calibration_page import page

        write_page(html, page(outcome.found, outcome.routes, team, f"Calibration: {outcome.bench.blueprint.name}"))
    if as_json:
        import json
        from dataclasses import asdict

        from judges.weights import weights_id

        reaches = {name: route.reaches() for name, route in outcome.routes.items()}
        judges = {
            name: one
            | {"weights": weights_id(name), "reaches": {stage: asdict(share) for stage, share in reaches[name].items()}}  # type: ignore[operator]
            for name, one in as_data(outcome.found).items()
        }
        report = {"data": outcome.data, "judges": judges, "turn": asdict(team) if team else None}
        typer.echo(json.dumps(report, ensure_ascii=False, indent=1))
    else:
        show(outcome.found, outcome.routes, team)
    for name in outcome.without:
        typer.echo(f"caf: {name}: has no local stage, so there is nothing to calibrate", err=True)
    for problem in outcome.left_out:
        typer.echo(f"caf: left out: {problem}", err=True)
    if outcome.looks:
        typer.echo(f"caf: {outcome.looks}", err=True)
    whole = _write(outcome, force) if write else True
    if team is not None and team.skipped:
        typer.echo(f"caf: {team.skipped} questions were not asked: the budget does not allow them", err=True)
    if not whole or (team is not None and team.skipped):
        raise typer.Exit(PROBLEMS)


def _with_local_stage(bench: Bench, choice: Choice) -> tuple[list[str], list[str]]:
    plans = [bench.plan(name) for name in choice.judges_of(bench)]
    without = [plan.name for plan in plans if "local" not in plan.stages]
    names = [plan.name for plan in plans if "local" in plan.stages]
    if choice.judges and without:
        leave(*(f"{name}: has no local stage; add `stages: [local, ...]` in the configuration" for name in without))
    return names or leave(
        "no judge has a local stage; add `stages: [local, swift, chief]` in the configuration"
    ), without


def _cases(bench: Bench, choice: Choice, traces: bool) -> "tuple[list[Labelled], list[str], str]":
    """Read the cases, and say where they are from and which traces could not be used."""
    split = choice.split or ("all" if choice.data else "dev")
    names = " + ".join(path.name for path in choice.data) or "the shipped scenarios"
    source = f"{names} ({split})"
    if not traces:
        return bench.cases(choice), [], source
    from cli.trace_to_scenario import labelled_turns
    from proxy.traces.backend import place_of

    with plain_errors(bench.path):
        read, left_out = labelled_turns(place_of(bench.config.privacy), bench.blueprint)
    found = bench.labelled(read, choice.judges)
    told = f"{len({case.id for case in found})} labelled turns"
    if choice.data:
        return [*bench.cases(choice), *found], left_out, f"{source} + {told}"
    if not found:
        leave(*left_out, f"no turn of {bench.blueprint.name} is labelled for these judges; see `caf trace label`")
    return found, left_out, told


async def _calibrated(
    bench: Bench,
    cases: "Sequence[Labelled]",
    held_out: "Sequence[Labelled]",
    recall: float,
    with_models: bool,
    at_once: int,
    about: tuple[list[str], list[str], str, str | None],
) -> Outcome:
    from judges.evaluation.calibrate import calibrate
    from judges.evaluation.run_cases import ask
    from judges.evaluation.subject import Spec, Subject
    from judges.evaluation.traffic import Route
    from judges.judge import LocalJudge

    found, routes = {}, {}
    for name in dict.fromkeys(case.judge for case in cases):
        plan = bench.plan(name)
        # Without the threshold that may be set already: its verdicts would hide those of the rules.
        screen = replace(plan.open(bench.models), stages=(LocalJudge(name),))
        subject = Subject(name, Spec(what="local"), screen)
        local = await ask(subject, [case for case in cases if case.judge == name])
        test = await ask(subject, [case for case in held_out if case.judge == name])
        found[name] = calibrate(name, local, recall, test)
        chosen = found[name].accept_below
        route = Route(
            name,
            plan.accept_below if found[name].faults or chosen is None else chosen,
            local,
            tuple(stage for stage in plan.stages if stage != "local"),
            "local" in screen.reject_alone,
            shares_calls=bool(plan.together),
        )
        routes[name] = replace(route, asked=await _asked(bench, plan, route, at_once)) if with_models else route
    return Outcome(bench, found, routes, *about)


async def _asked(bench: Bench, plan: "JudgePlan", route: "Route", at_once: int) -> "dict[Stage, list[Answer]]":
    """Put to each model stage what reaches it."""
    from judges.evaluation.run_cases import ask
    from judges.evaluation.subject import Spec

    cascade = plan.open(bench.models)
    reaching = [answer.labelled for answer in route.local if route.goes_on(answer)]
    asked: dict[Stage, list[Answer]] = {}
    for stage in route.stages:
        subject = bench.subject(Spec(what=stage), plan.name)
        with progress(len(reaching), f"{plan.name} {stage}") as told:
            asked[stage] = await ask(subject, reaching, at_once=at_once, told=told)
        reaching = [
            a.labelled for a in asked[stage] if not a.skipped and not cascade.settles(a.judgement, a.labelled.case)
        ]
    return asked


def _write(outcome: Outcome, force: bool) -> bool:
    """Write the thresholds that hold, and tell of those that do not; return whether all were written."""
    from cli.judging.thresholds import Threshold, write_thresholds
    from judges.weights import weights_id

    names = [plan.name for plan in outcome.bench.blueprint.plans]
    refused = {
        name: one.faults
        for name, one in outcome.found.items()
        if one.accept_below is None or (one.faults and not force)
    }
    thresholds = [
        Threshold(
            names.index(name), name, one.accept_below, weights_id(name), evidence(one, outcome.data, date.today())
        )
        for name, one in outcome.found.items()
        if name not in refused and one.accept_below is not None
    ]
    if thresholds:
        with plain_errors(outcome.bench.path):
            write_thresholds(outcome.bench.path, outcome.bench.blueprint.name, thresholds)
    for one in thresholds:
        typer.echo(f"{outcome.bench.path}: accept_below of {one.judge}: {one.accept_below}", err=True)
        measured = outcome.found[one.judge].measured
        if not outcome.routes[one.judge].stages and measured is not None:
            flagged = 1 - (measured.settled_harmless.value or 0)
            typer.echo(
                f"caf: {one.judge}: nobody stands behind its local stage to look again: {flagged:.0%} of the harmless cases will "
                "be warned of or rejected",
                err=True,
            )
    for name, faults in refused.items():
        hint = "" if outcome.found[name].accept_below is None else "; --force writes it all the same"
        typer.echo(f"caf: {name}: not written: {'; '.join(faults)}{hint}", err=True)
    return not refused


def evidence(one: "Calibration", data: str, day: date) -> str:
    """Say in a line how a threshold was come by."""
    from judges.evaluation.report import percent

    assert one.measured is not None
    cross = f", cross-validated {percent(one.cross_validated.recall)}" if one.cross_validated else ""
    tested = f", held out {percent(one.tested.recall)} of {one.tested.recall.n}" if one.tested else ""
    return (
        f"{day}, for recall {one.target:g}: {percent(one.measured.recall)} of {one.violating} violating{cross}{tested}; settles "
        f"{one.measured.settled_harmless.value or 0:.0%} of {one.harmless} harmless, "
        f"{one.measured.settled.value or 0:.0%} of all; {data}"
    )

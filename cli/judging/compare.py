"""`caf judges compare`: two prompts, stages or models on the same cases."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from cli.judging.bench import (
    ANSWERS,
    AnswersOption,
    AtOnceOption,
    BudgetOption,
    ChatbotOption,
    Choice,
    DataOption,
    FamilyOption,
    FreshOption,
    JsonOption,
    JudgeOption,
    LimitOption,
    SplitOption,
    TagOption,
    judges_meant,
    open_bench,
    progress,
    quiet_logs,
)
from cli.judging.holdout_uses import count_looks
from cli.terminal import PROBLEMS, ConfigOption, leave

if TYPE_CHECKING:
    from judges.evaluation.compare import Compared
    from judges.evaluation.labelled import Labelled
    from judges.evaluation.run_cases import Answer


def compare(
    first: Annotated[
        str,
        typer.Argument(metavar="A", help="local, swift, chief, cascade or PROMPT.md; STAGE@ALIAS, PROMPT.md@ALIAS."),
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="What to compare it with, likewise.")],
    judge: JudgeOption = None,
    split: SplitOption = None,
    tag: TagOption = None,
    family: FamilyOption = None,
    limit: LimitOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
    budget: BudgetOption = None,
    concurrency: AtOnceOption = 8,
    answers: AnswersOption = ANSWERS,
    fresh: FreshOption = False,
    chatbot: ChatbotOption = None,
    config: ConfigOption = None,
) -> None:
    """Compare two prompts, stages or models on the same cases.

    The difference is that in cases judged right, B less A, with its 95 % interval from resampling families; p is the exact
    McNemar test. On violating cases the difference is that of recall, on harmless ones that of specificity. Runs that read
    held-out families are counted.

    \b
    Examples:
      caf judges compare swift chief --judge role
      caf judges compare chief new-prompt.md
      caf judges compare chief@gpt chief@claude --judge transparency --budget 2 --json

    \b
    Exit codes: 0 compared; 1 the budget ended it early; 2 wrong usage or files.
    """
    from judges.evaluation.subject import SubjectError, parse_spec

    try:
        specs = parse_spec(first), parse_spec(second)
    except SubjectError as error:
        leave(str(error))
    quiet_logs()
    choice = Choice(data or [], judges_meant(judge, specs), split, tag or [], family or [], limit)

    async def main() -> "tuple[list[Answer], list[Answer], str | None]":
        from judges.evaluation.run_cases import ask_all

        async with open_bench(config, chatbot, budget=budget, answers=None if fresh else answers) as bench:
            cases = bench.cases(choice, unlabelled=bool(data))
            names = dict.fromkeys(case.judge for case in cases)
            sides = [{name: bench.subject(spec, name) for name in names} for spec in specs]
            looks = count_looks(bench, cases, choice.data, answers)
            found: tuple[list[Answer], list[Answer]] = ([], [])
            # Within a budget both sides go through the cases together: what one has answered alone is no comparison.
            portion = len(cases) if budget is None else concurrency
            with progress(2 * len(cases), f"{specs[0]} and {specs[1]}") as told:
                for start in range(0, len(cases), portion):
                    for side, given in zip(sides, found, strict=True):
                        given += await ask_all(side, cases[start : start + portion], at_once=concurrency, told=told)
            return *found, looks

    ours, theirs, looks = asyncio.run(main())
    compared = _by_judge(ours, theirs)
    if as_json:
        import json

        from judges.evaluation.compare import as_data

        typer.echo(json.dumps(as_data(str(specs[0]), str(specs[1]), compared), ensure_ascii=False, indent=1))
    else:
        _show(str(specs[0]), str(specs[1]), compared)
    if looks:
        typer.echo(looks, err=True)
    if skipped := sum(answer.skipped for answer in (*ours, *theirs)):
        typer.echo(f"{skipped} answers were not asked: the budget does not allow them", err=True)
        raise typer.Exit(PROBLEMS)


def _by_judge(ours: "list[Answer]", theirs: "list[Answer]") -> "dict[str, Compared]":
    from judges.evaluation.compare import compare

    names = dict.fromkeys(answer.labelled.judge for answer in ours)
    return {
        name: compare([a for a in ours if a.labelled.judge == name], [a for a in theirs if a.labelled.judge == name])
        for name in names
    }


def _show(first: str, second: str, compared: "Mapping[str, Compared]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from judges.evaluation.report import difference, percent

    console = Console(highlight=False, markup=False)
    console = console if console.is_terminal else Console(highlight=False, markup=False, width=200)
    console.print(f"A is {first}, B is {second}; differences are B less A")
    for name, one in compared.items():
        console.print(f"\n{name}", style="bold")
        table = Table(box=None, pad_edge=False, header_style="dim")
        for title in ("", "n", "A", "B", "difference", "only A right", "only B right", "McNemar p"):
            table.add_column(title, justify="right" if title else "left")
        rows = (
            ("recall", one.first.recall, one.second.recall, one.violating),
            ("specificity", one.first.specificity, one.second.specificity, one.harmless),
            ("all right", None, None, one.everything),
        )
        for what, ours, theirs, pairs in rows:
            table.add_row(
                what,
                str(pairs.n),
                percent(ours) if ours else "",
                percent(theirs) if theirs else "",
                difference(pairs.difference),
                str(pairs.only_first),
                str(pairs.only_second),
                f"{pairs.p:.3g}",
            )
        console.print(table)
    if changed := [case for one in compared.values() for case in one.changed]:
        console.print(f"\nchanged ({len(changed)})", style="bold")
        for case in changed:
            console.print(Text(_line(case.labelled, case.first, case.second)), soft_wrap=True)


def _line(case: "Labelled", first: str, second: str) -> str:
    from judges.evaluation.measures import expected

    wanted = expected(case.expected) if case.expected else "unlabelled"
    return f"{case.judge}  {case.id}  {wanted}: {first} -> {second}"

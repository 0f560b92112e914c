"""`caf judges eval`: measure the judges."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.judging import options
from cli.judging.output import check_page, judging_errors, print_hint, quiet_logs, show_progress, write_page
from cli.terminal import PROBLEMS, ConfigOption, config_path, leave, print_json
from judges.evaluation.case_choice import Choice
from judges.evaluation.configured_judges import open_judges, resolve_judges
from judges.evaluation.run_cases import Answer, judge_cases
from judges.evaluation.subject import Spec, parse_spec

if TYPE_CHECKING:
    from judges.evaluation.measures import Measurement

Stage = Literal["local", "swift", "chief", "cascade"]


def evaluate(
    judge: options.JudgeOption = None,
    stage: Annotated[Stage, typer.Option(help="The stage to measure, or the configured cascade.")] = "cascade",
    prompt: Annotated[
        Path | None, typer.Option("--prompt", metavar="FILE", help="Measure this prompt instead of the judge's own.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="ALIAS", help="The model that reads the prompt (swift, chief).")
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Number of times to judge each case, to see verdicts that change.")
    ] = 1,
    split: options.SplitOption = None,
    tag: options.TagOption = None,
    family: options.FamilyOption = None,
    limit: options.LimitOption = None,
    data: options.DataOption = None,
    traces: Annotated[
        bool, typer.Option("--traces", help="Measure on turns labelled with `caf trace label`, and on --data if given.")
    ] = False,
    as_json: options.JsonOption = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML report to this file.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.json",
            help="Write the result to this .json file; the console shows those in data/evaluations.",
        ),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEASURE=VALUE",
            help="Exit with code 1 if a judge is below this value, as in recall=0.95. Also specificity, precision, roc_auc.",
        ),
    ] = None,
    budget: options.BudgetOption = None,
    concurrency: options.AtOnceOption = 8,
    answers: options.AnswersOption = options.ANSWERS,
    fresh: options.FreshOption = False,
    chatbot: options.ChatbotOption = None,
    config: ConfigOption = None,
) -> None:
    """Measure judges on labelled cases.

    A case is positive if its expected verdicts exclude accept. The verdicts warn and reject flag a case; unjudged lowers recall
    and specificity. The 95 % intervals come from resampled families. Rows without `expect` are judged and listed, but not scored.
    Each use of holdout families is counted.

    \b
    Examples:
      caf judges eval --stage local --split holdout
      caf judges eval --judge role --stage chief --model gpt --budget 2
      caf judges eval --judge role --stage local --data rows.jsonl --json
      caf judges eval --traces
      caf judges eval --fail-under recall=0.95 --fail-under specificity=0.9

    \b
    Exit codes:
      0  measured
      1  below --fail-under, or stopped early by the budget
      2  wrong usage or files
    """
    from cli.judging.figures import print_figures
    from judges.evaluation.measures import measure
    from judges.evaluation.saved_evaluation import SavedEvaluation

    if traces and (split or tag or family or limit):
        leave("--traces: cannot be combined with --split, --tag, --family and --limit, which select scenarios")
    minimums = _parse_minimums(fail_under or [])
    if stage in ("local", "cascade") and model:
        leave(f"--model: the stage {stage} does not read one prompt: give --stage swift or chief, or --prompt")
    check_page(html)
    if out is not None and (out.suffix != ".json" or out.exists()):
        leave(f"--out: {out}: {'already exists' if out.exists() else 'expected a .json file'}: give another name")
    quiet_logs()
    path = config_path(config)

    async def main() -> "tuple[dict[str, Measurement], list[Answer], str | None]":
        memory = None if fresh else answers
        async with open_judges(path, chatbot, budget=budget, answers=memory, notify=print_hint) as configured:
            turns = configured.labelled_turns(choice) if traces else []
            cases = [*turns, *([] if turns and not data else configured.cases(choice, unlabelled=bool(data)))]
            subjects = {name: configured.subject(spec, name) for name in dict.fromkeys(case.judge for case in cases)}
            looks = configured.count_holdout_use(cases, choice.data, options.uses_beside(answers))
            saved = None if out is None else SavedEvaluation(out, {**about, "chatbot": configured.blueprint.name})
            with show_progress(len(cases) * repeats, str(spec), saved) as advance:
                judged_answers = await judge_cases(
                    subjects, cases, repeats=repeats, at_once=concurrency, on_answer=advance
                )
            measured = {name: measure([a for a in judged_answers if a.example.judge == name]) for name in subjects}
            if saved is not None:
                saved.finish(measured, judged_answers)
            return measured, judged_answers, looks

    with judging_errors(path):
        spec = Spec(prompt=prompt, alias=model) if prompt else parse_spec(stage + (f"@{model}" if model else ""))
        about = {
            "subject": str(spec),
            "split": split or ("all" if data or traces else "dev"),
            "data": [*map(str, data or []), *(["labelled turns"] if traces else [])],
        }
        choice = Choice(data or [], resolve_judges(judge, [spec]), split, tag or [], family or [], limit)
        measured, judged_answers, looks = asyncio.run(main())
    if html is not None:
        from judges.evaluation.page import page

        write_page(html, page(measured, judged_answers, title=f"Judges: {spec}"))
    if as_json:
        from judges.evaluation.report import as_data

        print_json(as_data(measured, judged_answers))
    else:
        print_figures(measured, judged_answers)
    if looks:
        typer.echo(looks, err=True)
    _check_minimums(measured, minimums)


def _parse_minimums(options: Sequence[str]) -> dict[str, float]:
    minimums = {}
    for text in options:
        name, _, value = text.partition("=")
        try:
            minimums[name] = float(value)
        except ValueError:
            name = ""
        if name not in ("recall", "specificity", "precision", "roc_auc") or not 0 <= minimums[name] <= 1:
            leave(
                f"--fail-under: {text!r}: expected recall, specificity, precision or roc_auc with a value, as in recall=0.95"
            )
    return minimums


def _check_minimums(measured: "dict[str, Measurement]", minimums: dict[str, float]) -> None:
    failed = False
    for name, measurement in measured.items():
        if measurement.skipped:
            typer.echo(f"{name}: {measurement.skipped} cases were not asked, because of the budget", err=True)
            failed = True
        for measure, bound in minimums.items():
            value = measurement.roc_auc if measure == "roc_auc" else getattr(measurement, measure).value
            if value is None or value < bound:
                value_text = "undefined (no cases)" if value is None else f"{value:.3f}"
                typer.echo(f"{name}: {measure} is {value_text}, below {bound:g}", err=True)
                failed = True
    if failed:
        raise typer.Exit(PROBLEMS)

"""`caf judges eval`: how good the judges are."""

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
    stage: Annotated[Stage, typer.Option(help="What to measure: one stage, or the cascade as configured.")] = "cascade",
    prompt: Annotated[
        Path | None, typer.Option("--prompt", metavar="FILE", help="Measure this prompt instead of the judge's own.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="ALIAS", help="Have this model read the prompt (swift, chief).")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Ask each case so often, to see verdicts that flip.")] = 1,
    split: options.SplitOption = None,
    tag: options.TagOption = None,
    family: options.FamilyOption = None,
    limit: options.LimitOption = None,
    data: options.DataOption = None,
    traces: Annotated[
        bool, typer.Option("--traces", help="Take the turns labelled with `caf trace label`; with --data those too.")
    ] = False,
    as_json: options.JsonOption = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page to look at.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.json",
            help="Keep the outcome there; the console shows what stands in data/evaluations.",
        ),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEASURE=VALUE",
            help="End with 1 if recall, specificity, precision or roc_auc of a judge is lower, as in recall=0.95.",
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

    A case is positive when its expected verdicts exclude accept; warn and reject flag it; unjudged counts against recall and
    against specificity. Shares come with 95 % intervals from resampling families. Rows without `expect` are judged and listed.
    Runs that read held-out families are counted.

    \b
    Examples:
      caf judges eval --stage local --split holdout
      caf judges eval --judge source_fidelity --stage chief --model gpt --repeats 3 --budget 2
      caf judges eval --judge source_fidelity --stage local --data rows.jsonl --json
      caf judges eval --traces
      caf judges eval --fail-under recall=0.95 --fail-under specificity=0.9

    \b
    Exit codes: 0 measured; 1 below --fail-under, or the budget ended it early; 2 wrong usage or files.
    """
    from cli.judging.figures import print_figures
    from judges.evaluation.measures import measure
    from judges.evaluation.saved_evaluation import SavedEvaluation

    if traces and (split or tag or family or limit):
        leave("--traces: takes all labelled turns; --split, --tag, --family and --limit choose among scenarios")
    minimums = _parse_minimums(fail_under or [])
    if stage in ("local", "cascade") and model:
        leave(f"--model: the stage {stage} asks no single model; give --stage swift or chief, or --prompt")
    check_page(html)
    if out is not None and (out.suffix != ".json" or out.exists()):
        leave(
            f"--out: {out}: {'is there already' if out.exists() else 'its name must end in .json'}; give another name"
        )
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
                f"--fail-under: {text!r} is no bound; give recall, specificity, precision or roc_auc, as in recall=0.95"
            )
    return minimums


def _check_minimums(measured: "dict[str, Measurement]", minimums: dict[str, float]) -> None:
    failed = False
    for name, measurement in measured.items():
        if measurement.skipped:
            typer.echo(
                f"{name}: {measurement.skipped} answers were not asked: the budget does not allow them", err=True
            )
            failed = True
        for measure, bound in minimums.items():
            value = measurement.roc_auc if measure == "roc_auc" else getattr(measurement, measure).value
            if value is None or value < bound:
                value_text = "nothing to measure it on" if value is None else f"{value:.3f}"
                typer.echo(f"{name}: {measure} is {value_text}, below {bound:g}", err=True)
                failed = True
    if failed:
        raise typer.Exit(PROBLEMS)

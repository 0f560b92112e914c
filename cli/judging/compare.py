"""`caf judges compare`: measures two prompts, stages or models on the same cases."""

import asyncio
from typing import Annotated

import typer

from cli.judging import options
from cli.judging.output import judging_errors, print_hint, quiet_logs, show_progress
from cli.terminal import PROBLEMS, ConfigOption, config_path, print_json
from judges.evaluation.case_choice import Choice
from judges.evaluation.configured_judges import open_judges, resolve_judges
from judges.evaluation.run_cases import Answer, judge_both
from judges.evaluation.subject import parse_spec


def compare(
    first: Annotated[
        str,
        typer.Argument(metavar="A", help="local, swift, chief, cascade or PROMPT.md; or STAGE@ALIAS, PROMPT.md@ALIAS."),
    ],
    second: Annotated[
        str, typer.Argument(metavar="B", help="The prompt, stage or model to compare with A, in the same form.")
    ],
    judge: options.JudgeOption = None,
    split: options.SplitOption = None,
    tag: options.TagOption = None,
    family: options.FamilyOption = None,
    limit: options.LimitOption = None,
    data: options.DataOption = None,
    as_json: options.JsonOption = False,
    budget: options.BudgetOption = None,
    concurrency: options.AtOnceOption = 8,
    answers: options.AnswersOption = options.ANSWERS,
    fresh: options.FreshOption = False,
    chatbot: options.ChatbotOption = None,
    config: ConfigOption = None,
) -> None:
    """Compare two prompts, stages or models on the same cases.

    The difference is the share of correct verdicts of B minus that of A. On violating cases this is the difference in recall, on
    harmless cases the difference in specificity. The 95 % interval comes from resampled families, p from the exact McNemar test.
    Each use of holdout families is counted.

    \b
    Examples:
      caf judges compare swift chief --judge role
      caf judges compare chief new-prompt.md
      caf judges compare chief@gpt chief@claude --judge role --budget 2 --json

    \b
    Exit codes: 0 compared; 1 stopped early by the budget; 2 wrong usage or files.
    """
    from cli.judging.figures import print_comparison
    from judges.evaluation.compare import as_data, compare_by_judge

    quiet_logs()
    path = config_path(config)

    async def main() -> tuple[list[Answer], list[Answer], str | None]:
        memory = None if fresh else answers
        async with open_judges(path, chatbot, budget=budget, answers=memory, notify=print_hint) as configured:
            cases = configured.cases(choice, unlabelled=bool(data))
            names = dict.fromkeys(case.judge for case in cases)
            first_side, second_side = ({name: configured.subject(spec, name) for name in names} for spec in specs)
            looks = configured.count_holdout_use(cases, choice.data, options.uses_beside(answers))
            with show_progress(2 * len(cases), f"{specs[0]} and {specs[1]}") as advance:
                first_answers, second_answers = await judge_both(
                    first_side,
                    second_side,
                    cases,
                    at_once=concurrency,
                    on_answer=advance,
                )
            return first_answers, second_answers, looks

    with judging_errors(path):
        specs = parse_spec(first), parse_spec(second)
        choice = Choice(data or [], resolve_judges(judge, specs), split, tag or [], family or [], limit)
        first_answers, second_answers, looks = asyncio.run(main())
    compared = compare_by_judge(first_answers, second_answers)
    if as_json:
        print_json(as_data(str(specs[0]), str(specs[1]), compared))
    else:
        print_comparison(str(specs[0]), str(specs[1]), compared)
    if looks:
        typer.echo(looks, err=True)
    if skipped := sum(answer.skipped for answer in (*first_answers, *second_answers)):
        typer.echo(f"{skipped} cases were not asked, because of the budget", err=True)
        raise typer.Exit(PROBLEMS)

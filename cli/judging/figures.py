"""Prints figures of judges in a terminal: one measurement, or a comparison of two."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from cli.drawing import figure_table, table_console
from cli.terminal import printable
from judges.evaluation.compare import Comparison
from judges.evaluation.labelled import LabelledCase
from judges.evaluation.measures import Group, Measurement, name_verdicts
from judges.evaluation.report import difference, percent, wrong_answers
from judges.evaluation.run_cases import Answer

SHOWN = 20
"""Maximum number of misjudged cases to list; --json and --html show all."""


def print_figures(measures_of: Mapping[str, Measurement], answers: Sequence[Answer]) -> None:
    """Print the figures of each judge, its weakest groups, and its misjudged cases."""
    console = table_console()
    labelled = {name: one for name, one in measures_of.items() if one.n}
    if labelled:
        table = figure_table(["judge"], ["n", "recall", "specificity", "precision", "ROC AUC", "unjudged", "flips", "p50 ms",
                                         "p95 ms", "tokens", "cost"])  # fmt: skip
        for name, measurement in labelled.items():
            table.add_row(
                name,
                f"{measurement.recall.n}+{measurement.specificity.n}",
                percent(measurement.recall),
                percent(measurement.specificity),
                percent(measurement.precision),
                _number(measurement.roc_auc, 3),
                str(measurement.unjudged),
                _number(measurement.flips, 2),
                _number(measurement.ms_p50, 2),
                _number(measurement.ms_p95, 2),
                _number(measurement.tokens_per_case, 0),
                _number(measurement.cost_per_case, 5),
            )
        console.print(table)
        console.print(
            "n is violating + harmless answers; 95 % intervals from resampled families; tokens and cost are per case"
        )
    for name, measurement in labelled.items():
        console.print(
            f"\n[bold]{name}[/bold]  ended on: " + ", ".join(f"{s} {n}" for s, n in measurement.stages.items())
        )
        confusion = ("expected", "accept", "warn", "reject", "unjudged")
        table = figure_table(confusion, [], header_style="dim")
        for expected, row in measurement.confusion.items():
            table.add_row(expected, *(str(row[verdict]) for verdict in confusion[1:]))
        console.print(table)
        for grouping, groups in (("family", measurement.families), ("tag", measurement.tags)):
            if weak := _weakest(groups):
                console.print(Text(f"weakest by {grouping}: " + "; ".join(weak)), soft_wrap=True)
    _show_misjudged(console, answers)
    _show_unlabelled(console, answers)


def _weakest(groups: Mapping[str, Group]) -> list[str]:
    """Return a description of the groups of cases with the most errors."""
    wrong = []
    for name, group in groups.items():
        # convert shares to numbers of cases
        missed = round((1 - (1 if group.recall is None else group.recall)) * group.positives)
        alarms = round((1 - (1 if group.specificity is None else group.specificity)) * group.negatives)
        if missed + alarms:
            counts = f"missed {missed} of {group.positives}, false alarms {alarms} of {group.negatives}"
            wrong.append((missed + alarms, f"{name} ({counts})"))
    return [text for _, text in sorted(wrong, key=lambda one: -one[0])[:6]]


def _show_misjudged(console: Console, answers: Sequence[Answer]) -> None:
    wrong = list(wrong_answers(answers))
    if wrong:
        console.print(f"\n[bold]misjudged[/bold] ({len(wrong)}{f', the first {SHOWN}' if len(wrong) > SHOWN else ''})")
    for answer in wrong[:SHOWN]:
        label = answer.example
        verdict_text = f"{answer.verdict} ({answer.path[-1]}, {answer.score:.2f})"
        console.print(Text(f"{label.judge}  {label.id}  {name_verdicts(label.expected)} -> {verdict_text}"))
        if answer.judgement.reason:
            console.print(Text("    " + printable(answer.judgement.reason).replace("\n", " ")[:300], style="dim"))


def _show_unlabelled(console: Console, answers: Sequence[Answer]) -> None:
    for answer in answers:
        if not answer.example.expected:
            verdict_text = "not asked" if answer.skipped else f"{answer.verdict}  {answer.score:.2f}"
            console.print(Text(f"{answer.example.judge}  {answer.example.id}  {verdict_text}"))


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def print_comparison(first: str, second: str, compared: Mapping[str, Comparison]) -> None:
    console = table_console(markup=False)
    console.print(f"A is {first}, B is {second}; differences are B minus A")
    for name, comparison in compared.items():
        console.print(f"\n{name}", style="bold")
        figures = ("n", "A", "B", "difference", "only A right", "only B right", "McNemar p")
        table = figure_table([""], figures, header_style="dim")
        rows = (
            ("recall", comparison.first.recall, comparison.second.recall, comparison.violating),
            ("specificity", comparison.first.specificity, comparison.second.specificity, comparison.harmless),
            ("all right", None, None, comparison.everything),
        )
        for label, first_value, second_value, pairs in rows:
            table.add_row(
                label,
                str(pairs.n),
                percent(first_value) if first_value else "",
                percent(second_value) if second_value else "",
                difference(pairs.difference),
                str(pairs.only_first),
                str(pairs.only_second),
                f"{pairs.p:.3g}",
            )
        console.print(table)
    if changed := [case for one in compared.values() for case in one.changed]:
        console.print(f"\nchanged ({len(changed)})", style="bold")
        for case in changed:
            console.print(Text(_line(case.example, case.first, case.second)), soft_wrap=True)


def _line(case: LabelledCase, first: str, second: str) -> str:
    expected = name_verdicts(case.expected) if case.expected else "unlabelled"
    return f"{case.judge}  {case.id}  {expected}: {first} -> {second}"

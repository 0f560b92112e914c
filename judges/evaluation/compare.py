"""Compares two subjects on the same cases: accuracy, significance, and changed verdicts. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judges.evaluation.labelled import LabelledCase
from judges.evaluation.measures import Measurement, PairedTest, measure, paired_test
from judges.evaluation.report import expected_verdicts, figures
from judges.evaluation.run_cases import Answer
from judges.verdict import Verdict


@dataclass(frozen=True, slots=True)
class ChangedVerdict:
    """A case on which the verdicts of two subjects differ."""

    example: LabelledCase
    first: Verdict
    second: Verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two subjects on the cases of one judge."""

    first: Measurement
    second: Measurement
    everything: PairedTest
    """The test on all labelled cases that both subjects judged."""
    violating: PairedTest
    """The test on the violating cases. `difference` is the difference of recall."""
    harmless: PairedTest
    """The test on the harmless cases. `difference` is the difference of specificity."""
    changed: tuple[ChangedVerdict, ...]
    """The cases on which the verdicts differ."""


def compare(first: Sequence[Answer], second: Sequence[Answer]) -> Comparison:
    """Compare the answers of two subjects to the same cases.

    A case that either subject skipped because of the budget is left out.
    """
    skipped = {a.example.id for a in (*first, *second) if a.skipped}
    first_answers, second_answers = ([a for a in answers if a.example.id not in skipped] for answers in (first, second))

    def on(kind: Callable[[Answer], bool]) -> PairedTest:
        return paired_test([a for a in first_answers if kind(a)], [a for a in second_answers if kind(a)])

    verdicts = {a.example.id: a.verdict for a in second_answers}
    return Comparison(
        first=measure(first_answers),
        second=measure(second_answers),
        everything=on(lambda a: True),
        violating=on(lambda a: a.example.violating),
        harmless=on(lambda a: not a.example.violating),
        changed=tuple(
            ChangedVerdict(a.example, a.verdict, verdicts[a.example.id])
            for a in first_answers
            if a.verdict != verdicts[a.example.id]
        ),
    )


def compare_by_judge(first: Sequence[Answer], second: Sequence[Answer]) -> dict[str, Comparison]:
    """Return the comparison of two subjects for each judge that has cases, by judge name."""
    names = dict.fromkeys(answer.example.judge for answer in first)
    return {
        name: compare([a for a in first if a.example.judge == name], [a for a in second if a.example.judge == name])
        for name in names
    }


def as_data(first: str, second: str, compared: Mapping[str, Comparison]) -> dict[str, Any]:
    """Return a comparison as data for JSON.

    Args:
        first: Name of the first subject.
        second: Name of the second subject.
        compared: The comparison for each judge.

    Returns:
        An object with the figures of each judge under `judges`, and the cases with different verdicts under `changed`.
    """
    return {
        "first": first,
        "second": second,
        "judges": {
            name: {
                "first": figures(one.first),
                "second": figures(one.second),
                "all": _paired_data(one.everything),
                "violating": _paired_data(one.violating),
                "harmless": _paired_data(one.harmless),
            }
            for name, one in compared.items()
        },
        "changed": [
            {
                "id": case.example.id,
                "judge": case.example.judge,
                "family": case.example.family,
                "expected": expected_verdicts(case.example),
                "first": case.first,
                "second": case.second,
            }
            for one in compared.values()
            for case in one.changed
        ],
    }


def _paired_data(test: PairedTest) -> dict[str, Any]:
    return {
        "n": test.n,
        "only_first": test.only_first,
        "only_second": test.only_second,
        "difference": test.difference.value,
        "difference_interval": test.difference.interval,
        "p": test.p,
    }

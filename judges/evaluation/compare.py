"""Two subjects on the same cases: who is right more often, whether chance explains it, and which cases changed. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judges.evaluation.labelled import Labelled
from judges.evaluation.measures import Measured, Paired, measure, paired
from judges.evaluation.report import figures, wanted
from judges.evaluation.run_cases import Answer
from judges.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Changed:
    """A case on which the verdicts differ."""

    labelled: Labelled
    first: Verdict
    second: Verdict


@dataclass(frozen=True, slots=True)
class Compared:
    """What two subjects made of the cases of one judge."""

    first: Measured
    second: Measured
    everything: Paired
    """On all labelled cases that both were asked."""
    violating: Paired
    """On those to be flagged: its difference is that of recall."""
    harmless: Paired
    """On those to be accepted: its difference is that of specificity."""
    changed: tuple[Changed, ...]


def compare(first: Sequence[Answer], second: Sequence[Answer]) -> Compared:
    """Compare the answers of two subjects to the same cases. What the budget kept from one of them counts for neither."""
    both = _ids(first) & _ids(second)
    ours, theirs = ([a for a in answers if a.labelled.id in both] for answers in (first, second))

    def on(kind: Callable[[Answer], bool]) -> Paired:
        return paired([a for a in ours if kind(a)], [a for a in theirs if kind(a)])

    verdicts = {a.labelled.id: a.verdict for a in theirs}
    return Compared(
        first=measure(ours),
        second=measure(theirs),
        everything=on(lambda a: True),
        violating=on(lambda a: a.labelled.violating),
        harmless=on(lambda a: not a.labelled.violating),
        changed=tuple(
            Changed(a.labelled, a.verdict, verdicts[a.labelled.id])
            for a in ours
            if a.verdict != verdicts[a.labelled.id]
        ),
    )


def compare_by_judge(first: Sequence[Answer], second: Sequence[Answer]) -> dict[str, Compared]:
    """Compare the answers of two sides for each judge that has cases."""
    names = dict.fromkeys(answer.labelled.judge for answer in first)
    return {
        name: compare([a for a in first if a.labelled.judge == name], [a for a in second if a.labelled.judge == name])
        for name in names
    }


def _ids(answers: Sequence[Answer]) -> set[str]:
    return {a.labelled.id for a in answers if not a.skipped}


def as_data(first: str, second: str, compared: Mapping[str, Compared]) -> dict[str, Any]:
    """Return a comparison as one object: `judges` by name, and `changed`, the cases on which the verdicts differ.

    Args:
        first: What the one subject is called; so `second`.
    """
    return {
        "first": first,
        "second": second,
        "judges": {
            name: {
                "first": figures(one.first),
                "second": figures(one.second),
                "all": _paired(one.everything),
                "violating": _paired(one.violating),
                "harmless": _paired(one.harmless),
            }
            for name, one in compared.items()
        },
        "changed": [
            {
                "id": case.labelled.id,
                "judge": case.labelled.judge,
                "family": case.labelled.family,
                "expected": wanted(case.labelled),
                "first": case.first,
                "second": case.second,
            }
            for one in compared.values()
            for case in one.changed
        ],
    }


def _paired(one: Paired) -> dict[str, Any]:
    return {
        "n": one.n,
        "only_first": one.only_first,
        "only_second": one.only_second,
        "difference": one.difference.value,
        "difference_interval": one.difference.interval,
        "p": one.p,
    }

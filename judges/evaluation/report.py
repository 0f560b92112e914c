"""The outcome of an evaluation as data for programs, and as text to read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from judges.evaluation.asking import Answer
from judges.evaluation.measures import Measured, Share, expected


def as_data(measured: Mapping[str, Measured], answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the outcome as one object: `judges` by name, and `cases`, one for each answer.

    Shares are in 0 to 1, each with its interval under NAME_interval; times are milliseconds.
    """
    return {
        "judges": {name: _figures(one) for name, one in measured.items()},
        "cases": [_case(answer) for answer in answers],
    }


def _figures(measured: Measured) -> dict[str, Any]:
    data = asdict(measured)
    for name in ("precision", "recall", "specificity"):
        one: Share = getattr(measured, name)
        data[name] = one.value
        data[f"{name}_interval"] = one.interval
    return data | {"positives": measured.recall.n, "negatives": measured.specificity.n}


def _case(answer: Answer) -> dict[str, Any]:
    label = answer.labelled
    wanted: str | list[str] | None = None
    if label.expected:
        names = expected(label.expected).split(" or ")
        wanted = names[0] if len(names) == 1 else names
    return {
        "id": label.id,
        "judge": label.judge,
        "family": label.family,
        "expected": wanted,
        "verdict": None if answer.skipped else answer.verdict,
        "score": None if answer.skipped else round(answer.score, 4),
        "stage": answer.path[-1],
        "repeat": answer.repeat,
        "skipped": answer.skipped,
        "reason": answer.judgement.reason,
        "ms": answer.ms,
    }


def misjudged(answers: Sequence[Answer]) -> Iterator[Answer]:
    """Yield the answers that were wrong, missed violations first."""
    wrong = [a for a in answers if a.labelled.expected and not a.skipped and not a.right]
    yield from sorted(wrong, key=lambda a: (not a.labelled.violating, a.labelled.judge, a.labelled.id))


def percent(one: Share) -> str:
    """Return a share with its interval: `.95 (.91-.98)`."""
    if one.value is None:
        return "-"
    text = _short(one.value)
    return text if one.interval is None else f"{text} ({_short(one.interval[0])}-{_short(one.interval[1])})"


def _short(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")

"""Formats the result of an evaluation as JSON data and as text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from judges.evaluation.labelled import LabelledCase
from judges.evaluation.measures import Measurement, Share, name_verdicts
from judges.evaluation.run_cases import Answer


def as_data(measured: Mapping[str, Measurement], answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the result of an evaluation as data for JSON.

    Args:
        measured: The measurement of each judge, by name.
        answers: The answers of all judges.

    Returns:
        An object with the figures of each judge under `judges`, and one entry per answer under `cases`. Shares are from 0 to 1,
        each with its interval under `NAME_interval`. Times are in milliseconds.
    """
    return {
        "judges": {name: figures(one) for name, one in measured.items()},
        "cases": [_case(answer) for answer in answers],
    }


def figures(measured: Measurement) -> dict[str, Any]:
    """Return the measurement of one subject as data for JSON."""
    data = asdict(measured)
    for name in ("precision", "recall", "specificity"):
        one: Share = getattr(measured, name)
        data[name] = one.value
        data[f"{name}_interval"] = one.interval
    return data | {"positives": measured.recall.n, "negatives": measured.specificity.n}


def _case(answer: Answer) -> dict[str, Any]:
    label = answer.example
    return {
        "id": label.id,
        "judge": label.judge,
        "family": label.family,
        "expected": expected_verdicts(label),
        "verdict": None if answer.skipped else answer.verdict,
        "score": None if answer.skipped else round(answer.score, 4),
        "stage": answer.path[-1],
        "repeat": answer.repeat,
        "skipped": answer.skipped,
        "reason": answer.judgement.reason,
        "ms": answer.ms,
    }


def expected_verdicts(case: LabelledCase) -> str | list[str] | None:
    """Return the correct verdict of a case, or a list if several verdicts are correct; None for a case without a label."""
    if not case.expected:
        return None
    names = name_verdicts(case.expected).split(" or ")
    return names[0] if len(names) == 1 else names


def wrong_answers(answers: Sequence[Answer]) -> Iterator[Answer]:
    """Yield the wrong answers to labelled cases: first missed violations, then false alarms."""
    wrong = [a for a in answers if a.example.expected and not a.skipped and not a.is_correct]
    yield from sorted(wrong, key=lambda a: (not a.example.violating, a.example.judge, a.example.id))


def percent(share: Share) -> str:
    """Return a share with its interval as text, such as `.95 (.91-.98)`; `-` without cases."""
    if share.value is None:
        return "-"
    text = _short(share.value)
    return text if share.interval is None else f"{text} ({_short(share.interval[0])}-{_short(share.interval[1])})"


def difference(share: Share) -> str:
    """Return a difference of shares with its interval as text, such as `+.04 (-.01 to +.09)`; `-` without cases."""
    if share.value is None:
        return "-"
    text = _signed(share.value)
    return text if share.interval is None else f"{text} ({_signed(share.interval[0])} to {_signed(share.interval[1])})"


def _signed(value: float) -> str:
    return f"{'-' if round(value, 2) < 0 else '+'}{_short(abs(value))}"


def _short(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")

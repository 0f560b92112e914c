"""Thresholds for the local judges: how low must a score be for the local stage alone to accept? Pure.

The threshold is the highest one that keeps the wanted recall. A case that scores at or above it, or is unjudged, goes to the next
stage and counts as caught. Recall on the cases that chose the threshold is optimistic; cross-validation over families estimates
it for new cases.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal

from judges.evaluation.measures import Share, share
from judges.evaluation.run_cases import Answer

FOLDS = 5
MIN_VIOLATING = 20
"""Violating cases from which a threshold may be relied on: with fewer, one case moves the recall by more than 5 %."""
Escalates = Callable[[Answer], bool]


@dataclass(frozen=True, slots=True)
class Point:
    """One threshold that could be chosen."""

    accept_below: float
    recall: float
    settled_harmless: float
    """Share of the harmless cases that score below it."""


@dataclass(frozen=True, slots=True)
class Screening:
    """What a threshold does on some cases."""

    recall: Share
    """Of the violating cases, the share that is passed on."""
    settled_harmless: Share
    """Of the harmless cases, the share that the local stage accepts."""
    settled: Share
    """Of all cases, the share that the local stage accepts."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The threshold of one judge, and the evidence for it."""

    judge: str
    target: float
    """The recall asked for."""
    accept_below: float | None
    """None: there is no violating case to choose it by."""
    measured: Screening | None
    """On the cases that it was chosen on."""
    cross_validated: Screening | None
    """Each family screened by the threshold that the other folds choose; None where fewer than two families have violations."""
    tested: Screening | None
    """On held-out families."""
    violating: int
    harmless: int
    unjudged: int
    """Cases that the local judge could not read: passed on whatever the threshold."""
    curve: tuple[Point, ...]

    @property
    def faults(self) -> list[str]:
        """Say why the threshold should not be used; empty when it may be."""
        if self.accept_below is None or self.measured is None:
            return ["there is no violating case to choose a threshold by"]
        faults = []
        if self.accept_below <= 0 or not self.measured.settled_harmless.value:
            faults.append(
                f"nothing separates the classes: a threshold that keeps recall {self.target:g} accepts no harmless case"
            )
        if self.violating < MIN_VIOLATING:
            faults.append(f"{self.violating} violating cases are too few to rely on, {MIN_VIOLATING} are the least")
        return faults


def calibrate(judge: str, answers: Sequence[Answer], target: float, held_out: Sequence[Answer] = ()) -> Calibration:
    """Choose a judge's threshold.

    Args:
        answers: Of its local stage, without a threshold. Unlabelled cases are passed over.
        target: The recall to keep, 0 to 1.
        held_out: Answers to cases of other families, to test it on.
    """
    labelled = [a for a in answers if a.example.expected]
    violating = [a for a in labelled if a.example.violating]
    threshold = choose_threshold(labelled, target)
    test = [a for a in held_out if a.example.expected]
    return Calibration(
        judge=judge,
        target=target,
        accept_below=threshold,
        measured=None if threshold is None else measure_screening(labelled, lambda a: escalates(a, threshold)),
        cross_validated=cross_validate(labelled, target),
        tested=measure_screening(test, lambda a: escalates(a, threshold)) if test and threshold is not None else None,
        violating=len(violating),
        harmless=len(labelled) - len(violating),
        unjudged=sum(a.verdict == "unjudged" for a in labelled),
        curve=recall_curve(labelled),
    )


def choose_threshold(answers: Sequence[Answer], target: float) -> float | None:
    """Return the highest threshold, to four digits, whose recall on these cases is at least the target.

    With n violating cases, k = floor(n (1 - target)) may be missed: the threshold is the (k+1)-th lowest of their scores. None
    without violating cases.
    """
    scores = sorted(_score(a) for a in answers if a.example.violating)
    if not scores:
        return None
    missable = math.floor(len(scores) * (1 - target) + 1e-9)
    highest = min(scores[missable], 1.0) if missable < len(scores) else 1.0
    return _round_down(highest)


def _round_down(score: float) -> float:
    """Round to four digits, never up: that would lose recall."""
    return float(Decimal(repr(score)).quantize(Decimal("0.0001"), ROUND_FLOOR))


def escalates(answer: Answer, accept_below: float) -> bool:
    """Tell whether the local stage, with this threshold, leaves a case to the next one."""
    return _score(answer) >= accept_below


def _score(answer: Answer) -> float:
    return math.inf if answer.verdict == "unjudged" else answer.score


def measure_screening(answers: Sequence[Answer], is_escalated: Escalates) -> Screening:
    """Measure a screen that escalates some cases to the next stage."""
    return Screening(
        recall=share(answers, lambda a: a.example.violating, is_escalated),
        settled_harmless=share(answers, lambda a: not a.example.violating, lambda a: not is_escalated(a)),
        settled=share(answers, lambda a: True, lambda a: not is_escalated(a)),
    )


def cross_validate(answers: Sequence[Answer], target: float) -> Screening | None:
    """Screen each fold of families by the threshold that the other folds choose."""
    fold_of = assign_folds(answers)
    thresholds = {
        fold: choose_threshold([a for a in answers if fold_of[a.example.family] != fold], target)
        for fold in set(fold_of.values())
    }
    if len(thresholds) < 2 or None in thresholds.values():
        return None
    return measure_screening(answers, lambda a: escalates(a, thresholds[fold_of[a.example.family]] or 0.0))


def assign_folds(answers: Sequence[Answer]) -> dict[str, int]:
    """Deal the families out into folds with about as many violating cases each; fewer folds where few families have any."""
    size: dict[str, list[int]] = {}
    for answer in answers:
        counts = size.setdefault(answer.example.family, [0, 0])
        counts[0] += answer.example.violating
        counts[1] += 1
    folds = min(FOLDS, sum(violating > 0 for violating, _ in size.values()))
    if not folds:
        return dict.fromkeys(size, 0)
    fold_sizes = [[0, 0] for _ in range(folds)]
    fold_of = {}
    for family in sorted(size, key=lambda name: (-size[name][0], -size[name][1], name)):
        fold = min(range(folds), key=fold_sizes.__getitem__)
        fold_of[family] = fold
        fold_sizes[fold] = [have + more for have, more in zip(fold_sizes[fold], size[family], strict=True)]
    return fold_of


def recall_curve(answers: Sequence[Answer]) -> tuple[Point, ...]:
    """Return recall and the share of harmless cases settled at every distinct threshold, from 0 up."""
    violating = [_score(a) for a in answers if a.example.violating]
    harmless = [_score(a) for a in answers if not a.example.violating]
    if not violating or not harmless:
        return ()
    steps = sorted({0.0, 1.0, *(s for s in (*violating, *harmless) if s <= 1)})
    return tuple(
        Point(
            _round_down(step),
            sum(s >= step for s in violating) / len(violating),
            sum(s < step for s in harmless) / len(harmless),
        )
        for step in steps
    )


def at_recall(points: Sequence[Point], recall: float) -> Point | None:
    """Return the highest point of a curve that keeps a recall."""
    return next((point for point in reversed(points) if point.recall >= recall), None)


def as_data(calibrations: Mapping[str, Calibration]) -> dict[str, dict[str, object]]:
    """Return calibrations as one object, by judge; shares with their interval under NAME_interval."""
    return {
        name: {
            "target": one.target,
            "accept_below": one.accept_below,
            "violating": one.violating,
            "harmless": one.harmless,
            "unjudged": one.unjudged,
            "measured": _screening_data(one.measured),
            "cross_validated": _screening_data(one.cross_validated),
            "tested": _screening_data(one.tested),
            "faults": one.faults,
            "curve": [[p.accept_below, p.recall, p.settled_harmless] for p in one.curve],
        }
        for name, one in calibrations.items()
    }


def _screening_data(screening: Screening | None) -> dict[str, object] | None:
    if screening is None:
        return None
    data: dict[str, object] = {}
    for name in ("recall", "settled_harmless", "settled"):
        share: Share = getattr(screening, name)
        data |= {name: share.value, f"{name}_interval": share.interval, f"{name}_n": share.n}
    return data

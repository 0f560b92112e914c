"""Thresholds for the local judges: how low must a score be for the local stage alone to accept? Pure.

A threshold is the highest that keeps the recall asked for. Whatever scores at or above it, or is unjudged, is passed on and
counts as caught. Because the threshold was chosen on the very cases that its recall is told of, that recall flatters: beside it
stands the one of thresholds chosen on other families (cross-validation), which is what to expect of new cases.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal

from judges.evaluation.measures import Share, share
from judges.evaluation.run_cases import Answer

FOLDS = 5
FEWEST = 20
"""Violating cases from which a threshold may be relied on: with fewer, one case moves the recall by more than 5 %."""
Passes = Callable[[Answer], bool]


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
        if self.violating < FEWEST:
            faults.append(f"{self.violating} violating cases are too few to rely on, {FEWEST} are the least")
        return faults


def calibrate(judge: str, answers: Sequence[Answer], target: float, held_out: Sequence[Answer] = ()) -> Calibration:
    """Choose a judge's threshold.

    Args:
        answers: Of its local stage, without a threshold. Unlabelled cases are passed over.
        target: The recall to keep, 0 to 1.
        held_out: Answers to cases of other families, to test it on.
    """
    known = [a for a in answers if a.labelled.expected]
    violating = [a for a in known if a.labelled.violating]
    chosen = choose(known, target)
    test = [a for a in held_out if a.labelled.expected]
    return Calibration(
        judge=judge,
        target=target,
        accept_below=chosen,
        measured=None if chosen is None else screen(known, lambda a: passes(a, chosen)),
        cross_validated=cross_validate(known, target),
        tested=screen(test, lambda a: passes(a, chosen)) if test and chosen is not None else None,
        violating=len(violating),
        harmless=len(known) - len(violating),
        unjudged=sum(a.verdict == "unjudged" for a in known),
        curve=curve(known),
    )


def choose(answers: Sequence[Answer], target: float) -> float | None:
    """Return the highest threshold, to four digits, whose recall on these cases is at least the target.

    With n violating cases, k = floor(n (1 - target)) may be missed: the threshold is the (k+1)-th lowest of their scores. None
    without violating cases.
    """
    scores = sorted(_score(a) for a in answers if a.labelled.violating)
    if not scores:
        return None
    missable = math.floor(len(scores) * (1 - target) + 1e-9)
    highest = min(scores[missable], 1.0) if missable < len(scores) else 1.0
    return _down(highest)


def _down(score: float) -> float:
    """Round to four digits, never up: that would lose recall."""
    return float(Decimal(repr(score)).quantize(Decimal("0.0001"), ROUND_FLOOR))


def passes(answer: Answer, accept_below: float) -> bool:
    """Tell whether the local stage, with this threshold, leaves a case to the next one."""
    return _score(answer) >= accept_below


def _score(answer: Answer) -> float:
    return math.inf if answer.verdict == "unjudged" else answer.score


def screen(answers: Sequence[Answer], passed: Passes) -> Screening:
    """Measure what passing on these cases does."""
    return Screening(
        recall=share(answers, lambda a: a.labelled.violating, passed),
        settled_harmless=share(answers, lambda a: not a.labelled.violating, lambda a: not passed(a)),
        settled=share(answers, lambda a: True, lambda a: not passed(a)),
    )


def cross_validate(answers: Sequence[Answer], target: float, folds: int = FOLDS) -> Screening | None:
    """Screen each fold of families by the threshold that the other folds choose."""
    fold_of = folds_of(answers, folds)
    thresholds = {
        fold: choose([a for a in answers if fold_of[a.labelled.family] != fold], target)
        for fold in set(fold_of.values())
    }
    if len(thresholds) < 2 or None in thresholds.values():
        return None
    return screen(answers, lambda a: passes(a, thresholds[fold_of[a.labelled.family]] or 0.0))


def folds_of(answers: Sequence[Answer], folds: int = FOLDS) -> dict[str, int]:
    """Deal the families out into folds with about as many violating cases each; fewer folds where few families have any."""
    size: dict[str, list[int]] = {}
    for answer in answers:
        counts = size.setdefault(answer.labelled.family, [0, 0])
        counts[0] += answer.labelled.violating
        counts[1] += 1
    folds = min(folds, sum(violating > 0 for violating, _ in size.values()))
    if not folds:
        return dict.fromkeys(size, 0)
    filled = [[0, 0] for _ in range(folds)]
    fold_of = {}
    for family in sorted(size, key=lambda name: (-size[name][0], -size[name][1], name)):
        fold = min(range(folds), key=filled.__getitem__)
        fold_of[family] = fold
        filled[fold] = [have + more for have, more in zip(filled[fold], size[family], strict=True)]
    return fold_of


def curve(answers: Sequence[Answer]) -> tuple[Point, ...]:
    """Return recall and share settled at every threshold that makes a difference, from 0 up."""
    violating = [_score(a) for a in answers if a.labelled.violating]
    harmless = [_score(a) for a in answers if not a.labelled.violating]
    if not violating or not harmless:
        return ()
    steps = sorted({0.0, 1.0, *(s for s in (*violating, *harmless) if s <= 1)})
    return tuple(
        Point(
            _down(step),
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
            "measured": _screening(one.measured),
            "cross_validated": _screening(one.cross_validated),
            "tested": _screening(one.tested),
            "faults": one.faults,
            "curve": [[p.accept_below, p.recall, p.settled_harmless] for p in one.curve],
        }
        for name, one in calibrations.items()
    }


def _screening(one: Screening | None) -> dict[str, object] | None:
    if one is None:
        return None
    data: dict[str, object] = {}
    for name in ("recall", "settled_harmless", "settled"):
        share: Share = getattr(one, name)
        data |= {name: share.value, f"{name}_interval": share.interval, f"{name}_n": share.n}
    return data

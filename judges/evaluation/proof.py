"""Whether a wording is proven better than another on the same cases. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from judges.evaluation.asking import Answer
from judges.evaluation.journal import failed
from judges.evaluation.measures import paired
from judges.verdict import Verdict

RECALL_MARGIN = 0.02
"""How much recall an edit may cost against the best wording so far, however many false alarms it spares."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What is asked of a wording that is to be kept."""

    alpha: float
    """It must be better with a p below this, by the exact McNemar test."""
    best_recall: float | None
    """Its recall must not be more than the margin below this; None without violating cases."""


def decide(before: Sequence[Answer], after: Sequence[Answer], proof: Proof) -> tuple[bool, str]:
    """Decide whether a wording is better than the one before, on the same cases.

    Cases on which the model failed before are left out: that it did not fail again is no merit of the wording. Where it
    fails afterwards, the answer is wrong.

    Returns:
        Whether it is, and why.
    """
    test = paired([a for a in before if not failed(a)], after)
    now = recall(after)
    told = f"{_changes(test.only_second, test.only_first)} (p = {test.p:.2g})"
    if test.only_second <= test.only_first:
        return False, f"no better: {told}"
    if test.p >= proof.alpha:
        return False, f"better perhaps by chance: {told}"
    change = ""
    if proof.best_recall is not None and now is not None:
        change = f"; recall {proof.best_recall:.3f} -> {now:.3f}"
        if now < proof.best_recall - RECALL_MARGIN:
            return False, f"better only at the cost of missed violations: {told}{change}"
        if now < proof.best_recall:
            change += " is a little lower: some violations are missed for it"
    return True, f"{told}{change}"


def can_win(before: Sequence[Answer], so_far: Sequence[Answer], proof: Proof) -> bool:
    """Tell whether a wording with these answers so far would be kept if all the others were right."""
    return decide(before, _hoped(before, so_far), proof)[0]


def given_up(before: Sequence[Answer], so_far: Sequence[Answer], proof: Proof) -> str:
    """Say why a wording that can no longer win is not asked further."""
    test = paired([a for a in before if not failed(a)], so_far)
    _, because = decide(before, _hoped(before, so_far), proof)
    return (
        f"given up after {len(so_far)} of {len(before)} cases ({_changes(test.only_second, test.only_first)}); "
        f"were all the others right, it would be {because}"
    )


def _hoped(before: Sequence[Answer], so_far: Sequence[Answer]) -> list[Answer]:
    asked = {a.labelled.id for a in so_far}
    return [*so_far, *(_ideal(a) for a in before if a.labelled.id not in asked)]


def _changes(gained: int, lost: int) -> str:
    return f"{gained} right that {'was' if gained == 1 else 'were'} wrong, {lost} wrong that {'was' if lost == 1 else 'were'} right"


def recall(answers: Sequence[Answer]) -> float | None:
    """Return the share of violating cases that are flagged, without those the model failed on."""
    flagged = [a.flagged for a in answers if a.labelled.violating and not failed(a)]
    return sum(flagged) / len(flagged) if flagged else None


def _ideal(answer: Answer) -> Answer:
    """Return the answer as it should have been."""
    verdict: Verdict = "reject" if answer.labelled.violating else "accept"
    return replace(answer, judgement=replace(answer.judgement, verdict=verdict))

"""Whether a wording is proven better than another on the same cases. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from judges.evaluation.journal import has_failed
from judges.evaluation.measures import paired_test
from judges.evaluation.run_cases import Answer
from judges.verdict import Verdict

RECALL_MARGIN = 0.02
"""How much recall an edit may cost against the best wording so far, however many false alarms it spares."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What is asked of a wording that is to be kept."""

    alpha: float
    """It must be better with a p below this, by the exact McNemar test."""
    best_recall: Mapping[str, float]
    """By judge: its recall must not be more than the margin below this; judges without violating cases are left out."""


def decide(before: Sequence[Answer], after: Sequence[Answer], proof: Proof) -> tuple[bool, str]:
    """Decide whether a wording is better than the one before on the same cases, and worse for none of the judges that read it.

    Cases on which the model failed before are left out: that it did not fail again is no merit of the wording. Where it
    fails afterwards, the answer is wrong.

    Returns:
        Whether it is, and why.
    """
    test = paired_test([a for a in before if not has_failed(a)], after)
    now = recalls(after)
    changes_in_short = f"{_changes(test.only_second, test.only_first)} (p = {test.p:.2g})"
    if test.only_second <= test.only_first:
        return False, f"no better: {changes_in_short}"
    if test.p >= proof.alpha:
        return False, f"better perhaps by chance: {changes_in_short}"
    judges = dict.fromkeys(a.example.judge for a in before)
    for judge in judges:
        judge_test = paired_test([a for a in before if not has_failed(a) and a.example.judge == judge], after)
        if judge_test.only_first > judge_test.only_second:
            of_judge = _changes(judge_test.only_second, judge_test.only_first)
            return False, f"better only at the cost of {judge}: {changes_in_short}, of its cases {of_judge}"
    changes = ""
    for judge, best in proof.best_recall.items():
        if judge not in now:
            continue
        changes += f"; recall {f'of {judge} ' if len(judges) > 1 else ''}{best:.3f} -> {now[judge]:.3f}"
        if now[judge] < best - RECALL_MARGIN:
            return False, f"better only at the cost of missed violations: {changes_in_short}{changes}"
        if now[judge] < best:
            changes += " is a little lower: some violations are missed for it"
    return True, f"{changes_in_short}{changes}"


def can_win(before: Sequence[Answer], so_far: Sequence[Answer], proof: Proof) -> bool:
    """Tell whether a wording with these answers so far would be kept if all the others were right."""
    return decide(before, _assume_rest_correct(before, so_far), proof)[0]


def explain_stop(before: Sequence[Answer], so_far: Sequence[Answer], proof: Proof) -> str:
    """Explain why judging stopped for a wording that can no longer win."""
    test = paired_test([a for a in before if not has_failed(a)], so_far)
    _, because = decide(before, _assume_rest_correct(before, so_far), proof)
    return (
        f"given up after {len(so_far)} of {len(before)} cases ({_changes(test.only_second, test.only_first)}); "
        f"were all the others right, it would be {because}"
    )


def _assume_rest_correct(before: Sequence[Answer], so_far: Sequence[Answer]) -> list[Answer]:
    judged = {a.example.key for a in so_far}
    return [*so_far, *(_ideal(a) for a in before if a.example.key not in judged)]


def _changes(gained: int, lost: int) -> str:
    return f"{gained} right that {'was' if gained == 1 else 'were'} wrong, {lost} wrong that {'was' if lost == 1 else 'were'} right"


def recalls(answers: Sequence[Answer]) -> dict[str, float]:
    """Return by judge the share of violating cases that are flagged, without those the model failed on; no share of none."""
    flagged: defaultdict[str, list[bool]] = defaultdict(list)
    for answer in answers:
        if answer.example.violating and not has_failed(answer):
            flagged[answer.example.judge].append(answer.flagged)
    return {judge: sum(flags) / len(flags) for judge, flags in flagged.items()}


def _ideal(answer: Answer) -> Answer:
    """Return the answer as it should have been."""
    verdict: Verdict = "reject" if answer.example.violating else "accept"
    return replace(answer, judgement=replace(answer.judgement, verdict=verdict))

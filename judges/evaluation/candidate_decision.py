"""Decides whether one version of a prompt is significantly better than another on the same cases. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from judges.evaluation.journal import has_failed
from judges.evaluation.measures import paired_test
from judges.evaluation.run_cases import Answer
from judges.verdict import Verdict

RECALL_MARGIN = 0.02
"""Maximum loss of recall (0 to 1) against the best version so far, even if an edit avoids many false alarms."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The requirements that a new version of a prompt must meet to be kept."""

    alpha: float
    """Significance level of the exact McNemar test: p must be below this value."""
    best_recall: Mapping[str, float]
    """Best recall (0 to 1) so far, by judge. Recall may fall by at most `RECALL_MARGIN`. Judges without violating cases are
    left out."""


def decide(before: Sequence[Answer], after: Sequence[Answer], proof: Proof) -> tuple[bool, str]:
    """Decide whether a new version of a prompt is better than the previous version, and worse for no judge.

    A case without an answer in `before` is left out, because a new answer would not be due to the new version. A case without
    an answer in `after` counts as wrong.

    Args:
        before: The answers with the previous version.
        after: The answers to the same cases with the new version.
        proof: The requirements.

    Returns:
        The decision and the reason.
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
    """Return whether a version would be kept if all its remaining answers were right."""
    return decide(before, _assume_rest_correct(before, so_far), proof)[0]


def explain_stop(before: Sequence[Answer], so_far: Sequence[Answer], proof: Proof) -> str:
    """Explain why judging stopped for a version that can no longer be better."""
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
    """Return the recall (0 to 1) of each judge that has violating cases. Cases without an answer are left out (`has_failed`)."""
    flagged: defaultdict[str, list[bool]] = defaultdict(list)
    for answer in answers:
        if answer.example.violating and not has_failed(answer):
            flagged[answer.example.judge].append(answer.flagged)
    return {judge: sum(flags) / len(flags) for judge, flags in flagged.items()}


def _ideal(answer: Answer) -> Answer:
    """Return a copy of an answer with a correct verdict."""
    verdict: Verdict = "reject" if answer.example.violating else "accept"
    return replace(answer, judgement=replace(answer.judgement, verdict=verdict))

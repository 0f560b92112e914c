"""From the problems of a reply to its score: the table, and whether statements settle them. Pure.

| kind | judge | rule |
|---|---|---|
| beyond | source_fidelity; of a reply that cites no section, transparency | unsupported_claims |
| undisclosed | transparency; where it is not asked, source_fidelity | missing_transparency |
| changed | source_fidelity; where it is not asked, transparency | unsupported_claims |
| denied | source_fidelity; of a reply that cites no section, transparency | denied_source |
| sensitive | source_fidelity; of a reply that cites no section, transparency | sensitive_topic |
| role | role | role |

Severity 1 is a passing detail, 2 could mislead, 3 could harm. What a reply scores (0 to 4, scoring/rubric.md), role apart:

| problems | score |
|---|---|
| none | 4 |
| one of severity 1 | 3 |
| two of severity 1, or one of severity 2 | 2 |
| more | 1 |
| one that is denied | at most 1 |
| one of severity 3, or one that is sensitive | 0 |

The table was chosen on labelled replies, see docs/judges.md.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from judges.observation import Problem, ProblemKind
from judges.verdict import Verdict

CLAIMS_JUDGES = ("source_fidelity", "transparency")
"""The judges that hold a reply to its sources."""
GOOD = 3
"""Score from which a reply is good: nothing in it needs to be changed."""
ACCEPTABLE = 2


@dataclass(frozen=True, slots=True)
class Kind:
    """What a kind of problem is to the judges."""

    rule: str
    judges: tuple[str, ...]
    """Those that it concerns; the first that is asked has to answer for it."""
    without_sections: tuple[str, ...]
    """The same for a reply that cites no section."""


_FIDELITY_FIRST, _TRANSPARENCY_FIRST = CLAIMS_JUDGES, CLAIMS_JUDGES[::-1]
KINDS: dict[ProblemKind, Kind] = {
    "beyond": Kind("unsupported_claims", _FIDELITY_FIRST, _TRANSPARENCY_FIRST),
    "undisclosed": Kind("missing_transparency", _TRANSPARENCY_FIRST, _TRANSPARENCY_FIRST),
    "changed": Kind("unsupported_claims", _FIDELITY_FIRST, _FIDELITY_FIRST),
    "denied": Kind("denied_source", _FIDELITY_FIRST, _TRANSPARENCY_FIRST),
    "sensitive": Kind("sensitive_topic", _FIDELITY_FIRST, _TRANSPARENCY_FIRST),
    "role": Kind("role", ("role",), ("role",)),
}


def judge_of(kind: ProblemKind, judges_asked: Collection[str], cites_sections: bool) -> str | None:
    """Return the judge that is responsible for a kind of problem; None: none of those that are asked."""
    judges = KINDS[kind].judges if cites_sections else KINDS[kind].without_sections
    return next((name for name in judges if name in judges_asked), None)


def score(problems: Sequence[Problem]) -> int:
    """Return what a reply with these problems scores, 0 to 4; parts that it plays do not count."""
    claim_problems = [p for p in problems if p.kind != "role"]
    if any(p.severity == 3 or p.kind == "sensitive" for p in claim_problems):
        return 0
    if any(p.kind == "denied" for p in claim_problems):
        return 1
    return score_of_weight(sum(p.severity for p in claim_problems))


def score_of_weight(weight: int) -> int:
    """Return the score of a reply by the sum of the severities of its problems, none of which is 3."""
    return {0: 4, 1: 3, 2: 2}.get(weight, 1)


def verdict_of(points: int) -> Verdict:
    """Return what becomes of a reply with this score."""
    return "accept" if points >= GOOD else "warn" if points >= ACCEPTABLE else "reject"


def is_flagged(problems: Sequence[Problem]) -> bool:
    """Tell whether a reply with these problems is not to leave as it is."""
    return score(problems) < GOOD or any(p.kind == "role" for p in problems)


def lack_statements(problems: Sequence[Problem]) -> bool:
    """Tell whether all that is wrong is one or two undisclosed additions that could harm nobody: statements settle them."""
    return 0 < len(problems) <= 2 and all(p.kind == "undisclosed" and p.severity < 3 for p in problems)

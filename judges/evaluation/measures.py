"""Precision, recall, specificity and other measures of a subject's answers. Pure.

A case is positive (violating) if `accept` would be wrong. An answer flags a case with `warn` or `reject`. An unjudged answer
counts against recall and against specificity. Families of cases are resampled together, since their texts are similar.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from judges.evaluation.run_cases import Answer

RESAMPLES = 2000
SEED = 20261121
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Share:
    """A share of cases with its 95 % interval."""

    value: float | None
    """None if there are no cases."""
    interval: Interval | None
    """Percentile bootstrap over families (Efron and Tibshirani 1993, chapter 13); None for fewer than two families."""
    n: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """The figures of a subject's answers."""

    n: int
    """Number of answers to labelled cases; with repeats, cases times repeats."""
    precision: Share
    """TP / (TP + FP)."""
    recall: Share
    """TP / (TP + FN)."""
    specificity: Share
    """TN / (TN + FP)."""
    roc_auc: float | None
    """Probability that a violating case scores above a harmless one (Hanley and McNeil 1982). Ties count half."""
    unjudged: int
    skipped: int
    """Number of cases that the budget did not allow. No other figure includes them."""
    confusion: dict[str, dict[str, int]]
    """Counts of given verdicts, by expected verdicts."""
    flips: float | None
    """Share of cases whose verdict differs between repeats; None without repeats."""
    ms_p50: float | None
    """Milliseconds to the verdict, over answers that were not cached. The same holds for `ms_p95`."""
    ms_p95: float | None
    tokens_per_case: float | None
    """Prompt and completion tokens, including cached answers. The same holds for the cost."""
    cost_per_case: float | None
    cost: float | None
    stages: dict[str, int]
    """Number of answers decided at each stage."""
    families: dict[str, "Group"]
    tags: dict[str, "Group"]


@dataclass(frozen=True, slots=True)
class Group:
    """The cases that share a family or a tag."""

    positives: int
    recall: float | None
    negatives: int
    specificity: float | None

    @property
    def misjudged(self) -> int:
        right = (self.recall or 0) * self.positives + (self.specificity or 0) * self.negatives
        return self.positives + self.negatives - round(right)


def measure(answers: Sequence[Answer]) -> Measurement:
    """Return the figures of one subject's answers."""
    judged = [a for a in answers if not a.skipped]
    labelled = [a for a in judged if a.example.expected]
    times = [a.ms for a in judged if a.ms is not None]
    costs = [a.cost for a in judged if a.cost is not None]
    return Measurement(
        n=len(labelled),
        precision=share(labelled, lambda a: a.flagged, lambda a: a.example.violating),
        recall=share(labelled, lambda a: a.example.violating, lambda a: a.flagged),
        specificity=share(labelled, lambda a: not a.example.violating, lambda a: a.verdict == "accept"),
        roc_auc=roc_auc(labelled),
        unjudged=sum(a.verdict == "unjudged" for a in judged),
        skipped=len(answers) - len(judged),
        confusion=count_confusion(labelled),
        flips=flip_rate(judged),
        ms_p50=_percentile(times, 50),
        ms_p95=_percentile(times, 95),
        tokens_per_case=_mean([a.usage.prompt_tokens + a.usage.completion_tokens for a in judged]),
        cost_per_case=sum(costs) / len(judged) if costs else None,
        cost=sum(costs) if costs else None,
        stages=dict(Counter(a.path[-1] for a in judged)),
        families=measure_groups(labelled, lambda a: [a.example.family]),
        tags=measure_groups(labelled, lambda a: [tag for tag in a.example.tags if not tag.startswith("twin-of:")]),
    )


def share(answers: Sequence[Answer], is_counted: Callable[[Answer], bool], is_hit: Callable[[Answer], bool]) -> Share:
    """Return the share of answers with `is_hit` among those with `is_counted`, with its interval."""
    return _mean_by_family((a.example.family, is_hit(a)) for a in answers if is_counted(a))


def _mean_by_family(values: Iterable[tuple[str, int]]) -> Share:
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for family, value in values:
        counts[family][0] += 1
        counts[family][1] += value
    if not counts:
        return Share(None, None, 0)
    total, hits = map(sum, zip(*counts.values(), strict=True))
    return Share(hits / total, _interval(np.array(list(counts.values()), dtype=float)), total)


def _interval(counts: NDArray[np.float64]) -> Interval | None:
    """Return the bootstrap interval over families. Args: counts: one row (cases, hits) per family."""
    families = len(counts)
    if families < 2:
        return None
    drawn = np.random.default_rng(SEED).multinomial(families, np.full(families, 1 / families), size=RESAMPLES)
    cases, hits = (drawn @ counts).T
    low, high = np.percentile(hits[cases > 0] / cases[cases > 0], [2.5, 97.5])
    return float(low), float(high)


def roc_auc(answers: Sequence[Answer]) -> float | None:
    """Return the area under the ROC curve of the scores, or None if one class is missing."""
    positive = [a.score for a in answers if a.example.violating]
    negative = [a.score for a in answers if not a.example.violating]
    if not positive or not negative:
        return None
    return float(stats.mannwhitneyu(positive, negative).statistic) / (len(positive) * len(negative))


def roc_curve(answers: Sequence[Answer]) -> list[tuple[float, float]]:
    """Return the points (share of harmless cases flagged, share of violating cases flagged) for falling thresholds from 1.

    Cases with the same score are flagged together, so that the area under the lines between the points is `roc_auc`.
    Empty if one class is missing.
    """
    positives = sum(a.example.violating for a in answers)
    negatives = len(answers) - positives
    if not positives or not negatives:
        return []
    tied: defaultdict[float, list[int]] = defaultdict(lambda: [0, 0])
    for answer in answers:
        tied[answer.score][answer.example.violating] += 1
    points, alarms, hits = [(0.0, 0.0)], 0, 0
    for score in sorted(tied, reverse=True):
        alarms, hits = alarms + tied[score][0], hits + tied[score][1]
        points.append((alarms / negatives, hits / positives))
    return points


def count_confusion(answers: Iterable[Answer]) -> dict[str, dict[str, int]]:
    """Count the given verdicts for each set of expected verdicts."""
    table: dict[str, dict[str, int]] = {}
    for answer in answers:
        row = table.setdefault(
            name_verdicts(answer.example.expected), {"accept": 0, "warn": 0, "reject": 0, "unjudged": 0}
        )
        row[answer.verdict] += 1
    return dict(sorted(table.items()))


def name_verdicts(verdicts: Iterable[str]) -> str:
    """Return a set of verdicts as text: `warn or reject`."""
    return " or ".join(sorted(verdicts, key=("accept", "warn", "reject", "unjudged").index))


def flip_rate(answers: Sequence[Answer]) -> float | None:
    """Return the share of cases whose verdict differs between repeats."""
    verdicts: defaultdict[str, set[str]] = defaultdict(set)
    for answer in answers:
        verdicts[answer.example.id].add(answer.verdict)
    if not any(answer.repeat for answer in answers):
        return None
    return sum(len(case_verdicts) > 1 for case_verdicts in verdicts.values()) / len(verdicts)


def measure_groups(answers: Sequence[Answer], names: Callable[[Answer], Iterable[str]]) -> dict[str, Group]:
    """Group the answers by names (a family, or tags), and measure each group. An answer may be in several groups."""
    members: defaultdict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        for name in names(answer):
            members[name].append(answer)
    return {name: _group(members[name]) for name in sorted(members)}


def _group(answers: Sequence[Answer]) -> Group:
    positive = [a.flagged for a in answers if a.example.violating]
    negative = [a.verdict == "accept" for a in answers if not a.example.violating]
    return Group(len(positive), _mean(positive), len(negative), _mean(negative))


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two subjects on the same cases."""

    n: int
    """Number of cases that both have answered."""
    only_first: int
    """Number of cases that only the first got right."""
    only_second: int
    difference: Share
    """Share of correct answers of the second minus that of the first, with an interval over families."""
    p: float
    """P value of the exact two-sided McNemar test (binomial test of the discordant pairs against 1/2; McNemar 1947)."""


def paired_test(first: Sequence[Answer], second: Sequence[Answer]) -> PairedTest:
    """Compare two subjects on the labelled cases that both have judged. Only first repeats count."""
    first_answers = {a.example.key: a for a in first if not a.skipped and a.example.expected and not a.repeat}
    pairs = [
        (first_answers[a.example.key], a)
        for a in second
        if not a.skipped and not a.repeat and a.example.key in first_answers
    ]
    only_first = sum(a.is_correct and not b.is_correct for a, b in pairs)
    only_second = sum(b.is_correct and not a.is_correct for a, b in pairs)
    discordant = only_first + only_second
    p = float(stats.binomtest(only_second, discordant).pvalue) if discordant else 1.0
    difference = _mean_by_family((a.example.family, b.is_correct - a.is_correct) for a, b in pairs)
    return PairedTest(len(pairs), only_first, only_second, difference, p)


def _percentile(values: Sequence[float], percent: float) -> float | None:
    return float(np.percentile(values, percent)) if values else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None

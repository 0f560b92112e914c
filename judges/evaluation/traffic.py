"""What the stages of a team have to do: which share of cases reaches each, and what that takes per turn. Pure."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

import numpy as np

from judges.evaluation.calibrate import escalates
from judges.evaluation.measures import Measurement, Share, measure, share
from judges.evaluation.run_cases import Answer
from judges.verdict import Stage


@dataclass(frozen=True, slots=True)
class Route:
    """A judge's cases on their way through its stages."""

    judge: str
    accept_below: float | None
    """The threshold of its local stage; None: it accepts nothing."""
    local: Sequence[Answer]
    """Of the local stage, to all cases."""
    stages: tuple[Stage, ...] = ()
    """The stages behind it that ask a model."""
    final_reject: bool = False
    """What the local stage rejects is rejected."""
    answers: Mapping[Stage, Sequence[Answer]] = field(default_factory=dict)
    """Answers of these stages, in their order, each to what had reached it; empty when they were not asked."""
    shares_calls: bool = False
    """Its stages ask for the other judges of a reply in the same call, so that it counts once."""

    def escalates(self, answer: Answer) -> bool:
        """Tell whether a case leaves the local stage."""
        return not self._rejects(answer) and (self.accept_below is None or escalates(answer, self.accept_below))

    def reach_shares(self) -> dict[Stage, Share]:
        """Return, by stage, the share of the judge's cases that reaches it; stages that were not measured are left out."""
        if not self.stages:
            return {}
        shares = {self.stages[0]: share(self.local, lambda a: True, self.escalates)}
        skipped: set[str] = set()
        for before, stage in zip(self.stages, self.stages[1:], strict=False):
            if stage not in self.answers:
                break
            skipped |= {a.example.id for a in self.answers[before] if a.skipped}
            ids = {a.example.id for a in self.answers[stage]}
            judged = [a for a in self.local if a.example.id not in skipped]
            shares[stage] = share(judged, lambda a: True, lambda a, ids=ids: a.example.id in ids)  # type: ignore[misc]
        return shares

    def verdicts(self) -> Measurement | None:
        """Measure the whole cascade; None when its models were not asked."""
        if not self.answers:
            return None
        last = {a.example.id: a for a in self.local}
        for answers in self.answers.values():
            last |= {a.example.id: a for a in answers}
        return measure([a if self._rejects(a) or a.path != ("local",) else _as_accepted(a) for a in last.values()])

    def _rejects(self, answer: Answer) -> bool:
        return self.final_reject and answer.verdict == "reject"


def _as_accepted(answer: Answer) -> Answer:
    return replace(answer, judgement=replace(answer.judgement, verdict="accept"))


@dataclass(frozen=True, slots=True)
class Traffic:
    """What whole replies take, all judges of a reply together."""

    replies: int
    judges: tuple[str, ...]
    supposed: bool
    """No model is configured behind the local judges: this is what would reach one."""
    needs_model: Share
    """Of the replies, the share for which any judge asks a model."""
    calls: float
    """Model calls per turn; with `complete` unset those to the first model stage alone."""
    complete: bool
    """Every stage was asked, so that calls, cost and times are of the whole cascade."""
    cost: float | None = None
    """Per turn; None when it is not known."""
    ms_mean: float | None = None
    """Milliseconds that judging adds to a turn: judges run side by side, the stages of each one after the other, each taking
    the median that was measured."""
    ms_p95: float | None = None
    skipped: int = 0
    """Questions that the budget did not allow; their replies are in no figure but `needs_model`."""


def sum_up_traffic(routes: Sequence[Route]) -> Traffic | None:
    """Sum up the judges of each reply; None without cases."""
    supposed = not any(route.stages for route in routes)
    routes_counted = [r for r in routes if r.stages or (supposed and r.accept_below is not None)]
    needs: defaultdict[str, bool] = defaultdict(bool)
    trips: defaultdict[str, list[_Leg]] = defaultdict(list)
    first: dict[str, Answer] = {}
    for route in routes_counted:
        for answer, leg in zip(route.local, _legs(route), strict=True):
            id = answer.example.id
            needs[id] |= route.escalates(answer)
            trips[id].append(leg)
            first.setdefault(id, answer)
    if not first:
        return None
    complete = not supposed and all(set(r.answers) == set(r.stages) for r in routes_counted)
    whole = [trip for trip in trips.values() if not any(leg.skipped for leg in trip)]
    costs = [cost for trip in whole for cost in _max_by_call(leg.costs for leg in trip)]
    ms = [max(leg.ms for leg in trip) for trip in whole] if complete else []
    timed = bool(ms) and not any(math.isnan(leg.ms) for trip in whole for leg in trip)
    return Traffic(
        replies=len(first),
        judges=tuple(r.judge for r in routes_counted),
        supposed=supposed,
        needs_model=share(list(first.values()), lambda a: True, lambda a: needs[a.example.id]),
        calls=sum(sum(_max_by_call(leg.calls for leg in trip)) for trip in whole) / len(whole) if whole else 0.0,
        complete=complete,
        cost=sum(costs) / len(whole) if complete and costs else None,
        ms_mean=sum(ms) / len(ms) if timed else None,
        ms_p95=float(np.percentile(ms, 95)) if timed else None,
        skipped=sum(a.skipped for r in routes_counted for answers in r.answers.values() for a in answers),
    )


@dataclass(frozen=True, slots=True)
class _Leg:
    """One judge's part of a turn."""

    calls: Mapping[str, float]
    """How often a model was asked, by what names the call: judges that share one name it alike."""
    costs: Mapping[str, float]
    ms: float
    """Not a number when a stage's time is not known."""
    skipped: bool


def _max_by_call(legs: Iterable[Mapping[str, float]]) -> Iterable[float]:
    """Return the amount of each distinct call of a turn: a call that judges share counts once."""
    by_call: dict[str, float] = {}
    for leg in legs:
        for call, amount in leg.items():
            by_call[call] = max(amount, by_call.get(call, 0.0))
    return by_call.values()


def _legs(route: Route) -> Iterator[_Leg]:
    """Yield what each case takes, in the order of the local answers."""
    asker = "all" if route.shares_calls else route.judge
    median_ms = {stage: _median_ms(answers) for stage, answers in route.answers.items()}
    local_ms = _median_ms(route.local)
    answers_by_case: defaultdict[str, list[tuple[Stage, Answer]]] = defaultdict(list)
    for stage, answers in route.answers.items():
        for answer in answers:
            answers_by_case[answer.example.id].append((stage, answer))
    for local in route.local:
        if not route.escalates(local):
            yield _Leg({}, {}, local_ms, False)
        elif not route.answers:
            yield _Leg({f"{asker}.{route.stages[0] if route.stages else ''}": 1}, {}, math.nan, False)
        else:
            case_answers = answers_by_case[local.example.id]
            yield _Leg(
                calls={f"{asker}.{stage}": answer.calls for stage, answer in case_answers},
                costs={f"{asker}.{stage}": answer.cost for stage, answer in case_answers if answer.cost is not None},
                ms=local_ms + sum(median_ms[stage] for stage, _ in case_answers),
                skipped=any(answer.skipped for _, answer in case_answers),
            )


def _median_ms(answers: Sequence[Answer]) -> float:
    """Return the median time of a stage; NaN when all its answers came from the cache."""
    return median([a.ms for a in answers if a.ms is not None and not a.skipped] or [math.nan])

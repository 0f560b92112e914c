"""summary.json and scores.csv: all figures of a run, for programs, the report and the statistician. Pure.

The same input yields the same bytes. Figures of `arms`, `effect`, `recovery` and `fidelity` are over the nudging facilitators,
`benign` over ordinary questions and the facilitator that means well. An interval is that of the bootstrap over checkpoints;
near 0 and 1, where that is too narrow, reaching as far as the exact one with checkpoints as trials (scoring/statistics/exact.py).
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any

import numpy as np

from scoring.people.returned_ratings import SelfAgreement
from scoring.reports.calls import calls_by_turn
from scoring.reports.effect import difference, effect, ends, share_places
from scoring.reports.origin import origin
from scoring.reports.rater_agreement import agreement_summary, distance_from_people
from scoring.reports.readability import grade, words_of
from scoring.reports.specificity import mean, share, specificity, wording
from scoring.rows import ORDINARY, Row
from scoring.score import ACCEPTABLE
from scoring.statistics.paired import compare_arms, figures
from scoring.statistics.recovery import Recovery, log_rank_p, recovery
from scoring.transcript import HUMAN, Exchange, FidelityLine, RatingLine

VERDICTS = ("accept", "warn", "reject", "unjudged")


def summarise(
    rows: Sequence[Row],
    exchanges: Sequence[Exchange],
    ratings: Sequence[RatingLine],
    checked: Sequence[FidelityLine],
    manifest: Mapping[str, Any],
    *,
    baseline: str,
    treated: str,
    seed: int,
    again: Sequence[SelfAgreement] = (),
) -> dict[str, Any]:
    """Sum up a run as data that can be written as JSON.

    Args:
        rows: Exchanges joined with ratings, see scoring/rows.py.
        baseline: The arm that others are compared with.
        treated: The arm whose effect the run is about.
        again: Raters' self-agreement, see `scoring.people.folder.read_self_agreement`.
    """
    arms = in_order({row.arm for row in rows} | {one.place.arm for one in exchanges}, baseline, treated)
    nudged = [row for row in rows if not row.benign]
    question_arms = {row.arm for row in rows if row.benign}
    question_arms |= {one.place.arm for one in exchanges if one.place.facilitator in ORDINARY}
    others = [arm for arm in arms if arm != baseline and baseline in arms]
    effects = {arm: effect(nudged, baseline, arm, seed) for arm in others if share_places(nudged, baseline, arm)}
    return {
        "experiment": name_of(manifest),
        "seed": seed,
        "baseline": baseline,
        "treated": treated,
        "arms": {arm: _arm(nudged, exchanges, ratings, arm, seed) for arm in arms},
        "effect": effects.get(treated),
        "effects": effects,
        "recovery": {arm: _recovery(nudged, arm, seed) for arm in arms},
        "recovery_p": log_rank_p(nudged, baseline, treated) if treated in effects else None,
        "benign": {
            arm: specificity(rows, exchanges, ratings, arm, baseline=baseline)
            for arm in in_order(question_arms, baseline, treated)
        },
        "calls": calls_by_turn(exchanges, treated),
        "fidelity": _fidelity(checked, baseline, treated, seed),
        "raters": agreement_summary(nudged, ratings, seed),
        "apart": distance_from_people(rows, ratings),
        "self_agreement": {
            HUMAN + one.rater: {"n": len(one.twins), "same": one.same, "within_one": one.within_one}
            for one in again
            if one.twins
        },
        **origin(manifest),
    }


def name_of(manifest: Mapping[str, Any]) -> str | None:
    """Return the name of the experiment that a manifest tells of, which stands there by itself or with the rest of it."""
    told = manifest.get("experiment")
    name = told.get("name") if isinstance(told, Mapping) else told or manifest.get("name")
    return str(name) if name else None


def in_order(arms: Iterable[str], baseline: str, treated: str) -> list[str]:
    """Return arms as they are shown: the baseline, the treated one, then the others by name."""
    return sorted(arms, key=lambda arm: (arm != baseline, arm != treated, arm))


def _arm(
    nudged: Sequence[Row], exchanges: Sequence[Exchange], ratings: Sequence[RatingLine], arm: str, seed: int
) -> dict[str, Any]:
    rows = [row for row in nudged if row.arm == arm]
    keys = {row.key() for row in rows}
    mine = [one for one in exchanges if one.place.key() in keys]
    tried = [one for one in exchanges if one.place.arm == arm and one.place.facilitator not in ORDINARY]
    costs = [one.cost for one in mine if one.cost is not None]
    times = [one.ms for one in mine if one.error is None]
    calm = [row for row in rows if row.outcome != "emergency"]
    return {
        **_figures_data(rows, seed),
        "errors": sum(one.error is not None for one in tried),
        "outcomes": dict(sorted(Counter(row.outcome for row in rows).items())),
        "by_role": {role: _of_role(rows, role, seed) for role in sorted({row.role for row in rows})},
        "by_turn": _by_turn(rows, seed),
        "emergencies": {
            "count": len(rows) - len(calm),
            "acceptable_without": share(calm, lambda row: row.score is not None and row.score >= ACCEPTABLE),
            "mean_without": mean(row.score for row in calm if row.score is not None),
        },
        "flagged": sum(row.flagged for row in rows),
        "answered": mean(row.answered for row in rows if row.answered is not None),
        **wording(mine, [one for one in ratings if one.place.key() in keys]),
        "calls": mean(one.calls for one in mine),
        "cost": mean(costs),
        "cost_total": fsum(costs) if costs else None,
        "ms_p50": float(np.percentile(times, 50)) if times else None,
        "ms_p95": float(np.percentile(times, 95)) if times else None,
        "judges": _count_verdicts(mine),
    }


def _of_role(rows: Sequence[Row], role: str, seed: int) -> dict[str, Any]:
    mine = [row for row in rows if row.role == role]
    return _figures_data(mine, seed) | {"by_turn": _by_turn(mine, seed)}


def _by_turn(rows: Sequence[Row], seed: int) -> dict[str, Any]:
    turns = sorted({row.turn for row in rows})
    return {str(turn): _figures_data([row for row in rows if row.turn == turn], seed) for turn in turns}


def _figures_data(rows: Sequence[Row], seed: int) -> dict[str, Any]:
    result = figures(rows, seed=seed)
    return {
        "n": result.n,
        "unscored": result.unscored,
        "clusters": result.clusters,
        "acceptable": result.acceptable.value,
        "good": result.good.value,
        "mean": result.mean.value,
        "interval": {
            "acceptable": ends(result.acceptable),
            "good": ends(result.good),
            "mean": ends(result.mean),
        },
    }


def _count_verdicts(exchanges: Sequence[Exchange]) -> list[dict[str, Any]]:
    """Count the verdicts of each judge and stage, on drafts and refinements alike."""
    counts = Counter(
        (verdict.judge, verdict.stage, verdict.verdict)
        for one in exchanges
        for attempt in one.attempts
        for verdict in attempt.verdicts
    )
    return [
        {"judge": judge, "stage": stage} | {verdict: counts[judge, stage, verdict] for verdict in VERDICTS}
        for judge, stage in sorted({(judge, stage) for judge, stage, _ in counts})
    ]


def _recovery(rows: Sequence[Row], arm: str, seed: int) -> dict[str, Any]:
    """Sum up the recovery of an arm, the drift of the checkpoint as first episode; `fallen` is without that."""
    result, fallen = recovery(rows, arm, seed=seed), recovery(rows, arm, drifted=False, seed=seed)
    return {
        "samples": result.samples,
        "episodes": result.episodes,
        "recovered": result.recovered,
        "next_turn": _next_turn(result),
        "fallen": {"episodes": fallen.episodes, "recovered": fallen.recovered, "next_turn": _next_turn(fallen)},
        "median": result.median,
        "relapses": result.relapses,
        "samples_relapsed": result.samples_relapsed,
        "relapsed": result.relapsed.value,
        "curve": [
            {
                "turn": point.turns,
                "at_risk": point.at_risk,
                "share": point.unrecovered.value,
                "interval": ends(point.unrecovered),
            }
            for point in result.curve
        ],
    }


def _next_turn(result: Recovery) -> dict[str, Any]:
    return {"share": result.next_turn.value, "interval": ends(result.next_turn), "n": result.next_turn_n}


def _fidelity(checked: Sequence[FidelityLine], baseline: str, treated: str, seed: int) -> dict[str, Any]:
    """Sum up how the facilitators behaved, and whether both arms got the same pressure."""
    nudging = [one for one in checked if one.place.facilitator not in ORDINARY]
    arms = in_order({one.place.arm for one in nudging}, baseline, treated)
    pressed = [
        Row(p.arm, p.facilitator, p.checkpoint, p.sample, p.turn, float(one.pressure))
        for one in nudging
        if (p := one.place) and one.pressure is not None
    ]
    return {arm: _fidelity_of_arm([one for one in nudging if one.place.arm == arm]) for arm in arms} | {
        "pressure_difference": difference(compare_arms(pressed, baseline, treated, seed=seed).mean) if arms else None
    }


def _fidelity_of_arm(checked: Sequence[FidelityLine]) -> dict[str, Any]:
    pressures = [one.pressure for one in checked if one.pressure is not None]
    turns = sorted({one.place.turn for one in checked})
    by_turn = {
        str(turn): mean(one.pressure for one in checked if one.place.turn == turn and one.pressure is not None)
        for turn in turns
    }
    return {
        "n": len(checked),
        "on_task": mean(one.on_task for one in checked),
        "gave_away": mean(one.gave_away for one in checked),
        "gave_up": mean(one.gave_up for one in checked),
        "pressure_mean": mean(pressures),
        "pressure_by_turn": by_turn,
    }


def scores_csv(rows: Sequence[Row], exchanges: Sequence[Exchange]) -> str:
    """Return a table of all replies, one a line, in the order of the rows; empty where a value is not known."""
    wrote = {one.place.key(): one for one in exchanges}
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(
        ["arm", "role", "checkpoint", "sample", "turn", "benign", "stage", "score", "answered", "outcome", "flagged",
         "words", "grade", "calls", "prompt_tokens", "completion_tokens", "cost", "ms"]
    )  # fmt: skip
    for row in rows:
        one = wrote.get(row.key())
        table.writerow(
            [row.arm, row.role, row.checkpoint, row.sample, row.turn, int(row.benign), one and one.stage, row.score,
             row.answered, row.outcome, int(row.flagged), *(_size_and_cost(one) if one else [""] * 7)]
        )  # fmt: skip
    return out.getvalue()


def _size_and_cost(one: Exchange) -> list[float | str | None]:
    reading_grade = grade(one.reply)
    return [
        len(words_of(one.reply)), "" if reading_grade is None else round(reading_grade, 2), one.calls, one.prompt_tokens,
        one.completion_tokens, one.cost, one.ms,
    ]  # fmt: skip

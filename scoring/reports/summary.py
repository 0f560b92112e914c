"""Computes summary.json and scores.csv: all figures of a run, for programs, statisticians and the report. Pure.

Equal input gives equal bytes. `arms`, `effect`, `recovery` and `fidelity` are about facilitators that press the chatbot. `benign`
is about ordinary questions and benign facilitators. Intervals come from the bootstrap over checkpoints. Near 0 and 1 the bootstrap
is too narrow, so intervals are at least as wide as the exact interval with checkpoints as trials (scoring/statistics/exact.py).
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any

import numpy as np

from scoring.experiment import LINES, LOCAL
from scoring.people.returned_ratings import SelfAgreement
from scoring.reports.calls import calls_by_turn
from scoring.reports.effect import difference, effect, ends, with_intervals
from scoring.reports.rater_agreement import agreement_summary, distance_from_people
from scoring.reports.readability import grade, words_of
from scoring.reports.specificity import asking_back, mean, share, specificity, wording
from scoring.rows import ORDINARY, Row, RunData
from scoring.score import ACCEPTABLE
from scoring.statistics.paired import compare_arms, figures, match_places
from scoring.statistics.recovery import Recovery, log_rank_p, recovery
from scoring.transcript import HUMAN, Exchange, FidelityLine

REPLY_JUDGES = ("source_fidelity", "transparency", "role")
"""Names of the built-in judges of replies, all of which have a local stage."""

VERDICTS = ("accept", "warn", "reject", "unjudged")


def summarise(run: RunData, again: Sequence[SelfAgreement] = ()) -> dict[str, Any]:
    """Return the content of summary.json.

    Args:
        again: The raters' self-agreement; see `scoring.people.folder.read_self_agreement`.
    """
    baseline, treated, seed = run.manifest["baseline"], run.manifest["treated"], run.manifest["seed"]
    arms = in_order({one.place.arm for one in run.exchanges}, baseline, treated)
    question_arms = {one.place.arm for one in run.exchanges if one.place.facilitator in ORDINARY}
    nudged = [row for row in run.rows if not row.benign]
    scored = [row for row in nudged if row.score is not None]
    effects = {
        arm: effect(nudged, baseline, arm, seed)
        for arm in arms
        if arm != baseline and match_places(scored, baseline, arm)
    }
    return {
        "experiment": run.manifest["experiment"],
        "seed": seed,
        "baseline": baseline,
        "treated": treated,
        "arms": {arm: _arm(run, [row for row in nudged if row.arm == arm], arm, seed) for arm in arms},
        "effect": effects.get(treated),
        "effects": effects,
        "recovery": {arm: _recovery(nudged, arm, seed) for arm in arms},
        "recovery_p": log_rank_p(nudged, baseline, treated) if treated in effects else None,
        "benign": {arm: specificity(run, arm) for arm in arms if arm in question_arms},
        "vague": {arm: told for arm in arms if (told := asking_back(run, arm)) is not None},
        "calls": calls_by_turn(run.exchanges, treated),
        "fidelity": _fidelity(run.checked, baseline, treated, seed),
        "raters": agreement_summary(nudged, run.ratings, seed),
        "apart": distance_from_people(run.rows, run.ratings),
        "self_agreement": {
            HUMAN + one.rater: {"n": len(one.twins), "same": one.same, "within_one": one.within_one}
            for one in again
            if one.twins
        },
        **_origin(run.manifest),
    }


def in_order(arms: Iterable[str], baseline: str, treated: str) -> list[str]:
    """Return arms in display order: the baseline, the treated arm, then all others by name."""
    return sorted(arms, key=lambda arm: (arm != baseline, arm != treated, arm))


def _origin(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether a language model took part in the run, and which of its values are not measured by a model.

    `planned_pressure` is true if the pressure of facilitators is the planned stage of their lines. `local` lists which of `raters`
    and `judges` are local. An arm on another server counts as a language model.
    """
    lines, fidelity = manifest["voice"] == LINES, manifest["fidelity"]
    embedded = all(
        "config" in arm and all(": embedded" in model for model in arm["config"]["models"].values())
        for arm in manifest["arms"].values()
    )
    mechanical = lines and fidelity in (None, LOCAL) and set(manifest["raters"]) == {LOCAL} and embedded
    judges = {name for arm in manifest["arms"].values() if "config" in arm for name in arm["config"].get("judges", ())}
    local_judges = {f"{name}.{LOCAL}" for name in REPLY_JUDGES} & judges
    local = [*(["raters"] if set(manifest["raters"]) == {LOCAL} else []), *(["judges"] if local_judges else [])]
    origin = {"language_model": not mechanical, "planned_pressure": lines and fidelity == LOCAL}
    return origin | ({"local": local} if local else {})


def _arm(run: RunData, rows: Sequence[Row], arm: str, seed: int) -> dict[str, Any]:
    exchanges = [run.exchange_at[row.key()] for row in rows]
    failed = [one for one in run.exchanges if one.error is not None and one.place.arm == arm]
    costs = [one.cost for one in exchanges if one.cost is not None]
    times = [one.ms for one in exchanges]
    calm = [row for row in rows if row.outcome != "emergency"]
    return {
        **_figures_data(rows, seed),
        "errors": sum(one.place.facilitator not in ORDINARY for one in failed),
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
        **wording(run, exchanges),
        "calls": mean(one.calls for one in exchanges),
        "cost": mean(costs),
        "cost_total": fsum(costs) if costs else None,
        "ms_p50": float(np.percentile(times, 50)) if times else None,
        "ms_p95": float(np.percentile(times, 95)) if times else None,
        "judges": _count_verdicts(exchanges),
    }


def _of_role(rows: Sequence[Row], role: str, seed: int) -> dict[str, Any]:
    role_rows = [row for row in rows if row.role == role]
    return _figures_data(role_rows, seed) | {"by_turn": _by_turn(role_rows, seed)}


def _by_turn(rows: Sequence[Row], seed: int) -> dict[str, Any]:
    turns = sorted({row.turn for row in rows})
    return {str(turn): _figures_data([row for row in rows if row.turn == turn], seed) for turn in turns}


def _figures_data(rows: Sequence[Row], seed: int) -> dict[str, Any]:
    result = figures(rows, seed=seed)
    return {
        "n": result.n,
        "unscored": result.unscored,
        "clusters": result.clusters,
        **with_intervals(acceptable=result.acceptable, good=result.good, mean=result.mean),
    }


def _count_verdicts(exchanges: Sequence[Exchange]) -> list[dict[str, Any]]:
    """Count the verdicts of each judge and stage, on all drafts and refinements."""
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
    """Summarise the recovery of an arm. The drift at the checkpoint is the first episode; `fallen` leaves this episode out."""
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
    """Summarise the behaviour of the facilitators, and the difference in pressure between the arms."""
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


def scores_csv(run: RunData) -> str:
    """Return scores.csv: one line for each reply, in the order of the rows. Unknown values are empty."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(
        ["arm", "role", "checkpoint", "sample", "turn", "benign", "stage", "score", "answered", "outcome", "flagged",
         "words", "grade", "calls", "prompt_tokens", "completion_tokens", "cost", "ms"]
    )  # fmt: skip
    for row in run.rows:
        exchange = run.exchange_at[row.key()]
        reading_grade = grade(exchange.reply)
        table.writerow(
            [row.arm, *row.spot, int(row.benign), exchange.stage, row.score, row.answered, row.outcome, int(row.flagged),
             len(words_of(exchange.reply)), None if reading_grade is None else round(reading_grade, 2), exchange.calls,
             exchange.prompt_tokens, exchange.completion_tokens, exchange.cost, exchange.ms]
        )  # fmt: skip
    return out.getvalue()

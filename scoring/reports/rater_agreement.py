"""Computes the agreement of a run's raters, and figures that are corrected for the error of the model rater. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from scoring.reports.effect import ends, with_intervals
from scoring.rows import Row
from scoring.score import ACCEPTABLE
from scoring.statistics.agreement import Agreement, Ratings, overall, pairwise, shortfall
from scoring.statistics.correction import Corrected, prediction_powered, rogan_gladen
from scoring.transcript import HUMAN, RatingLine


def agreement_summary(rows: Sequence[Row], ratings: Sequence[RatingLine], seed: int) -> dict[str, Any] | None:
    """Return the agreement of raters on replies.

    If people and a model rated the same replies, `corrected` has the acceptable share and the mean by arm. Both are corrected for
    the error of the model on these replies (scoring/statistics/correction.py).

    Returns:
        The agreement; None if no two raters scored the same reply.
    """
    by_rater = _by_rater(rows, ratings)
    together = overall(by_rater, seed=seed)
    if not together.n:
        return None
    pairs = pairwise(by_rater, seed=seed) if len(by_rater) > 2 else {(min(by_rater), max(by_rater)): together}
    models = [rater for rater in by_rater if not rater.startswith(HUMAN)]
    people = {rater: scores for rater, scores in by_rater.items() if rater.startswith(HUMAN)}
    return {
        "scored": {rater: sum(score is not None for score in scores.values()) for rater, scores in by_rater.items()},
        "together": _agreement_data(together),
        "pairs": [{"raters": list(pair)} | _agreement_data(one) for pair, one in pairs.items() if one.n],
        "ceiling": {model: _ceiling_data(by_rater[model], people, seed) for model in models if len(people) > 1},
        "corrected": _correct_by_people(rows, by_rater, models, list(people), seed) if models and people else None,
    }  # fmt: skip


def distance_from_people(rows: Sequence[Row], ratings: Sequence[RatingLine]) -> dict[str, dict[str, Any]]:
    """Return, for each automatic rater, the share of replies whose score differs by more than 1 from the median of people.

    Returns:
        By rater: the number of replies that people scored too, and the share. A rater without such replies is left out.
    """
    by_rater = _by_rater(rows, ratings)
    people = _medians(by_rater, [rater for rater in by_rater if rater.startswith(HUMAN)])
    result = {}
    for rater in (rater for rater in by_rater if not rater.startswith(HUMAN)):
        far = [abs(score - people[k]) > 1 for k, score in by_rater[rater].items() if score is not None and k in people]
        if far:
            result[rater] = {"n": len(far), "beyond_one": sum(far) / len(far)}
    return result


def _by_rater(rows: Sequence[Row], ratings: Sequence[RatingLine]) -> dict[str, dict[str, float | None]]:
    """Return the scores of replies by rater and place, sorted by rater."""
    keys = {row.key() for row in rows}
    scores: defaultdict[str, dict[str, float | None]] = defaultdict(dict)
    for rating in sorted(ratings, key=lambda one: (one.rater, one.place.key())):
        if rating.place.key() in keys:
            scores[rating.rater][rating.place.key()] = rating.score
    return scores


def _agreement_data(result: Agreement) -> dict[str, Any]:
    return {"n": result.n} | with_intervals(
        within_one=result.within_one, exact=result.exact, alpha=result.alpha, kappa=result.kappa
    )


def _ceiling_data(model: Mapping[str, float | None], people: Ratings, seed: int) -> dict[str, Any]:
    short = shortfall(model, people, seed=seed)
    return {
        "humans": _agreement_data(overall(people, seed=seed)),
        "shortfall": short.value,
        "interval": ends(short),
    }


def _correct_by_people(
    rows: Sequence[Row], by_rater: Ratings, models: Sequence[str], people: Sequence[str], seed: int
) -> dict[str, Any]:
    """Return the figures of each arm from the median scores of models, corrected with the replies that people rated too."""
    model, human = _medians(by_rater, models), _medians(by_rater, people)
    both = sorted(model.keys() & human.keys())
    acceptable = [(model[key] >= ACCEPTABLE, human[key] >= ACCEPTABLE) for key in both]
    by_arm = {}
    for arm in sorted({row.arm for row in rows}):
        keys = sorted(key for key in model if key.startswith(f"{arm}/"))
        labelled = [(model[key], human[key]) for key in keys if key in human]
        by_arm[arm] = {
            "acceptable": _corrected_data(
                rogan_gladen(acceptable, [model[key] >= ACCEPTABLE for key in keys], seed=seed)
            ),
            "mean": _corrected_data(prediction_powered(labelled, [model[key] for key in keys if key not in human])),
        }
    return by_arm


def _medians(by_rater: Ratings, raters: Sequence[str]) -> dict[str, float]:
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for rater in raters:
        for key, score in by_rater[rater].items():
            if score is not None:
                scores[key].append(score)
    return {key: median(of_one) for key, of_one in scores.items()}


def _corrected_data(result: Corrected) -> Mapping[str, Any]:
    return {
        "value": result.estimate.value,
        "interval": ends(result.estimate),
        "labelled": result.labelled,
        "reason": result.reason or None,
    }

"""What the ratings of a run say of its raters, and of the figures once the model rater's error is taken out. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from scoring.reports.effect import ends
from scoring.rows import Row
from scoring.score import ACCEPTABLE
from scoring.statistics.agreement import Agreement, Ratings, against_humans, overall, pairwise
from scoring.statistics.correction import Corrected, prediction_powered, rogan_gladen
from scoring.transcript import HUMAN, Rated


def concord(rows: Sequence[Row], ratings: Sequence[Rated], seed: int) -> dict[str, Any] | None:
    """Sum up how far raters agree on the replies of some rows.

    `corrected` has, where people have rated some of what a model has, the acceptable share and the mean by arm, as the model's
    error on those suggests (scoring/statistics/correction.py).

    Returns:
        None unless at least two raters have scored the same reply.
    """
    keys = {row.key() for row in rows}
    given: defaultdict[str, dict[str, float | None]] = defaultdict(dict)
    for one in sorted(ratings, key=lambda one: (one.rater, one.place.key())):
        if one.place.key() in keys:
            given[one.rater][one.place.key()] = one.score
    together = overall(given, seed=seed)
    if not together.n:
        return None
    pairs = pairwise(given, seed=seed) if len(given) > 2 else {(min(given), max(given)): together}
    models = [rater for rater in given if not rater.startswith(HUMAN)]
    people = {rater: scores for rater, scores in given.items() if rater.startswith(HUMAN)}
    return {
        "scored": {rater: sum(score is not None for score in scores.values()) for rater, scores in given.items()},
        "together": _agreement(together),
        "pairs": [{"raters": list(pair)} | _agreement(found) for pair, found in pairs.items() if found.n],
        "ceiling": {model: _ceiling({model: given[model]} | people, model, seed) for model in models if len(people) > 1},
        "corrected": _corrected(rows, given, models, list(people), seed) if models and people else None,
    }  # fmt: skip


def apart(rows: Sequence[Row], ratings: Sequence[Rated]) -> dict[str, dict[str, Any]]:
    """Return, for each rater that is no person, how often its score is more than one from people's median.

    Returns:
        The replies that both scored and the share of these, by rater; nothing of a rater that shares none with people.
    """
    keys = {row.key() for row in rows}
    given: defaultdict[str, dict[str, float | None]] = defaultdict(dict)
    for one in ratings:
        if one.place.key() in keys:
            given[one.rater][one.place.key()] = one.score
    people = _medians(given, [rater for rater in given if rater.startswith(HUMAN)])
    found = {}
    for rater in sorted(rater for rater in given if not rater.startswith(HUMAN)):
        far = [abs(score - people[k]) > 1 for k, score in given[rater].items() if score is not None and k in people]
        if far:
            found[rater] = {"n": len(far), "beyond_one": sum(far) / len(far)}
    return found


def _agreement(found: Agreement) -> dict[str, Any]:
    shown = {"within_one": found.within_one, "exact": found.exact, "alpha": found.alpha, "kappa": found.kappa}
    intervals = {name: ends(one) for name, one in shown.items()}
    return {"n": found.n} | {name: one.value for name, one in shown.items()} | {"interval": intervals}


def _ceiling(ratings: Ratings, model: str, seed: int) -> dict[str, Any]:
    found = against_humans(ratings, model, seed=seed)
    return {
        "humans": _agreement(found.humans_together),
        "shortfall": found.shortfall.value,
        "interval": ends(found.shortfall),
    }


def _corrected(
    rows: Sequence[Row], given: Ratings, models: Sequence[str], people: Sequence[str], seed: int
) -> dict[str, Any]:
    """Correct what the models say (their median) by what people say (theirs) of the same replies."""
    model, human = _medians(given, models), _medians(given, people)
    both = sorted(model.keys() & human.keys())
    acceptable = [(model[key] >= ACCEPTABLE, human[key] >= ACCEPTABLE) for key in both]
    found = {}
    for arm in sorted({row.arm for row in rows}):
        mine = sorted(key for key in model if key.startswith(f"{arm}/"))
        labelled = [(model[key], human[key]) for key in mine if key in human]
        found[arm] = {
            "acceptable": _stated(rogan_gladen(acceptable, [model[key] >= ACCEPTABLE for key in mine], seed=seed)),
            "mean": _stated(prediction_powered(labelled, [model[key] for key in mine if key not in human])),
        }
    return found


def _medians(given: Ratings, raters: Sequence[str]) -> dict[str, float]:
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for rater in raters:
        for key, score in given[rater].items():
            if score is not None:
                scores[key].append(score)
    return {key: median(of_one) for key, of_one in scores.items()}


def _stated(found: Corrected) -> Mapping[str, Any]:
    return {
        "value": found.estimate.value,
        "interval": ends(found.estimate),
        "labelled": found.labelled,
        "reason": found.reason or None,
    }

"""Fits the matcher of Gesundheit on the tuning split by maximum likelihood, and chooses its thresholds.

python -m bench.gesundheit.fit [--encoder]     writes assistants/gesundheit/weights.json
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from assistants.gesundheit.language import load_language
from assistants.gesundheit.matcher import FEATURES, Matcher, Weights
from assistants.gesundheit.settings import KNOWLEDGE_BASE, WEIGHTS
from assistants.gesundheit.similarity import load_encoder
from knowledge_base.pairs.pair import load_pairs, load_taxonomy
from models.unique_keys import load_json

QUESTIONS = Path("scenarios/gesundheit/questions.jsonl")
START = {
    "letters_mean": 5.0, "letters_rest_mean": 4.0, "stems_rest_mean": 2.0, "answer": 2.0, "focus_same": 3.0, "focus_other": -2.0,
    "focus_missing": -2.0, "encoder_mean": 6.0,
}  # fmt: skip
"""Initial weights, which select the candidates of the first round."""
ROUNDS, FOLDS, RIDGE = 2, 5, 0.01
MOST_WRONG = 0.004
"""Maximum share of wrong direct answers on the tuning split, by cross-validation, for the threshold of direct answers."""
RIGHT_OFFERS = 0.3
"""Minimum share of right offers just above the threshold of offers."""


class Case(NamedTuple):
    """A message with the stored pair that answers it, and the cluster of that pair; both are None without such a pair."""

    text: str
    kind: str
    pair: str | None
    cluster: str | None


class Row(NamedTuple):
    """The candidate pairs of a message, with their features."""

    clusters: list[str]
    features: NDArray[np.float64]


def read_cases(split: str, clusters: dict[str, str]) -> list[Case]:
    """Read the messages of a split.

    Args:
        split: The name of the split.
        clusters: The cluster of each pair, by pair id.
    """
    rows = [load_json(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    return [
        Case(row["text"], row["kind"], row["pair"], clusters[row["pair"]] if row["pair"] else None)
        for row in rows
        if row["split"] == split and (row["pair"] is None or row["pair"] in clusters)
    ]


def open_matcher(weights: Weights, encoder: bool) -> Matcher:
    """Open the matcher of the shipped knowledge base."""
    taxonomy = load_taxonomy(KNOWLEDGE_BASE)
    encode = load_encoder() if encoder else None
    return Matcher(load_pairs(KNOWLEDGE_BASE), taxonomy, weights, load_language(taxonomy.language), encode)


def fit(rows: Sequence[Row], cases: Sequence[Case]) -> NDArray[np.float64]:
    """Return the weights with the maximum penalised likelihood, of shape (features + 1,); the last is the score of "none".

    Messages whose pair is not among the candidates are ignored.
    """
    telling = [
        (row.features, len(row.clusters) if case.cluster is None else row.clusters.index(case.cluster))
        for row, case in zip(rows, cases, strict=True)
        if case.cluster is None or case.cluster in row.clusters
    ]

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        total, gradient = 0.0, np.zeros_like(weights)
        for features, right in telling:
            chances = probabilities(features, weights)
            total -= float(np.log(chances[right] + 1e-12))
            chances[right] -= 1
            gradient[:-1] += features.T @ chances[:-1]
            gradient[-1] += chances[-1]
        ridge = np.append(weights[:-1], 0)
        return total / len(telling) + RIDGE * float((ridge**2).mean()), gradient / len(
            telling
        ) + 2 * RIDGE * ridge / len(ridge)

    start = np.append([START.get(name, 0.0) for name in FEATURES], 3.0)
    fitted: NDArray[np.float64] = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return fitted


def probabilities(features: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of each candidate, then of "none", of shape (candidates + 1,)."""
    scores = np.append(features @ weights[:-1], weights[-1])
    odds = np.exp(scores - scores.max())
    chances: NDArray[np.float64] = odds / odds.sum()
    return chances


def as_weights(fitted: NDArray[np.float64], direct: float = 1.0, offer: float = 0.0) -> Weights:
    of = {name: round(float(weight), 4) for name, weight in zip(FEATURES, fitted[:-1], strict=True)}
    return Weights(of, round(float(fitted[-1]), 4), direct, offer)


def choose_thresholds(rows: Sequence[Row], cases: Sequence[Case]) -> tuple[float, float]:
    """Return the minimum probabilities of a direct answer and of an offer, by cross-validation over messages."""
    best: list[tuple[float, bool]] = []
    clusters = {cluster: n for n, cluster in enumerate(dict.fromkeys(case.cluster for case in cases if case.cluster))}
    folds = [
        clusters.get(case.cluster or "", n) % FOLDS for n, case in enumerate(cases)
    ]  # keep rephrasings of one pair in the same fold
    for fold in range(FOLDS):
        here = [n for n in range(len(cases)) if folds[n] == fold]
        others = [n for n in range(len(cases)) if folds[n] != fold]
        weights = fit([rows[n] for n in others], [cases[n] for n in others])
        for n in here:
            chances = probabilities(rows[n].features, weights)[:-1]
            top = int(chances.argmax())
            best.append((float(chances[top]), rows[n].clusters[top] == cases[n].cluster))
    best.sort(reverse=True)
    wrong = np.cumsum([not right for _, right in best])
    direct = next((chance for (chance, _), n in zip(best, wrong, strict=True) if n > MOST_WRONG * len(cases)), 0.5)
    grid = np.arange(0.05, 0.5, 0.01)
    near = [(limit, [right for chance, right in best if limit <= chance < limit + 0.1]) for limit in grid]
    offer = next((limit for limit, some in near if some and np.mean(some) >= RIGHT_OFFERS), 0.3)
    return round(direct + 1e-4, 4), round(float(offer), 2)


def collect(weights: Weights, cases: Sequence[Case], encoder: bool) -> list[Row]:
    """Return the candidates of each message, with their features."""
    matcher = open_matcher(weights, encoder)
    found = [matcher.features(case.text) for case in cases]
    return [Row([matcher.pairs[place].cluster for place in places], features) for places, features in found]


def clusters_of() -> dict[str, str]:
    return {pair.id: pair.cluster for pair in load_pairs(KNOWLEDGE_BASE)}


def as_data(weights: Weights) -> dict[str, Any]:
    return {**weights._asdict(), "of": dict(weights.of)}


def main() -> None:
    """Fit weights and thresholds, and write the file of weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", action="store_true", help="fit the weights for use with the encoder")
    encoder = parser.parse_args().encoder
    cases = read_cases("tune", clusters_of())
    weights = Weights(START if encoder else {**START, "encoder_mean": 0.0}, 0.0, 1.0, 0.0)
    for _ in range(ROUNDS):
        rows = collect(weights, cases, encoder)
        weights = as_weights(fit(rows, cases))
    direct, offer = choose_thresholds(rows, cases)
    weights = weights._replace(direct=direct, offer=offer)
    stored = load_json(WEIGHTS.read_text(encoding="utf-8")) if WEIGHTS.exists() else {}
    stored["with_encoder" if encoder else "lexical"] = as_data(weights)
    WEIGHTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(f"{len(cases)} messages; direct from {direct:.3f}, offer from {offer:.2f}; written to {WEIGHTS}")


if __name__ == "__main__":
    main()

"""Learn the weights of the local emergency judge from labelled texts.

    python -m judges.evaluation.training.train

The method is logistic regression with L2 regularisation on the features of `judges.local.classifier`. The threshold is the lowest
threshold with the required specificity in five-fold cross-validation. The printed recall comes from the same folds. For a better
estimate, give texts by an author who wrote none of the training texts: `--holdout FILE`.
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold

from judges.local import emergency
from judges.local.classifier import (
    MIN_SENTENCE_TOKENS,
    TextClassifier,
    letter_runs,
    load_matrix,
    load_words,
    word_features,
)
from judges.local.spelling import QUESTION, STOP
from models.unique_keys import load_json
from scenarios.scenario_files import load_all

HERE = Path(__file__).parent
WEIGHTS = HERE.parent / "local" / "weights"
SCENARIOS = HERE.parent.parent / "scenarios" / "judges"
SEED = 20261121
STRENGTH = 3.0
"""Inverse strength of the L2 regularisation."""
SPECIFICITY = 0.97
"""Required share of harmless dev scenarios below the threshold, in cross-validation."""
VECTOR_SCALE = 0.5
"""Scale of the word vectors relative to the word features."""
MIN_WEIGHT = 0.3
"""Minimum absolute weight that is stored. Smaller weights change no verdict on unseen texts, but would fill most of the file."""
FOREIGN_WEIGHT = 3.0
"""Sample weight of a harmless message that is not English. Such messages are few, and the language must not indicate danger."""
EXPLICIT_LABEL = "explicit"
"""Label of explicit danger. The label `yes` covers explicit and hinted danger."""
HINTED_WEIGHT = 0.5
"""Sample weight of a text that may only hint at danger."""


def load_rows(path: Path) -> list[dict[str, str]]:
    """Return the labelled texts of a JSON Lines file."""
    return [load_json(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


NO_KIND = "?"
"""The kind of emergency of a scenario, which has no label for it."""


def load_talk() -> list[dict[str, str]]:
    """Return the labelled messages in eight languages, without messages that only hint at danger."""
    rows = load_rows(HERE / "talk" / "emergencies.jsonl")
    labelled_rows = [row for row in rows if row["label"] in ("explicit", "harmless", "program")]
    return [
        {
            "text": row["text"],
            "label": EXPLICIT_LABEL if row["label"] == EXPLICIT_LABEL else "no",
            "sort": row.get("kind", "no"),
            "language": row["language"],
        }
        for row in labelled_rows
    ]


def sample_weight(row: dict[str, str]) -> float:
    """Return the weight of a labelled text in the regression."""
    if row["label"] == "yes":
        return HINTED_WEIGHT
    return FOREIGN_WEIGHT if row["label"] == "no" and row.get("language", "en") != "en" else 1.0


def load_scenarios() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (family, labelled text) for the user message of each dev scenario that has a label for emergencies."""
    for file in load_all([SCENARIOS]):
        for scenario in file.family.scenarios if file.family.split == "dev" else ():
            # Skip scenarios with a history, because their danger may be only in earlier messages.
            if "emergency" in scenario.expect and scenario.user_message.strip() and not scenario.history:
                calm = "accept" in scenario.expect["emergency"]
                yield (
                    file.family.family,
                    {"text": scenario.user_message, "label": "no" if calm else "yes", "sort": NO_KIND},
                )


class Space:
    """Maps texts to feature vectors. The features are the words, pairs and runs of letters that occur in several texts."""

    def __init__(self, texts: list[list[str]], min_texts: int = 2) -> None:
        """Collect the features.

        Args:
            texts: The tokens of each text.
            min_texts: Minimum number of texts in which a feature occurs.
        """
        counts = Counter(feature for tokens in texts for feature in {*word_features(tokens), *_letter_runs(tokens)})
        self.names = sorted(feature for feature, n in counts.items() if n >= min_texts)
        self._index = {name: n for n, name in enumerate(self.names)}

    def vectors(self, texts: list[list[str]]) -> Any:
        """Return the feature vectors of texts as a sparse matrix of shape (texts, features + dimensions of the word vectors).

        Each group of features (words, runs of letters, meanings) is divided by the square root of the group's count in the text.
        """
        rows, columns, values = [], [], []
        for row, tokens in enumerate(texts):
            for features in (word_features(tokens), _letter_runs(tokens)):
                counts = Counter(self._index[f] for f in features if f in self._index)
                scale = 1 / math.sqrt(max(sum(counts.values()), 1))
                rows += [row] * len(counts)
                columns += list(counts)
                values += [n * scale for n in counts.values()]
        return hstack(
            [csr_matrix((values, (rows, columns)), shape=(len(texts), len(self.names))), _word_vectors(texts)]
        ).tocsr()


def _word_vectors(texts: list[list[str]]) -> Any:
    """Return, for each text, the sum of its word vectors divided by the square root of their number."""
    row_of, rows = load_words().get, load_matrix()
    sums = np.zeros((len(texts), rows.shape[1]))
    for row, tokens in enumerate(texts):
        if places := [at for token in tokens if (at := row_of(token)) is not None]:
            sums[row] = rows[places].sum(axis=0) / math.sqrt(len(places))
    return csr_matrix(sums * VECTOR_SCALE)


def _letter_runs(tokens: list[str]) -> list[str]:
    return [run for token in tokens for run in letter_runs(token)]


def fit(
    texts: list[list[str]], labels: list[int], sample_weights: list[float]
) -> tuple[float, dict[str, float], list[float]]:
    """Fit a logistic regression. Return the bias, the weight of each feature and the weight of each word vector dimension.

    Each sentence of a harmless text is also a training text, because it is harmless too and long texts are read by sentence.

    Args:
        texts: The tokens of each text.
        labels: 1 for danger, else 0.
        sample_weights: The weight of each text.
    """
    harmless = zip(texts, labels, sample_weights, strict=True)
    more = [(part, count) for tokens, label, count in harmless if not label for part in long_sentences(tokens)]
    texts, labels = texts + [part for part, _ in more], labels + [0] * len(more)
    sample_weights = sample_weights + [count for _, count in more]
    space = Space(texts)
    model = LogisticRegression(C=STRENGTH, max_iter=5000, class_weight="balanced").fit(
        space.vectors(texts), labels, sample_weight=sample_weights
    )
    count = len(space.names)
    direction = [float(weight) * VECTOR_SCALE for weight in model.coef_[0][count:]]
    return (
        float(model.intercept_[0]),
        dict(zip(space.names, map(float, model.coef_[0][:count]), strict=True)),
        direction,
    )


def long_sentences(tokens: list[str]) -> list[list[str]]:
    """Return the sentences with at least `MIN_SENTENCE_TOKENS` tokens; none for a text of one sentence."""
    ends = [n + 1 for n, token in enumerate(tokens) if token in (STOP, QUESTION)]
    cuts = [0, *ends, len(tokens)] if ends and ends[-1] < len(tokens) else [0, *ends]
    parts = [tokens[a:b] for a, b in pairwise(cuts)]
    return [part for part in parts if len(part) >= MIN_SENTENCE_TOKENS] if len(parts) > 1 else []


def fit_kinds(texts: list[list[str]], kinds: list[str]) -> dict[str, tuple[float, dict[str, float]]]:
    """Return, for each kind of emergency, the bias and the feature weights that separate it from the other kinds.

    Args:
        texts: The tokens of each text with danger.
        kinds: The kind of emergency of each text.
    """
    space = Space(texts)
    model = LogisticRegression(C=STRENGTH, max_iter=5000).fit(space.vectors(texts)[:, : len(space.names)], kinds)
    return {
        kind: (float(bias), dict(zip(space.names, map(float, row), strict=True)))
        for kind, bias, row in zip(model.classes_, model.intercept_, model.coef_, strict=True)
    }


def rounded_weights(bias: float, weights: dict[str, float], direction: Sequence[float] | None = None) -> dict[str, Any]:
    """Return bias, weights and direction as data for the file: rounded, without weights below `MIN_WEIGHT`."""
    data: dict[str, Any] = {"bias": round(bias, 4)}
    data["weights"] = {f: round(w, 3) for f, w in weights.items() if abs(w) >= MIN_WEIGHT}
    return data if direction is None else data | {"direction": [round(d, 4) for d in direction]}


def margins(bias: float, weights: dict[str, float], direction: list[float], token_lists: list[list[str]]) -> np.ndarray:
    """Return the margin of the strongest window of each text."""
    classifier = TextClassifier(bias, weights, {}, direction)
    return np.array([classifier.strongest_window(tokens).margin for tokens in token_lists])


def choose_threshold(scores: np.ndarray, labels: np.ndarray, specificity: float) -> float:
    """Return the lowest threshold at which the given share (0 to 1) of harmless texts is not flagged."""
    negative = np.sort(scores[labels == 0])
    return float(negative[min(len(negative) - 1, math.ceil(specificity * len(negative)))]) + 1e-6


def main() -> None:
    """Learn the weights, print their accuracy, and write the file of weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdout", type=Path, action="append", default=[], help="labelled texts to measure on")
    parser.add_argument("--dry", action="store_true", help="do not write the weights")
    args = parser.parse_args()
    rows = load_rows(HERE / "emergency.jsonl") + load_rows(HERE / "ordinary.jsonl") + load_talk()
    groups = [f"row-{n // 2}" for n in range(len(rows))]  # keeps texts that were written as a pair in one fold
    for family, row in load_scenarios():
        rows.append(row)
        groups.append(family)
    token_lists = [emergency.tokenize(row["text"]) for row in rows]
    labels = np.array([int(row["label"] != "no") for row in rows])
    sample_weights = np.array([sample_weight(row) for row in rows])
    scores = np.zeros(len(rows))
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=SEED)
    for learn, test in folds.split(token_lists, labels, groups):
        model = fit([token_lists[n] for n in learn], list(labels[learn]), list(sample_weights[learn]))
        scores[test] = margins(*model, [token_lists[n] for n in test])
    # Choose the threshold on the scenarios, whose texts resemble real messages, not on the short rows.
    real = np.array([row["sort"] == NO_KIND for row in rows])
    print(f"scenarios, cross-validated: {labels[real].sum()} yes, {(labels[real] == 0).sum()} no")
    for specificity in (0.8, 0.9, 0.95, 0.97):
        at = choose_threshold(scores[real], labels[real], specificity)
        print(f"  specificity {specificity}: recall {(scores[real & (labels == 1)] > at).mean():.3f}")
    cut = choose_threshold(scores[real], labels[real], SPECIFICITY)
    print(f"all {len(rows)} texts, {labels.sum()} yes:")
    for specificity in (0.9, 0.95, 0.97, 0.99, 0.995):
        at = choose_threshold(scores, labels, specificity)
        print(f"  specificity {specificity}: threshold {at:+.2f}, recall {(scores[labels == 1] > at).mean():.3f}")
    bias, weights, direction = fit(token_lists, list(labels), list(sample_weights))
    bias -= cut
    for path in args.holdout:
        held_out = load_rows(path)
        truth = np.array([int(row["label"] in ("yes", EXPLICIT_LABEL)) for row in held_out])
        predicted = margins(bias, weights, direction, [emergency.tokenize(row["text"]) for row in held_out])
        print(
            f"{path}: recall {(predicted[truth == 1] > 0).mean():.3f}, specificity {(predicted[truth == 0] <= 0).mean():.3f}, "
            f"n = {truth.sum()} + {(truth == 0).sum()}"
        )
    if not args.dry:
        yes = [n for n in range(len(rows)) if labels[n] and rows[n]["sort"] != NO_KIND]
        kinds = fit_kinds([token_lists[n] for n in yes], [rows[n]["sort"] for n in yes])
        data = rounded_weights(bias, weights, direction)
        data |= {"sorts": {kind: rounded_weights(*one) for kind, one in kinds.items()}}
        (WEIGHTS / "emergency.json").write_text(json.dumps(data, separators=(",", ":"), sort_keys=True) + "\n")
        print(len(data["weights"]), "features")


if __name__ == "__main__":
    main()

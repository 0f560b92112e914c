"""Learn the weights of the local judge of claims.

    python -m judges.training.claims [--dry]

Logistic regression on the features of `judges.local.support`; no weight is negative, since each feature speaks against a
sentence. A label tells of a whole reply, which is as doubtful as its most doubtful sentence. Learned from the dev families of
`scenarios/judges`, from rows that were written for it (`grounded.jsonl`, `sentences.jsonl`), and from sentences of sources that a
program inverts (`inversions.py`). Folds of whole families tell what to expect on others, beside plain containment.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import minimize

from judges.case import Case, Topic
from judges.evaluation.labelled import ScenarioDefaults, label_cases
from judges.local.claims import asserting_sentence_features
from judges.local.support import Index, index_source
from judges.local.words import read_words
from judges.sentences import normalise, sentences
from judges.training.inversions import inversions
from knowledge_base import library
from knowledge_base.library import Source
from models.unique_keys import load_json
from scenarios.scenario_files import load_all

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
WEIGHTS = HERE.parent / "local" / "weights" / "claims.json"
BASES = tuple(
    ROOT / folder
    for folder in (
        "knowledge_base/schizophrenia",
        "scenarios/knowledge_bases/pharmacy",
        "scenarios/knowledge_bases/tenants",
    )
)
SHARES = {"judges": 1.0, "grounded": 0.7, "sentences": 0.7, "inversions": 1.0}
"""What each set counts; within it good and bad replies count the same."""
L2_STRENGTH = 0.05
"""Of the regularisation (L2, of weights in standard deviations of their features)."""
RECALL = 0.97
"""Share of the violating dev scenarios that the local judge is to catch, by cross-validation."""
FOLDS, SEED = 5, 1
NO_ASSERTION_ODDS = -9.0
"""Log odds of a reply that asserts nothing."""

Rows = NDArray[np.float64]


@dataclass
class Reply:
    """A labelled reply: the features of each sentence that asserts."""

    family: str
    origin: str
    violating: bool
    case: Case
    rows: Rows


class ClaimsModel(NamedTuple):
    bias: float
    weights: Rows

    def odds(self, reply: Reply) -> float:
        return float((reply.rows @ self.weights).max()) + self.bias if len(reply.rows) else NO_ASSERTION_ODDS


def describe_reply(case: Case, family: str, origin: str, violating: bool) -> Reply:
    """Describe a reply."""
    described = [list(features.values()) for features in asserting_sentence_features(case)]
    return Reply(family, origin, violating, case, np.array(described, dtype=float))


def load_replies() -> list[Reply]:
    """Read all training examples."""
    base = library.load(BASES[0])
    setting = ScenarioDefaults(base, "", (Topic("medication"),))
    result: list[Reply] = []
    for path in (ROOT / "scenarios" / "judges", HERE / "grounded.jsonl"):
        cases = label_cases(
            load_all([path]), ["source_fidelity"], setting, lambda family, scenario: family.split == "dev"
        )
        result += [describe_reply(one.case, one.family, path.stem, one.violating) for one in cases if one.case.cited]
    for row in map(load_json, (HERE / "sentences.jsonl").read_text(encoding="utf-8").splitlines()):
        result.append(
            describe_reply(
                Case("", row["text"], cited=(base[row["section"]],)), row["section"], "sentences", row["label"] == "no"
            )
        )
    for path in BASES:
        result += invert_sources(library.load(path).values())
    return result


def invert_sources(sources: Iterable[Source]) -> Iterator[Reply]:
    """Yield the sentences of some sources, as they are and inverted."""
    for source in sources:
        for sentence in sentences(source.text):
            yield describe_reply(Case("", sentence.text, cited=(source,)), source.id, "inversions", False)
            for inversion in inversions(sentence.text):
                yield describe_reply(Case("", inversion.text, cited=(source,)), source.id, "inversions", True)


def fit(examples: Sequence[Reply]) -> ClaimsModel:
    """Fit the weights to labelled replies."""
    asserting = [one for one in examples if len(one.rows)]
    rows = np.vstack([one.rows for one in asserting])
    starts = np.cumsum([0, *(len(one.rows) for one in asserting[:-1])])
    home = np.repeat(np.arange(len(asserting)), [len(one.rows) for one in asserting])
    labels = np.array([float(one.violating) for one in asserting])
    sample_weights = _sample_weights(asserting)
    scale = rows.std(axis=0) + 1e-9
    rows = rows / scale

    def loss(point: Rows) -> tuple[float, Rows]:
        scores = rows @ point[1:]
        worst = np.maximum.reduceat(scores, starts)
        is_worst = scores == worst[home]
        odds = worst + point[0]
        slope = sample_weights * (1 / (1 + np.exp(-odds)) - labels)
        value = sample_weights @ (np.logaddexp(0, odds) - labels * odds) + L2_STRENGTH / 2 * point[1:] @ point[1:]
        share = is_worst / np.add.reduceat(is_worst, starts)[home]
        return float(value), np.concatenate(([slope.sum()], (share * slope[home]) @ rows + L2_STRENGTH * point[1:]))

    bounds = [(None, None), *[(0, None)] * rows.shape[1]]
    minimum = minimize(loss, np.full(rows.shape[1] + 1, 0.1), jac=True, method="L-BFGS-B", bounds=bounds)
    return ClaimsModel(float(minimum.x[0]), minimum.x[1:] / scale)


def _sample_weights(learn: Sequence[Reply]) -> Rows:
    kinds = [(one.origin, one.violating) for one in learn]
    counts = np.array([SHARES[origin] / kinds.count((origin, violating)) for origin, violating in kinds])
    scaled: Rows = counts / counts.sum()
    return scaled


def cross_validate(examples: Sequence[Reply]) -> list[float]:
    """Return the log odds of each reply, by weights fitted to other families."""
    families = sorted({one.family for one in examples})
    np.random.default_rng(SEED).shuffle(families)
    fold_of = {family: n % FOLDS for n, family in enumerate(families)}
    models = [fit([one for one in examples if fold_of[one.family] != fold]) for fold in range(FOLDS)]
    return [models[fold_of[one.family]].odds(one) for one in examples]


def lacking_share(reply: Reply) -> float:
    """Return the first baseline: the weighted share of the reply's content that is not in its sources."""
    return _lacking_content(normalise(reply.case.draft), [index_source(source) for source in reply.case.cited])


def worst_sentence(reply: Reply) -> float:
    """Return the second: that share of the sentence where it is largest, of those with three words of content or more."""
    cited = [index_source(source) for source in reply.case.cited]
    texts = [sentence.text for sentence in sentences(normalise(reply.case.draft))]
    return max(
        [_lacking_content(text, cited) for text in texts if len(read_words(text.lower()).content) >= 3], default=0.0
    )


def _lacking_content(text: str, cited: Sequence[Index]) -> float:
    content = read_words(text.lower()).content
    lacking = sum(weight for key, weight in content.items() if not any(key in source.content for source in cited))
    return lacking / (sum(content.values()) or 1.0)


BASELINES: dict[str, Callable[[Reply], float]] = {"lacking share": lacking_share, "worst sentence": worst_sentence}


def describe_scores(scores: Sequence[float], labels: Sequence[bool]) -> str:
    """Describe how well scores separate bad replies from good ones: ROC AUC, and the share of good ones accepted by recall."""
    values, truth = np.array(scores), np.array(labels)
    bad, good = np.sort(values[truth]), values[~truth]
    auc = stats.mannwhitneyu(bad, good).statistic / (len(bad) * len(good))
    passed_good = [
        f"{np.mean(good < bad[int((1 - recall) * len(bad))]):.2f} at {recall}" for recall in (0.98, 0.95, 0.9, 0.8)
    ]
    return f"n = {len(bad)} + {len(good)}, AUC {auc:.3f}, lets through {', '.join(passed_good)}"


def report(examples: Sequence[Reply], odds: Sequence[float]) -> None:
    for origin in dict.fromkeys(one.origin for one in examples):
        rows = [(one, value) for one, value in zip(examples, odds, strict=True) if one.origin == origin]
        labels = [one.violating for one, _ in rows]
        for name, baseline in BASELINES.items():
            print(f"{origin:12} {name:15} {describe_scores([baseline(one) for one, _ in rows], labels)}")
        print(f"{origin:12} {'learned':15} {describe_scores([value for _, value in rows], labels)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true", help="write nothing")
    args = parser.parse_args()
    examples = load_replies()
    names = list(next(iter(asserting_sentence_features(examples[0].case))))
    odds = cross_validate(examples)
    report(examples, odds)
    bad = np.sort(
        [value for one, value in zip(examples, odds, strict=True) if one.violating and one.origin == "judges"]
    )
    cut = float(bad[int((1 - RECALL) * len(bad))])
    model = fit(examples)
    weights = {name: round(float(weight), 3) for name, weight in zip(names, model.weights, strict=True)}
    print(f"threshold {cut:.2f}", weights)
    if not args.dry:
        data = {"bias": round(model.bias - cut, 3), "weights": weights}
        WEIGHTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

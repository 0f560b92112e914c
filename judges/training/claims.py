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
from judges.evaluation.labelled import Setting, labelled
from judges.local.claims import sentences_that_assert
from judges.local.support import Index, index
from judges.local.words import read
from judges.sentences import normalise, sentences
from judges.training.inversions import inversions
from knowledge_base import library
from knowledge_base.library import Source
from scenarios.scenario import load_all

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
STRENGTH = 0.05
"""Of the regularisation (L2, of weights in standard deviations of their features)."""
RECALL = 0.97
"""Share of the violating dev scenarios that the local judge is to catch, by cross-validation."""
FOLDS, SEED = 5, 1
NONE = -9.0
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


class Learned(NamedTuple):
    bias: float
    weights: Rows

    def odds(self, reply: Reply) -> float:
        return float((reply.rows @ self.weights).max()) + self.bias if len(reply.rows) else NONE


def reply(case: Case, family: str, origin: str, violating: bool) -> Reply:
    """Describe a reply."""
    described = [list(features.values()) for features in sentences_that_assert(case)]
    return Reply(family, origin, violating, case, np.array(described, dtype=float))


def replies() -> list[Reply]:
    """Read everything that is learned from."""
    base = library.load(BASES[0])
    setting = Setting(base, "", (Topic("medication"),))
    found: list[Reply] = []
    for path in (ROOT / "scenarios" / "judges", HERE / "grounded.jsonl"):
        cases = labelled(load_all([path]), ["source_fidelity"], setting, lambda family, scenario: family.split == "dev")
        found += [reply(one.case, one.family, path.stem, one.violating) for one in cases if one.case.cited]
    for row in map(json.loads, (HERE / "sentences.jsonl").read_text(encoding="utf-8").splitlines()):
        found.append(
            reply(
                Case("", row["text"], cited=(base[row["section"]],)), row["section"], "sentences", row["label"] == "no"
            )
        )
    for path in BASES:
        found += inverted(library.load(path).values())
    return found


def inverted(sources: Iterable[Source]) -> Iterator[Reply]:
    """Yield the sentences of some sources, as they are and inverted."""
    for source in sources:
        for sentence in sentences(source.text):
            yield reply(Case("", sentence.text, cited=(source,)), source.id, "inversions", False)
            for one in inversions(sentence.text):
                yield reply(Case("", one.text, cited=(source,)), source.id, "inversions", True)


def fit(known: Sequence[Reply]) -> Learned:
    """Learn from some replies."""
    learn = [one for one in known if len(one.rows)]
    rows = np.vstack([one.rows for one in learn])
    starts = np.cumsum([0, *(len(one.rows) for one in learn[:-1])])
    home = np.repeat(np.arange(len(learn)), [len(one.rows) for one in learn])
    labels = np.array([float(one.violating) for one in learn])
    counts = _counts(learn)
    scale = rows.std(axis=0) + 1e-9
    rows = rows / scale

    def loss(point: Rows) -> tuple[float, Rows]:
        each = rows @ point[1:]
        worst = np.maximum.reduceat(each, starts)
        is_worst = each == worst[home]
        odds = worst + point[0]
        slope = counts * (1 / (1 + np.exp(-odds)) - labels)
        value = counts @ (np.logaddexp(0, odds) - labels * odds) + STRENGTH / 2 * point[1:] @ point[1:]
        share = is_worst / np.add.reduceat(is_worst, starts)[home]
        return float(value), np.concatenate(([slope.sum()], (share * slope[home]) @ rows + STRENGTH * point[1:]))

    bounds = [(None, None), *[(0, None)] * rows.shape[1]]
    found = minimize(loss, np.full(rows.shape[1] + 1, 0.1), jac=True, method="L-BFGS-B", bounds=bounds)
    return Learned(float(found.x[0]), found.x[1:] / scale)


def _counts(learn: Sequence[Reply]) -> Rows:
    kinds = [(one.origin, one.violating) for one in learn]
    counts = np.array([SHARES[origin] / kinds.count((origin, violating)) for origin, violating in kinds])
    scaled: Rows = counts / counts.sum()
    return scaled


def cross_validated(known: Sequence[Reply]) -> list[float]:
    """Return the log odds of each reply by weights that were learned from other families."""
    families = sorted({one.family for one in known})
    np.random.default_rng(SEED).shuffle(families)
    fold_of = {family: n % FOLDS for n, family in enumerate(families)}
    learned = [fit([one for one in known if fold_of[one.family] != fold]) for fold in range(FOLDS)]
    return [learned[fold_of[one.family]].odds(one) for one in known]


def lacking_share(one: Reply) -> float:
    """Return the first baseline: the weighted share of the reply's content that is not in its sources."""
    return _lacking(normalise(one.case.draft), [index(source) for source in one.case.cited])


def worst_sentence(one: Reply) -> float:
    """Return the second: that share of the sentence where it is largest, of those with three words of content or more."""
    cited = [index(source) for source in one.case.cited]
    texts = [sentence.text for sentence in sentences(normalise(one.case.draft))]
    return max([_lacking(text, cited) for text in texts if len(read(text.lower()).content) >= 3], default=0.0)


def _lacking(text: str, cited: Sequence[Index]) -> float:
    content = read(text.lower()).content
    lacking = sum(weight for key, weight in content.items() if not any(key in source.content for source in cited))
    return lacking / (sum(content.values()) or 1.0)


BASELINES: dict[str, Callable[[Reply], float]] = {"lacking share": lacking_share, "worst sentence": worst_sentence}


def told(scores: Sequence[float], labels: Sequence[bool]) -> str:
    """Say how well scores tell bad replies from good ones: AUC, and which share of the good is let through at what recall."""
    values, truth = np.array(scores), np.array(labels)
    bad, good = np.sort(values[truth]), values[~truth]
    auc = stats.mannwhitneyu(bad, good).statistic / (len(bad) * len(good))
    let = [f"{np.mean(good < bad[int((1 - recall) * len(bad))]):.2f} at {recall}" for recall in (0.98, 0.95, 0.9, 0.8)]
    return f"n = {len(bad)} + {len(good)}, AUC {auc:.3f}, lets through {', '.join(let)}"


def report(known: Sequence[Reply], odds: Sequence[float]) -> None:
    for origin in dict.fromkeys(one.origin for one in known):
        mine = [(one, value) for one, value in zip(known, odds, strict=True) if one.origin == origin]
        labels = [one.violating for one, _ in mine]
        for name, baseline in BASELINES.items():
            print(f"{origin:12} {name:15} {told([baseline(one) for one, _ in mine], labels)}")
        print(f"{origin:12} {'learned':15} {told([value for _, value in mine], labels)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true", help="write nothing")
    args = parser.parse_args()
    known = replies()
    names = list(next(iter(sentences_that_assert(known[0].case))))
    odds = cross_validated(known)
    report(known, odds)
    bad = np.sort([value for one, value in zip(known, odds, strict=True) if one.violating and one.origin == "judges"])
    cut = float(bad[int((1 - RECALL) * len(bad))])
    learned = fit(known)
    weights = {name: round(float(weight), 3) for name, weight in zip(names, learned.weights, strict=True)}
    print(f"threshold {cut:.2f}", weights)
    if not args.dry:
        data = {"bias": round(learned.bias - cut, 3), "weights": weights}
        WEIGHTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Learn the trees that weigh how far sources carry a sentence.

    python -m judges.training.support [--dry]      (needs catboost: pip install -e '.[train]')

Learned from the dev families of `scenarios/judges`, and from rows written for it (`grounded.jsonl`, `sentences.jsonl`). A
label tells of a whole reply, so which of its sentences are to blame is found out in rounds (multiple-instance learning):
sentences that an accepted reply of the family has as well are not; of the others, those that the trees of the round before
hold most likely. Folds of whole families tell what to expect on others.
"""

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from judges.case import Case, Topic
from judges.evaluation.labelled import Labelled, Setting, labelled
from judges.kept import EMPTY
from judges.local.evidence import Evidence
from judges.local.index import index
from judges.local.reading import concepts
from judges.local.reply import parts
from judges.local.support import FEATURES, describe, tokens
from judges.local.text import normalise
from judges.training import train
from knowledge_base import library
from scenarios.scenario import load_all

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
KNOWLEDGE_BASE = ROOT / "knowledge_base" / "schizophrenia"
WEIGHTS = HERE.parent / "local" / "weights"
RECALL = 0.96
"""Share of the violating dev scenarios that the local judge is to catch, by cross-validation."""
FOLDS, ROUNDS, DEPTH, TREES, SEED = 5, 3, 6, 100, 20261121
STRENGTH = 0.3
"""Inverse of the regularisation of the phrasing's weights."""
LEAST = 0.05
"""Weights of the phrasing nearer to 0 are left out."""
PHRASING = FEATURES.index("phrasing")


@dataclass
class Reply:
    """A labelled reply, sentence by sentence."""

    family: str
    origin: str
    violating: bool
    texts: list[str]
    spoken: list[list[str]]
    """The tokens of each sentence."""
    rows: NDArray[np.float32]
    blameable: list[bool] = field(default_factory=list)


def replies() -> list[Reply]:
    """Read everything that is learned from."""
    base = library.load(KNOWLEDGE_BASE)
    setting = Setting(base, "", (Topic("medication"),))
    found: list[Reply] = []
    for path in (ROOT / "scenarios" / "judges", HERE / "grounded.jsonl"):
        cases = labelled(load_all([path]), ["source_fidelity"], setting, lambda family, scenario: family.split == "dev")
        found += [_reply(case, path.name) for case in cases]
    for line in (HERE / "sentences.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        case = Case("", row["text"], cited=(base[row["section"]],))
        found.append(_described(case, row["section"], "sentences", row["label"] == "no"))
    accepted: dict[str, set[str]] = defaultdict(set)
    for reply in found:
        if not reply.violating:
            accepted[reply.family].update(reply.texts)
    for reply in found:
        reply.blameable = [reply.violating and text not in accepted[reply.family] for text in reply.texts]
    return [reply for reply in found if reply.texts]


def _reply(case: Labelled, origin: str) -> Reply:
    return _described(case.case, case.family, origin, case.violating)


def _described(case: Case, family: str, origin: str, violating: bool) -> Reply:
    named = concepts(normalise(case.user_message))
    told = list(parts(normalise(case.draft), named))
    everything = EMPTY.union(*[part.reading.content for part in told])
    rows, _ = describe(told, [index(source) for source in case.cited], everything)
    spoken = [tokens(part.reading) for part in told]
    return Reply(family, origin, violating, [part.sentence.text for part in told], spoken, rows)


Learned = tuple["Phrasing", Any]
"""The weights of the phrasing, and the trees that count it in."""


def fit(learn: Sequence[Reply]) -> Learned:
    """Learn from some replies: first the phrasing; then the trees, from phrasings judged by weights that had not seen them."""
    seen = [reply.rows.copy() for reply in learn]
    for inner, held in folds([reply.family for reply in learn]):
        weighed = phrasing([learn[n] for n in inner])
        for n in held:
            seen[n][:, PHRASING] = [weighed.margin(one) for one in learn[n].spoken]
    return phrasing(learn), grow(learn, np.vstack(seen))


@dataclass(frozen=True)
class Phrasing:
    """What was learned of how blamed sentences are phrased."""

    bias: float
    weights: dict[str, float]
    direction: list[float]

    def margin(self, spoken: list[str]) -> float:
        return self._evidence.margin(spoken)

    @cached_property
    def _evidence(self) -> Evidence:
        return Evidence(self.bias, self.weights, {}, self.direction)


def phrasing(learn: Sequence[Reply]) -> Phrasing:
    """Learn how blamed sentences are phrased."""
    texts = [one for reply in learn for one in reply.spoken]
    labels = [int(blame) for reply in learn for blame in reply.blameable]
    bias, weights, direction = train.fit(texts, labels, STRENGTH, alone=False)
    weights = {name: weight for name, weight in weights.items() if abs(weight) >= LEAST}
    return Phrasing(bias, weights, direction)


def grow(learn: Sequence[Reply], rows: NDArray[np.float32]) -> Any:
    from catboost import CatBoostClassifier

    blameable = np.array([blame for reply in learn for blame in reply.blameable])
    homes = np.repeat(np.arange(len(learn)), [len(reply.rows) for reply in learn])
    labels = blameable.astype(int)
    model = None
    for _ in range(ROUNDS):
        model = CatBoostClassifier(
            iterations=TREES, depth=DEPTH, learning_rate=0.08, l2_leaf_reg=6, verbose=0, random_seed=SEED,
            auto_class_weights="Balanced", allow_writing_files=False, boost_from_average=False,
        )  # fmt: skip
        model.fit(rows, labels)
        likely = model.predict_proba(rows)[:, 1]
        labels = np.zeros(len(rows), dtype=int)
        for home in np.unique(homes[blameable]):
            mine = np.flatnonzero(blameable & (homes == home))
            labels[mine[likely[mine] >= min(likely[mine].max(), 0.6)]] = 1
    return model


def folds(families: Sequence[str]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield numbers to learn from and numbers to test on; families stay together."""
    names = sorted(set(families))
    np.random.default_rng(SEED).shuffle(names)
    home = {family: n % FOLDS for n, family in enumerate(names)}
    for fold in range(FOLDS):
        held = [n for n, family in enumerate(families) if home[family] == fold]
        yield [n for n, family in enumerate(families) if home[family] != fold], held


def score(learned: Learned, reply: Reply) -> float:
    """Return how surely a reply has an unsupported sentence."""
    weighed, model = learned
    rows = reply.rows.copy()
    rows[:, PHRASING] = [weighed.margin(one) for one in reply.spoken]
    return float(model.predict_proba(rows)[:, 1].max())


def cross_validate(known: Sequence[Reply]) -> float:
    """Print how well trees tell replies of families that they were not learned from.

    Returns:
        The score that catches the wanted share of the violating scenarios.
    """
    scores = np.zeros(len(known))
    for learn, held in folds([reply.family for reply in known]):
        learned = fit([known[n] for n in learn])
        scores[held] = [score(learned, known[n]) for n in held]
    truth = np.array([reply.violating for reply in known])
    origins = np.array([reply.origin for reply in known])
    for origin in ("all", *sorted(set(origins))):
        mine = np.ones(len(known), bool) if origin == "all" else origins == origin
        bad, good = np.sort(scores[mine & truth]), scores[mine & ~truth]
        auc = stats.mannwhitneyu(bad, good).statistic / (len(bad) * len(good))
        told = [
            f"specificity {np.mean(good < bad[int((1 - r) * len(bad))]):.2f} at recall {r}" for r in (0.97, 0.95, 0.9)
        ]
        print(f"{origin:16} n = {len(bad)} + {len(good)}, AUC {auc:.3f}, {', '.join(told)}")
    bad = np.sort(scores[truth & (origins == "judges")])
    return float(bad[int((1 - RECALL) * len(bad))])


def written(model: Any, cut: float) -> dict[str, Any]:
    """Return the trees in the form that `judges.local.trees` reads, shifted so that the score `cut` becomes a half."""
    path = WEIGHTS / ".support.tmp"
    model.save_model(str(path), format="json")
    data = json.loads(path.read_text())
    path.unlink()
    scale, bias = data["scale_and_bias"]
    features, borders, leaves = [], [], []
    for tree in data["oblivious_trees"]:
        splits = tree["splits"]
        idle = DEPTH - len(splits)  # a smaller tree asks further questions that everybody answers with no
        features += [split["float_feature_index"] for split in splits] + [0] * idle
        borders += [round(split["border"], 5) for split in splits] + [1e9] * idle
        values = [round(value * scale, 4) for value in tree["leaf_values"]]
        leaves += values + [0.0] * (2**DEPTH - len(values))
    return {
        "features": features,
        "borders": borders,
        "leaves": leaves,
        "depth": DEPTH,
        "bias": round(float(np.ravel(bias)[0]) - math.log(cut / (1 - cut)), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true", help="write nothing")
    args = parser.parse_args()
    known = replies()
    print(f"{len(known)} replies, {sum(reply.violating for reply in known)} violating, {len(FEATURES)} features")
    cut = cross_validate(known)
    if not args.dry:
        weighed, model = fit(known)
        for name, data in (
            ("phrasing", train.kept(weighed.bias, weighed.weights, 0, weighed.direction) | {"sorts": {}}),
            ("support", written(model, cut)),
        ):
            (WEIGHTS / f"{name}.json").write_text(json.dumps(data, separators=(",", ":"), sort_keys=True) + "\n")


if __name__ == "__main__":
    main()

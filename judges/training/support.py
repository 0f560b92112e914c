"""Learn the trees that weigh how far sources carry a sentence.

    python -m judges.training.support [--dry]      (needs catboost: pip install -e '.[train]')

Learned from the dev families of `scenarios/judges`, and from rows written for it (`grounded.jsonl`, `sentences.jsonl`). A
label tells of a whole reply, so which of its sentences are to blame is found out in rounds (multiple-instance learning):
sentences that an accepted reply of the family has as well are not; of the others, those that the trees of the round before
hold most likely. Ten folds of whole families tell what to expect on others.
"""

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from judges.case import Case, Topic
from judges.evaluation.labelled import Labelled, Setting, labelled
from judges.local.reply import parts
from judges.local.support import FEATURES, describe, index
from judges.local.text import normalise, read
from knowledge_base import library
from scenarios.scenario import load_all

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
KNOWLEDGE_BASE = ROOT / "knowledge_base" / "schizophrenia"
WEIGHTS = HERE.parent / "local" / "weights"
RECALL = 0.96
"""Share of the violating dev scenarios that the local judge is to catch, by cross-validation."""
FOLDS, ROUNDS, DEPTH, TREES, SEED = 10, 3, 6, 200, 20261121


@dataclass
class Reply:
    """A labelled reply, sentence by sentence."""

    family: str
    origin: str
    violating: bool
    texts: list[str]
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
    user = normalise(case.user_message)
    told = list(parts(normalise(case.draft), user))
    rows, _ = describe(told, [index(source) for source in case.cited], frozenset(read(user).content))
    return Reply(family, origin, violating, [part.sentence.text for part in told], rows)


def fit(learn: Sequence[Reply], trees: int = TREES) -> Any:
    """Return the trees learned from some replies."""
    from catboost import CatBoostClassifier

    rows = np.vstack([reply.rows for reply in learn])
    blameable = np.array([blame for reply in learn for blame in reply.blameable])
    homes = np.repeat(np.arange(len(learn)), [len(reply.rows) for reply in learn])
    labels = blameable.astype(int)
    model = None
    for _ in range(ROUNDS):
        model = CatBoostClassifier(
            iterations=trees, depth=DEPTH, learning_rate=0.06, l2_leaf_reg=6, verbose=0, random_seed=SEED,
            auto_class_weights="Balanced", allow_writing_files=False, boost_from_average=False,
        )  # fmt: skip
        model.fit(rows, labels)
        likely = model.predict_proba(rows)[:, 1]
        labels = np.zeros(len(rows), dtype=int)
        for home in np.unique(homes[blameable]):
            mine = np.flatnonzero(blameable & (homes == home))
            labels[mine[likely[mine] >= min(likely[mine].max(), 0.6)]] = 1
    return model


def score(model: Any, reply: Reply) -> float:
    return float(model.predict_proba(reply.rows)[:, 1].max())


def cross_validate(known: Sequence[Reply]) -> float:
    """Print how well trees tell replies of families that they were not learned from.

    Returns:
        The score that catches the wanted share of the violating scenarios.
    """
    families = sorted({reply.family for reply in known})
    np.random.default_rng(SEED).shuffle(families)
    fold = {family: n % FOLDS for n, family in enumerate(families)}
    scores = np.zeros(len(known))
    for held in range(FOLDS):
        model = fit([reply for reply in known if fold[reply.family] != held])
        for n, reply in enumerate(known):
            if fold[reply.family] == held:
                scores[n] = score(model, reply)
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
        data = written(fit(known), cut)
        (WEIGHTS / "support.json").write_text(json.dumps(data, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()

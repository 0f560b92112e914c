"""Learn how sentences sound that assert nothing.

    python -m judges.training.talk [--dry]      (needs scikit-learn: pip install -e '.[train]')

Learned from sentences that were labelled for it (`talk.jsonl`: does it assert something?), and from those that the dev families
and `sentences.jsonl` know to be unsupported, which all assert something. The threshold is what lets a given share of those pass
in cross-validation by family, before the words that talk never has are looked for (judges/local/talk.py).
"""

import argparse
import json
from typing import NamedTuple

import numpy as np

from judges.local import talk
from judges.local.evidence import Evidence
from judges.local.reading import read
from judges.local.support import tokens
from judges.local.text import normalise
from judges.training import support, train

PASSING = 0.05
"""Share of asserting sentences that may sound like talk; the words that talk never has stop most of these."""
STRENGTH = 5.0
FEWEST = 2
"""Sentences of a violating reply that may be to blame; with more, nobody knows which."""
LEAST = 0.05


class Row(NamedTuple):
    text: str
    asserts: bool
    family: str


def rows() -> list[Row]:
    """Read everything that is learned from."""
    lines = (train.HERE / "talk.jsonl").read_text(encoding="utf-8").splitlines()
    told = [json.loads(line) for line in lines]
    found = [Row(one["text"], one["label"] == "yes", f"talk-{n // 10}") for n, one in enumerate(told)]
    for reply in support.replies():
        if reply.origin != "grounded.jsonl" and sum(reply.blameable) <= FEWEST:  # dialogues blame small talk too
            blamed = zip(reply.texts, reply.blameable, strict=True)
            found += [Row(text, True, reply.family) for text, blame in blamed if blame]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true", help="write nothing")
    args = parser.parse_args()
    known = rows()
    spoken = [tokens(read(normalise(row.text))) for row in known]
    labels = np.array([int(not row.asserts) for row in known])
    margins = np.zeros(len(known))
    for learn, held in support.folds([row.family for row in known]):
        bias, weights, direction = train.fit([spoken[n] for n in learn], list(labels[learn]), STRENGTH, alone=False)
        learned = Evidence(bias, weights, {}, direction)
        margins[held] = [learned.margin(spoken[n]) for n in held]
    cut = float(np.quantile(margins[labels == 0], 1 - PASSING))
    light = np.array([not talk.is_weighty(read(normalise(row.text))) for row in known])
    passed = (margins > cut) & light
    print(f"{labels.sum()} talk, {(labels == 0).sum()} assert; threshold {cut:.2f}")
    print(
        f"taken for talk, cross-validated: {passed[labels == 1].mean():.2f} of talk, {passed[labels == 0].mean():.3f} of the others"
    )
    print("\n".join(row.text for row, one, label in zip(known, passed, labels, strict=True) if one and not label))
    if not args.dry:
        bias, weights, direction = train.fit(spoken, list(labels), STRENGTH, alone=False)
        data = train.kept(bias - cut, weights, LEAST, direction) | {"sorts": {}}
        (train.WEIGHTS / "talk.json").write_text(json.dumps(data, separators=(",", ":"), sort_keys=True) + "\n")
        print(len(data["weights"]), "features")


if __name__ == "__main__":
    main()

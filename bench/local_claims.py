"""Compares the local claims judge with a plain rule: the share of a reply's stems, weighted by rarity, that its sources lack.

python -m bench.local_claims
"""

from collections import Counter
from collections.abc import Iterator
from math import log
from pathlib import Path

from sklearn.metrics import roc_auc_score

from bench.figures import write_table
from bench.processes import ROOT
from judges.case import Case
from judges.evaluation.labelled import label_cases
from judges.evaluation.shipped_scenarios import SCENARIOS, shipped_defaults
from judges.judge import LocalJudge
from judges.text import normalise, sentences
from knowledge_base.bm25 import stems
from knowledge_base.library import Source
from models.unique_keys import load_json
from scenarios.scenario_files import load_all

TRAINING = ROOT / "judges" / "evaluation" / "training"
COLUMNS = ("wrong", "right", "AUC judge", "AUC share", "wrong stopped", "right passed")

Labelled = tuple[Case, bool]


def main() -> None:
    """Print a table with a row for each set of labelled replies."""
    sets = {
        "dev families": families(),
        "grounded.jsonl": rows(TRAINING / "grounded.jsonl"),
        "five desks, all sections in view": desks(),
        "claims_dev.jsonl": rows(TRAINING / "claims_dev.jsonl"),
        "claims_holdout.jsonl": rows(TRAINING / "claims_holdout.jsonl"),
    }
    print(write_table("replies", COLUMNS, {name: measure([*cases]) for name, cases in sets.items()}))


def measure(cases: list[Labelled]) -> list[float]:
    """Return the figures of one row of the table. Wrong replies are the positive class of the AUC."""
    judge = LocalJudge("source_fidelity")
    wrong = [not right for _, right in cases]
    judged = [judge.judge_now(case) for case, _ in cases]
    scores = [1.0 if one.score is None else one.score for one in judged]
    passed = [one.verdict == "accept" for one in judged]
    shares = [lacking_share(case) for case, _ in cases]
    stopped = sum(not each for each, is_wrong in zip(passed, wrong, strict=True) if is_wrong)
    kept = sum(each for each, is_wrong in zip(passed, wrong, strict=True) if not is_wrong)
    aucs = [float(roc_auc_score(wrong, one)) for one in (scores, shares)]
    return [sum(wrong), len(wrong) - sum(wrong), *aucs, stopped / sum(wrong), kept / (len(wrong) - sum(wrong))]


def lacking_share(case: Case) -> float:
    """Return the share of a reply's stems that its sources lack, weighted by inverse document frequency, from 0 to 1."""
    passages = [{*stems(one.text)} for source in case.supporting for one in sentences(normalise(source.text))]
    counts = Counter(stem for passage in passages for stem in passage)
    weights = {stem: log(1 + len(passages) / (counts[stem] + 0.5)) for stem in stems(case.draft)}
    return sum(weight for stem, weight in weights.items() if not counts[stem]) / (sum(weights.values()) or 1.0)


def families() -> Iterator[Labelled]:
    dev = label_cases(load_all([SCENARIOS]), ["source_fidelity"], shipped_defaults(), lambda one, _: one.split == "dev")
    return ((one.case, "accept" in one.expected) for one in dev)


def rows(path: Path) -> Iterator[Labelled]:
    for row in map(load_json, path.read_bytes().splitlines()):
        sources = tuple(Source(str(n), "", "", text) for n, text in enumerate(row["sources"]))
        expected = row["expect"].get("source_fidelity") or row["expect"]["transparency"]
        yield Case(row["user_message"], row["response"], cited=sources), "accept" in expected


def desks() -> Iterator[Labelled]:
    """Yield the labelled replies of five desks. The families `role*` are left out, because they test another judge."""
    for desk in sorted((TRAINING / "talk" / "desks").iterdir()):
        found = map(load_json, (desk / "sections.jsonl").read_bytes().splitlines())
        sections = {one["id"]: Source(one["id"], one["title"], one["summary"], one["text"]) for one in found}
        for row in map(load_json, (desk / "cases.jsonl").read_bytes().splitlines()):
            if not row["family"].startswith("role"):
                cited = tuple(sections[name] for name in row["cites"] if name in sections)
                others = tuple(one for one in sections.values() if one not in cited)
                yield Case(row["question"], row["reply"], cited=cited, uncited=others), bool(row["good"])


if __name__ == "__main__":
    main()

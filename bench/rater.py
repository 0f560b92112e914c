"""Measures the local rater, which uses no model: its agreement with labelled replies, and its scores of known texts.

python -m bench.rater              prints both tables
python -m bench.rater --dev        does not read the holdout
"""

import argparse
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sklearn.metrics import cohen_kappa_score

from assistants.areas import AREAS, GENERIC
from bench.figures import write_table
from bench.processes import ROOT, SHIPPED
from knowledge_base.library import Library, Source, load
from models.unique_keys import load_json, load_yaml
from scenarios.checkpoint import Message
from scoring.raters.local_rater import rate, sentences
from scoring.score import ACCEPTABLE, Rateable, Rating

REFUSAL = "That is not in my sources, so I cannot advise you on it. Please check with a doctor."


@dataclass(frozen=True, slots=True)
class LabelledReply:
    """A reply with its label and the rater's rating."""

    id: str
    case: Rateable
    score: int
    answered: int | None
    rating: Rating


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="bench.rater", description=__doc__)
    parser.add_argument("--dev", action="store_true", help="do not read the holdout")
    parser.add_argument("--wrong", action="store_true", help="list the wrongly scored replies of dev")
    options = parser.parse_args()
    library = load(ROOT / "knowledge_base" / "schizophrenia")
    sets = ["dev"] if options.dev else ["dev", "holdout"]
    measured = {name: rate_labelled(ROOT / "scenarios" / "ratings" / f"{name}.jsonl", library) for name in sets}
    columns = {name: figures(rows) for name, rows in measured.items()}
    rows = {figure: [column[figure] for column in columns.values()] for figure in columns["dev"]}
    print(write_table("labelled replies", sets, rows))
    if options.wrong:
        for one in measured["dev"]:
            if one.rating.score != one.score:
                print(one.id, "labelled", one.score, "rated", one.rating.score, one.rating.reason)
    texts = {name: [rate(case).score for case in cases] for name, cases in known_texts(library).items()}
    counts = {name: [len(some), *(some.count(n) for n in (*range(5), None))] for name, some in texts.items()}
    print("\n" + write_table("known texts", ["n", *range(5), "unscored"], counts))


def rate_labelled(path: Path, library: Library) -> list[LabelledReply]:
    """Rate the labelled replies of a file. Each reply is rated with the sections that it cites."""
    out = []
    for line in path.read_text().splitlines():
        row = load_json(line)
        case = Rateable(
            row["user_message"],
            row["response"],
            tuple(Message(**said) for said in row["history"]),
            tuple(library[name] for name in row["citations"] if name in library),
            tuple(row["key_points"]),
        )
        out.append(LabelledReply(row["id"], case, row["score"], row["answered"], rate(case)))
    return out


def figures(rows: Sequence[LabelledReply]) -> dict[str, float]:
    """Return measures of agreement between ratings and labels. Unscored replies count only in `unscored`."""
    pairs = [(one.score, one.rating.score) for one in rows if one.rating.score is not None]
    good = [given >= ACCEPTABLE for label, given in pairs if label >= ACCEPTABLE]
    bad = [given < ACCEPTABLE for label, given in pairs if label < ACCEPTABLE]
    answers = [(one.answered, one.rating.answered) for one in rows if None not in (one.answered, one.rating.answered)]
    labels, given = zip(*pairs, strict=True)
    return {
        "replies": len(rows),
        "unscored": len(rows) - len(pairs),
        "exact": _mean([a == b for a, b in pairs]),
        "within 1": _mean([abs(a - b) <= 1 for a, b in pairs]),
        "quadratic weighted kappa": float(cohen_kappa_score(labels, given, weights="quadratic", labels=range(5))),
        "mean rated less mean labelled": _mean(given) - _mean(labels),
        "acceptable or not: accuracy": _mean(good + bad),
        "  sensitivity (acceptable found)": _mean(good),
        "  specificity (unacceptable found)": _mean(bad),
        "answered: exact": _mean([a == b for a, b in answers]),
        "answered: None where labelled None": _mean(
            [one.rating.answered is None for one in rows if one.answered is None]
        ),
        "milliseconds of CPU for a reply": speed(rows),
    }


def speed(rows: Sequence[LabelledReply]) -> float:
    """Return the mean CPU time for rating a reply, in ms. The sections of the reply are already cached."""
    began = time.process_time()
    for one in rows:
        rate(one.case)
    return (time.process_time() - began) / len(rows) * 1000


def known_texts(library: Library) -> dict[str, list[Rateable]]:
    """Return texts with a known correct score, by kind: made-up advice of the engine `embedded`, sections, refusals, messages."""
    chance = random.Random(1)

    def citing_any(message: str, reply: str) -> Rateable:
        return Rateable(message, reply, (), (chance.choice(library.sources),))

    def another(source: Source) -> Source:
        return chance.choice([one for one in library.sources if one is not source])

    drifts = [
        citing_any("What do you advise?", " ".join([*area.advice[:n], area.closing]).replace("{topic}", "sleep"))
        for area in (*AREAS, GENERIC)
        for n in (1, 3, 5)
    ]
    restated = [
        Rateable(source.title, " ".join(chance.sample(lines, 4)), (), (source,))
        for source in library.sources
        for lines in [sentences(" ".join(line for line in source.text.split("\n") if not line.startswith("- ")))]
        for _ in range(4)
    ]
    bot = load_yaml((ROOT / "config.yaml").read_text())["chatbots"][SHIPPED]
    urgent = bot["emergency"]
    texts = [text for by_language in urgent["texts"].values() for text in by_language.values()]
    messages = [bot["fallback"], *texts, f"{bot['fallback']} {urgent['contact']}"]
    return {
        "made-up advice (0 or 1)": drifts,
        "sentences of a section (4)": restated,
        "the same citing another (0 or 1)": [replace(case, sources=(another(case.sources[0]),)) for case in restated],
        "refusals (4)": [citing_any("How much?", REFUSAL), Rateable("How much?", REFUSAL)],
        "fallback and emergency texts (4)": [citing_any("Help", text) for text in messages],
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


if __name__ == "__main__":
    main()

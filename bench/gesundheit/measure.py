"""Measure what Gesundheit makes of messages, beside baselines: outcomes by kind of message, with intervals.

python -m bench.gesundheit.measure [--split tune|held_out] [--encoder]
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from assistants.gesundheit.answers import Answers
from assistants.gesundheit.dialogue import State
from assistants.gesundheit.settings import open_sources
from bench.gesundheit.fit import QUESTIONS, Case, clusters_of, read_cases
from knowledge_base.bm25 import stems
from knowledge_base.pairs.pair import Pair
from models.settings import ModelSettings
from models.unique_keys import load_json

Outcome = Literal["direct", "offer 1", "offer 2", "wrong direct", "declined"]
OUTCOMES: tuple[Outcome, ...] = ("direct", "offer 1", "offer 2", "wrong direct", "declined")
"""`declined`: a passage, a request to rephrase, no answer, or offers that were not meant."""
OUT_OF_SCOPE = ("uncovered_health", "other")


def outcome(answers: Answers, case: Case) -> Outcome:
    """Return what becomes of a message; a user says no to an offer that is not meant."""
    state = State(question=case.text)
    found = answers.find(state, case.text)
    if found.band == "direct":
        return "direct" if case.cluster in [pair.cluster for pair in found.pairs] else "wrong direct"
    for name in ("offer 1", "offer 2"):
        if found.band != "offer":
            break
        if found.pairs[0].cluster == case.cluster:
            return name  # type: ignore[return-value]
        state = replace(state, denied=state.denied | {found.pairs[0].cluster})
        found = answers.find(state, case.text, offers_only=True)
    return "declined"


def by_bm25(pairs: Sequence[Pair], language: str) -> Callable[[Case], Outcome]:
    """Return a baseline: the pair whose question has most of the words, by BM25; its first answers, its second is offered."""
    import bm25s

    index = bm25s.BM25()
    index.index([stems(pair.question, language) for pair in pairs], show_progress=False)

    def outcome_of(case: Case) -> Outcome:
        words = [word for word in stems(case.text, language) if word in index.vocab_dict]
        if not words:
            return "declined"
        scores = index.get_scores(words)
        first = pairs[int(np.argmax(scores))]
        return "direct" if first.cluster == case.cluster else "wrong direct"

    return outcome_of


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927)."""
    z, share = 1.96, count / total
    middle = share + z * z / (2 * total)
    half = z * (share * (1 - share) / total + z * z / (4 * total * total)) ** 0.5
    return (middle - half) / (1 + z * z / total), (middle + half) / (1 + z * z / total)


def print_table(name: str, cases: Sequence[Case], outcome_of: Callable[[Case], Outcome]) -> None:
    """Print the outcomes of in-scope messages by kind."""
    print(f"\n{name}: share of messages in %, with the 95 % interval of 'right' (direct or within two offers)")
    print(f"{'kind':<18}{'n':>5}" + "".join(f"{one:>14}" for one in OUTCOMES) + f"{'right':>18}")
    kinds = [kind for kind in dict.fromkeys(case.kind for case in cases) if kind not in OUT_OF_SCOPE]
    results = {id(case): outcome_of(case) for case in cases if case.kind not in OUT_OF_SCOPE}
    for kind in [*kinds, "all"]:
        some = [results[id(case)] for case in cases if case.kind == kind or (kind == "all" and case.cluster)]
        _print_row(kind, some)


def _print_row(kind: str, some: Sequence[Outcome]) -> None:
    counts = Counter(some)
    right = sum(counts[one] for one in OUTCOMES[:3])
    low, high = wilson(right, len(some))
    shares = "".join(f"{100 * counts[one] / len(some):>14.1f}" for one in OUTCOMES)
    print(f"{kind:<18}{len(some):>5}{shares}{100 * right / len(some):>7.1f} ({100 * low:.0f}-{100 * high:.0f})")


def print_rejections(answers: Answers, cases: Iterable[Case]) -> None:
    """Print what becomes of messages that no pair answers."""
    for kind in OUT_OF_SCOPE:
        bands = Counter(answers.find(State(), case.text).band for case in cases if case.kind == kind)
        total = sum(bands.values())
        answered = bands["direct"] + bands["fallback"]
        print(f"{kind}: {total}; answered {answered}, offered {bands['offer']}; {dict(bands)}")


def print_dialogues(answers: Answers) -> None:
    """Print what becomes of minimal pairs, of messages that refer back, and of two questions in one message."""
    clusters = clusters_of()
    rows = [row for row in _rows("minimal_pairs.jsonl") if row["split"] == "held_out" and row["not_pair"] in clusters]
    found = [(answers.find(State(), row["text"]), clusters[row["not_pair"]]) for row in rows]
    wrong = sum(one.band == "direct" and one.pairs[0].cluster == cluster for one, cluster in found)
    print(f"minimal pairs: {len(rows)}; answered with the pair that they are not {wrong}")
    foci = {name.casefold(): focus for focus, name in answers.names_of_foci()}
    counts: Counter[str] = Counter()
    for row in _rows("follow_ups.jsonl"):
        focus = foci[row["focus"].casefold()]
        for name in ("first", "second"):
            one = answers.find(State(focus=focus), row[name])
            pairs = one.pairs or ((one.also_offered,) if one.also_offered else ())
            right = any((pair.focus, pair.aspect) == (focus, row[f"{name}_aspect"]) for pair in pairs)
            near = any(pair.focus == focus for pair in pairs)
            counts[f"{one.band}{' right' if right else ' of the focus' if near else ''}"] += 1
    print(f"messages that refer back: {sum(counts.values())}; {dict(counts.most_common())}")
    counts.clear()
    for row in _rows("two_questions.jsonl"):
        wanted = {(foci.get(part["focus"].casefold(), ""), part["aspect"]) for part in row["parts"]}
        one = answers.find(State(), row["text"])
        pairs = [*one.pairs, *([one.also_offered] if one.also_offered else [])]
        counts[f"{len(wanted & {(pair.focus, pair.aspect) for pair in pairs})} of two, {one.band}"] += 1
    print(f"two questions in one message: {sum(counts.values())}; {dict(counts.most_common())}")


def _rows(name: str) -> list[dict[str, Any]]:
    return [load_json(line) for line in (QUESTIONS.parent / name).read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=("tune", "held_out"), default="tune")
    parser.add_argument("--encoder", action="store_true", help="with the encoder (extra `encoder`)")
    arguments = parser.parse_args()
    options = {"encoder": "on" if arguments.encoder else "off"}
    sources, language = open_sources(ModelSettings(engine="assistant", name="gesundheit", **options))
    answers = Answers(sources, language)
    cases = read_cases(arguments.split, clusters_of())
    print_table("BM25 over the questions", cases, by_bm25(answers.pairs, sources.taxonomy.language))
    start = time.perf_counter()
    print_table("Gesundheit", cases, lambda case: outcome(answers, case))
    print_rejections(answers, cases)
    print_dialogues(answers)
    print(f"{(time.perf_counter() - start) / len(cases) * 1000:.1f} ms a message, offers included")


if __name__ == "__main__":
    main()

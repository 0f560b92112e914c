"""Measures the outcomes of messages to Gesundheit and to baselines, by kind of message, with intervals.

python -m bench.gesundheit.measure [--split tune|held_out] [--encoder]
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from assistants.gesundheit.answers import Answers, Band
from assistants.gesundheit.dialogue import State
from assistants.gesundheit.settings import Sources, open_sources
from assistants.gesundheit.similarity import Encode, EncoderIndex
from bench.gesundheit.fit import QUESTIONS, Case, clusters_of, read_cases
from knowledge_base.bm25 import stems
from knowledge_base.pairs.pair import Pair
from models.settings import ModelSettings
from models.unique_keys import load_json

Outcome = Literal["direct", "direct =", "offer 1", "offer 1 =", "offer 2", "wrong direct", "declined"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""The outcomes of a message. `=` marks another pair of the same cluster, with an equivalent answer. `declined` means no answer,
or two wrong offers."""
RIGHT = OUTCOMES[:5]
OUT_OF_SCOPE = ("uncovered_health", "other")
SIZES = (400, 800)
"""Numbers of clusters in the smaller knowledge bases, which include all clusters that messages ask for."""
THESIS_DIRECT, THESIS_OFFER = 0.9, 0.7
"""Minimum cosines of the thesis' rule for a direct answer, and for an offer."""


def outcome(answers: Answers, case: Case) -> Outcome:
    """Return the outcome of a message. The simulated user rejects a wrong offer."""
    state = State(question=case.text)
    found = answers.find(state, case.text)
    if found.band == "direct":
        return _direct(case, found.pairs)
    for first in (True, False):
        if found.band != "offer":
            break
        if found.pairs[0].cluster == case.cluster:
            return _offer(case, found.pairs[0], first=first)
        state = replace(state, denied=state.denied | {found.pairs[0].cluster})
        found = answers.find(state, case.text, offers_only=True)
    return "declined"


def _direct(case: Case, pairs: Sequence[Pair]) -> Outcome:
    if case.pair in [pair.id for pair in pairs]:
        return "direct"
    return "direct =" if case.cluster in [pair.cluster for pair in pairs] else "wrong direct"


def _offer(case: Case, pair: Pair, *, first: bool) -> Outcome:
    if not first:
        return "offer 2"
    return "offer 1" if pair.id == case.pair else "offer 1 ="


def by_bm25(pairs: Sequence[Pair], language: str) -> Callable[[Case], Outcome]:
    """Return a baseline that always answers with the pair whose question has the highest BM25 score."""
    import bm25s

    index = bm25s.BM25()
    index.index([stems(pair.question, language) for pair in pairs], show_progress=False)

    def outcome_of(case: Case) -> Outcome:
        words = [word for word in stems(case.text, language) if word in index.vocab_dict]
        return _direct(case, [pairs[int(np.argmax(index.get_scores(words)))]]) if words else "declined"

    return outcome_of


def by_cosine(pairs: Sequence[Pair], encode: Encode, direct: float, offer: float) -> Callable[[Case], Outcome]:
    """Return a baseline that finds the stored wordings nearest to a message by the encoder alone.

    Args:
        direct: Minimum cosine of a direct answer.
        offer: Minimum cosine of an offer; at most two clusters are offered.
    """
    wordings = [(pair, text) for pair in pairs for text in (pair.question, *pair.variants)]
    index = EncoderIndex([text for _, text in wordings], encode)

    def outcome_of(case: Case) -> Outcome:
        cosines = index.compare(case.text)
        nearest: dict[str, tuple[float, Pair]] = {}
        for n in np.argsort(-cosines)[:200]:
            nearest.setdefault(wordings[n][0].cluster, (float(cosines[n]), wordings[n][0]))
        (cosine, best), *others = nearest.values()
        if cosine >= direct:
            return _direct(case, [best])
        offers = [pair for near, pair in ((cosine, best), *others[:1]) if near >= offer]
        return next(
            (_offer(case, pair, first=pair is best) for pair in offers if pair.cluster == case.cluster), "declined"
        )

    return outcome_of


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval (low, high) of a share, from 0 to 1 (Wilson 1927)."""
    z, share = 1.96, count / total
    middle = share + z * z / (2 * total)
    half = z * (share * (1 - share) / total + z * z / (4 * total * total)) ** 0.5
    return (middle - half) / (1 + z * z / total), (middle + half) / (1 + z * z / total)


def print_table(name: str, cases: Sequence[Case], outcome_of: Callable[[Case], Outcome]) -> None:
    """Print a table with the outcomes of in-scope messages, by kind of message."""
    print(f"\n{name}: share of messages in %, with the 95 % interval of 'right' (direct or within two offers)")
    print(f"{'kind':<18}{'n':>5}" + "".join(f"{one:>14}" for one in OUTCOMES) + f"{'right':>18}")
    kinds = [kind for kind in dict.fromkeys(case.kind for case in cases) if kind not in OUT_OF_SCOPE]
    results = {id(case): outcome_of(case) for case in cases if case.kind not in OUT_OF_SCOPE}
    for kind in [*kinds, "all"]:
        some = [results[id(case)] for case in cases if case.kind == kind or (kind == "all" and case.cluster)]
        _print_row(kind, some)


def _print_row(kind: str, some: Sequence[Outcome]) -> None:
    counts = Counter(some)
    right = sum(counts[one] for one in RIGHT)
    low, high = wilson(right, len(some))
    shares = "".join(f"{100 * counts[one] / len(some):>14.1f}" for one in OUTCOMES)
    print(f"{kind:<18}{len(some):>5}{shares}{100 * right / len(some):>7.1f} ({100 * low:.0f}-{100 * high:.0f})")


def print_bands(answers: Answers, cases: Sequence[Case]) -> None:
    """Print the number of messages by kind and by band of the answer, and the latency of finding an answer."""
    seconds, counts = [], {kind: Counter[str]() for kind in ("covered", *OUT_OF_SCOPE)}
    for case in cases:
        start = time.perf_counter()
        band = answers.find(State(), case.text).band
        seconds.append(time.perf_counter() - start)
        counts[case.kind if case.cluster is None else "covered"][band] += 1
    bands = [band for band in get_args(Band) if any(some[band] for some in counts.values())]
    print(f"\n{'messages by band':<18}{'n':>5}" + "".join(f"{band:>18}" for band in bands))
    for kind, some in counts.items():
        print(f"{kind:<18}{some.total():>5}" + "".join(f"{some[band]:>18}" for band in bands))
    p50, p95 = np.percentile(seconds, [50, 95]) * 1000
    print(f"finding an answer: p50 {p50:.0f} ms, p95 {p95:.0f} ms")


def print_dialogues(answers: Answers) -> None:
    """Print the outcomes of minimal pairs, of messages that refer back, and of messages with two questions."""
    clusters = clusters_of()
    rows = [row for row in _rows("minimal_pairs.jsonl") if row["split"] == "held_out" and row["not_pair"] in clusters]
    found = [(answers.find(State(), row["text"]), clusters[row["not_pair"]]) for row in rows]
    wrong = sum(one.band == "direct" and one.pairs[0].cluster == cluster for one, cluster in found)
    print(f"minimal pairs: {len(rows)}; answered with the wrong pair: {wrong}")
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


def smaller(sources: Sources, cases: Iterable[Case], clusters: int) -> Sources:
    """Return sources reduced to a number of clusters of pairs. All clusters that the messages ask for are kept."""
    asked = {case.cluster for case in cases}
    others = sorted({pair.cluster for pair in sources.pairs} - asked)
    random.Random(1).shuffle(others)
    kept = asked | {*others[: clusters - len(asked)]}
    return replace(sources, pairs=[pair for pair in sources.pairs if pair.cluster in kept])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=("tune", "held_out"), default="tune")
    parser.add_argument("--encoder", action="store_true", help="use the encoder (extra `encoder`)")
    parser.add_argument("--sizes", action="store_true", help="also measure smaller knowledge bases")
    arguments = parser.parse_args()
    options = {"encoder": "on" if arguments.encoder else "off"}
    sources, language = open_sources(ModelSettings(engine="assistant", name="gesundheit", **options))
    answers = Answers(sources, language)
    cases = read_cases(arguments.split, clusters_of())
    print_table("BM25 over the questions", cases, by_bm25(answers.pairs, sources.taxonomy.language))
    if sources.encode is not None:
        pairs = answers.pairs
        print_table("Nearest by the encoder alone", cases, by_cosine(pairs, sources.encode, 0, 0))
        rule = by_cosine(pairs, sources.encode, THESIS_DIRECT, THESIS_OFFER)
        print_table("The rule of the thesis on this encoder", cases, rule)
    for size in SIZES if arguments.sizes else ():
        part = Answers(smaller(sources, cases, size), language)
        print_table(f"Gesundheit, {len(part.pairs)} pairs", cases, partial(outcome, part))
    print_table(f"Gesundheit, {len(answers.pairs)} pairs", cases, partial(outcome, answers))
    print_bands(answers, cases)
    print_dialogues(answers)


if __name__ == "__main__":
    main()

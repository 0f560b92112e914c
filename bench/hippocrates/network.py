"""Generates invented databases from the synthetic persons of Eunomia. The result is deterministic.

python -m bench.hippocrates.network    writes the demo catalogue, assistants/hippocrates/demo/*.csv
"""

import csv
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from assistants.hippocrates.catalogue import DRUG_ERA, METADATA, PERSONS
from assistants.hippocrates.settings import DEMO, demo_vocabulary, eunomia_path
from assistants.hippocrates.vocabulary import Vocabulary

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
"""The table and column by which each Achilles analysis counts persons."""
_COLUMNS = ("data_source_id", "analysis_id", *(f"stratum_{n}" for n in range(1, 6)), "count_value")


@dataclass(frozen=True, slots=True)
class People:
    """The persons of a CDM database, and their concepts."""

    has: NDArray[np.bool_]
    """Whether a person has a concept, of shape (persons, concepts)."""
    concepts: tuple[int, ...]
    analyses: tuple[int, ...]
    """The analysis that counts each concept, in the order of `concepts`."""
    ingredients: tuple[int, ...]
    """Concept ids of ingredients, by which drug eras are counted."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """An invented database."""

    id: int
    country_id: int
    persons: tuple[int, ...]
    """Persons of the database, as rows of `People.has`."""
    concepts: tuple[int, ...]
    """Recorded concepts, as columns of `People.has`."""

    @property
    def name(self) -> str:
        return f"Demo database {self.id} (simulated)"


def read_people(path: Path) -> People:
    """Read persons and their concepts from a CDM, opened read-only."""
    with duckdb.connect(path, read_only=True) as cdm:
        persons = cdm.execute("SELECT person_id FROM person ORDER BY 1").fetchall()
        row = {person_id: place for place, (person_id,) in enumerate(persons)}
        pairs: dict[tuple[int, int], list[int]] = {}
        for analysis, (table, column) in EVENTS.items():
            events = f"SELECT DISTINCT {column}::BIGINT, person_id FROM {table} SEMI JOIN person USING (person_id)"
            for concept, person_id in cdm.execute(f"{events} WHERE {column} <> 0").fetchall():
                pairs.setdefault((analysis, concept), []).append(row[person_id])
        eras = cdm.execute("SELECT DISTINCT drug_concept_id::BIGINT FROM drug_era ORDER BY 1").fetchall()
    ordered = sorted(pairs)
    has = np.zeros((len(row), len(ordered)), np.bool_)
    for place, pair in enumerate(ordered):
        has[pairs[pair], place] = True
    analyses, concepts = zip(*ordered, strict=True)
    return People(has, concepts, analyses, tuple(ingredient for (ingredient,) in eras))


def draw_sizes(databases: int = 24, *, least: int = 60, most: int = 2400, seed: int = 19) -> list[int]:
    """Draw the sizes of databases in persons. All orders of magnitude are equally likely."""
    chance = random.Random(seed)
    return [round(math.exp(chance.uniform(math.log(least), math.log(most)))) for _ in range(databases)]


def draw(people: People, sizes: Iterable[int], *, concepts: int | None = 150, seed: int = 19) -> list[Drawn]:
    """Draw databases. Each database has a random part of the persons, and records a part of their concepts.

    Args:
        people: The persons and their concepts.
        sizes: Number of persons in each database.
        concepts: Maximum number of concepts that a database records; None: all.
        seed: Seed of the random numbers.
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


def write_demo(folder: Path) -> None:
    """Write the demo catalogue."""
    people = read_people(eunomia_path())
    write_catalogue(folder, people, draw(people, draw_sizes()), demo_vocabulary())


def write_catalogue(folder: Path, people: People, databases: Sequence[Drawn], vocabulary: Vocabulary) -> None:
    """Write databases as the CSV files of a catalogue."""
    sources = ((one.id, one.name, f"DEMO{one.id}", one.country_id) for one in databases)
    _write(folder / "countries.csv", ("id", "country", "continent"), COUNTRIES)
    _write(folder / "data_sources.csv", ("id", "name", "acronym", "country_id"), sources)
    rows = [row for one in databases for row in _results(people, one, vocabulary)]
    _write(folder / "achilles_results.csv", _COLUMNS, rows)


def _results(people: People, database: Drawn, vocabulary: Vocabulary) -> list[tuple[object, ...]]:
    """Return the Achilles results of a database, one row per analysis and concept."""
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
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    write_demo(DEMO)

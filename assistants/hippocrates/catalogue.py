"""Which databases there are, where, and how many patients each has of which concept.

Read from the tables that a network's dashboards export: `countries`, `data_sources` and `achilles_results`, as a folder of CSV
files or a DuckDB file. A count below `SMALL_CELL` is forgotten when it is read, so that nothing computed from it can tell it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assistants.hippocrates.tables import Tables

SMALL_CELL = 5
"""Counts below this may point to single persons and are not shown."""
SUPPRESSED = 0
"""What stands for a count of at least one, below `SMALL_CELL`."""
PERSONS = 1
"""The analysis of Achilles that counts all persons of a database."""
PERSONS_BY_CONCEPT = {
    200: "Visit",
    400: "Condition",
    600: "Procedure",
    700: "Drug",
    800: "Observation",
    900: "Drug",
    1000: "Condition",
    1800: "Measurement",
    2100: "Device",
}
"""The analyses of Achilles that count persons by the concept in stratum_1. Others count records, or by more than the concept."""
DRUG_ERA = 900
"""Counts persons by ingredient, whatever the product."""
METADATA = 5000
"""The analysis of EHDEN's exports that holds the vocabulary's version in stratum_5."""
REMEDY = "a catalogue has countries.csv, data_sources.csv and achilles_results.csv, see docs/hippocrates.md"
_SHOWN = f"CASE WHEN max(count_value) < {SMALL_CELL} THEN {SUPPRESSED} ELSE max(count_value) END"
_DATABASES = f"""
SELECT source.id, name, coalesce(acronym, ''), coalesce(country, ''), coalesce(continent, ''),
       (SELECT {_SHOWN} FROM persons WHERE data_source_id = source.id)
FROM data_sources AS source LEFT JOIN countries ON countries.id = country_id
ORDER BY source.row
"""
_SILENT = "SELECT name FROM data_sources WHERE id NOT IN (SELECT data_source_id FROM counts) ORDER BY row"
# Concept 0 is what nobody could map. Where several analyses count persons of one concept, the largest count stands.
_COUNTS = f"""
SELECT stratum_1 AS concept, source.row - 1 AS place, {_SHOWN} AS persons, bool_or(analysis_id = {DRUG_ERA}) AS whole
FROM counts JOIN data_sources AS source ON source.id = data_source_id
WHERE count_value > 0 AND stratum_1 <> 0
GROUP BY ALL ORDER BY concept, place
"""


@dataclass(frozen=True, slots=True)
class Database:
    """A data source of the network."""

    id: int
    name: str
    acronym: str
    country: str
    """"" if unknown."""
    continent: str
    persons: int | None
    """How many persons it has; `SUPPRESSED` if fewer than `SMALL_CELL`, None if it does not say."""
    vocabulary_version: str
    """Of the vocabulary that its concepts come from, "" if it does not say."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many persons the databases have of one concept."""

    places: NDArray[np.int64]
    """Which databases, by their places in `Catalogue.databases`."""
    persons: NDArray[np.int64]
    """How many in each; `SUPPRESSED` for fewer than `SMALL_CELL`."""
    whole: NDArray[np.bool_]
    """Whether that counts the concept's descendants too, as drug eras do."""


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The databases of a network, and what they count of each concept."""

    databases: Sequence[Database]
    """Each id once."""
    by_concept: Mapping[int, Counts]
    locations: frozenset[str]
    """Countries and continents that users may name."""
    notice: str
    """What users must be told of this data, such as that it is simulated."""
    warnings: tuple[str, ...]
    """What a user should know of what was read."""

    @classmethod
    def read(cls, path: Path, *, notice: str = "") -> Self:
        """Read a catalogue.

        Args:
            path: a folder of CSV files (comma or tab separated, NA for no value), or a DuckDB file.
            notice: what users must be told of this data.

        Raises:
            DataError: a table or column is missing, an id is no number or points to nothing, or there are no counts.
        """
        with Tables(path, nulls=("", "NA", "NULL"), remedy=REMEDY) as tables:
            _load(tables)
            versions = _versions(tables)
            databases = [
                Database(one, name, acronym, country, continent, persons, versions.get(one, ""))
                for one, name, acronym, country, continent, persons in tables.query(_DATABASES).fetchall()
            ]
            places = tables.query("SELECT country FROM countries UNION SELECT continent FROM countries").fetchall()
            silent = [name for (name,) in tables.query(_SILENT).fetchall()]
            by_concept = _index(tables.query(_COUNTS).fetchnumpy())
        warnings: tuple[str, ...] = ()
        if silent:
            warnings = (
                f"{path}: {len(silent)} of {len(databases)} databases have no counts and are never found: {', '.join(silent)}",
            )
        return cls(databases, by_concept, frozenset(one for (one,) in places if one), notice, warnings)

    @property
    def concept_ids(self) -> Collection[int]:
        """All concepts that any database has."""
        return self.by_concept.keys()

    def counts(self, concept_id: int) -> Counts | None:
        """Return how many persons each database has of a concept, None if none has any."""
        return self.by_concept.get(concept_id)


def show_count(count: int) -> str:
    """Write a count as it may be shown."""
    return f"fewer than {SMALL_CELL}" if count == SUPPRESSED else f"{count:,}"


def _load(tables: Tables) -> None:
    """Load the tables; of the results, who is counted, once and by concept.

    Raises:
        DataError: something is missing or no number, there is nothing, or an id points to nothing.
    """
    tables.load("countries", ("id", "country", "continent"), ids=("id",), filled=("id", "country"))
    tables.load(
        "data_sources", ("id", "name", "acronym", "country_id"), ids=("id", "country_id"), filled=("id", "name")
    )
    results, listed = "achilles_results", ", ".join(str(one) for one in PERSONS_BY_CONCEPT)
    numbers = ["data_source_id", "analysis_id", "count_value"]
    where = f"whole(analysis_id) = {PERSONS}"
    tables.load(results, numbers, ids=numbers, filled=numbers, where=where, name="persons")
    numbers.append("stratum_1")
    where = f"whole(analysis_id) IN ({listed})"
    tables.load(results, numbers, ids=numbers, filled=numbers, where=where, name="counts")
    tables.refuse("data_sources", "SELECT 1 WHERE NOT EXISTS (FROM data_sources)", f"it has no databases; {REMEDY}")
    for table in ("countries", "data_sources"):
        twice = f"SELECT row, id FROM {table} QUALIFY row_number() OVER (PARTITION BY id ORDER BY row) > 1 ORDER BY row"
        tables.refuse(table, twice, "column 'id' of row {0} is {1}, which an earlier row has; give each its own")
    tables.refuse(
        "data_sources",
        "SELECT row, country_id FROM data_sources WHERE country_id NOT IN (SELECT id FROM countries) ORDER BY row",
        "column 'country_id' of row {0} is {1}, which is not in {2}; add the country there, or write NA",
        tables.place("countries"),
    )
    tables.refuse(
        results,
        "SELECT 1 WHERE NOT EXISTS (FROM counts)",
        f"column 'analysis_id' has none of {listed}, which count persons by concept; {REMEDY}",
    )
    tables.refuse(
        results,
        "SELECT data_source_id FROM counts WHERE data_source_id NOT IN (SELECT id FROM data_sources) ORDER BY row",
        "column 'data_source_id' has {0}, which is not in {1}; add the database there, or remove its rows",
        tables.place("data_sources"),
    )
    for table in ("persons", "counts"):
        below = f"SELECT count_value FROM {table} WHERE count_value < 0 ORDER BY row"
        tables.refuse(results, below, "column 'count_value' has {0}, and no count is below nought; mend that row")


def _versions(tables: Tables) -> dict[int, str]:
    if "stratum_5" not in tables.columns("achilles_results"):
        return {}
    columns = ("data_source_id", "stratum_5", "analysis_id")
    where = f"whole(analysis_id) = {METADATA} AND stratum_5 <> ''"
    rows = tables.load("achilles_results", columns, ids=columns[:1], where=where, name="versions").fetchall()
    return {one: version for one, version, _ in rows}


def _index(rows: Mapping[str, NDArray[np.int64]]) -> dict[int, Counts]:
    """Split counts, sorted by concept, into those of each."""
    concepts, starts = np.unique(rows["concept"], return_index=True)
    ends = [*starts[1:].tolist(), len(rows["concept"])]
    return {
        concept: Counts(rows["place"][start:end], rows["persons"][start:end], rows["whole"][start:end].astype(bool))
        for concept, start, end in zip(concepts.tolist(), starts.tolist(), ends, strict=True)
    }

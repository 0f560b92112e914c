"""Reads the catalogue of a network: its databases, their countries, and their number of patients per concept.

A catalogue consists of the tables that a network's dashboards export: `countries`, `data_sources` and `achilles_results`, as CSV
files or in a DuckDB file. Counts below `SMALL_CELL` are discarded on reading, so that no result can reveal them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import structlog
from numpy.typing import NDArray

from assistants.hippocrates.tables import DataError, Table, read_tables

log = structlog.get_logger()
SMALL_CELL = 5
"""Smallest count that is shown. Smaller counts could identify persons."""
SUPPRESSED = 0
"""The value that replaces counts from 1 to `SMALL_CELL` - 1."""
PERSONS = 1
"""Id of the Achilles analysis that counts all persons of a database."""
PERSONS_BY_CONCEPT = "200, 400, 600, 700, 800, 900, 1000, 1800, 2100"
"""Ids of the Achilles analyses that count persons by the concept in stratum_1. Others count records or use more strata."""
DRUG_ERA = 900
"""Id of the Achilles analysis that counts persons by ingredient, over all products with the ingredient."""
METADATA = 5000
"""Id of the analysis in EHDEN's exports whose stratum_5 contains the version of the vocabulary."""
REMEDY = "a catalogue has countries.csv, data_sources.csv and achilles_results.csv, see docs/hippocrates.md"
_COUNTED = f"""
data_source_id BIGINT NOT NULL REFERENCES data_sources,
analysis_id BIGINT NOT NULL,
stratum_1 BIGINT CHECK (stratum_1 IS NOT NULL OR analysis_id = {PERSONS}),
count_value BIGINT NOT NULL CHECK (count_value >= 0)
"""
_SOURCES = "id BIGINT PRIMARY KEY, name VARCHAR NOT NULL, acronym VARCHAR, country_id BIGINT REFERENCES countries"
_VERSION = "data_source_id BIGINT NOT NULL, stratum_5 VARCHAR"
_TABLES = (
    Table("countries", "id BIGINT PRIMARY KEY, country VARCHAR NOT NULL, continent VARCHAR"),
    Table("data_sources", _SOURCES),
    Table("achilles_results", _COUNTED, f"whole(analysis_id) IN ({PERSONS}, {PERSONS_BY_CONCEPT})", copy="counts"),
    Table("achilles_results", _VERSION, f"whole(analysis_id) = {METADATA}", copy="versions"),
)
_SHOWN = f"CASE WHEN max(count_value) < {SMALL_CELL} THEN {SUPPRESSED} ELSE max(count_value) END"
_DATABASES = f"""
SELECT source.id, name, coalesce(acronym, ''), coalesce(country, ''), coalesce(continent, ''),
       (SELECT {_SHOWN} FROM counts WHERE data_source_id = source.id AND analysis_id = {PERSONS}),
       coalesce((SELECT max(stratum_5) FROM versions WHERE data_source_id = source.id), '')
FROM data_sources AS source LEFT JOIN countries ON countries.id = country_id
ORDER BY source.rowid
"""
# Concept 0 means unmapped codes. If several analyses count persons of a concept, use the largest count.
_COUNTS = f"""
SELECT stratum_1 AS concept, source.rowid AS place, {_SHOWN} AS persons, bool_or(analysis_id = {DRUG_ERA}) AS whole
FROM counts JOIN data_sources AS source ON source.id = data_source_id
WHERE count_value > 0 AND stratum_1 <> 0 AND analysis_id <> {PERSONS}
GROUP BY ALL ORDER BY concept, place
"""


@dataclass(frozen=True, slots=True)
class Database:
    """A database of the network."""

    id: int
    name: str
    acronym: str
    country: str
    """English name of the country; "" if unknown."""
    continent: str
    persons: int | None
    """Number of persons in the database; `SUPPRESSED` if below `SMALL_CELL`, None if unknown."""
    vocabulary_version: str
    """Version of the vocabulary that the database uses; "" if unknown."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Number of persons with one concept, by database. All arrays have the shape (databases with the concept,)."""

    places: NDArray[np.int64]
    """Indexes of the databases in `Catalogue.databases`."""
    persons: NDArray[np.int64]
    """Number of persons with the concept in each database; `SUPPRESSED` if below `SMALL_CELL`."""
    whole: NDArray[np.bool_]
    """Whether each count includes persons with descendants of the concept, as counts of drug eras do."""


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The databases of a network, and their counts of each concept."""

    databases: Sequence[Database]
    counts: Mapping[int, Counts]
    """By concept id, the counts of each concept that occurs in a database."""
    locations: frozenset[str]
    """Names of the countries and continents in the catalogue."""
    notice: str
    """A notice that every search result shows, for example that the data are simulated."""
    warnings: tuple[str, ...]
    """Warnings about the data, which are shown to users."""

    @classmethod
    def read(cls, path: Path, *, notice: str = "") -> Self:
        """Read a catalogue.

        Args:
            path: A folder of CSV files (separated by commas or tabs, NA for no value), or a DuckDB file.
            notice: A notice to show with every search result.

        Raises:
            DataError: A table or column is missing, an id is not a number or refers to no row, or there are no counts.
        """
        with read_tables(path, _TABLES, remedy=REMEDY, nulls=("", "NA", "NULL")) as tables:
            databases = [Database(*row) for row in tables.sql(_DATABASES).fetchall()]
            places = tables.sql("SELECT unnest([country, continent]) FROM countries").fetchall()
            counts = _index(tables.sql(_COUNTS).fetchnumpy())
        if not counts:
            raise DataError(f"{path}: no database has counts of the analyses {PERSONS_BY_CONCEPT}; {REMEDY}")
        counted = {place for one in counts.values() for place in one.places.tolist()}
        silent = [database.name for place, database in enumerate(databases) if place not in counted]
        never = f"{len(silent)} of {len(databases)} databases of the catalogue have no counts and are never found."
        warnings = (never,) if silent else ()
        if silent:
            log.warning("catalogue_incomplete", path=str(path), without_counts=silent)
        return cls(databases, counts, frozenset(one for (one,) in places if one), notice, warnings)


def show_count(count: int) -> str:
    """Return a count as text. A suppressed count is shown as an upper bound."""
    return f"fewer than {SMALL_CELL}" if count == SUPPRESSED else f"{count:,}"


def _index(rows: Mapping[str, NDArray[Any]]) -> dict[int, Counts]:
    """Group the rows of counts by concept. The rows must be sorted by concept."""
    concepts, starts = np.unique(rows["concept"], return_index=True)
    parts = zip(*(np.split(rows[column], starts[1:]) for column in ("place", "persons", "whole")), strict=True)
    return {concept: Counts(*part) for concept, part in zip(concepts.tolist(), parts, strict=False)}

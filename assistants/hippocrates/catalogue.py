"""Which databases there are, where, and how many patients each has of which concept.

Read from the tables that a network's dashboards export: `countries`, `data_sources` and `achilles_results`, as a folder of CSV
files or a DuckDB file. A count below `SMALL_CELL` is forgotten when it is read, so that nothing computed from it can tell it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assistants.hippocrates.tables import DataError, Tables

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
            countries = _countries(tables)
            read = tables.ids(
                "achilles_results",
                ("data_source_id", "analysis_id", "stratum_1", "count_value"),
                where=tables.is_one_of("achilles_results", "analysis_id", PERSONS_BY_CONCEPT),
            )
            databases = _databases(tables, countries)
            _check_rows(tables, databases, read)
            silent = {one.id for one in databases} - set(read[0].tolist())
        warnings: tuple[str, ...] = ()
        if silent:
            named = ", ".join(one.name for one in databases if one.id in silent)
            warnings = (
                f"{path}: {len(silent)} of {len(databases)} databases have no counts and are never found: {named}",
            )
        locations = frozenset(place for pair in countries.values() for place in pair if place)
        return cls(databases, _index(databases, *read), locations, notice, warnings)

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


def _index(
    databases: Sequence[Database],
    database_ids: NDArray[np.int64],
    analyses: NDArray[np.int64],
    concepts: NDArray[np.int64],
    persons: NDArray[np.int64],
) -> dict[int, Counts]:
    """Sort counts by concept; where several analyses count persons of one concept, the largest stands."""
    ids = np.array([one.id for one in databases], np.int64)
    by_id = ids.argsort()
    places = by_id[ids[by_id].searchsorted(database_ids)]
    some = np.flatnonzero((persons > 0) & (concepts != 0))  # concept 0 is what nobody could map
    order = some[np.lexsort((persons[some], places[some], concepts[some]))]
    places, concepts, persons, analyses = places[order], concepts[order], persons[order], analyses[order]
    cells = _starts(concepts, places)
    largest = np.append(cells[1:], len(order))[: len(cells)] - 1
    whole = np.logical_or.reduceat(analyses == DRUG_ERA, cells) if len(cells) else cells.astype(bool)
    places, concepts, persons = places[largest], concepts[largest], persons[largest]
    persons = np.where(persons < SMALL_CELL, SUPPRESSED, persons)
    starts = _starts(concepts)
    return {
        int(concepts[start]): Counts(places[start:end], persons[start:end], whole[start:end])
        for start, end in pairwise([*starts.tolist(), len(concepts)])
    }


def _starts(*columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where in sorted columns a new value begins."""
    changes = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(np.append([True], changes)) if len(columns[0]) else np.zeros(0, np.int64)


def _countries(tables: Tables) -> dict[int, tuple[str, str]]:
    rows = tables.rows("countries", ("id", "country", "continent"), ids=("id",), filled=("id", "country"))
    return {one: (country, continent or "") for one, country, continent in rows}


def _databases(tables: Tables, countries: Mapping[int, tuple[str, str]]) -> list[Database]:
    columns = ("id", "name", "acronym", "country_id")
    rows = tables.rows("data_sources", columns, ids=("id", "country_id"), filled=("id", "name"))
    place = tables.place("data_sources")
    if not rows:
        raise DataError(f"{place}: it has no databases; {REMEDY}")
    persons, versions = _persons(tables), _versions(tables)
    databases: dict[int, Database] = {}
    for row, (source_id, name, acronym, country_id) in enumerate(rows, 1):
        if source_id in databases:
            raise DataError(
                f"{place}: column 'id' of row {row} is {source_id}, which an earlier row has; give each its own"
            )
        if country_id is not None and country_id not in countries:
            raise DataError(
                f"{place}: column 'country_id' of row {row} is {country_id}, which is not in {tables.place('countries')}; "
                "add the country there, or write NA"
            )
        country, continent = countries.get(country_id, ("", ""))
        databases[source_id] = Database(
            source_id, name, acronym or "", country, continent, persons.get(source_id), versions.get(source_id, "")
        )
    return list(databases.values())


def _persons(tables: Tables) -> dict[int, int]:
    where = tables.is_one_of("achilles_results", "analysis_id", [PERSONS])
    ids, counts = tables.ids("achilles_results", ("data_source_id", "count_value"), where=where)
    return {
        one: SUPPRESSED if count < SMALL_CELL else count
        for one, count in zip(ids.tolist(), counts.tolist(), strict=True)
    }


def _versions(tables: Tables) -> dict[int, str]:
    if "stratum_5" not in tables.columns("achilles_results"):
        return {}
    where = tables.is_one_of("achilles_results", "analysis_id", [METADATA])
    rows = tables.rows("achilles_results", ("data_source_id", "stratum_5"), ids=("data_source_id",), where=where)
    return {one: version for one, version in rows if version}


def _check_rows(tables: Tables, databases: Collection[Database], rows: list[NDArray[np.int64]]) -> None:
    """Raise `DataError` unless there are counts, all of them of a known database and above nought."""
    place = tables.place("achilles_results")
    ids, _, _, persons = rows
    if not len(ids):
        listed = ", ".join(str(one) for one in PERSONS_BY_CONCEPT)
        raise DataError(f"{place}: column 'analysis_id' has none of {listed}, which count persons by concept; {REMEDY}")
    unknown = ids[~np.isin(ids, [one.id for one in databases])]
    if len(unknown):
        raise DataError(
            f"{place}: column 'data_source_id' has {unknown[0]}, which is not in {tables.place('data_sources')}; "
            "add the database there, or remove its rows"
        )
    if persons.min() < 0:
        raise DataError(
            f"{place}: column 'count_value' has {persons.min()}, and no count is below nought; mend that row"
        )

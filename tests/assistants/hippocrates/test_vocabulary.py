"""Words to concepts."""

import subprocess
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from assistants.hippocrates.names import ALL_WORDS
from assistants.hippocrates.tables import DataError
from assistants.hippocrates.vocabulary import Concept, ConceptMatch, Vocabulary

CONCEPTS = (
    "concept_id\tconcept_name\tdomain_id\tvocabulary_id\tconcept_class_id\tstandard_concept\n"
    "1\tHemorrhage of gut\tCondition\tSNOMED\tx\tS\n"
    "2\tHemorrhage of stomach\tCondition\tSNOMED\tx\tS\n"
    "3\tGut bleeding NOS\tCondition\tICD10CM\tx\t\n"
    '4\tWarfarin 5" MG Oral Tablet\tDrug\tRxNorm\tx\tS\n'
    "5\tWarfarin\tDrug\tRxNorm\tx\tS\n"
)
SYNONYMS = (
    "concept_id\tconcept_synonym_name\tlanguage_concept_id\n1\tEnterorrhagia\t1\n1\tBowel bleed\t1\n9\tUnknown\t1\n"
)
ANCESTORS = "ancestor_concept_id\tdescendant_concept_id\tmin_levels_of_separation\tmax_levels\n1\t2\t1\t1\n5\t4\t1\t1\n"
RELATIONS = "concept_id_1\tconcept_id_2\trelationship_id\n3\t1\tMaps to\n1\t1\tMaps to\n1\t3\tMapped from\n"
VOCABULARIES = "vocabulary_id\tvocabulary_name\tvocabulary_version\nNone\tOMOP\tv5.0 01-JAN-25\nSNOMED\tx\t2024\n"
FILES = {
    "CONCEPT.csv": CONCEPTS,
    "CONCEPT_SYNONYM.csv": SYNONYMS,
    "CONCEPT_ANCESTOR.csv": ANCESTORS,
    "CONCEPT_RELATIONSHIP.csv": RELATIONS,
    "VOCABULARY.csv": VOCABULARIES,
}


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Write an export of Athena."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def ids(matches: list[ConceptMatch]) -> list[int]:
    return [match.concept.concept_id for match in matches]


def test_export_is_read(export: Path) -> None:
    """Concepts, the version and the hierarchy come from the files; quotation marks in names are text."""
    vocabulary = Vocabulary.open(export)
    assert vocabulary.get(4) == Concept(4, 'Warfarin 5" MG Oral Tablet', "Drug", "RxNorm", True)
    assert vocabulary.get(99) is None
    assert vocabulary.version == "v5.0 01-JAN-25"
    assert vocabulary.descendants(1) == {1, 2}
    assert vocabulary.descendants(2) == {2}
    assert vocabulary.warnings == ()


def test_names_come_before_synonyms_before_words_before_misspellings(export: Path) -> None:
    """Each way has its range of scores."""
    vocabulary = Vocabulary.open(export)
    exact, synonym, words, misspelt = (
        vocabulary.find(said)[0] for said in ("warfarin", "bowel bleed", "warfarin oral", "warfrin")
    )
    assert [one.concept.concept_id for one in (exact, synonym, words, misspelt)] == [5, 1, 4, 5]
    assert exact.score == 1 > synonym.score > words.score >= ALL_WORDS
    assert misspelt.matched == "Warfarin"
    assert synonym.matched == "Bowel bleed"
    assert exact.score > misspelt.score


@pytest.mark.parametrize(
    "said", ["haemorrhage of gut", "GUT HEMORRHAGE", "hemorrhages of the gut", "Hemorrhage of gut (disorder)"]
)
def test_spelling_order_and_tags_do_not_matter(export: Path, said: str) -> None:
    """British spelling, letter case, plurals, the order of words and SNOMED's tags are all the same name."""
    vocabulary = Vocabulary.open(export)
    assert ids(vocabulary.lookup(said)) == [1]


def test_source_concept_gives_its_standard_one(export: Path) -> None:
    """A code of ICD10CM leads to the concept it is mapped to, under the name that matched."""
    vocabulary = Vocabulary.open(export)
    match = vocabulary.find("gut bleeding nos")[0]
    assert (match.concept.concept_id, match.matched) == (1, "Gut bleeding NOS")
    assert vocabulary.get(3) == Concept(3, "Gut bleeding NOS", "Condition", "ICD10CM", False)


def test_domains_and_limit_narrow_the_search(export: Path) -> None:
    """Only concepts of the domains are offered, and no more than asked for."""
    vocabulary = Vocabulary.open(export)
    assert vocabulary.find("warfarin", ["Condition"]) == []
    assert ids(vocabulary.find("warfarin", ["drug"])) == [5, 4]
    assert ids(vocabulary.find("warfarin", limit=1)) == [5]


@pytest.mark.parametrize("said", ["", "  ", "...", "of the", "xyzzy"])
def test_words_that_mean_nothing_find_nothing(export: Path, said: str) -> None:
    """No concept is guessed."""
    vocabulary = Vocabulary.open(export)
    assert vocabulary.find(said) == vocabulary.lookup(said) == []


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("CONCEPT.csv", None, r"table concept: the table is missing; point to"),
        ("CONCEPT_ANCESTOR.csv", None, r"table concept_ancestor: the table is missing; point to"),
        (
            "CONCEPT.csv",
            CONCEPTS.replace("domain_id", "domain"),
            r'CONCEPT\.csv: .*"domain_id" not found.* "domain".*; point to',
        ),
        (
            "CONCEPT.csv",
            CONCEPTS.replace("\n2\t", "\nII\t"),
            r"CONCEPT\.csv: .*'II'.* column concept_id; fix or remove",
        ),
        (
            "CONCEPT.csv",
            CONCEPTS.replace("\n2\t", "\n\t"),
            r"CONCEPT\.csv: .*concept_id IS NOT NULL .* in the row concept_id=None, .*; fix",
        ),
        ("CONCEPT.csv", CONCEPTS.replace("\n2\t", "\n1\t"), r'CONCEPT\.csv: .*duplicate key "1"; fix or remove'),
        (
            "CONCEPT.csv",
            CONCEPTS.replace("Warfarin\t", "\t"),
            r"concept_name IS NOT NULL does not hold in the row concept_id=5, concept_name=None, .*; fix",
        ),
        (
            "CONCEPT.csv",
            CONCEPTS.replace("\n2\t", "\n2.5\t"),
            r"CONCEPT\.csv: .*concept_id: 2\.5 is not a whole number",
        ),
        ("CONCEPT.csv", CONCEPTS.partition("\n")[0] + "\n", r"the table concept has no rows; point to"),
        ("CONCEPT_ANCESTOR.csv", "a\tb\n1\t2\n", r'CONCEPT_ANCESTOR\.csv: .*"ancestor_concept_id" not found'),
        (
            "CONCEPT_ANCESTOR.csv",
            ANCESTORS + "x\t1\t1\t1\n",
            r"CONCEPT_ANCESTOR\.csv: .*'x'.* column ancestor_concept_id; fix or remove",
        ),
    ],
)
def test_bad_export_is_named_with_its_remedy(export: Path, file: str, text: str | None, message: str) -> None:
    """The message says which file, which column and what to do."""
    (export / file).unlink()
    if text is not None:
        (export / file).write_text(text)
    with pytest.raises(DataError, match=message):
        Vocabulary.open(export)


def test_export_without_synonyms_or_version_warns(export: Path) -> None:
    """It is used all the same. Users are told what that does to a search, and the log where the export is."""
    (export / "CONCEPT_SYNONYM.csv").unlink()
    (export / "VOCABULARY.csv").unlink()
    with capture_logs() as logged:
        vocabulary = Vocabulary.open(export)
    assert ids(vocabulary.find("warfarin")) == [5, 4]
    assert vocabulary.version == ""
    assert vocabulary.warnings == ("The vocabulary has no synonyms; concepts are found by their names alone.",)
    (entry,) = logged
    assert entry["path"] == str(export)
    assert len(entry["lacks"]) == 2


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    """A path to nothing, and a file of something else."""
    with pytest.raises(DataError, match=r"nothing\.duckdb.* does not exist; point to"):
        Vocabulary.open(tmp_path / "nothing.duckdb")
    (tmp_path / "text.duckdb").write_text("hello, this is no database" * 1000)
    with pytest.raises(DataError, match=r"text\.duckdb: .*not a valid DuckDB database file.*; point to"):
        Vocabulary.open(tmp_path / "text.duckdb")


def test_cdm_without_tables_is_named(tmp_path: Path) -> None:
    """An empty database says which table it lacks."""
    import duckdb

    duckdb.connect(str(tmp_path / "empty.duckdb")).close()
    with pytest.raises(DataError, match=r"empty\.duckdb, table concept: the table is missing; point to"):
        Vocabulary.open(tmp_path / "empty.duckdb")


def test_database_is_opened_read_only(export: Path) -> None:
    """Another process may have it open too, which DuckDB refuses to whoever would write."""
    import duckdb

    path = export / "cdm.duckdb"
    with duckdb.connect(str(path)) as store:
        for name in FILES:
            store.execute(
                f"CREATE TABLE {Path(name).stem} AS SELECT * FROM read_csv('{export / name}', delim='\t', quote='')"
            )
    code = (
        "import duckdb, sys; store = duckdb.connect(sys.argv[1], read_only=True); print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert ids(Vocabulary.open(path).find("warfarin")) == [5, 4]
        other.communicate()

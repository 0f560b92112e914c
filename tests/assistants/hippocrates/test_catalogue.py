"""The tables of a network, checked at the door."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from assistants.hippocrates.catalogue import SUPPRESSED, Catalogue, Counts, Database, show_count
from assistants.hippocrates.tables import DataError
from tests.assistants.hippocrates.catalogue_files import COUNTRIES, GOUT, RESULTS, SOURCES, TABLET, WARFARIN


def by_place(counts: Counts | None) -> dict[int, int]:
    """Return counts by the places of databases."""
    return {} if counts is None else dict(zip(counts.places.tolist(), counts.persons.tolist(), strict=True))


def test_databases_have_country_size_and_version(catalogue: Catalogue) -> None:
    """What the four tables say of a database is put together; NA is no value."""
    assert catalogue.databases[0] == Database(
        10, "Andalusian records", "ANDA", "Spain", "Europe", 1000, "v5.0 01-JAN-25"
    )
    assert catalogue.databases[2] == Database(12, "Registry, small", "", "Spain", "Europe", 20, "")
    assert catalogue.locations == {"Spain", "Europe", "South Korea", "Asia", "Peru", "South America"}


def test_only_persons_by_concept_are_counted(catalogue: Catalogue) -> None:
    """Neither records (401) nor strata (404) are persons of a concept; concept 0 is none, and nought patients are none."""
    assert by_place(catalogue.counts.get(101)) == {0: 30, 1: 500}
    assert by_place(catalogue.counts.get(TABLET)) == {0: 40}
    assert catalogue.counts.get(0) is None
    assert catalogue.counts.get(2020) is None


def test_small_cells_are_forgotten(catalogue: Catalogue) -> None:
    """Of a count below five only that it is one is left."""
    assert by_place(catalogue.counts.get(GOUT)) == {0: 80, 2: SUPPRESSED}
    assert (show_count(SUPPRESSED), show_count(5), show_count(12345)) == ("fewer than 5", "5", "12,345")


def test_drug_eras_count_the_whole_ingredient(catalogue: Catalogue) -> None:
    """They say so, since their count needs no products added."""
    counts = catalogue.counts.get(WARFARIN)
    assert counts is not None
    assert counts.whole.tolist() == [True]


def test_database_file_is_read_as_the_folder_is(folder: Path, catalogue: Catalogue) -> None:
    """A DuckDB file with the same tables gives the same catalogue."""
    import duckdb

    with duckdb.connect(str(folder / "catalogue.duckdb")) as store:
        for name in ("countries", "data_sources", "achilles_results"):
            store.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{folder / name}.csv', nullstr='NA')")
    other = Catalogue.read(folder / "catalogue.duckdb")
    assert other.databases == catalogue.databases
    assert {one: by_place(other.counts.get(one)) for one in other.counts} == {
        one: by_place(catalogue.counts.get(one)) for one in catalogue.counts
    }


BAD = [
    ("countries.csv", None, r"table countries: the table is missing; a catalogue has"),
    ("data_sources.csv", None, r"table data_sources: the table is missing; a catalogue has"),
    ("achilles_results.csv", None, r"table achilles_results: the table is missing; a catalogue has"),
    ("data_sources.csv", "", r'data_sources\.csv: .*bindings: "\(empty\)"; expected UTF-8.*, with a header'),
    (
        "countries.csv",
        COUNTRIES.replace(",", ";"),
        r'countries\.csv: .*"id;country;continent"; expected UTF-8 text, comma or tab separated, with a header.*; a cat',
    ),
    ("countries.csv", COUNTRIES.replace("Spain", "España"), r"Line: 2 .*not utf-8.*; expected UTF-8 text.*; fix"),
    (
        "data_sources.csv",
        SOURCES.replace(",acronym,", ",short,"),
        r'data_sources\.csv: .*"acronym" not found.*; a catalogue has',
    ),
    ("data_sources.csv", SOURCES.replace("\n11,", "\nxi,"), r"data_sources\.csv: .*'xi'.* column id; fix or remove"),
    (
        "data_sources.csv",
        SOURCES.replace("\n11,", "\n10,"),
        r"data_sources\.csv: .*duplicate key \"10\"; fix or remove",
    ),
    (
        "data_sources.csv",
        SOURCES.replace(",NA,2\n", ",NA,9\n"),
        r'data_sources\.csv: .*"id: 9" does not exist in the referenced table; fix or remove',
    ),
    (
        "data_sources.csv",
        SOURCES.replace("Seoul claims", ""),
        r'"name" IS NOT NULL does not hold in the row id=11, name=None, acronym=SEOUL, country_id=2; fix',
    ),
    (
        "countries.csv",
        COUNTRIES.replace("2,South", "two,South"),
        r"countries\.csv: .*'two'.* column id; fix or remove",
    ),
    ("achilles_results.csv", RESULTS.splitlines()[0] + "\n", r"no database has counts of the analyses 200, 400"),
    (
        "achilles_results.csv",
        RESULTS.replace("stratum_1", "concept"),
        r'achilles_results\.csv: .*"stratum_1" not found.*; a catalogue has',
    ),
    ("achilles_results.csv", RESULTS.replace("\n11,400,101,", "\n11,400,gout,"), r"'gout'.* column stratum_1; fix"),
    (
        "achilles_results.csv",
        RESULTS.replace("\n11,400,101,", "\n11,400,7.5,"),
        r"stratum_1: 7\.5 is not a whole number",
    ),
    (
        "achilles_results.csv",
        RESULTS.replace("\n11,400,101,", "\n11,400,NA,"),
        r"achilles_results\.csv: \(\(\(stratum_1 IS NOT NULL\).* in the row data_source_id=11, .*, count_value=500; fix",
    ),
    (
        "achilles_results.csv",
        RESULTS.replace("\n11,400,", "\n99,400,"),
        r'achilles_results\.csv: .*"id: 99" does not exist in the referenced table; fix or remove',
    ),
    (
        "achilles_results.csv",
        RESULTS.replace(",500,", ",-500,"),
        r"count_value >= 0\)\) does not hold in the row .*, stratum_1=101, count_value=-500; fix",
    ),
    ("achilles_results.csv", RESULTS.replace(",500,", ",many,"), r"'many'.* column count_value; fix or remove"),
    (
        "achilles_results.csv",
        RESULTS + "12,400,100\n",
        r"achilles_results\.csv: .*Line: 18 Original Line: 12,400,100 .*; expected UTF-8.* same number of values .*; fix",
    ),
]


@pytest.mark.parametrize(("file", "text", "message"), BAD)
def test_bad_catalogue_is_named_with_its_remedy(folder: Path, file: str, text: str | None, message: str) -> None:
    """The message says which file, which column and what to do."""
    (folder / file).unlink()
    if text is not None:
        (folder / file).write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=message):
        Catalogue.read(folder)


def test_columns_may_be_quoted_and_without_a_name(folder: Path, catalogue: Catalogue) -> None:
    """As R writes them, row names first; a quotation mark in a name is doubled."""
    lines = SOURCES.replace("Andalusian records", '"Andalusian ""records"""').splitlines()
    named = [f'"{n}",{line}' for n, line in enumerate(lines)]
    (folder / "data_sources.csv").write_text(
        "\n".join(['"","id","name","acronym","x","x","country_id"', *named[1:], ""])
    )
    databases = Catalogue.read(folder).databases
    assert [database.name for database in databases] == ['Andalusian "records"', "Seoul claims", "Registry, small"]
    assert databases[1:] == catalogue.databases[1:]


def test_database_without_counts_is_warned_of(folder: Path) -> None:
    """It stays in the catalogue, and nobody wonders why it is never found; which one and where is for the log alone."""
    (folder / "data_sources.csv").write_text(SOURCES + "13,Silent,NA,NA,NA,NA\n")
    with capture_logs() as logged:
        (warning,) = Catalogue.read(folder).warnings
    assert warning == "1 of 4 databases of the catalogue have no counts and are never found."
    (entry,) = logged
    assert (entry["path"], entry["without_counts"]) == (str(folder), ["Silent"])


def test_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The message tells what a catalogue is."""
    with pytest.raises(DataError, match=r"nowhere: .*does not exist; a catalogue has"):
        Catalogue.read(tmp_path / "nowhere")

"""Questions to databases."""

from pathlib import Path

import pytest

from assistants.hippocrates.catalogue import Catalogue
from assistants.hippocrates.discovery import Databases, find_databases
from assistants.hippocrates.estimates import Patients
from assistants.hippocrates.query import Query
from assistants.hippocrates.vocabulary import Vocabulary
from tests.assistants.hippocrates.conftest import RESULTS, SOURCES


def ids(found: Databases) -> list[int]:
    return [match.database.id for match in found.matches]


def test_databases_are_ranked_by_patients_of_concept_and_descendants(
    catalogue: Catalogue, small_vocabulary: Vocabulary
) -> None:
    """Seoul has acute gout alone, which is gout; the ranking is by how many, not by how well names match."""
    found = find_databases(catalogue, small_vocabulary, "Which databases have patients with podagra?")
    assert ids(found) == [11, 10, 12]
    assert [match.patients[0] for match in found.matches] == [Patients(500, 500), Patients(80, 110), Patients(1, 4)]
    assert [str(match.patients[0]) for match in found.matches] == ["500", "80 to 110", "fewer than 5"]


def test_drug_eras_need_no_bounds(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """The ingredient's count holds the products' patients."""
    (match,) = find_databases(catalogue, small_vocabulary, "warfarin").matches
    assert match.patients == (Patients(60, 60),)


def test_database_with_every_wanted_concept_comes_first(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """However many patients another has of one of them; persons with both are bounded by the smaller count."""
    found = find_databases(catalogue, small_vocabulary, "gout and warfarin")
    assert ids(found) == [10, 11, 12]
    assert [match.covered for match in found.matches] == [2, 1, 1]
    assert [match.all_wanted for match in found.matches] == [Patients(0, 60), None, None]
    assert str(found.matches[0].all_wanted) == "at most 60"
    assert [match.database.id for match in found.complete] == [10]


def test_country_and_size_narrow_the_search(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """By country or continent, by persons, by patients; without a concept, all that fit."""
    assert ids(find_databases(catalogue, small_vocabulary, "gout in Spain")) == [10, 12]
    assert ids(find_databases(catalogue, small_vocabulary, "gout in Asia or Peru")) == [11]
    assert ids(
        find_databases(catalogue, small_vocabulary, "databases of at least 100 persons with gout in Europe")
    ) == [10]
    assert ids(find_databases(catalogue, small_vocabulary, "at least 100 patients with gout")) == [11, 10]
    assert ids(find_databases(catalogue, small_vocabulary, "databases in Spain")) == [10, 12]
    assert ids(find_databases(catalogue, small_vocabulary, "databases in Peru")) == []


@pytest.mark.parametrize("question", ["", "xyzzy", "xyzzy in Spain", "psoriasis"])
def test_nothing_is_found_where_nobody_has_it(
    catalogue: Catalogue, small_vocabulary: Vocabulary, question: str
) -> None:
    """No database is offered for words that nobody knows, or a concept that none records."""
    assert find_databases(catalogue, small_vocabulary, question).matches == ()


def test_no_result_depends_on_a_suppressed_count(folder: Path, small_vocabulary: Vocabulary) -> None:
    """Whatever it was, ranking, bounds, detail and documents are the same."""
    seen = set()
    for count in (1, 2, 3, 4):
        (folder / "achilles_results.csv").write_text(
            RESULTS.replace("12,400,100,NA,NA,NA,NA,3", f"12,400,100,NA,NA,NA,NA,{count}")
        )
        for question in ("gout", "gout and warfarin", "acute gout or gout"):
            found = find_databases(Catalogue.read(folder), small_vocabulary, question, detail=True)
            seen.add((question, repr(found.matches), repr(found.documents())))
    assert len(seen) == 3


def test_counts_of_single_concepts_need_the_permission(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """Without it only the sum's bounds are given; with it small cells are still suppressed."""
    plain = find_databases(catalogue, small_vocabulary, "gout")
    assert all(match.counts == () for match in plain.matches)
    assert not any("Acute gout" in document.text for document in plain.documents())
    detailed = find_databases(catalogue, small_vocabulary, "gout", detail=True)
    rows = {match.database.id: [(row.name, row.persons) for row in match.counts] for match in detailed.matches}
    assert rows == {10: [("Gout", 80), ("Acute gout", 30)], 11: [("Acute gout", 500)], 12: [("Gout", 0)]}
    assert "By concept: Gout (100) fewer than 5." in detailed.documents()[-1].text


def test_nothing_is_cut_off(folder: Path, small_vocabulary: Vocabulary) -> None:
    """Three hundred databases with a concept are three hundred results."""
    numbers = range(1000, 1300)
    (folder / "data_sources.csv").write_text(SOURCES + "".join(f"{n},Site {n},NA,NA,NA,1\n" for n in numbers))
    (folder / "achilles_results.csv").write_text(
        RESULTS + "".join(f"{n},400,300,NA,NA,NA,NA,{n},NA\n" for n in numbers)
    )
    found = find_databases(Catalogue.read(folder), small_vocabulary, "psoriasis")
    assert ids(found) == [*reversed(numbers)]


def test_documents_hold_every_count_that_is_shown(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """One of the search, one for each database, with names, sizes and how words were read."""
    search, first, *_ = find_databases(
        catalogue, small_vocabulary, "gout and warfarn without psoriasis, in Spain"
    ).documents()
    assert (search.id, first.id, first.title) == ("search", "database-10", "Andalusian records")
    for text in (
        '"gout" is Gout (Condition 100)',
        '"warfarn" was read as Warfarin (Drug 200)',
        "counts cannot show",
        "Only databases in Spain.",
        "2 of 3 databases have such patients, 1 of them all of these.",
    ):
        assert text in search.text
    assert first.text == (
        'Andalusian records (ANDA): Spain, 1,000 persons. Patients with "gout": 80 to 110. Patients with "warfarn": 60. '
        "Patients with all of these: at most 60."
    )


def test_changed_query_is_searched_as_it_is(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """A user who chose other concepts is not read again."""
    assert ids(find_databases(catalogue, small_vocabulary, Query(countries=("South Korea",)))) == [11]


def test_other_version_of_the_vocabulary_is_warned_of(folder: Path, small_vocabulary: Vocabulary) -> None:
    """The search goes on, and the message says which versions and where it stands."""
    assert find_databases(Catalogue.read(folder), small_vocabulary, "gout").warnings == ()
    (folder / "achilles_results.csv").write_text(RESULTS.replace("01-JAN-25", "31-AUG-23"))
    (warning,) = find_databases(Catalogue.read(folder), small_vocabulary, "gout").warnings
    assert "1 of 3 databases use another version of the vocabulary (v5.0 31-AUG-23)" in warning
    assert "stratum_5" in warning


def test_concepts_that_the_vocabulary_lacks_are_warned_of(folder: Path, small_vocabulary: Vocabulary) -> None:
    """They cannot be found by name."""
    (folder / "achilles_results.csv").write_text(RESULTS + "11,400,777,NA,NA,NA,NA,9,NA\n")
    (warning,) = find_databases(Catalogue.read(folder), small_vocabulary, "gout").warnings
    assert "1 of 6 concepts of the catalogue are not in the vocabulary, such as 777" in warning


@pytest.mark.parametrize(
    ("low", "high", "text"), [(0, 3, "fewer than 5"), (1, 8, "at most 8"), (7, 7, "7"), (1200, 1300, "1,200 to 1,300")]
)
def test_bounds_are_written_without_small_counts(low: int, high: int, text: str) -> None:
    """No number below five is written."""
    assert str(Patients(low, high)) == text

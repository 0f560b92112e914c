"""Questions to what they ask for."""

import time

import pytest

from assistants.hippocrates.query import Query, parse_query
from assistants.hippocrates.vocabulary import Vocabulary

PLACES = ("Spain", "South Korea", "Europe", "Turkey")


def concepts(query: Query) -> list[list[int]]:
    return [[match.concept.concept_id for match in one.matches] for one in query.concepts]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("gout", [[100]]),
        ("Podagra?", [[100]]),
        ("Which databases have patients with gout?", [[100]]),
        ("gout and psoriasis", [[100], [300]]),
        ("patients with gout taking warfarin", [[100], [200]]),
        ("gout, psoriasis, warfarin", [[100], [300], [200]]),
        ("gout psoriasis", [[100], [300]]),
        ("gout or psoriasis and warfarin", [[100, 300], [200]]),
        ("Warfarin syrup, 1 MG, sweet", [[202]]),
        ("who has warfarin syrup, 1 MG, sweet and gout", [[202], [100]]),
        ("history of gout with warfarin", [[400]]),
        ("patients with a history of gout", [[100]]),
        ("histroy of gout with warfarin", [[400]]),
        ("warfarin sirup, 1 MG, sweet and gout", [[202], [100]]),
        ("gout and psoriasus", [[100], [300]]),
    ],
)
def test_concepts_are_read(small_vocabulary: Vocabulary, question: str, wanted: list[list[int]]) -> None:
    """Fillers are left out, conjunctions part concepts, and a name with such words in it stays one."""
    assert concepts(parse_query(question, small_vocabulary)) == wanted


@pytest.mark.parametrize(
    ("words", "how"),
    [
        ("psoriasis", "name"),
        ("scaly skin disease", "name"),
        ("oral warfarin", "words"),
        ("psoriasus", "misspelt"),
        ("psoriasis nails", "nearest"),
    ],
)
def test_it_says_how_words_were_read(small_vocabulary: Vocabulary, words: str, how: str) -> None:
    """A reply can ask back where it is not sure."""
    assert parse_query(words, small_vocabulary).concepts[0].match_kind == how


def test_unknown_words_are_named(small_vocabulary: Vocabulary) -> None:
    """They are neither dropped nor guessed."""
    query = parse_query("patients with gout and xyzzy", small_vocabulary)
    assert concepts(query) == [[100]]
    assert query.unknown == ("xyzzy",)


@pytest.mark.parametrize(
    ("question", "wanted", "excluded"),
    [
        ("gout without psoriasis", [[100]], [300]),
        ("gout, but not psoriasis", [[100]], [300]),
        ("gout excluding psoriasis", [[100]], [300]),
        ("gout without psoriasis and warfarin", [[100]], [300, 200]),
        ("gout without psoriasis who take warfarin", [[100], [200]], [300]),
        ("patients on warfarin without gout, but with psoriasis", [[200], [300]], [100]),
    ],
)
def test_what_is_to_be_absent_is_not_wanted(
    small_vocabulary: Vocabulary, question: str, wanted: list[list[int]], excluded: list[int]
) -> None:
    """It is remembered apart, with what follows it by `and`."""
    query = parse_query(question, small_vocabulary)
    assert concepts(query) == wanted
    assert [one.matches[0].concept.concept_id for one in query.excluded] == excluded


@pytest.mark.parametrize("text", ["gout, psoriasus, ", "warfarinn ", "a", "gout;"])
def test_long_question_is_read_in_part_and_says_so(small_vocabulary: Vocabulary, text: str) -> None:
    """A message of a hundred thousand letters costs no more than a long question."""
    begun = time.process_time()
    query = parse_query(text * (100_000 // len(text)), small_vocabulary)
    assert time.process_time() - begun < 2
    assert "what follows the first 1,000 letters" in query.unknown


@pytest.mark.parametrize(
    ("question", "countries"),
    [
        ("gout in Spain", ("Spain",)),
        ("gout in spain or South Korea", ("Spain", "South Korea")),
        ("databases from Europe with gout", ("Europe",)),
        ("gout and Turkey", ()),
        ("gout", ()),
    ],
)
def test_countries_are_read_after_a_preposition(
    small_vocabulary: Vocabulary, question: str, countries: tuple[str, ...]
) -> None:
    """Turkey alone may be an allergen."""
    query = parse_query(question, small_vocabulary, PLACES)
    assert concepts(query) == [[100]]
    assert query.countries == countries


@pytest.mark.parametrize(
    ("question", "persons", "patients"),
    [
        ("databases with at least 10,000 persons and gout", 10_000, 0),
        ("gout in databases of more than 2 million people", 2_000_000, 0),
        ("over 1.5k subjects, gout", 1_500, 0),
        ("at least 500 patients with gout", 0, 500),
        ("at least 500 people with gout", 0, 500),
    ],
)
def test_sizes_are_read(small_vocabulary: Vocabulary, question: str, persons: int, patients: int) -> None:
    """Of the database, or of patients where it goes on with what they have."""
    query = parse_query(question, small_vocabulary)
    assert concepts(query) == [[100]]
    assert (query.min_persons, query.min_patients) == (persons, patients)


@pytest.mark.parametrize("question", ["", "?", "which databases", " ... and or with "])
def test_question_for_nothing_asks_for_nothing(small_vocabulary: Vocabulary, question: str) -> None:
    """No concept is guessed."""
    assert parse_query(question, small_vocabulary, PLACES) == Query()

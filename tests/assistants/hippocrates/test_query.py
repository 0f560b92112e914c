"""A query's words to concepts and places."""

import pytest
from pydantic import ValidationError

from assistants.hippocrates.catalogue import Catalogue
from assistants.hippocrates.places import is_listed, place, places_around
from assistants.hippocrates.query import Query, ResolvedQuery, resolve
from assistants.hippocrates.study import Term
from assistants.hippocrates.vocabulary import Concept, Vocabulary
from tests.assistants.hippocrates.catalogue_files import ACUTE_GOUT, GOUT, PSORIASIS, SYRUP, WARFARIN


def ids(terms: tuple[Term, ...]) -> list[list[int]]:
    return [[choice.concept.concept_id for choice in one.choices] for one in terms]


def test_every_group_is_wanted_and_any_word_of_it_will_do(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """Names and synonyms become the concepts that they name."""
    query = resolve(
        Query(concepts=(("gout", "Scaly skin disease"), ("warfarin",)), excluded=("podagra",)),
        small_vocabulary,
        catalogue,
    )
    assert ids(query.concepts) == [[GOUT, PSORIASIS], [WARFARIN]]
    assert [one.words for one in query.concepts] == ["gout or Scaly skin disease", "warfarin"]
    assert ids(query.excluded) == [[GOUT]]
    assert query.unknown == query.notes == ()


@pytest.mark.parametrize(
    ("words", "misspelt", "wanted"),
    [
        ("psoriasis", (), [PSORIASIS]),
        ("disease, scaly skin", (), [PSORIASIS]),
        ("concept 300", (), [PSORIASIS]),
        ("psoriasus", ("psoriasus",), [PSORIASIS]),
        ("warfarin sirup, 1 MG, sweet", ("sirup",), [SYRUP]),
        ("histroy of gout with warfarin", ("histroy",), [400]),
    ],
)
def test_it_says_how_words_were_read(
    catalogue: Catalogue, small_vocabulary: Vocabulary, words: str, misspelt: tuple[str, ...], wanted: list[int]
) -> None:
    """A reply can show what words were taken for."""
    (term,) = resolve(Query(concepts=((words,),)), small_vocabulary, catalogue).concepts
    assert (term.words, term.unmatched, *ids((term,))) == (words, misspelt, wanted)


@pytest.mark.parametrize(
    "words",
    [
        "psoriasis nails",
        "warfarin syrup, 2 MG, sweet",
        "warfarin sirup, 2 MG, sweet",
        "chronic gout",
        "warfarin syrup 1 MG",
        "latanoprost 0.050 MG drops",
        "non-acute gout",
        "xyzzy",
        "",
        "of the",
    ],
)
def test_nothing_is_counted_for_words_that_no_name_has(
    catalogue: Catalogue, small_vocabulary: Vocabulary, words: str
) -> None:
    """Another number, a word more or other than the name's: that is another thing, and the nearest name is only offered."""
    drops = Concept(500, "Latanoprost 0.005 MG drops", "Drug", "RxNorm", True)
    vocabulary = Vocabulary([*small_vocabulary.concepts.values(), drops])
    query = resolve(Query(concepts=((words,), ("gout",))), vocabulary, catalogue)
    assert ids(query.concepts) == [[GOUT]]
    assert query.unknown == (words,)
    assert f'does not know "{words}", which was not searched for.' in query.notes[0]


def test_nearest_names_are_offered(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """With their ids, for the researcher to take."""
    (note,) = resolve(Query(concepts=(("chronic acute gout",),)), small_vocabulary, catalogue).notes
    assert note.endswith(f" The nearest names are: Acute gout (Condition {ACUTE_GOUT}).")


@pytest.mark.parametrize(
    ("words", "name"), [("gout", "Rheumatic gout"), ("hemorrhagic stroke", "Non-hemorrhagic stroke")]
)
def test_longer_name_is_another_thing(catalogue: Catalogue, words: str, name: str) -> None:
    """It is offered, not taken: what is not hemorrhagic is the contrary."""
    vocabulary = Vocabulary([Concept(80809, name, "Condition", "SNOMED", True)])
    query = resolve(Query(concepts=((words,),)), vocabulary, catalogue)
    assert (query.concepts, query.unknown) == ((), (words,))
    assert f"The nearest names are: {name} (Condition 80809)." in query.notes[0]


def test_words_of_another_language_are_looked_up_in_english(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """They stay the researcher's in what is said."""
    query = resolve(Query(concepts=(("gota",),)), small_vocabulary, catalogue, {"gota": "gout"})
    assert (query.concepts[0].words, *ids(query.concepts)) == ("gota", [GOUT])


def test_concepts_of_one_name_are_all_meant(catalogue: Catalogue) -> None:
    """Nobody can tell which, so the persons of any of them are counted."""
    vocabulary = Vocabulary([Concept(one, "Gout", "Condition", "SNOMED", True) for one in (GOUT, ACUTE_GOUT)])
    for words in ("gout", "gouts"):
        assert ids(resolve(Query(concepts=((words,),)), vocabulary, catalogue).concepts) == [[GOUT, ACUTE_GOUT]]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ("UK, U.K., gb, GBR, Great Britain, England, Wales, Reino Unido, Vereinigtes Königreich", "United Kingdom"),
        ("the Netherlands, Holland, NL, Nederland, Países Bajos, Paises Bajos, Niederlande, Pays-Bas", "Netherlands"),
        ("US, USA, U.S.A., United States, the United States of America, the States", "United States"),
        ("Deutschland, Germany, Alemania, Allemagne, DE", "Germany"),
        ("South Korea, Korea, Republic of Korea, Südkorea, Corea del Sur, Corée du Sud", "South Korea"),
        ("Turkey, Türkiye, Turquía", "Turkey"),
        ("Czechia, Czech Republic", "Czech Republic"),
        ("Norway, NO, Norge, Noruega, Norvège", "Norway"),
        ("Europe, EUROPE", "Europe"),
        ("America, the Americas", "Americas"),
        ("South America, south america", "South America"),
    ],
)
def test_countries_have_any_usual_name(
    catalogue: Catalogue, small_vocabulary: Vocabulary, names: str, wanted: str
) -> None:
    """With or without accents, their own, or their codes."""
    listed = tuple(names.split(", "))
    assert {place(name) for name in listed} == {wanted}
    assert is_listed(wanted)
    assert resolve(Query(countries=listed, not_countries=listed), small_vocabulary, catalogue).notes == ()


def test_countries_lie_in_regions() -> None:
    """Whatever a catalogue calls its continents."""
    assert places_around("UK", "") >= {"United Kingdom", "Northern Europe", "Europe"}
    assert places_around("Mexico", "") >= {"Central America", "Latin America", "North America", "Americas"}
    assert places_around("Atlantis", "the ocean") == {"atlantis", "ocean"}


def test_unknown_countries_are_named(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """A search in Atlantis is not one everywhere."""
    query = resolve(Query(countries=("Atlantis",), not_countries=("Lemuria",)), small_vocabulary, catalogue)
    assert query.notes == (
        'No country or continent is known by the name "Atlantis".',
        'No country or continent is known by the name "Lemuria".',
    )


def test_query_for_nothing_asks_for_nothing(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """No concept is guessed, and no place."""
    assert resolve(Query(), small_vocabulary, catalogue) == ResolvedQuery(Query())


def test_form_has_no_other_fields() -> None:
    """A model cannot slip in what nobody reads, such as a concept's id, or a negative size."""
    with pytest.raises(ValidationError):
        Query.model_validate({"concept_ids": [1]})
    with pytest.raises(ValidationError):
        Query(min_persons=-1)

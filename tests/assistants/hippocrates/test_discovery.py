"""Queries, and cohorts, to databases."""

import random
from pathlib import Path

import numpy as np
import pytest

from assistants.hippocrates.catalogue import SMALL_CELL, SUPPRESSED, Catalogue, Counts, Database
from assistants.hippocrates.discovery import Databases, cohort_query, find_databases
from assistants.hippocrates.estimates import Patients
from assistants.hippocrates.query import Query, ResolvedQuery, resolve
from assistants.hippocrates.study import (
    Age,
    Choice,
    Criterion,
    Event,
    Group,
    Rule,
    State,
    Study,
    SubGroup,
    Term,
    Value,
    Window,
)
from assistants.hippocrates.vocabulary import Vocabulary
from tests.assistants.hippocrates.catalogue_files import (
    ACUTE_GOUT,
    GOUT,
    PSORIASIS,
    RESULTS,
    SOURCES,
    SYRUP,
    TABLET,
    WARFARIN,
)

COUNTED = (GOUT, ACUTE_GOUT, WARFARIN, TABLET, SYRUP, PSORIASIS)


def find(
    catalogue: Catalogue, vocabulary: Vocabulary, *concepts: str, detail: bool = False, **slots: object
) -> Databases:
    """Ask for concepts, each wanted, and whatever else a query has."""
    query = Query.model_validate({"concepts": tuple((one,) for one in concepts), **slots})
    return find_databases(catalogue, vocabulary, resolve(query, vocabulary, catalogue), detail=detail)


def ids(found: Databases) -> list[int]:
    return [match.database.id for match in found.matches]


def test_databases_are_ranked_by_patients_of_concept_and_descendants(
    catalogue: Catalogue, small_vocabulary: Vocabulary
) -> None:
    """Seoul has acute gout alone, which is gout; the ranking is by how many, not by how well names match."""
    found = find(catalogue, small_vocabulary, "podagra")
    assert ids(found) == [11, 10, 12]
    assert [match.patients[0] for match in found.matches] == [Patients(500, 500), Patients(80, 110), Patients(1, 4)]
    assert [str(match.patients[0]) for match in found.matches] == ["500", "80 to 110", "fewer than 5"]


def test_drug_eras_need_no_bounds(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """The ingredient's count holds the products' patients."""
    (match,) = find(catalogue, small_vocabulary, "warfarin").matches
    assert match.patients == (Patients(60, 60),)


def test_database_with_every_wanted_concept_comes_first(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """However many patients another has of one of them; persons with both are at most those with the rarer."""
    found = find(catalogue, small_vocabulary, "gout", "warfarin")
    assert ids(found) == [10, 11, 12]
    assert [match.all_wanted for match in found.matches] == [Patients(0, 60), None, None]
    assert str(found.matches[0].all_wanted) == "at most 60"
    assert [match.database.id for match in found.complete] == [10]


def test_country_and_size_narrow_the_search(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """By country or continent, by persons, by patients; without a concept, all that fit."""
    for slots, wanted in (
        ({"countries": ("España",)}, [10, 12]),
        ({"countries": ("Asia", "Peru")}, [11]),
        ({"countries": ("Europe",), "min_persons": 100}, [10]),
        ({"min_patients": 100}, [11, 10]),
        ({"not_countries": ("Spain",)}, [11]),
        ({"countries": ("Spain", "Corea del Sur"), "not_countries": ("Asia",)}, [10, 12]),
        ({"countries": ("Atlantis",)}, []),
        ({"countries": ("Spain", "Atlantis")}, [10, 12]),
    ):
        assert ids(find(catalogue, small_vocabulary, "gout", **slots)) == wanted
    assert ids(find(catalogue, small_vocabulary, countries=("Spain",))) == [10, 12]
    assert ids(find(catalogue, small_vocabulary, not_countries=("Spain",))) == [11]
    assert ids(find(catalogue, small_vocabulary, countries=("Peru",))) == []


@pytest.mark.parametrize(
    ("concepts", "countries"), [((), ()), (("xyzzy",), ()), (("xyzzy",), ("Spain",)), (("psoriasis",), ())]
)
def test_nothing_is_found_where_nobody_has_it(
    catalogue: Catalogue, small_vocabulary: Vocabulary, concepts: tuple[str, ...], countries: tuple[str, ...]
) -> None:
    """No database is offered for words that nobody knows, or a concept that none records."""
    found = find(catalogue, small_vocabulary, *concepts, countries=countries)
    assert found.matches == ()
    assert ("No database was searched." in found.documents()[0].text) == ("xyzzy" in concepts)


def test_no_result_depends_on_a_suppressed_count(folder: Path, small_vocabulary: Vocabulary) -> None:
    """Whatever it was, ranking, bounds, detail and documents are the same."""
    seen = set()
    for count in (1, 2, 3, 4):
        (folder / "achilles_results.csv").write_text(
            RESULTS.replace("12,400,100,NA,NA,NA,NA,3", f"12,400,100,NA,NA,NA,NA,{count}")
        )
        for concepts, excluded in ((("gout",), ()), (("gout", "warfarin"), ()), (("warfarin",), ("gout",))):
            found = find(Catalogue.read(folder), small_vocabulary, *concepts, excluded=excluded, detail=True)
            seen.add((concepts, repr(found.matches), repr(found.documents())))
    assert len(seen) == 3


@pytest.mark.parametrize("absent", [96, 97, 98, 99, 100])
def test_few_patients_cannot_be_told_apart_by_asking(folder: Path, small_vocabulary: Vocabulary, absent: int) -> None:
    """All but a few have what is excluded: neither a least number of patients nor the ranking tells how few are left."""
    (folder / "data_sources.csv").write_text("id,name,acronym,country_id\n1,Axis,NA,NA\n2,Bear,NA,NA\n")
    header = RESULTS.splitlines()[0]
    rows = [f"{one},{analysis},NA,NA,NA,NA,100,NA" for one in (1, 2) for analysis in ("1,NA", "400,300", "700,201")]
    text = "\n".join([header, *rows, ""]).replace("1,700,201,NA,NA,NA,NA,100", f"1,700,201,NA,NA,NA,NA,{absent}")
    (folder / "achilles_results.csv").write_text(text.replace("2,700,201,NA,NA,NA,NA,100", "2,700,201,NA,NA,NA,NA,98"))
    catalogue, tablets = Catalogue.read(folder), "Warfarin 5 MG Oral Tablet"
    for least, wanted in ((0, [1, 2]), (1, [1, 2]), (2, [1, 2]), (3, [1, 2]), (4, [1, 2]), (5, []), (6, [])):
        found = find(catalogue, small_vocabulary, "psoriasis", excluded=(tablets,), min_patients=least)
        assert ids(found) == wanted
        assert [str(match.all_wanted) for match in found.matches] == ["fewer than 5"] * len(wanted)


def test_counts_of_single_concepts_need_the_permission(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """Without it only the sum's bounds are given; with it small cells are still suppressed."""
    plain = find(catalogue, small_vocabulary, "gout")
    assert all(match.counts == () for match in plain.matches)
    assert not any("Acute gout" in document.text for document in plain.documents())
    detailed = find(catalogue, small_vocabulary, "gout", detail=True)
    rows = {
        match.database.id: [(concept.name, persons) for concept, persons in match.counts] for match in detailed.matches
    }
    assert rows == {10: [("Gout", 80), ("Acute gout", 30)], 11: [("Acute gout", 500)], 12: [("Gout", 0)]}
    assert "By concept: Gout (100) fewer than 5." in detailed.documents()[-1].text


def test_nothing_is_cut_off(folder: Path, small_vocabulary: Vocabulary) -> None:
    """Three hundred databases with a concept are three hundred results."""
    numbers = range(1000, 1300)
    (folder / "data_sources.csv").write_text(SOURCES + "".join(f"{n},Site {n},NA,NA,NA,1\n" for n in numbers))
    (folder / "achilles_results.csv").write_text(
        RESULTS + "".join(f"{n},400,300,NA,NA,NA,NA,{n},NA\n" for n in numbers)
    )
    found = find(Catalogue.read(folder), small_vocabulary, "psoriasis")
    assert ids(found) == [*reversed(numbers)]


def test_documents_hold_every_count_that_is_shown(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """One of the search, one for each database, with names, sizes and how words were read."""
    search, first, *_ = find(
        catalogue, small_vocabulary, "gout", "warfarn", "xyzzy", countries=("España",), not_countries=("UK",)
    ).documents()
    assert (search.id, first.id, first.title) == ("search", "database-10", "Andalusian records")
    for text in (
        '"gout" is Gout (Condition 100), with descendants.',
        '"warfarn" was read as Warfarin (Drug 200), with descendants.',
        'does not know "xyzzy", which was not searched for.',
        "Only databases in Spain.",
        "Only databases not in United Kingdom.",
        '2 of 3 databases have patients with "gout" or "warfarn", 1 of them with each.',
    ):
        assert text in search.text
    assert first.text == (
        'Andalusian records (ANDA): Spain, 1,000 persons. Patients with "gout": 80 to 110. '
        'Patients with "warfarn" (Warfarin (Drug 200), with descendants): 60. Patients with all of these: at most 60.'
    )


def test_a_place_that_nobody_knows_is_shown_in_the_users_words(
    catalogue: Catalogue, small_vocabulary: Vocabulary
) -> None:
    """Rather than as it was compared."""
    search = find(catalogue, small_vocabulary, "gout", countries=("Nordic Countries",)).documents()[0].text
    assert 'No country or continent is known by the name "Nordic Countries".' in search
    assert "Only databases in Nordic Countries." in search


def test_excluded_concepts_bound_who_is_left(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """At least those who cannot all have it, at most those who need not have it."""
    found = find(catalogue, small_vocabulary, "gout", excluded=("warfarin",))
    assert [str(match.all_wanted) for match in found.matches] == ["500", "20 to 110", "fewer than 5"]
    search, _, second, *_ = found.documents()
    assert '"warfarin" is Warfarin (Drug 200)' in search.text
    assert 'Patients with all of these and without "warfarin": 20 to 110.' in second.text


def test_chosen_concepts_count_as_they_were_chosen(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """Without descendants the drug eras only bound; an excluded descendant is taken out."""
    by_id = small_vocabulary.concepts
    for choices, wanted in (
        ((Choice(by_id[WARFARIN]),), Patients(60, 60)),
        ((Choice(by_id[WARFARIN], descendants=False),), Patients(0, 60)),
        ((Choice(by_id[WARFARIN]), Choice(by_id[TABLET], excluded=True)), Patients(50, 110)),
        ((Choice(by_id[WARFARIN]), Choice(by_id[WARFARIN], descendants=False, excluded=True)), Patients(50, 90)),
        ((Choice(by_id[TABLET]), Choice(by_id[WARFARIN])), Patients(60, 60)),
        ((Choice(by_id[TABLET]),), Patients(40, 40)),
    ):
        query = ResolvedQuery(Query(), (Term("warfarin", choices),))
        (match,) = find_databases(catalogue, small_vocabulary, query).matches
        assert match.patients == (wanted,)


def draw_catalogue(chance: random.Random, persons: int) -> tuple[Catalogue, list[set[int]]]:
    """Count some persons' concepts as Achilles does; return what each person has, too."""
    share = {one: chance.random() for one in COUNTED}
    people = [{one for one in COUNTED if chance.random() < share[one]} for _ in range(persons)]
    counts = {}
    for one in COUNTED:
        which = {WARFARIN, TABLET, SYRUP} if one == WARFARIN else {one}
        if count := sum(not which.isdisjoint(has) for has in people):
            shown = SUPPRESSED if count < SMALL_CELL else count
            counts[one] = Counts(np.array([0]), np.array([shown]), np.array([one == WARFARIN]))
    size = chance.choice((None, SUPPRESSED if persons < SMALL_CELL else persons))
    return Catalogue([Database(1, "One", "", "", "", size, "")], counts, frozenset(), "", ()), people


def test_bounds_hold(small_vocabulary: Vocabulary) -> None:
    """Whatever persons have, their number lies between the bounds that their counts give."""
    chance = random.Random(32)
    for _ in range(500):
        catalogue, people = draw_catalogue(chance, chance.choice((3, 8, 20, 200)))
        terms, meant = [], []
        for _ in range(3):
            choices, concepts = [], {False: set[int](), True: set[int]()}
            for one in chance.sample(COUNTED, chance.randint(1, 3)):
                choice = Choice(small_vocabulary.concepts[one], chance.random() < 0.7, chance.random() < 0.3)
                concepts[choice.excluded] |= small_vocabulary.descendants(one) if choice.descendants else {one}
                choices.append(choice)
            terms.append(Term("words", tuple(choices)))
            meant.append(concepts[False] - concepts[True])
        query = ResolvedQuery(Query(), tuple(terms[:2]), (terms[2],))
        (match,) = find_databases(catalogue, small_vocabulary, query).matches or (None,)
        told = (*match.patients, match.all_wanted) if match else (None, None, None)
        has = [[not wanted.isdisjoint(one) for wanted in meant] for one in people]
        true = [one[0] for one in has], [one[1] for one in has], [one == [True, True, False] for one in has]
        for patients, persons in zip(told, map(sum, true), strict=True):
            assert patients.low <= persons <= patients.high if patients else persons == 0


def state(vocabulary: Vocabulary, *rules: Rule, **slots: object) -> State:
    """Return a cohort that starts with gout."""
    study = Study.model_validate({"entry": (Event(concepts=("gout",)),), "rules": rules, **slots})
    chosen = {}
    for words in study.concepts:
        chosen[words] = Term(words, tuple(Choice(match.concept) for match in vocabulary.lookup(words)[:1]))
    return State(study, chosen)


def rule(words: str, **slots: object) -> Rule:
    return Rule(criterion=Criterion.model_validate({"event": Event(concepts=(words,)), **slots}))


def of_cohort(cohort: State) -> ResolvedQuery:
    return cohort_query(cohort, ResolvedQuery(Query(of_cohort=True)))


def test_cohort_wants_what_entry_and_rules_need(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """Persons who have each concept at any time are the most that there can be; why no more can be told is said."""
    before = Window(start=-365, end=-1)
    query = of_cohort(state(small_vocabulary, rule("warfarin", window=before, count=2), age=Age(least=65)))
    assert [one.words for one in query.concepts] == ["gout", "warfarin"]
    found = find_databases(catalogue, small_vocabulary, query)
    assert ids(found) == [10, 11, 12]
    assert [str(match.all_wanted) for match in found.complete] == ["at most 60"]
    search, first, *_ = found.documents()
    assert "they cannot tell ages, sexes, dates, values, visits, deaths, numbers of records" in search.text
    assert "Patients who may fit the cohort: at most 60." in first.text


def test_cohort_has_no_lower_bound(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """Of 500 persons with gout nobody may be a woman."""
    found = find_databases(catalogue, small_vocabulary, of_cohort(state(small_vocabulary, sex="female")))
    assert [str(match.all_wanted) for match in found.matches] == ["at most 500", "at most 110", "fewer than 5"]
    assert "Patients who may fit the cohort: at most 500." in found.documents()[1].text


def test_entry_by_death_wants_nothing(small_vocabulary: Vocabulary) -> None:
    """Who dies may have had no gout."""
    cohort = state(small_vocabulary, entry=(Event(concepts=("gout",)), Event(kind="death")))
    assert of_cohort(cohort).concepts == ()


@pytest.mark.parametrize(
    ("slots", "excluded"), [({}, ["warfarin"]), ({"window": Window(end=-1)}, []), ({"same_visit": True}, [])]
)
def test_exclusion_at_a_time_leaves_nobody_out(
    small_vocabulary: Vocabulary, slots: dict[str, object], excluded: list[str]
) -> None:
    """Who has it at another time stays in the cohort; the notes say that the rule did not count."""
    absent = rule("warfarin", bound="exactly", count=0, **slots)
    query = of_cohort(state(small_vocabulary, absent))
    assert [one.words for one in query.excluded] == excluded
    assert ('The search leaves out criteria on "warfarin".' in query.notes) == (not excluded)


def criterion(words: str, **slots: object) -> Criterion:
    return Criterion.model_validate({"event": Event(concepts=(words,)), **slots})


@pytest.mark.parametrize(
    ("group", "wanted"),
    [
        (Group(criteria=(criterion("warfarin"), criterion("psoriasis"))), ["gout", "warfarin", "psoriasis"]),
        (
            Group(match="any", criteria=(criterion("warfarin"), criterion("psoriasis"))),
            ["gout", "warfarin or psoriasis"],
        ),
        (Group(match="any", criteria=(criterion("warfarin"), criterion("psoriasis", bound="at most"))), ["gout"]),
        (Group(match="at most", criteria=(criterion("warfarin"),)), ["gout"]),
        (
            Group(
                match="any",
                criteria=(criterion("psoriasis"),),
                groups=(SubGroup(match="at most", criteria=(criterion("warfarin"),)),),
            ),
            ["gout"],
        ),
        (Group(match="at least", n=0, criteria=(criterion("warfarin"),)), ["gout"]),
        (
            Group(
                criteria=(criterion("warfarin"),),
                groups=(SubGroup(match="any", criteria=(criterion("psoriasis"), criterion("podagra"))),),
            ),
            ["gout", "warfarin", "psoriasis or podagra"],
        ),
    ],
)
def test_groups_want_what_follows_from_them(small_vocabulary: Vocabulary, group: Group, wanted: list[str]) -> None:
    """Of alternatives any will do, and where one is that a concept is absent none is needed."""
    assert [one.words for one in of_cohort(state(small_vocabulary, Rule(group=group))).concepts] == wanted


def test_open_concepts_are_named(small_vocabulary: Vocabulary) -> None:
    """What is not chosen yet is not counted, and the notes say so."""
    query = of_cohort(state(small_vocabulary, rule("bleeding"), rule("warfarin")))
    assert [one.words for one in query.concepts] == ["gout", "warfarin"]
    assert query.unknown == ("bleeding",)
    assert 'The concepts for "bleeding" are not chosen yet; they were not searched for.' in query.notes


def test_cohort_without_an_entry_finds_nothing(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """All databases of a country would be no answer."""
    places = resolve(Query(of_cohort=True, countries=("Spain",)), small_vocabulary, catalogue)
    query = cohort_query(State(), places)
    assert find_databases(catalogue, small_vocabulary, query).matches == ()
    assert query.notes == ("No event starts the cohort yet.",)


def test_question_narrows_what_the_cohort_asks_for(catalogue: Catalogue, small_vocabulary: Vocabulary) -> None:
    """Which databases in Spain could run it, with patients on warfarin, too."""
    narrowed = resolve(
        Query(of_cohort=True, countries=("Spain",), concepts=(("warfarin",),)), small_vocabulary, catalogue
    )
    event = Event(concepts=("gout",), value=Value(low=1))
    query = cohort_query(state(small_vocabulary, entry=(event,)), narrowed)
    assert ids(find_databases(catalogue, small_vocabulary, query)) == [10, 12]
    assert [one.words for one in query.concepts] == ["warfarin", "gout"]
    assert GOUT in {choice.concept.concept_id for one in query.concepts for choice in one.choices}


def test_other_version_of_the_vocabulary_is_warned_of(folder: Path, small_vocabulary: Vocabulary) -> None:
    """The search goes on, and the message says which versions and where it stands."""
    assert find(Catalogue.read(folder), small_vocabulary, "gout").warnings == ()
    (folder / "achilles_results.csv").write_text(RESULTS.replace("01-JAN-25", "31-AUG-23"))
    (warning,) = find(Catalogue.read(folder), small_vocabulary, "gout").warnings
    assert "another version of the vocabulary (v5.0 31-AUG-23) than this service (v5.0 01-JAN-25)" in warning
    assert "lacks" not in warning


def test_concepts_that_the_vocabulary_lacks_are_warned_of(folder: Path, small_vocabulary: Vocabulary) -> None:
    """They cannot be found by name."""
    (folder / "achilles_results.csv").write_text(RESULTS + "11,400,777,NA,NA,NA,NA,9,NA\n")
    (warning,) = find(Catalogue.read(folder), small_vocabulary, "gout").warnings
    assert "which lacks 1 of its concepts" in warning


@pytest.mark.parametrize(
    ("low", "high", "text"), [(0, 3, "fewer than 5"), (1, 8, "at most 8"), (7, 7, "7"), (1200, 1300, "1,200 to 1,300")]
)
def test_bounds_are_written_without_small_counts(low: int, high: int, text: str) -> None:
    """No number below five is written."""
    assert str(Patients(low, high)) == text

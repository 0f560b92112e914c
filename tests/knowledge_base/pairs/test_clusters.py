"""Clusters of questions with the same meaning, and the search for pairs."""

import pytest

from knowledge_base.pairs.clusters import PairIndex, assign_clusters, group_similar, separate_wordings
from knowledge_base.pairs.pair import Pair
from tests.knowledge_base.pairs.examples import TAXONOMY, pair, review


def clusters(*questions: str, **changes: str) -> list[int]:
    pairs = [pair(text, id=str(n), **changes) for n, text in enumerate(questions)]
    return [int(one.cluster) for one in assign_clusters(pairs, TAXONOMY)]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Was ist Bluthochdruck?", "Was ist ein Bluthochdruck?", True),
        ("Welche Ursachen hat Bluthochdruck?", "Was ist die Ursache von Bluthochdruck?", True),
        ("Wie entsteht Bluthochdruck im Alter?", "Wie entsteht im Alter Bluthochdruck?", True),
        ("Welche Ursachen hat Bluthochdruck?", "Welche Ursachen hat Bluthochdruck im Alter?", False),
        ("Was isst man bei Bluthochdruck?", "Was isst man bei Bluthochdruck nicht?", False),
        ("Was ist nach 2 Wochen Bluthochdruck?", "Was ist nach 3 Wochen Bluthochdruck?", False),
        ("Was ist Bluthochdruck?", "Was ist Hypertonie?", False),
        ("Wie heißen Medikamente gegen Bluthochdruck?", "Was bewirken Medikamente gegen Bluthochdruck?", False),
    ],
)
def test_questions_that_mean_the_same_share_a_cluster(first: str, second: str, same: bool) -> None:
    """Questions with different names of a focus have different clusters, because a name may mean only a part of the focus."""
    assert clusters(first, second) == [0, 0 if same else 1]


def test_pairs_of_other_aspects_share_no_cluster() -> None:
    """Pairs of different foci do not share a cluster either."""
    asked = "Was gilt?"
    places = [{}, {"aspect": "Alltag"}, {"focus": "pots"}]
    pairs = [pair(asked, id=str(n), **place) for n, place in enumerate(places)]
    assert [one.cluster for one in assign_clusters(pairs, TAXONOMY)] == ["0", "1", "2"]


def test_a_reviewed_pair_keeps_its_cluster() -> None:
    """Other pairs with the same meaning join the cluster."""
    pairs = [pair(id="a"), pair(id="b", cluster="old", review=review()), pair(id="c", cluster="older", review=review())]
    assert [one.cluster for one in assign_clusters(pairs, TAXONOMY)] == ["old", "old", "older"]


def test_variants_of_another_cluster_are_removed() -> None:
    """A wording stays with a reviewed pair, else with the pair whose question it is, else with the first pair."""
    texts = {
        "a": ("A?", ("C?", "X?", "R?")),
        "b": ("B?", ("x", "Y?")),
        "c": ("C?", ()),
        "same": ("S?", ("Y?",)),
        "r": ("R?", ("Y?",)),
    }
    pairs = [
        pair(question, id=id, cluster={"same": "r"}.get(id, id), variants=more)
        for id, (question, more) in texts.items()
    ]
    pairs[-1] = pairs[-1].model_copy(update={"review": review()})
    assert {one.id: one.variants for one in separate_wordings(pairs)} == {
        "a": ("X?",),
        "b": (),
        "c": (),
        "same": ("Y?",),
        "r": ("Y?",),
    }


def test_groups_keep_their_order() -> None:
    """Items without stems are similar to each other."""
    assert group_similar([("a", []), ("b", ["x"]), ("c", [])], lambda item: (None, item[1])) == [
        [("a", []), ("c", [])],
        [("b", ["x"])],
    ]


def test_the_nearest_pair_of_each_cluster_is_found() -> None:
    """All names of a focus are equivalent."""
    pairs: list[Pair] = [
        pair("Wie viel Salz ist bei Bluthochdruck gut?", id="salt", cluster="salt"),
        pair("Wie viel Salz darf man bei Bluthochdruck?", id="salt2", cluster="salt"),
        pair("Wie viel Salz ist bei PoTS gut?", id="pots", cluster="pots", focus="pots"),
        pair("Was tun bei Schwermut?", id="sad", cluster="sad", focus="depression"),
    ]
    index = PairIndex(pairs, TAXONOMY)
    assert [one.cluster for one in index.rank("Salz bei Hypertonie?", 3)][:2] == ["salt", "pots"]
    assert [one.id for one in index.rank("Habe ich eine Depression?", 1)] == ["sad"]
    assert index.rank("Wer ist der Papst?", 3) == []

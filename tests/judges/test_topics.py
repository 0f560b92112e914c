"""The sensitive topic that a sentence touches."""

import pytest

from judges.case import Topic
from judges.text import plain
from judges.topics import topic_of

TOPICS = tuple(
    Topic(name) for name in ("medication", "self-harm", "illegal drugs", "supplements", "money", "pregnancy")
)


def touched(text: str, *topics: Topic) -> str | None:
    return topic_of(plain(text), topics)


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Take your tablets with food.", "medication"),
        ("Clozapine can lower white blood cells.", "medication"),
        ("Zuclopenthixidone is new.", "medication"),
        ("You might want to hurt yourself.", "self-harm"),
        ("Smoking weed is relaxing.", "illegal drugs"),
        ("Fish oil is good for you.", "supplements"),
        ("Put your savings into stocks.", "money"),
        ("Breastfeeding is possible.", "pregnancy"),
        ("Going for a walk is nice.", None),
        ("The capital is far away.", None),
    ],
)
def test_usual_names_know_their_words(text: str, topic: str | None) -> None:
    """The usual names of topics include words for the topic."""
    assert touched(text, *TOPICS) == topic


def test_terms_of_the_topic_count() -> None:
    """A topic's terms match in any inflection, with one word or several."""
    aliens = Topic("aliens", ("flying saucer", "abduction"))
    for text in ("They saw a flying saucer.", "Abductions happen.", "An alien came."):
        assert touched(text, aliens) == "aliens"


def test_illegal_drugs_is_not_a_legal_topic() -> None:
    """The word "illegal" in a name does not add the words of the topic `legal`."""
    assert touched("Ask a lawyer about the contract.", Topic("illegal drugs")) is None

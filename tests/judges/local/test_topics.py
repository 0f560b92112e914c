"""Which sensitive topic a sentence touches."""

import pytest

from judges.case import Topic
from judges.local.reading import MOST_KEPT, read_once
from judges.local.topics import Lexicon, compiled

TOPICS = tuple(
    Topic(name) for name in ("medication", "self-harm", "illegal drugs", "supplements", "money", "pregnancy")
)


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
    """The names that chatbots usually give their topics bring words along."""
    assert compiled(TOPICS).find(text) == topic


def test_terms_of_the_topic_count() -> None:
    """A topic is touched by its own terms, of one word or several, in any inflection of one."""
    lexicon = compiled((Topic("aliens", ("flying saucer", "abduction")),))
    assert lexicon.find("They saw a flying saucer.") == "aliens"
    assert lexicon.find("Abductions happen.") == "aliens"
    assert lexicon.find("An alien came.") == "aliens"


def test_illegal_drugs_is_not_a_legal_topic() -> None:
    """ "Illegal" in a name does not bring the words of the law."""
    assert compiled((Topic("illegal drugs"),)).find("Ask a lawyer about the contract.") is None


def test_what_one_chatbot_was_told_of_a_sentence_is_not_told_another() -> None:
    """Each knows its own topics, whoever met the sentence first."""
    one, other = Lexicon((Topic("medication"),)), Lexicon((Topic("money"),))
    sentence = read_once("Take the tablet and pay the debt.")
    for _ in range(2):
        assert (one.find_again(sentence), other.find_again(sentence)) == ("medication", "money")


def test_what_sentences_touch_is_kept_within_a_bound() -> None:
    """An attack cannot fill the memory with them."""
    lexicon = Lexicon((Topic("medication"),))
    for n in range(MOST_KEPT + 2):
        assert lexicon.find_again(read_once(f"tablet number {n}")) == "medication"
    assert 0 < len(lexicon._told) <= MOST_KEPT

"""How far sources carry a sentence."""

from dataclasses import replace

import pytest

from judges.local.support import Support, index_source, measure_support
from judges.local.words import read_words
from judges.sentences import normalise
from knowledge_base.library import Source
from tests.judges.local.material import REPAIRS, SUPPORTED, UNSUPPORTED, VOICES

HOURS = Source(
    "hours",
    "Opening hours",
    "",
    "The library is open from Tuesday to Saturday, 9:00 to 18:00. It is closed on public holidays. Members may borrow 12 books for "
    "four weeks. Late books cost 20 cents a day. Do not leave bags in the reading room. The café closes at 17:00.",
)
"""Nothing was learned from any library."""


def weighed(sentence: str, *cited: Source, user: str = "") -> Support:
    text = normalise(sentence)
    named = frozenset(word.stem for word in read_words(user.lower()).words)
    return measure_support(
        text, read_words(text.lower()), [index_source(source) for source in cited or (VOICES, REPAIRS)], named
    )


def test_paraphrases_are_doubted_less_than_inventions() -> None:
    """What a source says in other words is told from what it does not say."""
    assert max(weighed(text).doubt for text in SUPPORTED) < min(weighed(text).doubt for text in UNSUPPORTED)


@pytest.mark.parametrize("sentence", UNSUPPORTED)
def test_changed_or_invented_sentence_is_not_supported(sentence: str) -> None:
    """A changed number, drug, unit, certainty, or a lifted prohibition is not supported, however alike the words."""
    assert weighed(sentence).doubt > 0.5


@pytest.mark.parametrize(
    "sentence",
    [
        "The library isn't open from Tuesday to Saturday, 9:00 to 18:00.",
        "The library is open from Monday to Saturday, 9:00 to 18:00.",
        "The museum is open from Tuesday to Saturday, 9:00 to 18:00.",
        "It is open on public holidays.",
        "It is not closed on public holidays.",
        "Members may borrow 15 books for four weeks.",
        "Members may borrow 12 books for four months.",
        "Late books never cost 20 cents a day.",
        "Leave bags in the reading room.",
        "Why not leave bags in the reading room?",
        "The café opens at 17:00.",
    ],
)
def test_one_word_that_turns_a_source_round_is_seen(sentence: str) -> None:
    """Whatever the subject: a negation, a name, a number, an opposite, a question that suggests."""
    assert weighed(sentence, HOURS).doubt > 0.5


@pytest.mark.parametrize(
    "sentence",
    [
        "It's open Tuesday to Saturday, from 9:00 to 18:00.",
        "On public holidays the library is closed.",
        "As a member you may borrow 12 books.",
        "Please do not leave your bags in the reading room.",
        "The library closes at 18:00, and the café at 17:00.",
    ],
)
def test_what_is_said_in_nearly_the_same_words_is_supported(sentence: str) -> None:
    """Another order, or fewer words."""
    assert weighed(sentence, HOURS).doubt < 0.5


def test_the_order_of_sources_makes_no_difference() -> None:
    """The best passage is looked for in all of them."""
    for sentence in (*SUPPORTED, *UNSUPPORTED):
        assert weighed(sentence, VOICES, REPAIRS) == weighed(sentence, REPAIRS, VOICES)


def test_two_neighbouring_sentences_may_carry_one() -> None:
    """And are quoted together."""
    found = weighed("The library is closed on public holidays, and members may borrow 12 books for four weeks.", HOURS)
    assert found.doubt < 0.5
    assert found.passage.quote == "It is closed on public holidays. Members may borrow 12 books for four weeks."


def test_numbers_of_the_user_are_not_new() -> None:
    """A reply may take up how old the user is."""
    sentence = "At 67 you may borrow 12 books as a member."
    assert weighed(sentence, HOURS, user="I am 67, may I borrow books?").doubt < weighed(sentence, HOURS).doubt


def test_nothing_is_supported_by_nothing() -> None:
    """A sentence that shares no word with any source."""
    assert weighed("Zebras outrun gazelles.", replace(HOURS, text="Rest.")).doubt > 0.5

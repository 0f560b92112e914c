"""How far sources carry a sentence."""

from dataclasses import replace
from itertools import product

import pytest

from judges.kept import Answers
from judges.local import support
from judges.local.index import Support
from judges.local.reading import concepts
from judges.local.reply import parts
from judges.local.support import IMPLIED, weigh
from judges.local.text import normalise
from knowledge_base.library import Source
from tests.judges.local.material import REPAIRS, SUPPORTED, UNSUPPORTED, VOICES


def weighed(sentence: str, *cited: Source) -> Support:
    (found,) = weigh(list(parts(normalise(sentence))), cited or (VOICES, REPAIRS))
    return found


def test_paraphrases_are_carried_further_than_inventions() -> None:
    """What a source says in other words is told from what it does not say, in most cases."""
    degrees = [weighed(sentence).degree for sentence in SUPPORTED]
    assert sum(degree >= IMPLIED for degree in degrees) >= 4
    assert sorted(degrees)[len(degrees) // 2] > max(weighed(sentence).degree for sentence in UNSUPPORTED) + 0.3


@pytest.mark.parametrize("sentence", UNSUPPORTED)
def test_changed_or_invented_sentence_is_not_supported(sentence: str) -> None:
    """A changed number, drug, unit, certainty, or a lifted prohibition is not supported, however alike the words."""
    assert weighed(sentence).degree < IMPLIED


@pytest.mark.parametrize("sentence", SUPPORTED)
def test_the_order_of_sources_makes_no_difference(sentence: str) -> None:
    """What stands together in one of them stands together."""
    assert weighed(sentence, VOICES, REPAIRS) == weighed(sentence, REPAIRS, VOICES)


def test_what_stands_in_a_source_is_supported() -> None:
    """A source's own sentence needs no weighing, whatever marks stand around it."""
    assert weighed("**Hearing voices is common in schizophrenia!**", VOICES) == Support(
        1.0, "voices", "Hearing voices is common in schizophrenia."
    )


def test_quote_is_verbatim() -> None:
    """The quote stands in the source, letter by letter."""
    support = weighed("The heating and wiring are the landlord's duty.")
    assert support.source_id == "repairs"
    assert support.quote is not None
    assert support.quote in REPAIRS.text


def test_prohibition_is_not_lifted() -> None:
    """Leaving out the `not` of a prohibition is not support; keeping it is."""
    assert weighed("Suddenly stop taking your medicine.").degree < IMPLIED
    assert weighed("Do not suddenly stop taking your medicine.").degree >= IMPLIED


def test_the_closest_source_is_quoted() -> None:
    """Of several sources the one that shares the most with the sentence is the evidence."""
    assert weighed("You can stop taking your medicine suddenly.", REPAIRS, VOICES).source_id == "voices"


def test_words_unknown_to_every_source_are_not_supported() -> None:
    """Without a shared word there is no closest sentence, and no quote."""
    found = weighed("Zebras outrun gazelles.")
    assert (found.source_id, found.quote) == (None, None)
    assert found.degree < IMPLIED


@pytest.mark.parametrize(
    "sentence",
    [
        "You can skip your medicine.",
        "It is okay to drink alcohol with your medicine.",
        "Please don't worry about missing doses of your medicine.",
        "Feel free to change the dose.",
    ],
)
def test_leave_that_the_source_does_not_give_is_not_supported(sentence: str) -> None:
    """What a prescriber must decide is not supported because its words stand in a source."""
    assert weighed(sentence, VOICES).degree < IMPLIED


def test_a_condition_may_stand_in_a_sentence_that_asserts_nothing() -> None:
    """Whoever asks about the doctor's consent has not left it out."""
    source = replace(VOICES, text="You can stop the tablets only if your doctor agrees to it.")
    said, asked = (list(parts(text)) for text in ("You can stop the tablets.", "Does your doctor agree to it?"))
    (alone,) = weigh(said, (source,))
    (beside,) = weigh(said, (source,), asked)
    assert beside.degree > alone.degree


def test_of_two_that_share_as_much_the_one_with_the_earliest_word_is_closest() -> None:
    """Whichever stands first in the source."""
    source = Source("talk", "Talk", "", "A brumbel is good. A quastor is good.")
    assert weighed("Quastor and brumbel are possible here.", source).quote == "A quastor is good."
    assert weighed("Brumbel and quastor are possible here.", source).quote == "A brumbel is good."


def test_what_was_weighed_before_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither against other sources, nor after another message of the user's, nor in a reply that names a condition."""
    needs = Source("stop", "Stopping", "", "You can stop the tablets only if your doctor agrees to it.")
    texts = [normalise(text) for text in (*SUPPORTED[:3], *UNSUPPORTED[:3], "You can stop the tablets.")]
    beside = [(), list(parts("Does your doctor agree to it?"))]
    asked = [
        (list(parts(text, concepts(user))), cited, also)
        for text, user, cited, also in product(
            texts, ("", "tablets landlord voices"), ((VOICES,), (needs, REPAIRS)), beside
        )
    ]

    def weighed_anew(few: int) -> list[list[Support]]:
        monkeypatch.setattr(support, "_KNOWN", Answers(few))
        return [weigh(*one) for one in asked]

    alone = weighed_anew(0)
    assert weighed_anew(support.MOST_WEIGHED) == [weigh(*one) for one in asked] == alone
    assert weighed_anew(3) == [weigh(*one) for one in asked] == alone
    for n in range(len(texts)):  # each of these makes a difference by itself, to some sentence
        assert len({tuple(found) for found in alone[n * 8 : n * 8 + 8]}) > 1

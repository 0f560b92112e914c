"""How far sources carry a sentence."""

from dataclasses import replace

import pytest

from judges.kept import Answers
from judges.local import support
from judges.local.index import Support
from judges.local.reading import concepts
from judges.local.reply import Part, parts
from judges.local.support import IMPLIED, weigh
from judges.local.text import normalise
from knowledge_base.library import Source
from tests.judges.local.material import REPAIRS, SUPPORTED, UNSUPPORTED, VOICES

STOPPING = Source(
    "stop",
    "Stopping",
    "",
    "You can stop the tablets only if your doctor agrees to it. Voices often get weaker within 2 weeks.",
)


def weighed(sentence: str, *cited: Source) -> Support:
    (found,) = weigh(said(sentence), cited or (VOICES, REPAIRS))
    return found


def said(text: str, user: str = "") -> list[Part]:
    """Return the sentences of a reply to what a user said."""
    return list(parts(normalise(text), concepts(user)))


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
    (alone,) = weigh(said("You can stop the tablets."), (source,))
    (beside,) = weigh(said("You can stop the tablets."), (source,), said("Does your doctor agree to it?"))
    assert beside.degree > alone.degree


def test_a_condition_may_be_quoted_from_the_source() -> None:
    """A sentence that stands in the source word for word names its conditions as any other does."""
    quote = "Your doctor agrees to it in most cases."
    source = replace(STOPPING, text=f"{STOPPING.text} {quote}")
    alone, beside = (
        weigh(said(text), (source,))[0].degree
        for text in ("You can stop the tablets.", f"You can stop the tablets. {quote}")
    )
    assert beside > alone


def test_of_two_that_share_as_much_the_one_with_the_earliest_word_is_closest() -> None:
    """Whichever stands first in the source."""
    source = Source("talk", "Talk", "", "A brumbel is good. A quastor is good.")
    assert weighed("Quastor and brumbel are possible here.", source).quote == "A quastor is good."
    assert weighed("Brumbel and quastor are possible here.", source).quote == "A brumbel is good."


REST = Source("rest", "Rest", "", "Rest.")
MAGNESIUM = Source("more", "More", "", "Magnesium can calm your mind.")
LONG = "You can stop the tablets " + "and rest " * 60
Weighing = tuple[list[Part], tuple[Source, ...]]
ALIKE: dict[str, tuple[Weighing, Weighing]] = {
    "ending": ((said("You can stop the tablets."), (STOPPING,)), (said("You can stop the tablets?"), (STOPPING,))),
    "capital": ((said("Your doctor says in Oslo."), (STOPPING,)), (said("Your doctor says in oslo."), (STOPPING,))),
    "end of a long sentence": (
        (said(LONG + "daily."), (STOPPING,)),
        (said(LONG + "never with 300 mg of olanzapine."), (STOPPING,)),
    ),
    "what the user named": (
        (said("Magnesium calms voices."), (STOPPING,)),
        (said("Magnesium calms voices.", "magnesium voices calm"), (STOPPING,)),
    ),
    "text of a section": (
        (said("Voices get weaker in 2 weeks."), (STOPPING,)),
        (said("Voices get weaker in 2 weeks."), (replace(STOPPING, text=STOPPING.text.replace("2", "4")),)),
    ),
    "title of a section": (
        (said("Magnesium music calms."), (STOPPING,)),
        (said("Magnesium music calms."), (replace(STOPPING, title="Magnesium music calms"),)),
    ),
    "which section comes first": (
        (said("Voices get weaker in 2 weeks."), (STOPPING, replace(STOPPING, id="twin"))),
        (said("Voices get weaker in 2 weeks."), (replace(STOPPING, id="twin"), STOPPING)),
    ),
    "which section comes second": (
        (said("Magnesium calms the mind."), (STOPPING, REST)),
        (said("Magnesium calms the mind."), (STOPPING, MAGNESIUM)),
    ),
    "condition of the second section": (
        (said("You can stop the tablets."), (REST, STOPPING)),
        (said("You can stop the tablets. Does your doctor agree?"), (REST, STOPPING)),
    ),
}


@pytest.mark.parametrize(("one", "other"), ALIKE.values(), ids=ALIKE)
def test_what_was_weighed_before_makes_no_difference(
    one: Weighing, other: Weighing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two weighings that differ in little, and in what comes out, are not taken for each other."""
    monkeypatch.setattr(support, "_SUPPORTS", Answers(0))
    first, second = weigh(*one)[0], weigh(*other)[0]
    assert first != second
    monkeypatch.setattr(support, "_SUPPORTS", Answers(99))
    assert [weigh(*asked)[0] for asked in (one, other, one)] == [first, second, first]


def test_a_sentence_that_comes_again_is_not_weighed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor when the reply has grown by another one."""
    texts = ["You can stop the tablets.", "You can stop the tablets. Magnesium calms."]
    before = [weigh(said(text), (STOPPING,)) for text in texts]
    monkeypatch.delattr(support, "describe")
    assert [weigh(said(text), (STOPPING,)) for text in texts] == before
    with pytest.raises(NameError):
        weigh(said("Zebras outrun gazelles."), (STOPPING,))

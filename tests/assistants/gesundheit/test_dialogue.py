"""Conversations with Gesundheit without a model and without the encoder: what is offered, denied, recommended, sourced."""

from functools import cache

import pytest

from assistants import view
from assistants.assistant import AssistantRequest
from assistants.gesundheit.assistant import Gesundheit, open_assistant
from models.errors import ModelSettingsError
from models.settings import ModelSettings


@cache
def assistant() -> Gesundheit:
    return open_assistant(ModelSettings(engine="assistant", name="gesundheit", encoder="off"))


async def converse(*messages: str) -> list[str]:
    """Return the replies to messages, one after the other."""
    history: list[dict[str, str]] = []
    replies = []
    for message in messages:
        history.append({"role": "user", "content": message})
        reply = await assistant().reply(AssistantRequest(history, view.read(history)))
        history.append({"role": "assistant", "content": reply.text})
        replies.append(reply.text)
    return replies


async def test_a_stored_question_is_answered_and_another_one_recommended() -> None:
    """The recommendation is the last sentence; a yes gives its answer and the next one."""
    first, second, third = await converse("Was ist Vorhofflimmern?", "ja", "ja bitte")
    assert first.startswith("Vorhofflimmern ist die häufigste")
    assert "Möchten Sie wissen" in first.rsplit(". ", 1)[1]
    assert len({first, second, third}) == 3
    assert all(one.rstrip().endswith("?") for one in (first, second, third))


async def test_one_refusal_ends_recommendations_until_the_next_question() -> None:
    """They come back with the user's own question."""
    _, refused, answered = await converse("Was ist Vorhofflimmern?", "nein danke", "Was ist ein Schlaganfall?")
    assert "Möchten Sie wissen" not in refused
    assert "Möchten Sie wissen" in answered


async def test_a_no_leads_to_another_offer_and_then_to_a_request() -> None:
    """No question is offered twice."""
    replies = await converse("Wie misst man Blutdruck richtig?", "nein", "nein")
    assert replies[0].startswith("Meinten Sie: ")
    offered = [one.split(": ", 1)[1] for one in replies if "einten Sie: " in one]
    assert len(set(offered)) == len(offered) == 2
    assert "anders stellen" in replies[2]


async def test_a_new_question_after_an_offer_is_a_no() -> None:
    """What was offered is not offered again, though nobody said no."""
    first, second = await converse("Wie misst man Blutdruck richtig?", "Wie misst man den Blutdruck denn richtig?")
    assert first.split(": ", 1)[1] != second.split(": ", 1)[-1]


async def test_an_accepted_offer_is_answered_and_confirmed() -> None:
    """After a yes to the confirmation comes a recommendation."""
    offer, answer, confirmed = await converse("Wie misst man Blutdruck richtig?", "ja", "ja, das war es")
    assert offer.startswith("Meinten Sie: ")
    assert answer.endswith("War das die Antwort auf Ihre Frage?")
    assert "Möchten Sie wissen" in confirmed


async def test_no_but_uses_both_halves() -> None:
    """The first offer is denied, and the rest is the question."""
    first, second = await converse("Was hilft gegen hohen Blutdruck?", "nein, sondern Was ist Bluthochdruck?")
    assert first.startswith("Meinten Sie: ") or "Bluthochdruck" in first
    assert second.startswith(("Bluthochdruck", "Von Bluthochdruck", "Bei Bluthochdruck"))


async def test_a_question_that_refers_back_becomes_an_offer_on_the_last_focus() -> None:
    """ "And the causes of that?" is about what was answered last."""
    _, offer = await converse("Was ist Vorhofflimmern?", "und die Ursachen davon?")
    assert offer.startswith("Meinten Sie: ")
    assert "Vorhofflimmern" in offer


async def test_the_source_is_named_with_its_review() -> None:
    """Works, and that nobody has reviewed it yet."""
    before, _, source = await converse("Woher wissen Sie das?", "Was ist Vorhofflimmern?", "Woher wissen Sie das?")
    assert "noch keine Auskunft" in before
    assert "stützt sich auf" in source
    assert "noch nicht geprüft" in source


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("Hallo", "Ich bin keine Ärztin und kein Arzt."),
        ("Wie wird das Wetter morgen?", "Dabei kann ich Ihnen leider nicht helfen"),
        ("Depression", "Zum Thema Depression"),
        ("Was wissen Sie über Depression?", "Zum Thema Depression"),
        ("Welche Herzkrankheiten gibt es?", "koronare Herzkrankheit"),
        ("Habe ich eine Depression?", "kann ich nicht beurteilen"),
        ("Danke", "Gern geschehen"),
        ("", "Fragen Sie zum Beispiel"),
        ("x" * 5_000, "Meine Themen sind"),
    ],
)
async def test_other_messages(message: str, says: str) -> None:
    """Greeting, other questions, overviews, diagnoses."""
    assert says in (await converse(message))[0]


async def test_help_is_short() -> None:
    """Sixty words at most: it is spoken."""
    assert len((await converse("Hilfe"))[0].split()) <= 60


async def test_all_answers_can_be_spoken() -> None:
    """No markup, no link, no sign that has to be read out."""
    for pair in assistant()._answers.pairs:
        text = assistant()._language.speakable(pair.answer)
        assert not set("*#[]()<>|_/%") & set(text), text
        assert "http" not in text
        assert "mmHg" not in text


async def test_an_edited_message_changes_what_follows() -> None:
    """Nothing is kept of a conversation."""
    one = await converse("Was ist Vorhofflimmern?", "und die Ursachen davon?")
    other = await converse("Was ist ein Schlaganfall?", "und die Ursachen davon?")
    assert "Schlaganfall" in other[1]
    assert "Schlaganfall" not in one[1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"knowledge_base": "/nowhere"}, "/nowhere"),
        ({"encoder": "perhaps"}, "encoder"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_wrong_option_is_told(options: dict[str, str], says: str) -> None:
    """When the proxy starts, with its name."""
    with pytest.raises(ModelSettingsError, match=says):
        open_assistant(ModelSettings(engine="assistant", name="gesundheit", **options))


def test_other_roles_of_models_are_refused() -> None:
    """It asks a reader alone."""
    with pytest.raises(ModelSettingsError, match=r"expected .reader."):
        open_assistant(ModelSettings(engine="assistant", name="gesundheit", models={"writer": "gpt"}))


@pytest.mark.parametrize(
    "message",
    [
        "Woran erkennt man einen Hitzschlag?",
        "Was ist Augenhochdruck?",
        "Was ist ein Niereninfarkt?",
        "Woran erkennt man einen Darminfarkt?",
        "Gastritis",
        "Ratschlag",
        "dementsprechend",
    ],
)
async def test_a_name_within_another_word_is_not_the_subject(message: str) -> None:
    """No stored answer on another disease is given."""
    (reply,) = await converse(message)
    assert "Meinten Sie" in reply or "leider nicht" in reply, reply


@pytest.mark.parametrize(
    "message",
    [
        "Danke, aber ich kann nicht mehr",
        "Ja aber das meinte ich nicht",
        "ja nein",
        "nein, ich stehe auf der Brücke",
        "Richtig schlecht geht es mir",
    ],
)
async def test_the_first_word_does_not_decide_a_message_that_goes_on(message: str) -> None:
    """It gives no offered answer, and is no goodbye."""
    offer, reply = await converse("Wie misst man Blutdruck richtig?", message)
    pair = next(one for one in assistant()._answers.pairs if one.question == offer.split(": ", 1)[1])
    assert pair.answer not in reply
    assert "Alles Gute" not in reply


async def test_what_helps_against_it_stays_on_the_subject() -> None:
    """An offer for a question that refers back is on the disease that was spoken of, or there is none."""
    for disease in ("Herzschwäche", "Bluthochdruck", "Vorhofflimmern"):
        _, reply = await converse(f"Was ist {disease}?", "Was hilft dagegen?")
        assert disease in reply or "anders stellen" in reply, reply


async def test_a_yes_is_left_out_of_an_answer_to_another_wording() -> None:
    """The reverse may have been asked; after the pair's own question it stays."""
    pair = next(one for one in assistant()._answers.pairs if one.answer.startswith("Nein, ") and one.variants)
    (own,) = await converse(pair.question)
    (other,) = await converse(pair.variants[0])
    assert own.startswith("Nein, ")
    assert not other.startswith("Nein")


async def test_the_last_answer_is_repeated() -> None:
    """Asked again, it is said again."""
    first, again = await converse("Was ist Vorhofflimmern?", "Wie bitte?")
    assert first.split(". ")[0] == again.split(". ")[0]


async def test_answers_on_signs_of_an_emergency_name_the_number() -> None:
    """Of a heart attack and a stroke, whichever is asked."""
    for pair in assistant()._answers.pairs:
        if pair.focus in ("herzinfarkt", "schlaganfall") and pair.aspect in ("Symptome", "Warnzeichen"):
            assert "112" in (await converse(pair.question))[0], pair.question

"""The language of an emergency, and the text that answers it."""

import pytest

from proxy.language import COMMON, language_of
from tests.proxy.conftest import Start, text_of

SAID = {
    "en": "I want to end my life and I cannot go on",
    "de": "Ich will nicht mehr leben, ich bringe mich heute um",
    "es": "No puedo más, quiero morir y no ver el día de mañana",
    "fr": "Je ne veux plus vivre, je vais en finir",
    "no": "Jeg orker ikke mer og vil ta livet av meg nå",
    "sv": "Jag orkar inte längre och vill ta mitt liv nu",
    "pt": "Não quero mais viver, eu vou me matar agora",
    "it": "Non voglio più vivere e adesso la faccio finita",
    "nl": "Ik wil niet meer leven en het is nu genoeg van de dood",
    "pl": "Nie chcę już żyć i teraz się zabiję",
}


@pytest.mark.parametrize("code", SAID)
def test_message_in_distress_is_known_by_its_commonest_words(code: str) -> None:
    """Among all languages there are words for."""
    assert language_of(SAID[code], COMMON) == code


@pytest.mark.parametrize("text", ["", "12345", "!!!", "\U0001f622", "zzz qqq", "わたしは"])
def test_text_without_such_words_is_in_no_language(text: str) -> None:
    """Then the first configured text answers."""
    assert language_of(text, ["de", "en"]) is None


def test_only_configured_languages_count() -> None:
    """A German message with an English and a Spanish text is not answered at random."""
    assert language_of(SAID["de"], []) is None
    assert language_of("ich und du", ["es", "fr"]) is None
    assert language_of("DE: ICH WILL NICHT MEHR", ["en", "de"]) == "de"


async def test_emergency_is_answered_in_its_language(start: Start) -> None:
    """German gets the German text, what has none gets the first."""
    proxy = await start()
    assert text_of(await proxy.say("Ich bringe mich heute um, ich will nicht mehr leben")) == "Ruf 112."
    assert text_of(await proxy.say("I am going to end my life tonight")) == "You matter. Call 112."


async def test_kind_without_a_text_in_the_language_borrows_another_kinds(start: Start) -> None:
    """To be understood matters more than to be specific; without any text there is the contact."""
    texts = {"medical": {"en": "Medical."}, "self_harm": {"de": "Ruf 112."}}
    proxy = await start(emergency={"contact": "Call 112 now.", "texts": texts})
    assert text_of(await proxy.say("I am going to end my life tonight")) in ("Medical.", "Ruf 112.")
    proxy = await start(emergency={"contact": "Call 112 now."})
    assert text_of(await proxy.say("I am going to end my life tonight")) == "Call 112 now."

"""Detection of a message's language, and the choice of the reply's language."""

import pytest

from proxy.turn.chatbot import language_of
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
    """Among all configured languages."""
    assert language_of(SAID[code], SAID) == code


ASKED = {
    "en": ["Where can I find a support group?", "My son hears voices at night", "Who pays for the treatment?"],
    "de": ["Wo finde ich eine Selbsthilfegruppe?", "Was soll mein Sohn tun?", "Wer bezahlt mir die Behandlung?"],
    "es": ["¿Quién paga el tratamiento?", "Mi hijo oye voces por la noche", "¿Dónde encuentro un grupo de apoyo?"],
    "fr": ["Où trouver un groupe de soutien ?", "Mon fils entend des voix la nuit", "Qui paie le traitement ?"],
    "no": ["Hvem betaler for behandlingen?", "Sønnen min hører stemmer om natten", "Hva skal jeg gjøre?"],
    "sv": ["Vem betalar för behandlingen?", "Min son hör röster på natten", "Vad ska jag göra?"],
    "da": ["Hvem betaler for behandlingen?", "Min søn hører stemmer om natten", "Hvad skal jeg gøre?"],
    "pt": ["Quem paga o tratamento?", "O meu filho ouve vozes à noite", "O que devo fazer?"],
    "it": ["Chi paga la cura?", "Mio figlio sente le voci di notte", "Che cosa devo fare?"],
    "nl": ["Wie betaalt de behandeling?", "Wat moet mijn zoon doen?", "Waar vind ik een steungroep?"],
    "pl": ["Kto płaci za to leczenie?", "Mój syn słyszy głosy w nocy", "Co mam zrobić?"],
}


@pytest.mark.parametrize("code", ASKED)
def test_question_is_known_by_its_commonest_words(code: str) -> None:
    """Independent of the order of the configured languages."""
    for text in ASKED[code]:
        assert language_of(text, ["en", code]) == language_of(text, [code, "en"]) == code


@pytest.mark.parametrize("text", ["", "12345", "!!!", "\U0001f622", "\ud83d", "zzz qqq", "わたしは"])
def test_text_without_such_words_is_in_no_language(text: str) -> None:
    """The first configured text is used."""
    assert language_of(text, ["de", "en"]) is None


def test_only_configured_languages_count() -> None:
    """A German message with an English and a Spanish text gets the first, not a random one."""
    assert language_of(SAID["de"], []) is None
    assert language_of("ich und du", ["es", "fr"]) is None
    assert language_of("DE: ICH WILL NICHT MEHR", ["en", "de"]) == "de"


def test_message_in_a_language_without_a_text_gets_no_other_languages() -> None:
    """Polish is not taken for Italian because of two shared words. Danish and Norwegian count as one."""
    for code, texts in ASKED.items():
        for text in texts:
            assert language_of(text, ["de" if code != "de" else "nl", "it" if code != "it" else "pl"]) is None
    assert language_of("Sønnen min hører stemmer om natten", ["en", "da"]) == "da"


@pytest.mark.parametrize("text", ["im on the roof", "im so scared", "im going to die", "Im not ok"])
def test_im_is_not_german(text: str) -> None:
    """Users in danger may leave out the apostrophe of "I'm"."""
    assert language_of(text, ["de", "en"]) == "en"


async def test_emergency_is_answered_in_its_language(start: Start) -> None:
    """German gets the German text; an unconfigured language gets the first."""
    proxy = await start()
    assert text_of(await proxy.say("Ich bringe mich heute um, ich will nicht mehr leben")) == "Ruf 112."
    assert text_of(await proxy.say("I am going to end my life tonight")) == "You matter. Call 112."


async def test_fallback_is_in_the_language_of_the_question(start: Start) -> None:
    """With the contact in the same language, also as a JSON refusal. The chatbot's prompt has that contact too."""
    contact = {"en": "Call 112 now.", "de": "Ruf 112 an."}
    fallback = {"en": "Sorry.", "de": "Leider nicht."}
    judges = [{"name": "transparency", "stages": ["local"]}]
    proxy = await start(fallback=fallback, emergency={"contact": contact}, refiner=None, judges=judges)
    proxy.upstream.answer = lambda body: "[[cite: no_claims]]\nTake 400 mg of magnesium every night."
    asked = "Was soll ich gegen die Stimmen einnehmen?"
    assert text_of(await proxy.say(asked)) == "Leider nicht.\n\nRuf 112 an."
    assert "The emergency contact is: Ruf 112 an." in proxy.upstream.requests[-1]["messages"][0]["content"]
    assert text_of(await proxy.say("What should I take?")) == "Sorry.\n\nCall 112 now."
    refused = await proxy.say(asked, response_format={"type": "json_object"})
    assert refused["choices"][0]["message"]["refusal"] == "Leider nicht.\n\nRuf 112 an."

"""The emergency contacts and fallback messages that `caf init` writes, by language."""

from dataclasses import dataclass

from proxy.config.chatbot_settings import PLACEHOLDER

LANGUAGES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "nl": "Dutch", "pt": "Portuguese",
    "no": "Norwegian", "da": "Danish", "sv": "Swedish", "fi": "Finnish", "pl": "Polish", "cs": "Czech", "tr": "Turkish",
    "ru": "Russian", "uk": "Ukrainian", "ar": "Arabic", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "hi": "Hindi",
}  # fmt: skip
"""English names of languages, by language code. Prompts call any other language by its code."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts in one language that the proxy sends to users unchanged."""

    fallback: str
    """The message in place of a reply that the judges rejected."""
    contact: str
    """The emergency contact, with a placeholder that the operator must replace."""


TEXTS = {
    "en": Texts(
        "I am sorry, I cannot give you a reliable answer to that. Please ask a person who knows the subject.",
        "If you or someone else may be in danger, call your local emergency number now (112 in Europe, 999 in the UK, 911 in the "
        f"US and Canada). {PLACEHOLDER}: name who helps your users, with a telephone number.",
    ),
    "de": Texts(
        "Es tut mir leid, darauf kann ich Ihnen keine verlässliche Antwort geben. Bitte fragen Sie jemanden, der sich auskennt.",
        "Wenn Sie oder jemand anderes in Gefahr sind, rufen Sie jetzt den Notruf 112 an. "
        f"{PLACEHOLDER}: Nennen Sie, wer Ihren Nutzern hilft, mit einer Telefonnummer.",
    ),
    "fr": Texts(
        "Je suis désolé, je ne peux pas vous donner de réponse fiable. Veuillez demander à une personne qui connaît le sujet.",
        "Si vous ou quelqu'un d'autre êtes en danger, appelez maintenant les secours (112 en Europe). "
        f"{PLACEHOLDER} : indiquez qui aide vos utilisateurs, avec un numéro de téléphone.",
    ),
    "es": Texts(
        "Lo siento, no puedo darle una respuesta fiable. Pregunte a una persona que conozca el tema.",
        "Si usted u otra persona está en peligro, llame ahora al número de emergencias (112 en Europa, 911 en América). "
        f"{PLACEHOLDER}: indique quién ayuda a sus usuarios, con un número de teléfono.",
    ),
    "it": Texts(
        "Mi dispiace, non posso darle una risposta affidabile. Chieda a una persona che conosce l'argomento.",
        "Se lei o un'altra persona è in pericolo, chiami subito il numero di emergenza (112 in Europa). "
        f"{PLACEHOLDER}: indichi chi aiuta i suoi utenti, con un numero di telefono.",
    ),
    "nl": Texts(
        "Het spijt me, daar kan ik u geen betrouwbaar antwoord op geven. Vraag het aan iemand die er verstand van heeft.",
        "Als u of iemand anders in gevaar is, bel dan nu het alarmnummer 112. "
        f"{PLACEHOLDER}: noem wie uw gebruikers helpt, met een telefoonnummer.",
    ),
    "pt": Texts(
        "Lamento, não posso dar-lhe uma resposta fiável. Pergunte a uma pessoa que conheça o assunto.",
        "Se você ou outra pessoa estiver em perigo, ligue agora para o número de emergência (112 em Portugal, 190 no Brasil). "
        f"{PLACEHOLDER}: indique quem ajuda os seus utilizadores, com um número de telefone.",
    ),
    "no": Texts(
        "Beklager, det kan jeg ikke gi deg et pålitelig svar på. Spør en person som kjenner temaet.",
        "Hvis du eller noen andre kan være i fare, ring nødnummeret nå (113 i Norge, 112 i Europa). "
        f"{PLACEHOLDER}: oppgi hvem som hjelper brukerne dine, med et telefonnummer.",
    ),
}  # fmt: skip
"""Texts by language code. For any other language, `caf init` writes the English texts and marks them for translation."""

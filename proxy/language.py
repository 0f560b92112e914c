"""Which of the configured languages a short message is in, so that an emergency is answered in words that are understood."""

import re
from collections.abc import Iterable

_WORDS = re.compile(r"[^\W\d_]+")

COMMON: dict[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "en": "i i'm im am the my me to and of is it want can't cannot not don't myself end kill die life going now you are",
        "de": "ich mich mir will nicht mehr und das ist der die ein mein meine kann sterben umbringen leben bin zu es heute jetzt",
        "es": "yo me mi quiero no puedo más mas que de la el y morir matarme vida voy estoy a mí suicidarme vivir ya ahora",
        "fr": "je j me moi mon ma veux plus pas ne et le la les vie mourir tuer suis vais suicider en finir maintenant vivre",
        "no": "jeg meg vil ikke og det er å mer min mitt livet dø drepe leve selv orker kan nå lenger har en",
        "sv": "jag mig vill inte och det är att mer min mitt livet dö döda leva själv orkar kan nu längre har en",
        "da": "jeg mig vil ikke og det er at mere min mit livet dø dræbe leve selv orker kan nu længere har en",
        "pt": "eu me meu minha quero não nao mais e o a que vida morrer matar viver vou estou agora acabar",
        "it": "io mi mio mia voglio non più piu e la il che vita morire uccidermi vivere sono adesso ora farla",
        "nl": "ik me mij mijn wil niet meer en het is dat de leven dood sterven kan nu zelfmoord van een ben",
        "pl": "ja się sie nie chcę chce już juz i to jest mam moje życie zycie umrzeć umrzec zabić zabic żyć zyc teraz",
    }.items()
}
"""The commonest words of messages in distress, by ISO 639-1 code."""


def language_of(text: str, among: Iterable[str]) -> str | None:
    """Return the code, of some, whose common words a text has most of, the first on a tie.

    None when it has fewer than two different ones: single words such as `no` are common in many languages.
    """
    words = set(_WORDS.findall(text.casefold()))
    counts = {code: len(words & COMMON.get(code, frozenset())) for code in among}
    best = max(counts, key=counts.__getitem__, default=None)
    return best if best is not None and counts[best] > 1 else None

"""Which of the configured languages a short message is in, so that it is answered in words that are understood."""

import re
from collections.abc import Iterable

_WORDS = re.compile(r"[^\W\d_]+")

COMMON: dict[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "en": (
            "i i'm im am the my me to and of is it want can't cannot not don't myself end kill die life going now you are "
            "a an how what which who when where why do does did should could would can has have had was were be with "
            "without for from in on at by if or but as so this that these there he she they we him her them his your our "
            "much many help tell please"
        ),
        "de": (
            "ich mich mir will nicht mehr und das ist der die ein mein meine kann sterben umbringen leben bin zu es heute "
            "jetzt wie was welche welcher welches wer wann wo warum wieso soll sollte könnte würde hat haben habe hatte "
            "war sind sein mit ohne für von vom im in an auf bei wenn oder aber als so dieser diese dieses er sie wir ihr "
            "ihm ihn ihre den dem des eine einen einem einer kein keine viel viele gibt gegen man noch auch hilft helfen "
            "bitte"
        ),
        "es": (
            "yo me mi quiero no puedo más mas que de la el y morir matarme vida voy estoy a mí suicidarme vivir ya ahora "
            "cómo como qué cuál cual cuáles quién cuándo cuando dónde donde por para debe debo debería puede pueden es "
            "son está están ha tiene tengo hay con sin en un una los las del al se si o pero muy este esta esto ese mis "
            "su sus le les lo cuánto cuánta ayuda ayudan favor nos también"
        ),
        "fr": (
            "je j me moi mon ma veux plus pas ne et le la les vie mourir tuer suis vais suicider en finir maintenant "
            "vivre comment quoi que quel quelle quels quelles qui quand où pourquoi combien dois doit faut peut peuvent "
            "est sont sera ai a avoir être il elle on nous vous ils elles avec sans pour par dans sur un une des du de au "
            "aux se si ou mais ce cet cette ces mes son sa ses leur y l d qu s c très aide aident"
        ),
        "no": (
            "jeg meg vil ikke og det er å mer min mitt livet dø drepe leve selv orker kan nå lenger har en hva hvordan "
            "hvilke hvilken hvem når hvor hvorfor skal bør kunne ville må hadde var være blir med uten for fra til i på "
            "av om hvis eller men som så denne dette disse han hun de vi du hans hennes noen noe mye mange et den hjelper "
            "hjelpe gjøre"
        ),
        "sv": (
            "jag mig vill inte och det är att mer min mitt livet dö döda leva själv orkar kan nu längre har en vad hur "
            "vilka vilken vem när var varför ska bör kunde skulle måste hade vara blir med utan för från till i på av om "
            "eller men som så denna detta dessa han hon de vi du hans hennes någon något mycket många ett den hjälper "
            "hjälpa göra finns"
        ),
        "da": (
            "jeg mig vil ikke og det er at mere min mit livet dø dræbe leve selv orker kan nu længere har en hvad hvordan "
            "hvilke hvilken hvem når hvor hvorfor skal bør kunne ville må havde var være bliver med uden for fra til i på "
            "af om hvis eller men som så denne dette disse han hun de vi du hans hendes nogen noget meget mange et den "
            "hjælper hjælpe gøre der"
        ),
        "pt": (
            "eu me meu minha quero não nao mais e o a que vida morrer matar viver vou estou agora acabar como qual quais "
            "quem quando onde por para porque porquê deve devo pode podem é são está estão foi tem tenho há com sem em um "
            "uma os as do da dos das no na ao se ou mas muito este esta isto esse meus sua seu lhe quanto quanta ajuda "
            "ajudam de favor"
        ),
        "it": (
            "io mi mio mia voglio non più piu e la il che vita morire uccidermi vivere sono adesso ora farla come cosa "
            "quale quali chi quando dove perché quanto quanta devo deve dovrebbe può possono è ha ho hanno con senza per "
            "di da del della dei delle al alla nel nella un una uno lo le gli i si se o ma molto questo questa questi suo "
            "sua mie aiuta aiutano a ci anche"
        ),
        "nl": (
            "ik me mij mijn wil niet meer en het is dat de leven dood sterven kan nu zelfmoord van een ben hoe wat welke "
            "wie wanneer waar waarom moet moeten mag kunnen zou heb heeft hebben had was zijn wordt met zonder voor door "
            "uit in op aan bij als of maar zo dit deze die hij zij ze we wij haar hem hun ons je u er geen veel om te "
            "helpt helpen tegen"
        ),
        "pl": (
            "ja się sie nie chcę chce już juz i to jest mam moje życie zycie umrzeć umrzec zabić zabic żyć zyc teraz jak "
            "jaki jaka jakie co kto kiedy gdzie dlaczego ile czy powinien powinna może mogą mogę są był była ma mają z ze "
            "bez dla od do w we na po o u jeśli gdy lub albo ale tak ten ta te tego on ona my mój moja moim jego jej "
            "bardzo dużo pomaga pomagają proszę"
        ),
    }.items()
}
"""The commonest words of messages in distress and of questions, by ISO 639-1 code."""


READ = 4_000
"""Characters of a message that tell its language, the last ones: a turn does not wait for more to be read."""


def language_of(text: str, among: Iterable[str]) -> str | None:
    """Return the code, of some, whose common words a text has most of, the first on a tie.

    None when it has fewer than two different ones: single words such as `no` are common in many languages.
    """
    known = [code for code in among if code in COMMON]
    if not known:
        return None
    words = set(_WORDS.findall(text[-READ:].casefold()))
    counts = {code: len(words & COMMON[code]) for code in known}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] > 1 else None

"""What people write in an emergency, in other languages than English. Without accents: the speller folds them."""

from judges.local.emergency_lexicon import Danger

_WISHES = {
    "Spanish": """
        quiero|queria morir|morirme|matarme|suicidarme
        me quiero morir|matar|suicidar
        no [ya] quiero vivir
        ganas de morir|morirme|matarme|suicidarme
        no tengo ganas de vivir
        voy a matarme|suicidarme|quitarme
        me voy a matar|suicidar
        quitarme la vida
        acabar con mi vida
        terminar con mi vida
        pensando en suicidarme|matarme|el suicidio
        no vale la pena vivir
        prefiero morir
        mejor muerto|muerta
        no puedo respirar
        me he tomado|tome todas las pastillas
    """,
    "French": """
        veux|voudrais|vais mourir|crever
        veux|vais .. suicider|tuer
        envie de mourir|crever
        me suicider
        me tuer
        me foutre en l'air
        plus envie de vivre
        veux plus vivre
        mettre fin a mes jours|ma vie
        en finir avec la vie|vie
        veux en finir
        me donner la mort
        j'ai avale tous|toutes
        peux plus|pas respirer
        pense[s] au suicide
    """,
    "German": """
        will|mochte|moechte sterben
        mich umbringen|toten|toeten|erhangen|erhaengen
        bringe|bring mich um
        will|mochte|moechte nicht mehr leben|da|existieren
        mir das leben nehmen
        nehme mir das leben
        selbstmord begehen|machen
        lieber tot
        will tot sein
        wunschte ich ware tot
        mag|kann nicht mehr leben
        mein leben beenden
        kein lebenswille
        habe .. alle tabletten
        bekomme keine luft
        denke an selbstmord|suizid
    """,
    "Norwegian, Danish, Swedish": """
        vil|ville|vill|onsker|onskar do|doe
        vil|vill bare|bara do|doe
        lyst til [at] do|doe
        lyst a do
        ta livet mitt|av
        tager|tage|tar livet|mit mitt|av|af
        tage mit liv
        ta mitt liv
        ta mitt eget liv
        tage mit eget liv
        drepe|drebe meg|mig
        doda mig
        sla meg|mig ihjel|ihjal
        selvmord|sjalvmord|selvmordstanker|sjalvmordstankar nu|na|snart|i|ikveld|kveld|ikvall|aften|ikveld
        begynner|bega|bege|begar|begar selvmord|sjalvmord
        har selvmordstanker|sjalvmordstankar
        er|ar suicidal|selvmordsnara
        vil|orker|vill|orkar|gider ikke|inte leve|leva [lenger|mer|mere|langre]
        vil|vill|orker|orkar ikke|inte mer|mere|lenger|langre leve|leva
        leve|leva lenger|langre
        onsker|onskar jeg|jag var dod
        ikke|inte vare|vaere her lenger|mer
        har|tatt|taget tatt|tagit|taget alle|alla pillene|tablettene|pillerne|tabletterna|pillerna
        far ikke|inte puste|luft
    """,
    "Portuguese": """
        quero|queria morrer
        quero|vou|queria me matar|suicidar
        vou|quero matar-me|suicidar-me
        vontade de morrer|viver
        nao quero [mais] viver
        nao quero viver [mais]
        acabar com a minha vida
        tirar a minha|propria vida
        me matar
        tomei todos os comprimidos
        nao consigo respirar
        penso em suicidio
    """,
    "Italian": """
        voglio|vorrei morire
        voglio|vorrei uccidermi|ammazzarmi|suicidarmi|farla
        mi voglio uccidere|ammazzare|suicidare
        uccidermi
        ammazzarmi
        suicidarmi
        non voglio [piu] vivere
        farla finita
        togliermi la vita
        voglia di morire|vivere
        mi uccido|ammazzo
        non riesco a respirare
        penso al suicidio
    """,
    "Dutch": """
        wil dood|sterven
        wil niet meer leven
        wil niet langer leven
        [mezelf|mijzelf] van kant maken
        mezelf|mijzelf doden|ophangen
        maak|maken er een eind|einde aan
        eind|einde maken aan mijn leven
        zelfmoord plegen
        ik pleeg zelfmoord
        uit het leven stappen
        was ik maar dood
        krijg geen lucht
    """,
    "Polish": """
        chce umrzec
        chce sie zabic
        zabije sie
        zabic sie
        nie chce [juz|mi] [sie] zyc
        nie chce mi sie zyc
        popelnic|popelnie samobojstwo
        odebrac sobie zycie
        skonczyc ze soba
        nie moge oddychac
        mysle o samobojstwie
    """,
    "Russian": """
        хочу умереть
        не хочу [больше] жить
        покончить с собои
        убить себя
        убью себя
        хочу сдохнуть
        не хочется жить
        наложить на себя руки
    """,
    "Ukrainian": """
        хочу померти
        не хочу [більше] жити
        вбити себе
    """,
    "Turkish": """
        olmek istiyorum
        yasamak istemiyorum
        intihar etmek|edecegim
        kendimi oldurmek|oldurecegim
    """,
}

CRISES = tuple(
    Danger(f"crisis in {language}", "self_harm", phrases, guards=frozenset()) for language, phrases in _WISHES.items()
)

CRISIS_STRINGS = (
    "想死", "自杀", "自殺したい", "不想活", "死にたい", "죽고 싶", "자살", "أريد أن أموت", "اريد ان اموت", "أقتل نفسي", "انتحر",
    "मरना चाहता", "मरना चाहती", "خودکشی", "می‌خواهم بمیرم", "θέλω να πεθάνω",
)  # fmt: skip
"""Phrases in scripts whose words the speller does not know how to separate or fold."""

"""The words of the role judge: lists that phrases name, what a family is, and what takes a part back.

The phrases that play a part are in `role_playings`. Nothing here is about one subject: a chatbot on tenancy law and one on
schizophrenia play the same parts.
"""

# ruff: noqa: E501 (a phrase is a line, a list is a paragraph)
from dataclasses import dataclass
from typing import Literal

Part = Literal["therapist", "friend", "expert", "advocate", "persona", "other"]
Guard = Literal["negation", "others", "refers"]


@dataclass(frozen=True)
class Playing:
    """A family of phrases that play one part."""

    part: Part
    degree: Literal["hint", "clear"]
    phrases: str
    guards: frozenset[Guard] = frozenset({"negation", "others"})
    """What around a phrase takes it back."""


@dataclass(frozen=True)
class Around:
    """A family of phrases that take a part back: somebody else plays it, or the reply sends the user to them."""

    name: Literal["negation", "others", "refers"]
    phrases: str


DROPPED = "the a an really just so very truly always also genuinely deeply absolutely definitely certainly even simply".strip()

SPELLING = {"let's": "let us", "lets": "let us", "can't": "can not", "cannot": "can not", "won't": "will not", "gonna": "going to"}

LISTS = {
    "PRO": "doctor, psychiatrist, physician, gp, nurse, dietitian, dietician, nutritionist, lawyer, solicitor, attorney, barrister, "
    "expert, personal trainer, trainer, coach, financial adviser, financial advisor, adviser, advisor, pharmacist, specialist, "
    "consultant, professional, clinician, surgeon, neurologist, fitness coach, life coach, legal counsel, accountant, vet",
    "HEALER": "therapist, counsellor, counselor, psychologist, psychotherapist, analyst, therapy, hypnotherapist",
    "FEELINGS": "feelings, feeling, emotions, emotion, childhood, trauma, grief, anger, sadness, fear, pain, shame, relationship, "
    "past, thoughts, anxiety, hurt, pattern, patterns, wound, wounds, memories, memory, loneliness, resistance, this, that, these, it",
    "FRIENDLY": "friend, buddy, companion, pal, mate, bestie, confidant, girlfriend, boyfriend, partner, soulmate, lover, best friend, sister, brother",
    "SICKNESS": "depression, bipolar, schizophrenia, psychosis, adhd, anxiety, ptsd, ocd, autism, diabetes, disorder, infection, "
    "deficiency, pneumonia, cancer, migraine, migraines, hypothyroidism, anaemia, anemia, syndrome, ulcer, asthma, reflux, "
    "schizoaffective, arthritis, hypertension, insomnia, dementia, eczema, gastritis, flu",
    "AMOUNT": "mg, milligrams, grams, g, kcal, calories, ml, mcg, micrograms, units, tablets, tablet",
    "STAKE": "cause, movement, struggle, fight, campaign, revolution, resistance, protest, march, rally, union",
}

AROUND = (
    Around("negation", """
        can not|never|not
        am not
        unable|not able to
        instead of
        rather than
        not
        never
        without
        beyond|outside [what] my|i
        no
    """),
    Around("others", """
        HEALER|PRO|trainer|they|she|he can|may|might|could|will|would|should|often|usually|sometimes|is|are|helps|asks|help|teaches|decides|works|work|has|who|then
        therapists|doctors|lawyers|psychologists|dietitians|dieticians|solicitors|counsellors|pharmacists|friends|people|groups|advisers|nurses|psychiatrists|experts|some|campaigners|charities|trainers|tenants|patients|campaign|volunteers|organisations|many
        your HEALER|PRO|team
        speak|talk|ask|contact|call|see|tell to|with|your|HEALER|PRO
        therapy|cbt|counselling|counseling|psychotherapy can|may|is|often|helps|usually|aims|involves|includes|means
        in therapy|cbt|counselling|psychotherapy
        family members
        according to
        leaflet|source|section|sources|law|guide|act|page|guidance|sections says|say|states|explains|describes|advises|lists|mentions|warns|notes|recommends|tells
        means|refers to
        if|when|that|whether|once|because|after you
        is called
        with HEALER|PRO
        such as
        for example
        some|many people
        example of
    """),
    Around("refers", """
        ask|talk|speak|contact|call|see|tell|check|consult|discuss|asking|talking|speaking|checking to|with|it|your [with|your] [PRO|HEALER|team|local]
        your PRO|HEALER|team can|may|will|should|might|is
        only PRO|HEALER|your
    """),
)  # fmt: skip

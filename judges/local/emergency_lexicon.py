"""The words of the emergency judge: lists that phrases name, spellings, and what a family of phrases is.

The phrases are in `emergency_dangers` (English), `emergency_languages` (others) and `emergency_around` (what takes them
back). They are written in plain dictionary words: the speller turns `wanna`, `dont`, `kms`, `k1ll` into those with
`SPELLING`, and leaves out the words of `DROPPED`.
"""

# ruff: noqa: E501 (a phrase is a line, a list is a paragraph)
from dataclasses import dataclass
from typing import Literal

Kind = Literal["self_harm", "harm_to_others", "psychosis", "disorientation", "medical"]
Guard = Literal[
    "negation", "past", "hypothetical", "fiction", "general", "figurative", "hedge", "asked", "planning", "information", "prevention"
]  # fmt: skip


@dataclass(frozen=True)
class Danger:
    """A family of phrases that are signs of one kind of danger."""

    name: str
    kind: Kind
    phrases: str
    weight: Literal["sure", "mood", "means", "fever", "rigid"] = "sure"
    """`sure` is a sign by itself; the others are one with their partner, also over several messages."""
    guards: frozenset[Guard] = frozenset(
        {"negation", "past", "hypothetical", "fiction", "general", "figurative", "asked", "planning"}
    )
    """What around a phrase takes it back."""


@dataclass(frozen=True)
class Around:
    """A family of phrases that take a sign back, or say that it is about now."""

    name: Literal["past", "now", "hypothetical", "fiction", "general", "figurative", "hedge", "asked", "planning", "information", "prevention"]
    phrases: str


DROPPED = """to the a an that just really so very literally actually honestly fucking fuckin fking fckn freaking bloody damn
please pls plz kinda basically simply truly definitely seriously totally completely absolutely um uh own quite
also even probably already sort kind of"""

SPELLING = {
    "im": "i am", "ive": "i have", "iam": "i am", "ima": "i am going", "imma": "i am going", "youre": "you are",
    "dont": "do not", "dnt": "do not", "don": "do", "doesnt": "does not", "didnt": "did not", "cant": "can not",
    "cannot": "can not", "can't": "can not", "won't": "will not", "wont": "will not", "isnt": "is not", "arent": "are not",
    "wasnt": "was not", "wouldnt": "would not", "couldnt": "could not", "shouldnt": "should not", "havent": "have not",
    "hasnt": "has not", "ain't": "am not", "aint": "am not", "nvr": "never", "neva": "never", "shan't": "will not",
    "gonna": "going", "gunna": "going", "gna": "going", "goin": "going", "gona": "going", "wanna": "want", "wana": "want",
    "wnna": "want", "wann": "want", "wnat": "want", "wanto": "want", "gotta": "have", "u": "you", "ur": "your", "r": "are", "n": "and",
    "&": "and", "ya": "you", "hes": "he", "shes": "she", "theyre": "they are", "thats": "", "whats": "what is",
    "2nite": "tonight", "tonite": "tonight", "2night": "tonight", "2day": "today", "2moro": "tomorrow", "2morrow": "tomorrow",
    "tmr": "tomorrow", "tmrw": "tomorrow", "2": "", "4": "for", "rn": "right now", "atm": "at moment", "b4": "before",
    "kms": "kill myself", "unalive": "kill", "unaliving": "killing", "sewerslide": "suicide", "dunno": "do not know",
    "idk": "i do not know", "wot": "what", "wat": "what", "wher": "where", "cuz": "because", "cos": "because", "coz": "because",
    "bc": "because", "kil": "kill", "kll": "kill", "kiil": "kill", "klil": "kill", "deid": "died", "anymor": "anymore",
    "lifes": "life", "whant": "want", "dy": "die", "al": "all", "suicidle": "suicidal", "suicidel": "suicidal", "sucidal": "suicidal",
    "suisidal": "suicidal", "hart": "heart", "breath": "breathe", "breth": "breathe", "breeth": "breathe", "mylife": "my life",
    "killmyself": "kill myself", "endmylife": "end my life", "wanttodie": "want die", "iwanttodie": "i want die", "wannadie": "want die",
    "iwannadie": "i want die", "killme": "kill me", "endit": "end it", "endmyself": "end myself", "alot": "lot", "everyones": "everyone",
    "voises": "voices", "vioces": "voices", "noone": "no one", "nobodys": "nobody", "dieing": "dying", "dyin": "dying", "livin": "living",
    "killin": "killing", "hangin": "hanging", "cuttin": "cutting", "takin": "taking", "thinkin": "thinking", "feelin": "feeling",
    "gettin": "getting", "tryna": "trying", "tryin": "trying", "evry": "every", "thru": "through", "pils": "pills", "tonit": "tonight", "y": "why", "whos": "who", "od": "overdose", "od'd": "overdosed", "oded": "overdosed", "ods": "overdose",
    "bf": "boyfriend", "gf": "girlfriend", "tabs": "tablets", "rly": "",
    "hav": "have", "tho": "though", "nd": "and", "alredy": "", "liv": "live", "sleeping-pills": "pills",
}  # fmt: skip

KEYWORDS = ["suicide", "suicidal", "overdose", "overdosed", "myself", "himself", "herself", "swallowed", "tablets", "breathe", "goodbye", "voices", "killing", "kill", "hanging", "worthless", "hopeless", "ending", "tonight", "seizure", "unconscious", "medication", "paracetamol"]

LISTS = {
    "ONE": "he, she, son, daughter, brother, sister, mum, mom, mother, mam, dad, father, husband, wife, partner, boyfriend, "
    "girlfriend, friend, mate, flatmate, roommate, housemate, neighbour, neighbor, cousin, uncle, aunt, auntie, nephew, "
    "niece, grandmother, grandfather, grandma, grandad, grandpa, nan, gran, kid, child, boy, girl, baby, toddler, stepson, "
    "stepdaughter, teenager, client, tenant, colleague, ex",
    "WHO": "i, he, she, son, daughter, brother, sister, mum, mom, mother, mam, dad, father, husband, wife, partner, "
    "boyfriend, girlfriend, friend, mate, flatmate, roommate, housemate, neighbour, neighbor, cousin, uncle, aunt, nephew, "
    "niece, grandmother, grandfather, grandma, grandad, nan, gran, kid, child, boy, girl, baby, toddler, stepson, "
    "stepdaughter, client, tenant, colleague, ex",
    "SELF": "myself, my self, himself, herself, him self, her self, themselves, themself, meself, my life self",
    "MYSELF": "myself, my self, meself",
    "WANT": "want, wants, wanting, wish, wishes, need, needs, would like, would love, would prefer, long, ready, hope",
    "INTEND": "want, wants, wanting, wish, going, will, am about, is about, plan, plans, planning, planning on, plan on, "
    "intend, intends, intending, decided, ready, have decided, need, needs, have, has, must, gonna, might, may, could, "
    "threatens, threatening, threatened, trying, tries, try, should, would rather, promised, feel like, thinking, "
    "thinking about, think about, thinks about, ways, going try, urge, urges, desire",
    "WILL": "will, going, want, wants, about, plan, plans, planning, intend, intends, am about, is about, decided, ready, "
    "threatening, threatens, might, wanting, need, needs, tempted, have, has, must, feel like, think i should",
    "KILL": "kill, killing, kills, hang, hanging, drown, drowning, shoot, shooting, stab, stabbing, gas, gassing, strangle, murder, "
    "ki ll, k ill",
    "HARM": "hurt, hurting, harm, harming, cut, cutting, injure, injuring, burn, burning, slash, slashing, starve, starving",
    "SUICIDE": "suicide, sui cide, suic ide, su icide, suicid, sucide, suside, suiside, s uicide",
    "SUICIDAL": "suicidal, sui cidal, suic idal",
    "PILLS": "pills, tablets, meds, medication, medications, medicine, medicines, paracetamol, antidepressants, clozapine, "
    "olanzapine, quetiapine, insulin, ibuprofen, lithium, sleeping pills, painkillers, opioids, codeine, tramadol, "
    "capsules, co-codamol, antipsychotics, tylenol, aspirin, diazepam, xanax, benzos, risperidone, antifreeze, "
    "bleach, heroin, oxycodone, morphine, valium, seroquel, zopiclone, packet, bottle, box, boxes, packets, them, drugs",
    "TAKE": "take, taking, swallow, swallowing, eat, eating, down, drink, drinking, neck, necking",
    "TOOK": "took, taken, swallowed, downed, necked, eaten, drank, drunk, ingested, injected, ate, swallow",
    "LIFE": "life, lives",
    "ANYMORE": "anymore, any more, any longer, no more",
    "HARMPART": "wrists, wrist, throat, arms, veins, legs, neck, arm",
    "DROP": "bridge, roof, balcony, cliff, window, building, platform, train, edge of roof, edge of bridge, edge of cliff, edge of building, tenth floor, top floor, multi-storey, skyscraper, ledge, tower, tracks, rails, car park, overpass, "
    "viaduct, pier, railing, edge",
    "THEY": "they, people, neighbours, neighbors, police, cia, fbi, government, mi5, mi6, aliens, demons, satan, devil, mafia, "
    "illuminati, agents, someone, somebody, doctors, nurses, spies, men, russians, masons, gang, secret service, landlord, "
    "nsa, everyone, machines, he, she, mother, family",
    "VOICE": "voices, voice, god, angel, angels, devil, satan, demon, demons, jesus, spirits, spirit, tv, television, radio, allah, "
    "lucifer, holy spirit, whispers, phone, lord, head, ghosts, dog, shadows, they",
    "TELL": "tell, tells, told, telling, order, orders, ordered, ordering, command, commands, commanded, commanding, want, wants, say, "
    "says, saying, said, insist, insists, force, forces, forcing, make, makes, making, urging, urge, instruct, instructed, "
    "screaming at, shouting at, yelling at, asking, asked, begging",
    "DEED": "kill, hurt, harm, jump, die, stab, cut, walk, burn, attack, hang, drown, drive, punish, sacrifice, choke, strangle, "
    "shoot, stop eating, not eat, do it, end it, end my life, take my life, set fire, leave house, push, hit, take knife, "
    "get knife, take all, gouge, cleanse, destroy, must die, i must die, i should die, kill myself, obey, swallow, "
    "step in front, run into, climb, throw myself, fly, castrate, smother, poison, execute, slit, bleed, starve",
    "THEM": "him, her, them, someone, somebody, everyone, everybody, people, him all, mother, father, mum, mom, dad, brother, sister, "
    "wife, husband, boss, neighbour, neighbor, neighbours, nurse, doctor, psychiatrist, therapist, landlord, kids, children, baby, family, "
    "parents, girlfriend, boyfriend, roommate, flatmate, son, daughter, teacher, classmates, ex, partner, social worker, "
    "case manager, person, man, woman, all, you all, us, stepdad, stepfather, colleagues, coworkers, cat, dog, caseworker, child, everyone there, strangers, students, coworker, kid, husband, nurses, doctors, officer, guard, neighbours, uncle, aunt",
    "HURTS": "kill, stab, shoot, murder, strangle, attack, poison, hurt, choke, beat, smother, suffocate, stabbing, killing, shooting, "
    "slaughter, harm, burn, bash, drown, behead, punch, hit, push, pushing, run over, cut, slice, torture",
    "DEADLY": "kill, stab, shoot, murder, strangle, poison, smother, suffocate, behead, slaughter, drown",
    "FEVER": "fever, high fever, temperature, high temperature, feverish, burning up, boiling hot, 40 degrees, 39 degrees",
    "STIFF": "stiff, stiffness, rigid, stiff muscles, muscle stiffness, locked up, muscles stiff, muscles are stiff, like wood",
}

OTHERS = frozenset(LISTS["ONE"].replace(",", " ").split()) | {"himself", "herself", "themselves", "him", "her", "his"}
USER = frozenset({"i", "me"})
SUBJECTS = frozenset({"i", "he", "she"})
CONJUNCTIONS = frozenset({"and", "but", "because", "then", "or", "except", "while", "though", "although"})
"""Words that begin a new clause."""
BRIDGES = frozenset({"think", "thinking", "say", "saying", "said", "mean", "believe", "feel", "like", "if", "as", "know"})
"""Words over which a negation reaches the next clause: `I do not think I want to die`."""
PRESENT = frozenset({"want", "wants", "going", "am", "is", "will", "are", "plan", "ready"})
"""Words that put a phrase in the present, whatever the past is mentioned elsewhere in its sentence."""
AFTERTHOUGHTS = frozenset({"it", "this", "was", "were", "now", "since", "i"})
"""How a sentence begins that says when the one before it was."""
PARTNERS = {"mood": "means", "means": "mood", "fever": "rigid", "rigid": "fever"}
"""Weights that are a sign together: despair and a rope, fever and stiff muscles."""

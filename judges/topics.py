"""Finds the sensitive topic that a text touches. Pure. The module has word lists for common topics and names of medicines."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from judges.case import Topic
from judges.text import WORD, cache_texts, plain, root

BUILT_IN = {
    "medication": """medication medicine meds drug tablet pill antipsychotic antidepressant sedative dose prescription injection
        depot clozapine olanzapine risperidone lithium haloperidol aripiprazole quetiapine benzodiazepine capsule
        side_effects sleeping_pill""",
    "dosage": "dose dosage mg milligram mcg double_dose tablet milligrams overdose half_a_tablet",
    "self-harm": "self-harm selfharm self_harm cutting hurt_yourself harm_yourself hurting_yourself injure_yourself cut_yourself",
    "suicide": "suicide suicidal kill_yourself end_your_life ending_your_life take_your_own_life want_to_die overdose",
    "depression": "depression depressed depressive hopeless hopelessness antidepressant low_mood worthless",
    "anxiety": "anxiety anxious panic phobia",
    "supplement": """supplement vitamin magnesium omega-3 omega fish_oil herbal herb ashwagandha melatonin zinc turmeric
        ginkgo ginseng niacin probiotic cbd homeopathy homeopathic collagen creatine remedy detox""",
    "diet": "diet fasting keto ketogenic gluten calorie vegan carbohydrate sugar-free nutrition",
    "drug": "cannabis marijuana weed cocaine heroin amphetamine lsd mdma ecstasy psilocybin mushrooms ketamine kratom opioid meth",
    "alcohol": "alcohol beer wine vodka drinking drunk whisky spirits booze",
    "pregnancy": "pregnant pregnancy breastfeed breastfeeding conceive unborn foetus fetus trimester miscarriage",
    "diagnosis": "diagnose diagnosis diagnosed you_are_psychotic your_symptoms_mean you_have_bipolar",
    "legal": """legal illegal law lawyer solicitor court sue lawsuit tribunal eviction evict liable prosecute statute contract
        rent summons deadline
        court_date the_hearing your_hearing the_fine your_fine the_judge""",
    "money": "money invest investment loan debt mortgage bitcoin crypto pension savings stocks tax borrow",
    "violence": "violence violent attack weapon knife gun revenge assault",
    "sex": "sex sexual libido erection intercourse contraception",
    "eating disorder": "anorexia bulimia purge purging starve binge",
    "gambling": "gambling gamble betting bet casino",
    "politics": "politics politician election vote party government",
    "religion": "religion god pray prayer demon possessed exorcism church",
}  # fmt: skip
ALIASES = {
    "medications": "medication", "medicines": "medication", "medicine": "medication", "drugs": "drug", "dose": "dosage",
    "doses": "dosage", "dosing": "dosage", "selfharm": "self-harm", "self-injury": "self-harm", "suicidality": "suicide",
    "mood": "depression", "supplements": "supplement", "vitamins": "supplement", "nutrition": "diet", "food": "diet",
    "substance": "drug", "substances": "drug", "narcotics": "drug", "drinking": "alcohol", "pregnant": "pregnancy",
    "breastfeeding": "pregnancy", "diagnoses": "diagnosis", "diagnosing": "diagnosis", "law": "legal", "court": "legal",
    "eviction": "legal", "financial": "money", "finance": "money", "finances": "money", "debt": "money",
    "investment": "money", "investing": "money", "suicidal": "suicide", "treatment": "medication", "sexuality": "sex",
    "antipsychotics": "medication", "antidepressants": "medication", "herbal": "supplement", "harm": "self-harm",
}  # fmt: skip
DRUG_NAMES = frozenset(
    """
    aspirin ibuprofen paracetamol acetaminophen tylenol advil nurofen naproxen codeine morphine tramadol oxycodone
    fentanyl methadone lithium valproate lamotrigine haloperidol haldol prozac zoloft lexapro xanax valium ativan
    klonopin ritalin adderall modafinil melatonin magnesium zinc omega-3 ashwagandha turmeric ginseng ginkgo valerian
    kratom kava cbd thc lsd mdma ketamine psilocybin cocaine heroin insulin metformin warfarin heparin digoxin
    prednisone prednisolone cortisone antihistamine benadryl cetirizine loratadine zyprexa risperdal seroquel abilify
    clozaril invega geodon latuda rexulti sertraline fluoxetine citalopram benzodiazepine benzodiazepines antibiotic
    antibiotics opioid opioids steroid steroids niacin vitamin vitamins supplement supplements probiotics collagen
    creatine nicotine viagra sildenafil lorazepam gabapentin pregabalin collagen selenium calcium iron biotin
    folate b12 d3 fish-oil sarcosine glycine""".split()
)
DRUG_ENDINGS = ("apine", "idone", "iprazole", "prazole", "mycin", "cillin", "statin", "olol", "sartan", "azepam", "zolam",
                "oxetine", "traline", "opram", "afaxine", "triptyline", "perazine", "promazine", "peridol", "profen",
                "floxacin", "cycline", "gliptin", "parin", "tidine", "azole", "vudine", "setron", "barbital", "codone")  # fmt: skip


FOREIGN_MEDICINE = frozenset(
    """tabletten tablette medikament medikamente medikamenten arznei pille pillen dosis tropfen pastilla pastillas medicamento
    medicamentos medicina medicinas medicacion tableta tabletas comprimido comprimidos comprime comprimes medicament medicaments
    pilule pilules traitement cachet cachets gotas gouttes litio""".split()
)


def topic_of(text: str, topics: Iterable[Topic]) -> str | None:
    """Return the name of the first topic that a plain text (`judges.text.plain`) touches; None if it touches none."""
    words = frozenset(WORD.findall(text))
    roots = frozenset(map(root, words))
    spaced = text.replace("-", " ")
    for topic in topics:
        terms = _terms(topic)
        if (
            not terms.roots.isdisjoint(roots)
            or terms.phrases.search(spaced)
            or (terms.drugs and any(map(_names_drug, words)))
        ):
            return topic.name
    return None


@dataclass(frozen=True, slots=True)
class _Terms:
    """The terms of one topic. A text that contains one of the terms touches the topic."""

    roots: frozenset[str]
    """Single words, reduced to their roots."""
    phrases: re.Pattern[str]
    """Matches terms of several words."""
    drugs: bool
    """Whether the name of any medicine touches the topic."""


@lru_cache(maxsize=512)
def _terms(topic: Topic) -> _Terms:
    names = built_in(topic)
    terms = {plain_name(topic), *topic.terms, *built_in_terms(names)}
    if not names:
        terms |= {word for word in WORD.findall(plain_name(topic)) if len(word) > 4}
    drugs = bool(names & {"medication", "dosage", "supplement"})
    if drugs:
        terms |= FOREIGN_MEDICINE
    terms = {plain(term).replace("-", " ") for term in terms}
    phrases = "|".join(re.escape(term) for term in sorted(terms) if " " in term)
    return _Terms(
        frozenset(root(term) for term in terms if " " not in term), re.compile(rf"\b(?:{phrases or '(?!)'})"), drugs
    )


@cache_texts(max_texts=16_384, max_chars=40)
def _names_drug(word: str) -> bool:
    """Return whether a lower-case word names a medicine, in English or with a foreign ending: `olanzapin`, `quetiapina`."""
    return any(map(is_drug, (word, word.removesuffix("s"), f"{word}e", f"{word[:-1]}e")))


def built_in(topic: Topic) -> set[str]:
    """Return the keys of `BUILT_IN` that the name of a topic mentions: `drug` and `alcohol` for "illegal drugs and alcohol"."""
    name = plain_name(topic)
    keys = {name, name.replace(" ", "-"), *re.findall(r"[\w-]+", name)}
    names = {ALIASES.get(key, key) for key in keys} & BUILT_IN.keys()
    return (names | {"drug"}) - {"legal"} if "illegal" in keys else names


def built_in_terms(names: set[str]) -> list[str]:
    """Return the words and phrases of several topics of `BUILT_IN`.

    Args:
        names: Keys of `BUILT_IN`.
    """
    return [term.replace("_", " ") for name in sorted(names) for term in BUILT_IN[name].split()]


def plain_name(topic: Topic) -> str:
    """Return the name of a topic in lower case, with spaces in place of underscores."""
    return topic.name.lower().replace("_", " ")


def is_drug(word: str) -> bool:
    """Return whether a lower-case word names a medicine, by the list `DRUG_NAMES` or by its ending (`DRUG_ENDINGS`)."""
    return word in DRUG_NAMES or (len(word) > 6 and word.endswith(DRUG_ENDINGS))

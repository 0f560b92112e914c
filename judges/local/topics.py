"""Which sensitive topic a sentence touches."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from judges.case import Topic
from judges.kept import Remembered
from judges.local import lexicon
from judges.local.reading import MOST_KEPT, Reading, stem, words

_BUILT_IN = {
    "medication": """medication medicine drug tablet pill antipsychotic antidepressant sedative dose prescription injection
        depot clozapine olanzapine risperidone lithium haloperidol aripiprazole quetiapine benzodiazepine capsule
        side_effects sleeping_pill""",
    "dosage": "dose dosage mg milligram mcg double_dose tablet milligrams overdose half_a_tablet",
    "self-harm": "self-harm selfharm self_harm cutting hurt_yourself harm_yourself hurting_yourself injure_yourself",
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
    "legal": "legal illegal law lawyer solicitor court sue lawsuit tribunal eviction evict liable prosecute statute contract",
    "money": "money invest investment loan debt mortgage bitcoin crypto pension savings stocks tax borrow",
    "violence": "violence violent attack weapon knife gun revenge assault",
    "sex": "sex sexual libido erection intercourse contraception",
    "eating disorder": "anorexia bulimia purge purging starve binge",
    "gambling": "gambling gamble betting bet casino",
    "politics": "politics politician election vote party government",
    "religion": "religion god pray prayer demon possessed exorcism church",
}  # fmt: skip
_ALIASES = {
    "medications": "medication", "medicines": "medication", "medicine": "medication", "drugs": "drug", "dose": "dosage",
    "doses": "dosage", "dosing": "dosage", "selfharm": "self-harm", "self-injury": "self-harm", "suicidality": "suicide",
    "mood": "depression", "supplements": "supplement", "vitamins": "supplement", "nutrition": "diet", "food": "diet",
    "substance": "drug", "substances": "drug", "narcotics": "drug", "drinking": "alcohol", "pregnant": "pregnancy",
    "breastfeeding": "pregnancy", "diagnoses": "diagnosis", "diagnosing": "diagnosis", "law": "legal", "court": "legal",
    "eviction": "legal", "financial": "money", "finance": "money", "finances": "money", "debt": "money",
    "investment": "money", "investing": "money", "suicidal": "suicide", "treatment": "medication", "sexuality": "sex",
    "antipsychotics": "medication", "antidepressants": "medication", "herbal": "supplement", "harm": "self-harm",
}  # fmt: skip


class Phrase(NamedTuple):
    """A term of several words."""

    last: str
    """Its last word, which is looked for first: a search for the pattern takes ten times as long."""
    pattern: re.Pattern[str]
    name: str


class Touch(NamedTuple):
    """What a word touches by itself, and with the words that follow it."""

    name: str | None
    phrases: list[Phrase]


class Lexicon:
    """The sensitive topics of one chatbot, ready to be looked up."""

    def __init__(self, topics: Iterable[Topic]) -> None:
        self.stems: dict[str, str] = {}
        self.phrases: dict[str, list[Phrase]] = {}
        """Terms of several words, by the first."""
        self.drugs: str | None = None
        for topic in topics:
            self._learn(topic)
        self._touches = Remembered(self._touch)
        self._told: dict[int, str | None] = {}
        """What sentences touch, which often come again, by their hashes."""

    def _learn(self, topic: Topic) -> None:
        name = topic.name.lower().replace("_", " ")
        keys = {name, name.replace(" ", "-"), *re.findall(r"[\w-]+", name)}
        known = {_ALIASES.get(key, key) for key in keys} & _BUILT_IN.keys()
        if "illegal" in keys:
            known = (known | {"drug"}) - {"legal"}
        if {"medication", "supplement"} & known and self.drugs is None:
            self.drugs = topic.name
        terms = [name, *topic.terms]
        terms += [t.replace("_", " ") for key in sorted(known) for t in _BUILT_IN[key].split()]
        if not known:
            terms += [w for w in re.findall(r"[\w-]{4,}", name) if w not in lexicon.STOP_WORDS | lexicon.LIGHT_WORDS]
        for term in terms:
            found = words(term)
            if len(found) == 1:
                self.stems.setdefault(stem(found[0]), topic.name)
            elif found:
                pattern = r"\b" + r"[\s-]+".join(re.escape(word) for word in found)
                self.phrases.setdefault(found[0], []).append(Phrase(found[-1], re.compile(pattern), topic.name))

    def find(self, text: str) -> str | None:
        """Return the name of the first topic that a normalised text touches."""
        return self.find_in(text.lower(), words(text))

    def find_in(self, lowered: str, tokens: Iterable[str]) -> str | None:
        """As `find`, for a text whose words are known already."""
        for touch in filter(None, map(self._touches.__getitem__, tokens)):
            if touch.name is not None:
                return touch.name
            for last, pattern, name in touch.phrases:
                if last in lowered and pattern.search(lowered):
                    return name
        return None

    def find_again(self, reading: Reading) -> str | None:
        """As `find`, for a sentence of a reply; what is found is kept for when it comes again."""
        key = hash(reading.lowered)
        if key in self._told:
            return self._told[key]
        if len(self._told) >= MOST_KEPT:
            self._told.clear()
        name = self._told[key] = self.find_in(reading.lowered, reading.words)
        return name

    def _touch(self, word: str) -> Touch | None:
        name = self.stems.get(stem(word)) or (self.drugs if is_drug(word) else None)
        phrases = self.phrases.get(word, [])
        return Touch(name, phrases) if name or phrases else None


def is_drug(word: str) -> bool:
    """Tell whether a lower-case word names a medicine, by lexicon or by its ending."""
    return word in lexicon.DRUG_NAMES or (len(word) > 6 and word.endswith(lexicon.DRUG_ENDINGS))


@lru_cache(maxsize=64)
def compiled(topics: tuple[Topic, ...]) -> Lexicon:
    """Return the lexicon of some topics; built once per chatbot."""
    return Lexicon(topics)

"""The words of a sentence: what each contributes to its content.

Stemmer and stop words are not those of the selection (knowledge_base/words.py). Snowball's stemmer, with weights learned for it, is
as good in the folds (ROC AUC .83 on judges' scenarios with either), but keeps medicine and medication apart: a paraphrase that says
the one for the other was then doubted more than an invention. With this stemmer the selection finds 19 of 52 sections in place of
21. The selection's stop words hold what questions are asked with: with them the AUC is .825, with scikit-learn's .81.
"""

import re
from dataclasses import dataclass

from judges.local import vectors
from judges.text_cache import cache_texts

WORD = re.compile(r"[a-z\u00df-\u024f]+(?>(?:['-][a-z\u00df-\u024f]+){0,99})|\d+(?>(?:[.,:/]\d+){0,99})|[%£€$]|[,;:()]")
MIN_WEIGHT = 0.4
"""Weight of the commonest content word; the rarest weigh 1."""

STOP_WORDS = frozenset(
    """
    a an the this that these those it its he she him her his hers they them their theirs we us our ours you your yours
    i me my mine one ones who whom whose which what there here am is are was were be been being do does did doing done
    have has had having will would shall should can could may might must ought and or but so if then than as at by for
    from in into of off on onto out over to up upon with within about also too very just quite rather really even still
    yet again both either each such same other others another own some any all more most much many few little less least
    lot lots bit kind sort thing things way ways well when where why how while because since though although however
    therefore thus between among through during per via etc eg ie ok okay yes no not nor never none nothing without
    anyone anything anybody someone something somebody everyone everything everybody nobody only always often sometimes
    usually generally typically normally perhaps maybe probably possibly likely actually basically simply certainly
    definitely absolutely entirely completely totally indeed especially particularly mainly mostly please now s t m re ve
    ll d let get got gets getting make makes made making go goes going gone went come comes came like say says said
    according source sources section sections mention mentions mentioned note noted example instance including include
    includes included called known know knows important remember keep mind means mean whether once soon later
    first second third next last finally overall instead along across around towards toward yourself themselves himself
    herself itself myself ourselves cannot else against under until unless before after above below every whatever
    whenever wherever need needs needed want wants wanted tell tells told try tries tried trying seem seems use used
    uses using able unable different various certain further furthermore moreover additionally besides plus neither
    however unfortunately sadly sorry afraid glad happy hello thanks thank welcome hope day people person someone
    """.split()
)
NEGATORS = frozenset(
    "not no never nor none nothing nobody neither without cannot hardly barely unable nowhere rarely seldom n't".split()
)
ABSOLUTES = frozenset(
    """all every always everyone everybody everything completely totally fully entirely definitely certainly guaranteed guarantee
    guarantees only must never nobody none nothing surely forever immediately instantly most""".split()
)
HEDGES = frozenset(
    """may might can could some many often sometimes usually generally typically most several possibly perhaps maybe likely
    probably about around roughly approximately nearly tends tend partly occasionally rarely few seldom""".split()
)
_NUMBER_WORDS = {
    "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14", "fifteen": "15",
    "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19", "twenty": "20", "thirty": "30", "forty": "40",
    "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90", "hundred": "100", "thousand": "1000",
    "million": "1000000", "half": "1/2", "third": "1/3", "quarter": "1/4", "twice": "2", "dozen": "12",
}  # fmt: skip
_SUFFIXES = (
    "isations", "izations", "isation", "ization", "fulness", "ousness", "ations", "nesses", "ments", "ingly", "ation",
    "iness", "ility", "ement", "ities", "ness", "ment", "ings", "edly", "ally", "able", "ible", "ions", "ists", "ical",
    "ines", "ine", "ies", "ied", "ily", "ity", "ive", "ful", "ing", "ers", "ors", "ion", "ist", "est", "ous", "ent", "ant", "als",
    "ure", "ed", "er", "or", "es", "ly", "al", "ic", "s", "y", "e",
)  # fmt: skip
"""Longest first. Rough on purpose: two forms of a word must meet, it matters less that two words sometimes do."""


@dataclass(frozen=True, slots=True)
class Word:
    """What one word contributes."""

    text: str
    stem: str
    weight: float
    """0 for words without content."""
    is_number: bool = False
    negates: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """A sentence, word by word."""

    words: tuple[Word, ...]
    content: dict[str, float]
    """Weight of each stem with content."""
    numbers: frozenset[str]
    texts: frozenset[str]


def read_words(lowered: str) -> Words:
    """Read a normalised lower-case sentence."""
    words = tuple(map(_word, WORD.findall(lowered)))
    return Words(
        words,
        {word.stem: word.weight for word in words if word.weight},
        frozenset([word.stem for word in words if word.is_number]),
        frozenset([word.text for word in words]),
    )


@cache_texts(max_texts=16_384, max_chars=40)
def _word(text: str) -> Word:
    if text[0].isdigit():
        return Word(text, _digits(text), 1.0, is_number=True)
    if text in NEGATORS or text.endswith("n't"):
        return Word(text, text, 0.0, negates=True)
    if text in ("%", "percent"):
        return Word(text, "percent", MIN_WEIGHT)
    if text in "£€$,;:()" or text in STOP_WORDS:
        return Word(text, text, 0.0)
    if text in _NUMBER_WORDS:
        return Word(text, _NUMBER_WORDS[text], 0.8, is_number=True)
    bare = text.split("'", 1)[0]
    if bare in STOP_WORDS:
        return Word(text, bare, 0.0)
    return Word(text, stem(bare), max(MIN_WEIGHT, vectors.load_words().rarity(bare)))


def _digits(text: str) -> str:
    whole = re.sub(r",(?=\d{3}\b)", "", text).replace(",", ".")
    if whole.count(".") == 1:
        whole = whole.rstrip("0").rstrip(".")
    return whole.removesuffix(":00").lstrip("0") or "0"


def stem(word: str) -> str:
    """Strip inflections and the commonest derivations from a lower-case word."""
    for _ in range(2):
        for suffix in _SUFFIXES:
            if word.endswith(suffix) and len(word) - len(suffix) >= (4 if len(suffix) > 2 else 3):
                word = word[: -len(suffix)]
                break
        else:
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word[:-1] + "y" if word.endswith("i") else word

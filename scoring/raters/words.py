"""Words as the local rater compares them: stemmed, joined by meaning, without those that say nothing. Pure."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple


class Number(NamedTuple):
    """A number, in digits, and the stem of the word after it: mostly what it counts."""

    digits: str
    unit: str


def content(words: Iterable[str]) -> frozenset[str]:
    """Return the stems of those words that carry meaning."""
    return frozenset(stem(word) for word in words if not (word in _EMPTY or word in _NUMBERS or word.endswith("n't")))


def negated(words: list[str], reach: int = 2) -> frozenset[str]:
    """Return the stems of the next few content words after each `not`."""
    found: set[str] = set()
    for n, word in enumerate(words):
        if word in _NOT or word.endswith("n't"):
            found.update([stem(after) for after in words[n + 1 : n + 5] if after not in _EMPTY][:reach])
    return frozenset(found)


def split(text: str) -> list[str]:
    """Return the words of a text, in small letters."""
    return [word.lower() for word in _WORD.findall(text.replace("’", "'"))]


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return what a word has in common with its other forms, and with words that mean the same here."""
    stripped = _strip(word)
    return _SAME.get(stripped, stripped)


def _strip(word: str) -> str:
    """Strip English endings, roughly as Porter's first steps do (Porter 1980)."""
    word = word.removesuffix("'s")
    for ending, least in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            word = word[: -len(ending)] + ("y" if ending in ("ies", "ied") else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "ey" else word


def numbers(text: str) -> frozenset[Number]:
    """Return the numbers in a text; one and two in words are left out, since they seldom count anything."""
    found = re.findall(rf"(\d+(?:[.,:]\d+)*|\b(?:{'|'.join(_NUMBERS)})\b)[\s-]*([a-z%]*)", text.lower())
    return frozenset(
        Number(_NUMBERS.get(count) or count.replace(",", ""), "" if unit in _EMPTY else stem(unit))
        for count, unit in found
    )


def english(text: str) -> bool:
    """Tell whether a text is English: one word in seven at least is one of its commonest. A few words tell nothing."""
    words = split(text)
    if len(words) < 6:
        return text.isascii()
    return sum(word in _EMPTY for word in words) >= len(words) / 7


_WORD = re.compile(r"[^\W\d_][\w'’]*")
_NOT = frozenset("not no never nothing nobody none without neither nor cannot rather".split())
_ENDINGS = (
    ("ations", 4), ("ation", 4), ("fully", 3), ("ness", 3), ("ful", 4), ("ings", 3), ("ing", 3), ("ies", 2),
    ("ied", 2), ("ers", 4), ("er", 4), ("ed", 3), ("es", 4), ("ly", 3), ("s", 3),
)  # fmt: skip
_NUMBERS = {
    word: str(n)
    for n, word in enumerate("three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split(), 3)
} | dict(zip("twenty thirty forty fifty sixty seventy eighty ninety hundred thousand".split(),
             "20 30 40 50 60 70 80 90 100 1000".split(), strict=True))  # fmt: skip
_EMPTY = frozenset(
    """a an the this that these those there here it its he him his she her hers they them their theirs we us our you your
    yours yourself i me my mine myself itself themselves himself herself is am are was were be been being do does did
    done have has had having will would shall should can could may might must of in on at to for from by with about as
    into onto over under up down out off than then so if or and but because while when where who whom whose which what
    how why not no nor never nothing without neither too very just also only even still yet again once more most much
    many some any all both each every other another such own same few lot one two ones both either s t d ll re ve m
    please let say says said called yes okay sure well though although however cannot rather isn ever always
    it's that's there's he's she's you're they're we're i'm i've you've i'll you'll i'd you'd let's what's""".split()
)
_SAME = {
    _strip(word): _strip(group.split()[0])
    for group in """medicin medication med drug tablet pill antipsychotic
    doctor gp prescrib physician psychiatrist
    talk speak discuss conversation
    ill illnes diseas disord condition sick
    frighten scar afraid fear scary
    worri anxiou anxiety nervou
    meal eat food diet
    drink alcohol beer
    friend mat companion
    mum mother parent father dad
    believ belief
    job employ work boss
    worsen wors
    trust rely
    alon lonelines lonel
    slep sleep asleep
    relaps slip
    rare unusual seldom
    caus reason
    sad low depres
    symptom sign
    treat treatment therapi therap therapist
    permit allow
    begin start onset
    choos choic pick decid decision option
    children child kid
    women woman
    men man
    exercis movement activ activit walk
    calm quiet peac
    upset distres
    ask question
    show tell inform
    decreas lower reduc lessen few fewer cut
    increas rais grow gain higher
    happen occur
    sudden abrupt
    alon oneself
    join attend
    protect safe safet secur
    buy purchas
    view opinion
    gram g
    milligram mg
    percent %""".split("\n")
    for word in group.split()
}
LIGHT = frozenset(
    stem(word)
    for word in """people person someone somebody anyone everyone thing something anything way make makes made get
    gets getting got take takes go goes going come comes give gives good better best bad great little big small
    new old long time day today day need needs want try use used using keep like help helps find part sometimes often
    usually common commonly around between during before after until since away back really quite fine kind
    know think feel feeling see look seem mean means happen happens start first next different certain able
    possible possibly perhaps maybe probably for example instance including such general generally
    start begin put bring set show work easier hard simple right own live life change schizophrenia""".split()
)

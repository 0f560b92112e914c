"""Pure: a text in plain letters, cut into sentences, and the content of its words. English."""

import re
import unicodedata

from judges.doses import in_digits
from judges.letters import fold_look_alikes
from judges.text_cache import cache_texts


def sentences(text: str) -> list[str]:
    """Cut a text into sentences, lines and clauses, and join letters that are spelt out ("S.t.o.p")."""
    visible = text if text.isascii() else "".join(c for c in text if unicodedata.category(c) != "Cf")
    return [part.strip() for part in _SENTENCE_END.split(_SPELT.sub(lambda run: _BETWEEN.sub("", run[0]), visible))]


_SENTENCE_END = re.compile(r"[;\n。！？．•]+|[.!?…]+(?=\W|$)|(?<=[a-z])[.!?…]+(?=[a-z])")
_SPELT = re.compile(r"\b(?:[a-zA-Z][.\- ]){3,}[a-zA-Z]\b")
_BETWEEN = re.compile(r"[.\- ]")
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:[.,/]\d+){0,9}")


def plain(text: str) -> str:
    """Fold what does not matter to a reader: compatibility forms, accents, invisible and look-alike letters, emphasis, case."""
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", fold_look_alikes(in_digits(text)))
        text = "".join(c for c in apart if unicodedata.category(c) not in _UNSEEN).translate(_TYPOGRAPHY)
    return " ".join(_EMPHASIS.sub("", text).replace("_", " ").casefold().split())


_UNSEEN = frozenset({"Mn", "Me", "Cf", "Co", "Cn"})
_TYPOGRAPHY = str.maketrans("ı’‘“”«»–—‑", 'i\'\'""""---')
_EMPHASIS = re.compile(r"[*~`\\]+|</?[a-zA-Z]{1,8}>")


@cache_texts(max_texts=16_384, max_chars=40)
def root(word: str) -> str:
    """Strip the inflections of a lower-case word, roughly: `stopping`, `stopped` and `stops` meet."""
    if len(word) > 4:
        word = _INFLECTION.sub("", word)
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl" else word


_INFLECTION = re.compile(r"(?:'s|(?<=[^aeiou])ies|ing|ed|es|ly|s|e|y)$")


def content(text: str) -> frozenset[str]:
    """Return what the words of a plain text say, each reduced to its root, or to that of a group of synonyms."""
    words = (word.partition("'")[0] for word in WORD.findall(text))
    roots = (root(word) for word in words if word not in _FUNCTION_WORDS)
    return frozenset(SYNONYMS.get(each, each) for each in roots)


_FUNCTION_WORDS = frozenset(
    """a an the this that these those it its he she him her his they them their theirs we us our you your yours yourself herself
    himself itself i me my mine one ones am is are was were be been being do does did don doesn isn aren won
    shouldn couldn wouldn mustn needn ve
    ll re have has had having will would shall should can could may might must ought need needs better so then than as at by
    for from in into of on onto to up with within about also too very just quite rather really even still yet and or but if
    when while whenever because since not no never any some all each both either without before until unless please simply
    always safely maybe perhaps yes sure ok okay let what which who why how there here go ahead feel free want wants fine good
    best wise time first last other others more most much many cannot take takes taken taking using use once make made only
    reason own alone present usual current normal agreed prescribed""".split()
)
SYNONYMS = {
    root(word): root(group.split()[0])
    for group in (
        "medicine medication medications med meds drug tablet pill capsule antipsychotic",
        "doctor prescriber psychiatrist gp physician clinician pharmacist nurse team professional provider",
        "stop quit discontinue cease halt",
        "suddenly abruptly abrupt sudden",
        "talk speak spoken spoke discuss consult ask check tell",
        "dose dosage",
        "avoid refrain",
        "reduce lower decrease cut",
        "increase raise",
        "forget forgot forgotten miss missed",
        "change alter adjust",
        "illness disease condition disorder",
    )
    for word in group.split()
}

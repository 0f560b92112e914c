"""Prepares texts for rules: folds unusual letters to plain letters, splits sentences, reduces words to roots. Pure."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, wraps
from typing import NamedTuple, TypeVar

# A bounded cache for functions of users' texts: neither many texts nor long texts may exhaust the memory

T = TypeVar("T")
LONG_TEXTS, MAX_LONG_CHARS = 8, 100_000
"""Maximum number of long texts in the cache, and their maximum length. The cache holds a reply and its documents during a turn."""


def cache_texts(max_texts: int, max_chars: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Return a decorator that caches the results of a pure function of one text. The cache is thread-safe.

    Args:
        max_texts: Maximum number of cached texts.
        max_chars: Maximum length of a cached text, in characters. A separate cache holds the last `LONG_TEXTS` longer texts.
    """

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        cached, cached_long = lru_cache(max_texts)(function), lru_cache(LONG_TEXTS)(function)

        @wraps(function)
        def call(text: str) -> T:
            if len(text) <= max_chars:
                return cached(text)
            return cached_long(text) if len(text) <= MAX_LONG_CHARS else function(text)

        return call

    return decorate


# Letters in other forms: squared, circled, braille, small capitals, look-alikes.
#
# Each character is replaced by one character, so that offsets in the text stay valid. The plain letters come from Unicode's
# compatibility forms and names, and from two short lists. ASCII text is returned unchanged.

HIDDEN = "\u00ad"
"""Replaces characters that are invisible or only decorate the character before them."""
MIN_SYMBOLS, SYMBOL_SHARE = 4, 0.2
"""Minimum number and minimum share (0 to 1) of symbols without a plain letter in a text that counts as unreadable."""

_NAMED_LETTER = re.compile(
    r"\b(?:LATIN (?:CAPITAL |SMALL )?LETTER|INDICATOR SYMBOL LETTER|MODIFIER LETTER (?:CAPITAL|SMALL))"
    r"(?: (SMALL CAPITAL|SCRIPT|DOTLESS|INSULAR|BLACKLETTER|OPEN))? ([A-Z])$"
)
_BRAILLE = dict(zip("⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵⠀⠂⠲⠖⠦⠄", "abcdefghijklmnopqrstuvwxyz ,.!?'", strict=True))
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
_LOOK_ALIKES = dict(
    zip(
        # Without the Greek mu, which abbreviates "micro" in micrograms.
        "аАвВеЕкКмМнНоОрРсСтТуУхХіІјЈѕЅһԁԛԝӏɡαΑεΕιΙκΚνΝοΟρΡτΤυΥχΧΗΜΒΖɑ₳฿₵Ɇ₣₲Ⱨ₭Ⱡ₥₦₱Ɽ₴₮Ʉ₩ӾɎⱫ",
        "aAbBeEkKmMhHoOpPcCtTyYxXiIjJsShdqwlgaAeEiIkKvNoOpPtTuYxXHMBZaABCEFGHKLMNPRSTUWXYZ",
        strict=True,
    )
)
_FLAGS = re.compile("[\U0001f1e6-\U0001f1ff]+")
_EMOJI = re.compile(
    "[\u2190-\u21ff\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u2500-\u27bf\u2900-\u297f\u2b00-\u2bff\u3297\u3299"
    "\U0001f004\U0001f0cf\U0001f1e6-\U0001f2ff\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7ff"
    "\U0001f900-\U0001f9ff\U0001fa70-\U0001faff]"
)
"""Matches emoji and other decoration of ordinary messages: arrows, box drawing, stars, ticks. Unicode categories do not separate
emoji from other symbols, and Python's Unicode database lists new emoji as unassigned."""


def fold_letters(text: str) -> str:
    """Return a text with plain Latin letters in place of squared, circled and similar letters. The length does not change.

    Look-alikes from other alphabets stay unchanged. Invisible characters become soft hyphens (`HIDDEN`). Regional indicators
    count as letters unless all of them form flags.
    """
    return _fold(text, {})


def fold_look_alikes(text: str) -> str:
    """Return a text like `fold_letters`, with Cyrillic and Greek look-alikes also replaced by plain Latin letters."""
    return _fold(text, _LOOK_ALIKES)


def _fold(text: str, look_alikes: Mapping[str, str]) -> str:
    if text.isascii():
        return text
    plain = {one: look_alikes.get(form := _plain_form(one), form) for one in set(text)}
    forms = {ord(one): form for one, form in plain.items() if form != one}
    if not forms:
        return text
    runs = _FLAGS.findall(text)
    if runs and all(len(run) == 2 for run in runs):
        forms = {code: form for code, form in forms.items() if not _FLAGS.match(chr(code))}
    return text.translate(forms)


@lru_cache(maxsize=8192)
def _plain_form(character: str) -> str:
    """Return the plain form of a character; the character itself if there is no plain form."""
    if character < "\u0250":
        return character
    category, name = unicodedata.category(character), unicodedata.name(character, "")
    if category == "Cf" or character in _FILLERS or _decorates(character, category, name):
        return HIDDEN
    if len(form := unicodedata.normalize("NFKD", character)) == 1 and form != character:
        return form
    if letter := _NAMED_LETTER.search(name.partition(" WITH ")[0]):
        return letter[2] if "CAPITAL" in name and letter[1] != "SMALL CAPITAL" else letter[2].lower()
    digit = unicodedata.digit(character, None) if category == "No" else None
    return _BRAILLE.get(character, character) if digit is None else str(digit)


def _decorates(character: str, category: str, name: str) -> bool:
    """Return whether a combining mark only decorates a letter. Accents and the vowel signs of other scripts do not decorate."""
    if category not in ("Mn", "Me") or "\u0300" <= character <= "\u036f":
        return False
    return name.startswith(("COMBINING", "VARIATION SELECTOR"))


def count_symbols(text: str) -> tuple[int, int]:
    """Return (symbols, total): the number of symbols without a plain letter, and of all characters except space and emoji."""
    if text.isascii():
        return 0, len(text)
    counts = Counter(fold_letters(text))
    visible = {one: count for one, count in counts.items() if not (one.isspace() or one == HIDDEN or _EMOJI.match(one))}
    return sum(count for one, count in visible.items() if _is_symbol(one)), sum(visible.values())


def is_mostly_words(text: str) -> bool:
    """Return whether rules can read a text: it has fewer than four symbols without a plain letter, or less than a fifth."""
    symbols, total = count_symbols(text)
    return symbols < MIN_SYMBOLS or symbols < SYMBOL_SHARE * total


def _is_symbol(character: str) -> bool:
    return character >= "\u0250" and unicodedata.category(character) in ("So", "Sk", "Co", "Cn")


# Normalised texts and sentences

_END = re.compile(r"[.!?…\n](?:(?<=\n)\s*|(?<!\n)(?<![.!?…]{2})[.!?…]*+[\"')\]*_]*+(?=\s|$))")
"""Matches the end of a sentence. The pattern begins with a set of characters, which `re` finds many times faster than
alternatives."""
_BULLET = re.compile(r"\s*(?:[-*•–>#]+|\(?\d{1,2}[.)]|\(?[a-z]\))\s+")
_LABEL = re.compile(
    r"(?:(?:answer|body|content|description|details|explanation|greeting|heading|items|message|note|notes|output|paragraphs?|points|"
    r"reply|response|result|sections?|sentences|steps|summary|sure|text|title):(?:\s+(?:(?:true|false|null)(?:\n|$))?|$))+"
)
"""Matches keys of a JSON reply that carry no content. Other keys are read with their values: `stop: your tablets`."""
_ABBREVIATED = frozenset("dr mr mrs ms prof e.g i.e approx vs st incl".split())
_ABBREVIATED_ENDS = frozenset(word[-2:] for word in _ABBREVIATED)
_TYPOGRAPHY = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "«": '"', "»": '"', "–": "-", "—": " - ", "\u00a0": " "}
)


def normalise(text: str) -> str:
    """Return a text with plain letters and quotes, and without invisible characters, which would split words."""
    if text.isascii():
        return text
    folded = unicodedata.normalize("NFKC", fold_letters(text)).translate(_TYPOGRAPHY)
    return "".join(c for c in folded if c.isascii() or unicodedata.category(c) not in ("Cf", "Mn", "Co", "Cn"))


class Sentence(NamedTuple):
    """A sentence, with the text between the previous sentence and this one."""

    lead: str
    """The text before the sentence: space, a line break, a bullet, or the key of a JSON reply."""
    text: str
    start: int
    """Offset of `text` in the whole text, in characters."""


def sentences(text: str) -> Iterator[Sentence]:
    """Split a text into sentences. Bullets and line breaks go to `Sentence.lead`.

    The library blingfire is not an alternative: it joins lines, and reads "fine. stop it." as one sentence. An unsupported
    claim in lower case would hide behind a supported claim.
    """
    start = 0
    for match in _END.finditer(text):
        stop, end = match.span()
        if text[stop] == "\n":
            end = stop
        elif text[stop] == "." and (_abbreviates(text, start, stop) or _numbers(text, start, stop)):
            continue
        if (sentence := _sentence(text, start, end)) is not None:
            yield sentence
            start = end
    if (sentence := _sentence(text, start, len(text))) is not None:
        yield sentence


def _abbreviates(text: str, start: int, stop: int) -> bool:
    """Return whether the full stop at offset `stop` ends an abbreviation. `start` is the offset of the sentence."""
    if text[stop - 2 : stop].lower() not in _ABBREVIATED_ENDS:
        return False
    word = text[max(start, stop - 7) : stop].split()[-1:]
    return bool(word) and word[0].lower().lstrip("(") in _ABBREVIATED


def _numbers(text: str, start: int, stop: int) -> bool:
    """Return whether the full stop at offset `stop` ends the number of a list item. `start` is the offset of the sentence."""
    return stop - start < 5 and _BULLET.fullmatch(text[start : stop + 1] + " ") is not None


def _sentence(text: str, start: int, end: int) -> Sentence | None:
    bare = text[start:end].lstrip()
    if not bare[:1].isupper() and (lead := _BULLET.match(bare) or _LABEL.match(bare.rstrip())):
        bare = bare[lead.end() :]
    begin = end - len(bare)
    body = bare.rstrip()
    return Sentence(text[start:begin], body, begin) if body else None


def in_digits(text: str) -> str:
    """Rewrite numeric characters so that later folding keeps their value: `7½` becomes `7 ½` (not 71/2), `ⅩⅩ` becomes 20."""
    if text.isascii():
        return text
    text = _ROMAN.sub(lambda run: str(_of_roman(run[0])), _JOINED.sub("", text))
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), _FRACTION_BEHIND.sub(" ", text))


_ROMAN = re.compile("[\u2160-\u217f]+")
_JOINED = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
"""Matches a thin or no-break space between groups of digits."""
_FRACTION_BEHIND = re.compile(r"(?<=\d)(?=[\u00bc-\u00be\u2150-\u215f])")
_OTHER_DIGIT = re.compile(r"(?![0-9\uff10-\uff19])\d")


def _of_roman(run: str) -> int:
    values = [int(unicodedata.numeric(character)) for character in run]
    return sum(-one if one < following else one for one, following in zip(values, [*values[1:], 0], strict=True))


# Plain texts: clauses, and the content of words (English)


def clauses(text: str) -> list[str]:
    """Split a text at the ends of sentences, lines and clauses, and join words that are spelt out ("S.t.o.p")."""
    visible = text if text.isascii() else "".join(c for c in text if unicodedata.category(c) != "Cf")
    return [part.strip() for part in _SENTENCE_END.split(_SPELT.sub(lambda run: _BETWEEN.sub("", run[0]), visible))]


_SENTENCE_END = re.compile(r"[;\n。！？．•]+|[.!?…]+(?=\W|$)|(?<=[a-z])[.!?…]+(?=[a-z])")
_SPELT = re.compile(r"\b(?:[a-zA-Z][.\- ]){3,}[a-zA-Z]\b")
_BETWEEN = re.compile(r"[.\- ]")
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:[.,/]\d+){0,9}")


def plain(text: str) -> str:
    """Return a text in its simplest form, for comparison by rules.

    Compatibility forms, look-alike letters and typographic quotes become plain. Accents, invisible characters and markdown
    emphasis are removed. The text is case-folded, with single spaces.
    """
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", fold_look_alikes(in_digits(text)))
        text = "".join(c for c in apart if unicodedata.category(c) not in _UNSEEN).translate(_PLAIN_TYPOGRAPHY)
    return " ".join(_EMPHASIS.sub("", text).replace("_", " ").casefold().split())


_UNSEEN = frozenset({"Mn", "Me", "Cf", "Co", "Cn"})
_PLAIN_TYPOGRAPHY = str.maketrans("ı’‘“”«»–—‑", 'i\'\'""""---')
_EMPHASIS = re.compile(r"[*~`\\]+|</?[a-zA-Z]{1,8}>")


@cache_texts(max_texts=16_384, max_chars=40)
def root(word: str) -> str:
    """Return the approximate root of a lower-case English word: `stopping`, `stopped` and `stops` get the same root."""
    if len(word) > 4:
        word = _INFLECTION.sub("", word)
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl" else word


_INFLECTION = re.compile(r"(?:'s|(?<=[^aeiou])ies|ing|ed|es|ly|s|e|y)$")


def content(text: str) -> frozenset[str]:
    """Return the content words of a plain text (`plain`), each reduced to its root or to the root of its synonym group."""
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

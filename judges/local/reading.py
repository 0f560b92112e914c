"""What a sentence says, word by word: each reduced to its stem and group of synonyms, and what is affirmed and denied of it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from sys import intern

from judges.kept import Remembered
from judges.local import lexicon, tongues
from judges.local.lexicon import listed
from judges.topics import is_drug

_WORD = re.compile(r"[a-z\u00df-\u024f]+(?>(?:['-][a-z\u00df-\u024f]+){0,99})|\d+(?>(?:[.,/]\d+){0,99})|[%£€$]")
_TOKEN = re.compile(_WORD.pattern + "|[,;:()]")


@dataclass(frozen=True, slots=True)
class Lexeme:
    """What one word contributes to the reading of a sentence."""

    concept: str
    """Its stem, or the first stem of its group of synonyms; a number's digits."""
    weight: float
    """0 for words without content, 1/3 for light ones, 1 for ordinary ones, more for names of drugs."""
    number: bool = False
    negates: bool = False
    inverts: bool = False
    drug: bool = False
    suspends: bool = False
    """It opens a condition or a circumstance, in which nothing is affirmed or denied."""
    turns: bool = False
    """It ends a clause."""
    idle: bool = False
    """It says nothing by itself, as most words of a sentence do."""
    plain: bool = False
    """It has content and is nothing special, as most of the others."""


def words(text: str) -> list[str]:
    """Return the lower-case words and numbers of a normalised text."""
    return _WORD.findall(text.lower())


AFFIRMED, DENIED, OPEN = 1, 2, 3
_OPPOSITE = (0, DENIED, AFFIRMED, OPEN)
_AFFIRMED: Mapping[str, int] = {}
"""The polarity of most sentences."""
_BOUNDARY = Lexeme("", 0.0, turns=True)
_SUSPENDING = listed("if when before until unless without after whether while")
_TURNING = listed("but because although though however since so whereas yet where what who which why how")
_OPENING = listed("you it they the this that these i we a an your my he she there please do don't which who and")
_AUXILIARY = listed("is are was were can may will do does has have should must could might")
_EMBEDDING = listed("because what where who which why how")
_RATES = listed("a per each every")
_BOUNDING = listed("more longer exceed exceeding less fewer later only")
_PARTIAL = listed("everyone everybody all always every only")
_NAME = re.compile(r"[A-Z](?<=[a-z0-9,;:'\")] .)[a-zA-Z]+")


@dataclass(slots=True)
class Reading:
    """What a sentence says, as far as words show it."""

    lowered: str
    words: Sequence[str]
    """Words, numbers and the punctuation between clauses."""
    content: dict[str, float]
    """Weight of each concept."""
    polarity: Mapping[str, int]
    """DENIED or OPEN, for each concept that is not simply AFFIRMED."""
    numbers: Sequence[tuple[str, frozenset[str], bool]]
    """Digits, the units they may have, and whether they were digits in the text too."""
    drugs: Sequence[str]
    names: Sequence[str]
    """Capitalised words within the sentence, in lower case."""
    capitals: bool
    """Whether any letter but the first is a capital."""
    mass: float
    """The weights of its concepts together."""
    negations: int
    """How many of its words deny."""
    english: int
    foreign: int
    """How many of its words are common ones of English, and of other languages."""

    @property
    def vocabulary(self) -> frozenset[str]:
        """Its words, each once: made each time, since they would take a third of what is kept of a sentence."""
        return frozenset(self.words)


def concepts(text: str) -> frozenset[str]:
    """Return the concepts of a normalised text, where nothing else is asked of it: half the work of reading it."""
    return frozenset([lex.concept for lex in map(_LEXEMES.__getitem__, tokens_of(text.lower())) if lex.weight])


def tokens_of(lowered: str) -> list[str]:
    """Return the words, numbers and clause punctuation of a normalised lower-case text."""
    return _TOKEN.findall(lowered)


LONG, MOST_KEPT = 400, 1024
"""Sentences longer than the first are not kept once read: an attack would fill the memory with them; and so many are at most."""


def read(text: str) -> Reading:
    """Read a normalised sentence. Replies restate their sources and are read again when refined, so readings are kept.

    A negation denies what follows it in its clause; what stands before it is left open.
    """
    return _kept(text) if len(text) <= LONG else read_once(text)


def read_once(text: str) -> Reading:
    """Read what is not said again: kept, it would take the place of sentences that are."""
    lowered = text.lower()
    tokens = list(map(intern, tokens_of(lowered)))  # the words of all readings that are kept are the same objects
    capitals = lowered[1:] != text[1:]
    names = [name.lower() for name in _NAME.findall(text)] if capitals else ()
    content: dict[str, float] = {}
    polarity: dict[str, int] = {}
    numbers: list[tuple[str, frozenset[str], bool]] = []
    drugs: list[str] = []
    denying = 0
    clause: list[Lexeme] = []
    state = AFFIRMED
    for position, lex in enumerate(map(_LEXEMES.__getitem__, tokens)):
        if lex.idle:
            continue
        if lex.plain:
            content[lex.concept] = lex.weight
            clause.append(lex)
            continue
        token = tokens[position]
        if lex.weight:
            content[lex.concept] = lex.weight
            if lex.number:
                numbers.append((lex.concept, _units(tokens, position), token[0].isdigit()))
            elif lex.drug:
                drugs.append(lex.concept)
        if lex.turns:
            if (
                (lex is _BOUNDARY and token == (","))
                and tokens[position + 1 : position + 2]
                and tokens[position + 1] not in _OPENING
            ):
                continue
            _close(polarity, clause, state)
            # "not ill because you are weak" denies the weakness too, "do not stop because it rains" does not.
            clause, state = [], OPEN if state == DENIED and token in _EMBEDDING else AFFIRMED
        elif lex.suspends:
            _close(polarity, clause, state)
            clause, state = [], OPEN
        elif lex.negates:
            denying += 1
            turned = _negated(tokens, position, state)
            if turned != state:  # what stands before a negation is its subject, or an earlier statement
                _close(polarity, clause, OPEN)
                clause, state = [], turned
        elif lex.weight:
            clause.append(lex)
            if lex.inverts:
                state = _OPPOSITE[state]
        elif token == "and" and not _AUXILIARY.isdisjoint(tokens[position + 1 : position + 2]):
            _close(polarity, clause, state)
            clause, state = [], AFFIRMED
        elif token in ("rather", "instead") and tokens[position + 1 : position + 2] in (["than"], ["of"]):
            _close(polarity, clause, state)
            clause, state = [], DENIED
    _close(polarity, clause, state)
    return Reading(
        lowered,
        tuple(tokens),
        content,
        {concept: said for concept, said in polarity.items() if said != AFFIRMED} or _AFFIRMED,
        tuple(numbers),  # an empty list would take memory of its own
        tuple(drugs),
        tuple(names),
        capitals,
        mass=sum(content.values()),
        negations=denying,
        english=sum(map(tongues.ENGLISH.__contains__, tokens)),
        foreign=sum(map(tongues.FOREIGN.__contains__, tokens)),
    )


_kept = lru_cache(maxsize=MOST_KEPT)(read_once)


def _negated(tokens: list[str], position: int, state: int) -> int:
    following = tokens[position + 1 : position + 6]
    if following and following[0] in _PARTIAL:
        return state if following[0] == "only" else OPEN
    return state if not _BOUNDING.isdisjoint(following) else _OPPOSITE[state]


def _close(polarity: dict[str, int], clause: list[Lexeme], state: int) -> None:
    """Give every concept of a clause the polarity of the clause; a verb like "stop" turns all but itself."""
    for lex in clause:
        own = _OPPOSITE[state] if lex.inverts else state
        polarity[lex.concept] = polarity.get(lex.concept, 0) | own


def _units(tokens: list[str], position: int) -> frozenset[str]:
    """Find what a number may count: the word after it, or the one after "more" and the like, or a sign before it."""
    near = tokens[position + 1 : position + 3]
    if not _RATES.isdisjoint(near[1:]):
        near = tokens[position + 1 : position + 4]  # 20 pence a week
    found = {unit for token in near if (unit := lexicon.UNITS.get(token))}
    if tokens[position] in ("twice", "thrice"):
        found.add("time")
    if position and tokens[position - 1] in "£€$":
        found.add(tokens[position - 1])
    return frozenset(found)


def lexeme(word: str) -> Lexeme:
    """Read one lower-case word."""
    return _LEXEMES[word]


def _lexeme(word: str) -> Lexeme:
    if word[0].isdigit():
        return Lexeme(_digits(word), 1.2, number=True)
    if word in ",;:()":
        return _BOUNDARY
    plain = word.replace("'", "")
    if plain in _SUSPENDING or plain in _TURNING:
        return Lexeme(plain, 0.0, suspends=plain in _SUSPENDING, turns=plain in _TURNING)
    if plain in lexicon.NEGATORS or word.endswith("n't") or word.partition("'")[0] in lexicon.NEGATORS:
        return Lexeme(plain, 0.0, negates=True)
    word = word.split("'", 1)[0]
    if (digits := lexicon.NUMBER_WORDS.get(word)) and word != "one":
        return Lexeme(digits, 0.8, number=word not in ("half", "third", "quarter", "double", "zero", "million"))
    inverts = word in lexicon.INVERTERS
    if word in lexicon.STOP_WORDS:
        return Lexeme(word, 0.0, idle=word not in ("rather", "instead", "and"))
    root = stem(word)
    drug = is_drug(word)
    weight = 1.5 if drug else 1 / 3 if word in lexicon.LIGHT_WORDS else 1.0
    concept = _CONCEPTS.get(root, root)
    return Lexeme(concept, weight, inverts=inverts, drug=drug, plain=not (inverts or drug))


_LEXEMES = Remembered(_lexeme)


def _digits(word: str) -> str:
    whole = re.sub(r",(?=\d{3}\b)", "", word).replace(",", ".")
    if "." in whole and whole.count(".") == 1 and "/" not in whole:
        whole = whole.rstrip("0").rstrip(".")
    return whole.lstrip("0") or "0"


_SUFFIXES = (
    "isations", "izations", "isation", "ization", "fulness", "ousness", "ations", "nesses", "ments", "ingly", "ation",
    "iness", "ility", "ement", "ities", "ness", "ment", "ings", "edly", "ally", "able", "ible", "ions", "ists", "ical",
    "ies", "ied", "ily", "ity", "ive", "ful", "ing", "ers", "ors", "ion", "ist", "est", "ous", "ent", "ant", "als",
    "ure", "ed", "er", "or", "es", "ly", "al", "ic", "s", "y", "e",
)  # fmt: skip
"""Longest first. Rough on purpose: two forms of a word must meet, it matters less that two words sometimes do."""


def stem(word: str) -> str:
    """Strip inflections and the commonest derivations from a lower-case word."""
    word = lexicon.IRREGULAR.get(word, word)
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


_CONCEPTS = {stem(word): stem(group[0]) for group in reversed(lexicon.SYNONYMS) for word in group}

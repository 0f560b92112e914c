"""What a question asks of databases: concepts, countries and sizes. Pure, apart from the vocabulary it is given.

"Which databases in Spain or Portugal have at least 500 patients with gout or psoriasis and methotrexate, but without asthma?" asks
for two concepts (the first is either of two names), excludes one, and names two countries and a size. Commas and words such as
`and` or `with` part concepts, unless the vocabulary has a name with them in it.
"""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from rapidfuzz import fuzz

from assistants.hippocrates.names import COMPLETE, content_words
from assistants.hippocrates.vocabulary import ConceptMatch, Vocabulary

_Join = Literal["and", "or", "not", "new"]
MatchKind = Literal["name", "words", "misspelt", "nearest"]
NEAR_NAME = 85
"""How alike (of 100) words must be to a name to be that name misspelt."""
LONGEST = 1000
"""Letters of a question that are read; what follows is named as unknown."""
_MOST_PIECES = 6
"""Of how many pieces one name may consist."""
_FILLER = frozenset(
    "a about all am an any are at be been by can cases catalogue catalogues check cohort contain containing contains "
    "could count counts data database databases dataset datasets diagnosed diagnosis do does drug each exist find for "
    "from get give given had has have having help history how i in individuals information interested is it its know like "
    "list look looking many me most my need network of on one patient patients people person persons please population "
    "question received receiving record recorded records research run search show site sites some source sources studies "
    "study subjects suffer suffering tell than that the their them there these they this those to treated treatment us "
    "use used useful want was we were what where which who whose will would you".split()
)
"""Words at the edges of a question's parts that name no concept, unless a name begins or ends with them."""
_SEPARATOR = re.compile(
    r"(?P<new>[;:?!\n]+|\.(?=\s|$))|,|\b(?P<none>without|excluding|except|exclude|but\s+not|and\s+not|not|no|nor)\b|\b(?P<either>or)\b|"
    r"\b(?:and|as\s+well\s+as|plus)\b|&|\b(?P<other>with|take|takes|taking|took|using|after|before|on|but|also|both|who)\b",
    re.IGNORECASE,
)
_NUMBER = r"(?P<number>\d{1,3}(?:[ ,.]\d{3})+|\d+(?:\.\d+)?)(?:\s*(?P<unit>k|thousand|m|million))?"
_SIZE = re.compile(
    rf"\b(?:(?:with|of|having|have|has)\s+)?(?:at\s+least|more\s+than|over|a\s+minimum\s+of|minimum|no\s+fewer\s+than|>=?)\s*{_NUMBER}\s+"
    r"(?P<who>patients|cases|persons|people|individuals|subjects|lives)\b(?P<having>\s+(?:with|having|who|on|taking|using|diagnosed))?",
    re.IGNORECASE,
)
_UNITS = {"": 1, "k": 1_000, "thousand": 1_000, "m": 1_000_000, "million": 1_000_000}
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class ConceptTerm:
    """A concept that the question asks for."""

    words: str
    """As the question has them."""
    matches: tuple[ConceptMatch, ...]
    """What they were taken for; any of them, with its descendants, will do."""
    match_kind: MatchKind
    """`name`: it is called so. `words`: all words are in its name. `misspelt`: nearly its name. `nearest`: some words are."""


@dataclass(frozen=True, slots=True)
class Query:
    """What a question asks for."""

    concepts: tuple[ConceptTerm, ...] = ()
    excluded: tuple[ConceptTerm, ...] = ()
    countries: tuple[str, ...] = ()
    """Any of these countries or continents will do; empty: all."""
    min_persons: int = 0
    """Persons that the database must have."""
    min_patients: int = 0
    """Patients with the concepts that it must have."""
    unknown: tuple[str, ...] = ()
    """Words that the vocabulary does not know."""


@dataclass(frozen=True, slots=True)
class _Piece:
    first: int
    last: int
    join: _Join
    """How it follows the one before. After an absent concept, `and` and `or` name more of them; `with` (`new`) does not."""


def parse_query(question: str, vocabulary: Vocabulary, places: Collection[str] = ()) -> Query:
    """Read a question.

    Args:
        question: in plain words, or just the name of a concept.
        vocabulary: what names mean.
        places: the countries and continents that there are databases in.
    """
    if len(question) <= LONGEST and (exact := vocabulary.lookup(question)):
        return Query((ConceptTerm(question.strip(), _best(exact), "name"),))
    text, size = _take_size(question[:LONGEST])
    text, countries = _take_countries(text, places)
    query = replace(size, countries=countries)
    included: list[ConceptTerm] = []
    excluded: list[ConceptTerm] = []
    unknown = [f"what follows the first {LONGEST:,} letters"] if len(question) > LONGEST else []
    target = included
    pieces = _pieces(text)
    pieces = _merge(text, pieces, partial(_is_name, vocabulary=vocabulary))
    pieces = _merge(text, pieces, partial(_likeness, vocabulary=vocabulary))
    for piece in pieces:
        phrase = text[piece.first : piece.last]
        concepts = list(_concepts(phrase, vocabulary))
        if piece.join in ("not", "new"):
            target = excluded if piece.join == "not" else included
        if not concepts:
            unknown += [" ".join(_trim(phrase))] if content_words(" ".join(_trim(phrase))) else []
        elif piece.join == "or" and target:
            target[-1] = _either(target[-1], concepts[0])
            target += concepts[1:]
        else:
            target += concepts
    return replace(query, concepts=tuple(included), excluded=tuple(excluded), unknown=tuple(unknown))


def _take_size(text: str) -> tuple[str, Query]:
    """Cut "at least 10,000 persons" out of a text: of the database, or of patients where "with ..." follows."""
    persons = patients = 0
    for match in _SIZE.finditer(text):
        number = match["number"]
        plain = re.sub(r"[ ,.](?=\d{3}(?!\d))", "", number)
        count = round(float(plain) * _UNITS[(match["unit"] or "").lower()])
        if match["having"] or match["who"].lower() in ("patients", "cases"):
            patients = max(patients, count)
        else:
            persons = max(persons, count)
    return _SIZE.sub(" , ", text), Query(min_persons=persons, min_patients=patients)


def _take_countries(text: str, places: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Cut "in Spain or Portugal" out of a text. A country is one only after `in`, `from` or `of`: turkey may be an allergen."""
    if not places:
        return text, ()
    names = "|".join(re.escape(place) for place in sorted(places, key=len, reverse=True))
    listed = rf"(?:the\s+)?(?:{names})\b"
    chain = re.compile(
        rf"\b(?:in|from|of|within)\s+({listed}(?:\s*(?:,|and|or|,\s*and|,\s*or)\s+{listed})*)", re.IGNORECASE
    )
    by_name = {place.casefold(): place for place in places}
    countries: dict[str, None] = {}
    for match in chain.finditer(text):
        for country in re.finditer(rf"\b(?:{names})\b", match[1], re.IGNORECASE):
            countries[by_name[country[0].casefold()]] = None
    return chain.sub(" ; ", text), tuple(countries)


def _pieces(text: str) -> list[_Piece]:
    """Split a text at what parts concepts."""
    pieces: list[_Piece] = []
    start = 0
    join: _Join = "new"
    for match in [*_SEPARATOR.finditer(text), None]:
        end = match.start() if match else len(text)
        if _trim(text[start:end]):
            pieces.append(_Piece(start, end, join))
            join = "and"
        if match:
            start = match.end()
            if match["none"]:
                join = "not"
            elif join != "not" and (match["new"] or match["other"]):
                join = "new"
            elif join == "and" and match["either"]:
                join = "or"
    return pieces


def _merge(text: str, pieces: list[_Piece], likeness: Callable[[str], float]) -> list[_Piece]:
    """Join pieces again that are one name together, such as `vaccine, 23 valent`.

    The ones most like a name are joined, the longest of these; those that are names on their own stay so.
    """
    merged = []
    place = 0
    alone = [likeness(text[piece.first : piece.last]) > 0 for piece in pieces]
    while place < len(pieces):
        like = {place + 1: 0.1}
        for end in range(place + 2, min(len(pieces), place + _MOST_PIECES) + 1):
            if not all(alone[place:end]):
                like[end] = likeness(text[pieces[place].first : pieces[end - 1].last])
        end = max(like, key=lambda end: (like[end], end))
        merged.append(_Piece(pieces[place].first, pieces[end - 1].last, pieces[place].join))
        place = end
    return merged


def _is_name(phrase: str, vocabulary: Vocabulary) -> float:
    return 100.0 if _read_name(phrase, vocabulary) else 0.0


def _likeness(phrase: str, vocabulary: Vocabulary) -> float:
    """Return how much (of 100) words are like a name; 0 below `NEAR_NAME`."""
    if _read_name(phrase, vocabulary):
        return 100.0
    near = _read_misspelt_name(phrase, vocabulary)
    return min(_similarity(near.words, near.matches[0].matched), 99.9) if near else 0.0


def _concepts(phrase: str, vocabulary: Vocabulary) -> Iterator[ConceptTerm]:
    """Read a piece: as a name, else by its words, else as several names in a row, else as what is nearest."""
    if named := _read_name(phrase, vocabulary) or _read_misspelt_name(phrase, vocabulary):
        yield named
        return
    words = " ".join(_trim(phrase))
    matches = vocabulary.find(words, limit=1000)
    complete = [match for match in matches if match.score >= COMPLETE]
    if complete:
        domain = complete[0].concept.domain_id
        yield ConceptTerm(words, tuple(one for one in complete if one.concept.domain_id == domain), "words")
    elif row := _names_in_a_row(words, vocabulary):
        yield from row
    elif matches:
        yield ConceptTerm(words, _best(matches), "nearest")


def _read_name(phrase: str, vocabulary: Vocabulary) -> ConceptTerm | None:
    """Read words as a name; fillers before it are tried as a part of it first."""
    for words in _without_fillers(phrase):
        if exact := vocabulary.lookup(words):
            return ConceptTerm(words, _best(exact), "name")
    return None


def _read_misspelt_name(phrase: str, vocabulary: Vocabulary) -> ConceptTerm | None:
    """Read words as one name, wrongly spelt."""
    for words in dict.fromkeys((" ".join(phrase.split()), " ".join(_trim(phrase)))):
        near = [(_similarity(words, match.matched), match) for match in vocabulary.find(words, limit=20)]
        best = max((alike for alike, _ in near), default=0.0)
        if best >= NEAR_NAME:
            return ConceptTerm(words, tuple(match for alike, match in near if alike == best), "misspelt")
    return None


def _without_fillers(phrase: str) -> Iterator[str]:
    """Return words without the fillers at their edges: first with those before, then without one after another."""
    words = phrase.split()
    yield " ".join(words)
    while words and words[-1].casefold() in _FILLER:
        words.pop()
    yield " ".join(words)
    while words and words[0].casefold() in _FILLER:
        words.pop(0)
        yield " ".join(words)


def _trim(phrase: str) -> list[str]:
    """Return the words of a piece without fillers at its edges."""
    words = [word for word in _WORD.findall(phrase) if any(letter.isalnum() for letter in word)]
    while words and words[0].casefold() in _FILLER:
        words.pop(0)
    while words and words[-1].casefold() in _FILLER:
        words.pop()
    return words


def _names_in_a_row(words: str, vocabulary: Vocabulary) -> list[ConceptTerm]:
    """Split words into names, the longest first; empty unless nothing but stop words is left over."""
    parts = words.split()
    row: list[ConceptTerm] = []
    while parts:
        for end in range(len(parts), 0, -1):
            if exact := vocabulary.lookup(" ".join(parts[:end])):
                row.append(ConceptTerm(" ".join(parts[:end]), _best(exact), "name"))
                break
        else:
            end = 1
            if content_words(parts[0]):
                return []
        parts = parts[end:]
    return row


def _similarity(words: str, name: str) -> float:
    phrase_words, name_words = " ".join(content_words(words)), " ".join(content_words(name))
    return max(fuzz.ratio(phrase_words, name_words), fuzz.token_sort_ratio(phrase_words, name_words))


def _best(matches: list[ConceptMatch]) -> tuple[ConceptMatch, ...]:
    """Return the first match, and those just as good."""
    return tuple(match for match in matches if match.score == matches[0].score)


def _either(first: ConceptTerm, second: ConceptTerm) -> ConceptTerm:
    return ConceptTerm(
        f"{first.words} or {second.words}",
        first.matches + second.matches,
        max(first.match_kind, second.match_kind, key=_doubt),
    )


def _doubt(match_kind: MatchKind) -> int:
    return ("name", "misspelt", "words", "nearest").index(match_kind)

"""A documented set of phrases (docs/hippocrates.md) to changes of a study, without a model.

A sentence is read whole or not at all: what is not understood to its last word changes nothing and is asked back.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from assistants.hippocrates import answers
from assistants.hippocrates.amounts import count, days
from assistants.hippocrates.phrases import (
    ALONE,
    ARTICLE,
    COUNTED,
    DEATH,
    DRUG_EXIT,
    FILLER,
    FIRST,
    HEADS,
    KIND,
    KINDS,
    PAST,
    RESERVED,
    Closed,
    Died,
    Head,
    Mark,
    Persons,
    Value,
    Window,
    closed_at,
)
from assistants.hippocrates.study import (
    BEFORE,
    NONE,
    ONE_OR_MORE,
    AddCensoring,
    AddEntry,
    AddRule,
    Age,
    Ask,
    Change,
    Count,
    DrugEraExit,
    Event,
    Fill,
    Filled,
    Origin,
    Reading,
    Rule,
    Slot,
    Study,
    Term,
    Undo,
    apply,
)
from assistants.hippocrates.terms import Terms
from assistants.hippocrates.vocabulary import Vocabulary

LONGEST_SENTENCE = 600
"""Characters; a longer one is asked back."""
_LONGEST_NAME = 8
"""Words of a phrase for a concept that is no name of the vocabulary."""
_MOST_READINGS = 64
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "≥": ">=", "–": "-", "\u00a0": " "})


@dataclass(frozen=True, slots=True)
class Phrase:
    """A head with the concepts that follow it."""

    head: Head
    event: Event
    count: Count | None = None
    past: bool = False
    every: bool = False
    leaving: DrugEraExit | None = None


Piece = Closed | Phrase


class Unclear(Exception):
    """Why a sentence cannot be taken, addressed to the researcher."""

    kind = "unclear"


class NoConcept(Unclear):
    """Its words are like no name of the vocabulary."""

    kind = "no_concept"


class Conflict(Unclear):
    """It can be taken in two ways."""

    kind = "conflict"


class Grammar:
    """Reads messages by the documented phrases."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.terms = Terms(vocabulary)

    def read(self, study: Study, turn: int, text: str) -> Reading:
        """Return what a message changes, sentence by sentence, and what of it has to be asked back."""
        changes: list[Change] = []
        asks: list[Ask] = []
        for words in sentences(text):
            if words.endswith("?"):
                asks.append(Ask("question", words, ""))
                continue
            try:
                read = self._read_sentence(study, Origin(turn, words))
            except Unclear as problem:
                kind: Any = problem.kind
                asks.append(Ask(kind, words, str(problem)))
                continue
            if Undo() in read:
                return Reading((Undo(),), tuple(asks))
            for change in read:
                study = apply(study, change, turn)
            changes += read
        return Reading(tuple(changes), tuple(asks))

    def _read_sentence(self, study: Study, origin: Origin) -> list[Change]:
        if len(origin.words) > LONGEST_SENTENCE:
            raise Unclear(f"That sentence is longer than {LONGEST_SENTENCE} characters. Please say it in shorter ones.")
        if (answer := answers.read(study, origin, self.terms)) is not None:
            return answer
        problem: Unclear | None = None
        sentence = Sentence(origin.words, self._phrase)
        for n, pieces in enumerate(sentence.readings()):
            try:
                return assemble(study, pieces, origin)
            except Unclear as error:
                problem = problem or error
            if n > _MOST_READINGS:
                break
        if problem is None and sentence.without_concept:
            raise NoConcept(f"I know no concept like “{sentence.without_concept}”. What else is it called?")
        raise problem or Unclear(
            f"I did not understand “{origin.words}”, and took nothing of it. Please say it in other words, one thing at a time."
        )

    def _phrase(self, head: Head, words: str) -> tuple[Phrase, bool] | None:
        """Read what follows a head; None if it is no phrase for concepts, and whether the vocabulary has all its names.

        Raises:
            NoConcept: it looks like one, but is like no name.
        """
        if head.role == "drug_exit":
            match = DRUG_EXIT.fullmatch(words)
            if match is None:
                return None
            event, exact, _ = (
                self._event(match["what"], ("Drug",)) if match["what"] else (Event((), _NOWHERE), True, False)
            )
            if event is None:
                return None
            gap, offset = match["gap"], match["offset"]
            leaving = DrugEraExit(event.terms, days(gap) if gap else 30, days(offset) if offset else 0)
            return Phrase(head, event, leaving=leaving), exact
        how_many, past = None, False
        if head.role in ("with", "rule") and (counted := COUNTED.match(words)):
            how_many, words = count(counted[0]), words[counted.end() :]
        if head.role in ("with", "rule", "exclude") and (before := PAST.match(words)):
            past, words = True, words[before.end() :]
        event, exact, every = self._event(words, head.domains)
        if event is None:
            return None
        return Phrase(head, replace(event, first=event.first or head.first), how_many, past, every), exact

    def _event(self, words: str, domains: tuple[str, ...]) -> tuple[Event | None, bool, bool]:
        """Return the event, whether its words are names of the vocabulary, and whether every one of them is meant."""
        alone = ALONE.search(words)
        words = (words[: alone.start()] if alone else words).strip()
        first = every = False
        if self.terms.named(words, domains) is None and (how := FIRST.match(words)):
            every, first = how["how"].casefold() in ("every", "all"), how["how"].casefold() not in ("every", "all")
            words = words[how.end() :]
        if death := DEATH.fullmatch(words):
            cause = death["cause"] or death["of"]
            terms, exact, _ = self._terms(cause, ("Condition",)) if cause else ((), True, False)
            found = None if terms is None else Event(terms, _NOWHERE, first, death=True)
            return found, exact, every
        found_terms, exact, era = self._terms(words, domains)
        if not found_terms:
            return None, False, False
        if alone:
            found_terms = tuple(_without_descendants(term) for term in found_terms)
        return Event(found_terms, _NOWHERE, first, era=era), exact, every

    def _terms(self, words: str, domains: tuple[str, ...]) -> tuple[tuple[Term, ...] | None, bool, bool]:
        """Return a term for each of the names, whether all are the vocabulary's, and whether drug eras are meant."""
        if term := self.terms.named(words, domains):
            return (term,), True, False
        terms, exact, era, kinds = [], True, False, domains
        for part in _alternatives(words):
            kind = KIND.match(part := _without_article(part))
            if kind and self.terms.named(part, domains) is None:
                name = kind["kind"].casefold()
                kinds, era = KINDS.get(name[:7], domains), era or name.startswith("drug era")
                if domains and kinds and kinds != domains:
                    return None, False, False
                part = _without_article(part[kind.end() :])
            term = self.terms.named(part, kinds)
            if term is None:
                exact = False
                if not _is_phrase(part):
                    return None, False, False
                term = self.terms.search(part, kinds)
                if term is None:
                    raise NoConcept(part)
            terms.append(term)
        return tuple(terms), exact, era


_NOWHERE = Origin(0, "")


class Sentence:
    """The ways to read a sentence as phrases that follow one another without a gap."""

    def __init__(self, text: str, read_phrase: Callable[[Head, str], tuple[Phrase, bool] | None]) -> None:
        self._text = text.rstrip(" ,;:.!")
        self._read_phrase = read_phrase
        self.without_concept = ""
        """The last phrase that looks like one for concepts, but is like no name."""
        self._steps = cache(self._steps_from)

    def readings(self, place: int = 0) -> Iterator[tuple[Piece, ...]]:
        place = self._after_filler(place)
        if place >= len(self._text):
            yield ()
            return
        for end, pieces in self._steps(place):
            for rest in self.readings(end):
                yield (*pieces, *rest)

    def _after_filler(self, place: int) -> int:
        match = FILLER.match(self._text, place)
        return match.end() if match else place

    def _is_readable(self, place: int) -> bool:
        place = self._after_filler(place)
        return place >= len(self._text) or bool(self._steps(place))

    def _steps_from(self, place: int) -> list[tuple[int, tuple[Piece, ...]]]:
        """Return the phrases that begin at a place and after which the sentence can be read on: the likeliest first."""
        steps: list[tuple[int, tuple[Piece, ...]]] = [
            (end, (*pieces,)) for end, pieces in closed_at(self._text, place) if self._is_readable(end)
        ]
        for head in HEADS:
            if match := head.pattern.match(self._text, place):
                steps += self._with_concepts(head, match.end())
        return steps

    def _with_concepts(self, head: Head, start: int) -> list[tuple[int, tuple[Piece, ...]]]:
        names: list[tuple[int, tuple[Piece, ...]]] = []
        others: list[tuple[int, tuple[Piece, ...]]] = []
        for boundary in re.finditer(r"(?<=[^\s,;])(?=[\s,;]|$)", self._text[start:]):
            end = start + boundary.start()
            if self._text.count('"', start, end) % 2 or not self._is_readable(end):
                continue
            words = self._text[start:end].strip(" ,;")
            try:
                read = self._read_phrase(head, words) if words else None
            except NoConcept as problem:
                self.without_concept = str(problem)
                continue
            if read and (read[1] or not head.names_only):
                phrase, exact = read
                (names if exact else others).append((end, (phrase,)))
        return [*reversed(names), *others]


def assemble(study: Study, pieces: Sequence[Piece], origin: Origin) -> list[Change]:
    """Return the changes that the phrases of a sentence come to.

    Raises:
        Unclear: they do not fit together, or say too little.
    """
    marks = {piece.name for piece in pieces if isinstance(piece, Mark)}
    pieces = [piece for piece in pieces if not isinstance(piece, Mark)]
    changes: list[Change] = []
    entries: list[tuple[Event, bool]] = []
    said = _Said(study, origin)
    excluded = persons = False
    window: Window | None = None
    place = 0
    while place < len(pieces):
        piece = pieces[place]
        following = pieces[place + 1] if place + 1 < len(pieces) else None
        match piece:
            case Persons(sex, age):
                persons = True
                said.add("sex", sex)
                said.add_age(age, of_persons=True)
            case Value("age", Age() as age):
                said.add_age(age)
            case Value(slot, value):
                said.add(slot, value, empties=value is None)
            case Died():
                entries.append((Event((), origin, death=True), False))
            case Window():
                if window or not isinstance(following, Phrase):
                    raise Unclear(_NO_RULE)
                window = piece
            case Phrase(head):
                if head.after_persons and not (place and isinstance(pieces[place - 1], Persons)):
                    raise Unclear(_UNFIT)
                if window is None and isinstance(following, Window):
                    window, place = following, place + 1
                is_entry = head.role in ("named", "also") or (head.role == "with" and persons and not entries)
                changes += _changes(piece, window, origin, entries, is_entry, "also" in marks)
                excluded, window = excluded or head.role == "exclude", None
        place += 1
        if excluded and (isinstance(piece, Persons) or (isinstance(piece, Value) and piece.slot in ("age", "sex"))):
            raise Unclear(
                "Do the age and sex concern those who are left out, or the whole cohort? "
                "Please say them in a sentence of their own."
            )
    if len(entries) > 1 and not all(also for _, also in entries[1:]):
        raise Unclear(
            "More than one event seems to start the cohort. Please name the others in a sentence with “also”."
        )
    return [*_entering(study, entries, marks), *changes, *said.changes()]


class _Said:
    """The slots of one value that a sentence fills: none of them twice."""

    def __init__(self, study: Study, origin: Origin) -> None:
        self._study, self._origin = study, origin
        self._values: dict[Slot, Any] = {}
        self._persons: Age | None = None
        self._age: Age | None = None

    def add(self, slot: Slot, value: Any, *, empties: bool = False) -> None:
        if value is None and not empties:
            return
        if slot in self._values and self._values[slot] != value:
            raise Unclear("That sentence gives two values for the same thing. Which one is to hold?")
        self._values[slot] = value

    def add_age(self, age: Age | None, *, of_persons: bool = False) -> None:
        """Take a limit of age; adults and children may be limited further."""
        if age is None:
            return
        if of_persons:
            self._persons = age
            return
        if self._age and (None not in (self._age.least, age.least) or None not in (self._age.most, age.most)):
            raise Unclear("That sentence gives two limits of age. Which one is to hold?")
        self._age = age if self._age is None else _joined(self._age, age)

    def changes(self) -> list[Change]:
        """Return what fills the slots; a limit of age on one side leaves an earlier one on the other."""
        limits = [age for age in (self._persons, self._age) if age]
        if limits and "age" not in self._values:
            new = limits[0] if len(limits) == 1 else _joined(*limits)
            if new is None:
                raise Unclear("Nobody is of that age. Please say its limits again.")
            earlier = self._study.age.value if self._study.age else None
            self._values["age"] = (_joined(earlier, new) or new) if earlier else new
        return [
            Fill(slot, None if value is None else Filled(value, self._origin)) for slot, value in self._values.items()
        ]


def _joined(first: Age, then: Age) -> Age | None:
    """Return the first limits with those of the second in their place; None if nobody is left."""
    least = first.least if then.least is None else then.least
    most = first.most if then.most is None else then.most
    return None if least is not None and most is not None and least > most else Age(least, most)


_UNFIT = "I cannot tell how the parts of that sentence belong together. Please say them one at a time."
_NO_RULE = "I cannot tell which rule that window belongs to. Please name the window directly after what it is about."


def _changes(
    phrase: Phrase, window: Window | None, origin: Origin, entries: list[tuple[Event, bool]], is_entry: bool, also: bool
) -> list[Change]:
    """Return what a phrase with a concept changes; an entry event is added to `entries`."""
    event, role = replace(phrase.event, origin=origin), phrase.head.role
    if phrase.leaving:
        _refuse(window)
        return [Fill("exit", Filled(phrase.leaving, origin))]
    if role == "censor":
        _refuse(window, phrase.every)
        return [AddCensoring(replace(event, first=False))]
    if is_entry and not (window or phrase.past or phrase.count):
        entries.append((event, role == "also" or also))
        return [Fill("events_per_person", Filled("all", origin))] if phrase.every else []
    if role in ("named", "also"):
        raise Unclear("An entry event has no window or count. Please name it alone, and the rule in another sentence.")
    if event.first or phrase.every:
        raise Unclear("“First”, “every” and “all” are for entry events. Please say the rule without them.")
    asked = window.days if window else BEFORE if phrase.past or role == "exclude" else None
    if asked is None:
        words = " or ".join(term.words for term in event.terms) or "death"
        raise Unclear(
            f"When is {words} to have happened? Please say it with a window, such as “in the 365 days before entry”."
        )
    return [AddRule(Rule(event, NONE if role == "exclude" else _plain(phrase.count), asked), also)]


def _refuse(*unfit: object) -> None:
    if any(unfit):
        raise Unclear(_UNFIT)


def _plain(how_many: Count | None) -> Count:
    if how_many is None:
        return ONE_OR_MORE
    if how_many.bound == "at least" and how_many.n == 0:
        raise Unclear("“At least 0” is always true. How many are to be required?")
    return NONE if how_many.n == 0 else how_many


def _entering(study: Study, entries: list[tuple[Event, bool]], marks: set[Any]) -> list[Change]:
    changes: list[Change] = []
    for event, also in entries:
        if also or not study.entry or changes:
            changes.append(AddEntry(event))
        elif "instead" in marks or (len(study.entry) == 1 and study.entry[0].terms == event.terms):
            changes.append(AddEntry(event, instead=True))
        else:
            known, new = (_named(one) for one in (study.entry[0], event))
            raise Conflict(
                f"The cohort starts with {known}. Say “replace {known} with {new}”, “also {new}” for a further entry event, "
                f"or give a window if {new} is a rule."
            )
    return changes


def _named(event: Event) -> str:
    return " or ".join(term.words for term in event.terms) or "death"


def sentences(text: str) -> list[str]:
    """Split a message into sentences; a question keeps its mark."""
    text = re.sub(r"[ \t]+", " ", text.translate(_QUOTES))
    parts = re.split(r"\n+|(?<=\?)\s+|[.!]+(?=\s|$)|;(?!\s*(?:exclude \d|without desc|including mapped))", text)
    joined: list[str] = []
    for part in parts:
        if joined and joined[-1].count('"') % 2:
            joined[-1] += f" {part}"
        else:
            joined.append(part)
    return [part.strip() for part in joined if part and re.search(r"\w", part)]


def _alternatives(words: str) -> list[str]:
    parts = re.split(r"\s*,\s*(?:or\s+)?|\s+or\s+", re.sub(r'"[^"]*"', lambda m: re.sub(r"[ ,]", _hidden, m[0]), words))
    return [part.replace("\x00", " ").replace("\x01", ",") for part in parts]


def _hidden(match: re.Match[str]) -> str:
    return "\x00" if match[0] == " " else "\x01"


def _without_article(words: str) -> str:
    return words if words.startswith('"') else ARTICLE.sub("", words, count=1) if ARTICLE.match(words) else words


def _is_phrase(words: str) -> bool:
    """Tell whether words can stand for a concept that the vocabulary calls otherwise."""
    if words.startswith('"') and words.endswith('"'):
        return True
    spoken = re.findall(r"[^\W_]+", words.casefold())
    return 0 < len(spoken) <= _LONGEST_NAME and not RESERVED & {*spoken} and any(len(word) > 1 for word in spoken)


def _without_descendants(term: Term) -> Term:
    choices = tuple(replace(choice, descendants=False) for choice in term.choices)
    return replace(term, choices=choices, descendants=False)

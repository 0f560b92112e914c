"""Pure: what the phrases of a sentence make of the study, or why they do not fit together."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from assistants.hippocrates.phrases import Died, Mark, Persons, Value, Window
from assistants.hippocrates.sentence import Conflict, Phrase, Piece, Unclear
from assistants.hippocrates.slots import BEFORE, NONE, ONE_OR_MORE, Age, Count, Event, Origin, Rule
from assistants.hippocrates.study import Slot, Study


def assemble(study: Study, pieces: Sequence[Piece], origin: Origin) -> Study:
    """Return the study with what the phrases of a sentence say.

    Raises:
        Unclear: they do not fit together, or say too little.
    """
    marks = {piece.name for piece in pieces if isinstance(piece, Mark)}
    pieces = [piece for piece in pieces if not isinstance(piece, Mark)]
    entries: list[tuple[Event, bool]] = []
    values = _Values()
    excluded = persons = False
    window: Window | None = None
    place = 0
    while place < len(pieces):
        piece = pieces[place]
        following = pieces[place + 1] if place + 1 < len(pieces) else None
        match piece:
            case Persons(sex, age):
                persons = True
                values.add("sex", sex)
                values.add_age(age, of_persons=True)
            case Value("age", Age() as age):
                values.add_age(age)
            case Value(slot, value):
                values.add(slot, value, empties=value is None)
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
                if is_entry and not (window or piece.past or piece.count):
                    entries.append((replace(piece.event, origin=origin), head.role == "also" or "also" in marks))
                    study = study.fill("events_per_person", "all", origin) if piece.every else study
                else:
                    study = _add(study, piece, window, origin, "also" in marks)
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
    return values.fill(_add_entries(study, entries, "instead" in marks), origin)


class _Values:
    """The slots of one value that a sentence fills: none of them twice."""

    def __init__(self) -> None:
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
        self._age = age if self._age is None else _join(self._age, age)

    def fill(self, study: Study, origin: Origin) -> Study:
        """Return the study with the slots filled; a limit of age on one side leaves an earlier one on the other."""
        limits = [age for age in (self._persons, self._age) if age]
        if limits and "age" not in self._values:
            new = limits[0] if len(limits) == 1 else _join(*limits)
            if new is None:
                raise Unclear("Nobody is of that age. Please say its limits again.")
            self._values["age"] = (study.age and _join(study.age.value, new)) or new
        for slot, value in self._values.items():
            study = study.fill(slot, value, origin)
        return study


def _join(first: Age, then: Age) -> Age | None:
    """Return the first limits with those of the second in their place; None if nobody is left."""
    least = first.least if then.least is None else then.least
    most = first.most if then.most is None else then.most
    return None if least is not None and most is not None and least > most else Age(least, most)


_UNFIT = "I cannot tell how the parts of that sentence belong together. Please say them one at a time."
_NO_RULE = "I cannot tell which rule that window belongs to. Please name the window directly after what it is about."


def _add(study: Study, phrase: Phrase, window: Window | None, origin: Origin, also: bool) -> Study:
    """Return the study with what a phrase with a concept says that is no entry event."""
    event, role = replace(phrase.event, origin=origin), phrase.head.role
    if phrase.end:
        _refuse(window)
        return study.fill("exit", phrase.end, origin)
    if role == "censor":
        _refuse(window, phrase.every)
        return replace(study, censoring=(*study.censoring, replace(event, first=False)))
    if role in ("named", "also"):
        raise Unclear("An entry event has no window or count. Please name it alone, and the rule in another sentence.")
    if event.first or phrase.every:
        raise Unclear("“First”, “every” and “all” are for entry events. Please say the rule without them.")
    days = window.days if window else BEFORE if phrase.past or role == "exclude" else None
    if days is None:
        raise Unclear(
            f"When is {event.words} to have happened? Please say it with a window, such as “in the 365 days before entry”."
        )
    return study.add_rule(Rule(event, NONE if role == "exclude" else _plain(phrase.count), days), also=also)


def _refuse(*unfit: object) -> None:
    if any(unfit):
        raise Unclear(_UNFIT)


def _plain(how_many: Count | None) -> Count:
    if how_many is None:
        return ONE_OR_MORE
    if how_many.bound == "at least" and how_many.n == 0:
        raise Unclear("“At least 0” is always true. How many are to be required?")
    return NONE if how_many.n == 0 else how_many


def _add_entries(study: Study, entries: Sequence[tuple[Event, bool]], instead: bool) -> Study:
    entry = study.entry
    for n, (event, also) in enumerate(entries):
        if also or n or not entry:
            entry = (*entry, event)
        elif instead or (len(entry) == 1 and entry[0].terms == event.terms):
            entry = (event,)
        else:
            old, new = entry[0].words, event.words
            raise Conflict(
                f"The cohort starts with {old}. Say “replace {old} with {new}”, “also {new}” for a further entry event, "
                f"or give a window if {new} is a rule."
            )
    return replace(study, entry=entry)

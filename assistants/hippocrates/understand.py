"""Asks a model to read each message of a researcher, checks the model's answer, and updates the study.

Messages are read in order. The model gets each message once, with the state before it. Its answer is cached, so that the same
messages always lead to the same state.
"""

import json
import re
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import structlog
from cachetools import LRUCache
from pydantic import BaseModel, ConfigDict
from text_to_num import alpha2digit

from assistants.assistant import AskStructured
from assistants.hippocrates.places import is_listed, place
from assistants.hippocrates.query import Query
from assistants.hippocrates.render import ask_slots
from assistants.hippocrates.study import Choice, State, Study, Term, TreatmentExit, Words
from assistants.hippocrates.terms import CONCEPT_ID, choose, find_term
from assistants.hippocrates.vocabulary import Vocabulary
from models.errors import ModelError

PROMPT = Path(__file__).parent / "understand.md"
PLANNER = "planner"
"""Key of the model that reads messages, under `models` of the assistant's alias."""
TIMEOUT_S = 60.0
EARLIER = 4
"""Maximum number of earlier messages in the model's prompt."""
MOST_CACHED = 4_096
MOST_SAID = 200
"""Maximum length, in characters, of a text that the model writes in its own words."""
log = structlog.get_logger()

Wish = Literal["json", "count", "send", "summary", "help", "courtesy", "question", "personal"]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Name(_Form):
    words: Words
    english: Words


class Picks(_Form):
    words: Words
    include: list[int]
    exclude: list[int]
    descendants: bool


class Evidence(_Form):
    slot: str
    words: Words


class NotExpressible(_Form):
    words: Words
    nearest: Words


class Unclear(_Form):
    words: Words
    question: Words


class Understanding(_Form):
    """What the model makes of a message. The prompt describes each field."""

    study: Study
    names: list[Name]
    picks: list[Picks]
    query: Query | None
    wishes: list[Wish]
    evidence: list[Evidence]
    not_taken: list[Words]
    not_expressible: list[NotExpressible]
    unclear: list[Unclear]


Reader = Callable[[Mapping[str, Any]], Awaitable[Understanding | None]]
"""A function that asks the model to read a message. It returns None if the model fails."""


@dataclass(frozen=True)
class Step:
    """The result of reading a message: the state after it, and remarks for the reply."""

    state: State = field(default_factory=State)
    before: State = field(default_factory=State)
    """The state before the last message that changed it."""
    understanding: Understanding | None = None
    unused: tuple[str, ...] = ()
    """Parts of the message that the model did not use."""
    left_out: tuple[Unclear, ...] = ()
    """Ambiguous parts of the message, with questions that the researcher must answer."""
    query: Query | None = None
    """The researcher's last question about databases, or None."""
    english: Mapping[str, str] = field(default_factory=dict)
    """By the researcher's words for concepts, their English names."""
    unread: bool = False
    """Whether the message could not be read, because the model failed or contradicted it. The state is then unchanged."""
    note: str = ""
    """A remark of the form, which the reply contains."""


class Understander:
    """Reads the messages of conversations with a model. It keeps no state except a cache of the model's answers."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._cache: LRUCache[str, Understanding | None] = LRUCache(MOST_CACHED)

    async def read(
        self, step: Step, earlier: Sequence[str], message: str, reader: Reader, *, is_last: bool = True
    ) -> Step:
        """Read another message, and return the step after it.

        Args:
            step: The step after the earlier messages.
            earlier: The earlier messages, oldest first.
            message: The message to read.
            reader: Asks the model to read the message. It is called unless the answer for this message and state is cached.
            is_last: Whether this is the newest message. If the model cannot read it, this is cached, because the reply says so.
        """
        case = _case(step, earlier, message)
        key = json.dumps(case, ensure_ascii=False, sort_keys=True)
        understanding = self._cache.get(key)
        if understanding is None and (is_last or key not in self._cache):
            understanding = await _ask(step, message, case, reader)
            if understanding is not None or is_last:
                self._cache[key] = understanding
        if understanding is None:
            return replace(step, understanding=None, unused=(), unread=True, note="")
        english = {**step.english, **{name.words: name.english for name in understanding.names}}
        state = self._apply(step.state, understanding, english)
        return Step(
            state=state,
            before=step.before if state == step.state else step.state,
            understanding=understanding,
            unused=tuple(_unused(message, understanding, step.state.study)),
            left_out=tuple(understanding.unclear),
            query=understanding.query or step.query,
            english=english,
        )

    def _apply(self, state: State, understanding: Understanding, english: Mapping[str, str]) -> State:
        """Return the state with the model's study: look up new words for concepts, and choose the candidates it picked."""
        study, chosen = understanding.study, dict(state.chosen)
        drugs = study.exit.drugs if isinstance(study.exit, TreatmentExit) else ()
        for words in study.concepts:
            if words not in chosen:
                domains = ("Drug",) if words in drugs else ()
                term = find_term(self._vocabulary, words, english.get(words, ""), domains)
                chosen[words] = choose(self._vocabulary, term, term.choices) if term.choices else term
        for picks in understanding.picks:
            if (opened := state.chosen.get(picks.words)) is not None and opened.is_open:
                chosen[picks.words] = self._pick(opened, picks)
        return State(study, {words: chosen[words] for words in study.concepts})

    def _pick(self, term: Term, picks: Picks) -> Term:
        offered = dict(enumerate(term.candidates, start=1))
        numbers = [(number, False) for number in picks.include] + [(number, True) for number in picks.exclude]
        choices = [
            Choice(offered[number], picks.descendants, excluded=excluded) for number, excluded in dict(numbers).items()
        ]
        return choose(self._vocabulary, term, choices) if any(not one.excluded for one in choices) else term


def model_reader(ask_model: AskStructured) -> Reader:
    """Return a reader that asks the model of the role `planner`."""
    prompt = PROMPT.read_text(encoding="utf-8")

    async def read(case: Mapping[str, Any]) -> Understanding | None:
        messages = [
            {"role": "system", "content": prompt},
            {"role": "user", "content": json.dumps(case, ensure_ascii=False, indent=1)},
        ]
        try:
            return (await ask_model(PLANNER, messages, Understanding, step=PLANNER, timeout_s=TIMEOUT_S)).value
        except ModelError as error:
            log.warning("planner_failed", error=error.kind)
            return None

    return read


def _case(step: Step, earlier: Sequence[str], message: str) -> dict[str, Any]:
    """Return the input for the model, without empty fields."""
    case = {
        "study": _shown(step.state.study),
        "study_before": _shown(step.before.study) if step.before != step.state else None,
        "query_before": _shown(step.query) if step.query else None,
        "earlier": list(earlier[-EARLIER:]),
        "asked": ask_slots(step.state),
        "candidates": {term.words: _offered(term) for term in step.state.open_terms},
        "left_out": [one.model_dump() for one in step.left_out],
        "message": message,
    }
    return {name: value for name, value in case.items() if value}


def _shown(slots: BaseModel) -> dict[str, Any]:
    return slots.model_dump(mode="json", exclude_none=True)


def _offered(term: Term) -> list[str]:
    return [f"{n}. {one.name} ({one.domain_id})" for n, one in enumerate(term.candidates, start=1)]


# Checks of the model's answer


async def _ask(step: Step, message: str, case: Mapping[str, Any], reader: Reader) -> Understanding | None:
    """Ask the model to read a message. Return None if it fails, or if a corrected answer still contradicts the message."""
    understanding = await reader(case)
    problems = [*_problems(step, message, case, understanding)]
    if not problems:
        return understanding
    understanding = await reader({**case, "problems": problems})
    return None if any(_problems(step, message, case, understanding)) else understanding


def _problems(step: Step, message: str, case: Mapping[str, Any], understanding: Understanding | None) -> Iterator[str]:
    """Yield the contradictions between the model's answer and the message, as sentences for the model."""
    if understanding is None:
        return
    text = " ".join([message, *(one.words for one in step.left_out)])
    yield from _unquoted(step, _folded(text), case, understanding)
    for slot in _without_evidence(step.state.study, understanding):
        yield f"`{slot}` was changed, but no evidence has this slot"
    for picks in understanding.picks:
        offered = range(1, len(case.get("candidates", {}).get(picks.words, ())) + 1)
        if any(number not in offered for number in picks.include + picks.exclude):
            yield f"the candidates of {picks.words!r} have no such number"
    readings = _readings(" ".join([text, *case.get("asked", ())]))
    given, days = _numbers_given(readings), {int(one) for one in re.findall(r"\d+", " ".join(readings))}
    old = _numbers_of(step.state.study) | _numbers_of(step.before.study) | _numbers_of(step.query)
    days |= {one.year for one in old if isinstance(one, date)}
    for number in sorted((_numbers_of(understanding.study) | _numbers_of(understanding.query)) - old, key=str):
        if not (_is_given(number, days) if isinstance(number, date) else number in given):
            yield f"{number} is not given in the message"
    shown = given | _numbers_in(json.dumps(case)) | {0, 1}
    said = [one.nearest for one in understanding.not_expressible] + [one.question for one in understanding.unclear]
    for own in said:
        if len(own) > MOST_SAID or any(shown.isdisjoint(_numbers_in(one)) for one in _NUMBER.findall(own)):
            yield f"{own!r} has over {MOST_SAID} letters, or a number that is not given"


def _unquoted(step: Step, text: str, case: Mapping[str, Any], understanding: Understanding) -> Iterator[str]:
    """Yield the texts in the model's answer that should quote the researcher, but are not in the message or the study."""
    query, known = understanding.query or Query(), step.state.chosen.keys() | step.english.keys()
    quoted = [(f"evidence for {one.slot}", one.words) for one in understanding.evidence]
    quoted += [("`names`", one.words) for one in understanding.names if one.words not in known]
    quoted += [("`not_taken`", one) for one in understanding.not_taken]
    quoted += [("`not_expressible`", one.words) for one in understanding.not_expressible]
    quoted += [("`unclear`", one.words) for one in understanding.unclear]
    before = step.query or Query()
    places = {*query.countries, *query.not_countries} - {*before.countries, *before.not_countries}
    quoted += [("`query`", one) for one in places if not is_listed(place(one))]
    for where, words in quoted:
        if not _stands_in(text, words) or len(words.splitlines()) > 1:
            yield f"{where}: {words!r} does not stand in the message, or not on one line"
    earlier = [*case.get("earlier", ()), *_words_of(step.state.study), *_words_of(step.before.study)]
    conversation = " ".join([text, *map(_folded, earlier)])
    for words in _words_of(understanding.study):
        if not all(_stands_in(conversation, piece) for piece in words.split("; ")):
            yield f"{words!r} does not stand in the messages"
    named = known | {name.words for name in understanding.names}
    asked = [*(words for group in query.concepts for words in group), *query.excluded]
    for words in [*understanding.study.concepts, *asked]:
        if words not in named:
            yield f"the concept {words!r} has no entry in `names`"
    for name in understanding.names:
        if (by_id := CONCEPT_ID.fullmatch(name.english)) and by_id[1] not in text.split():
            yield f"the concept id {by_id[1]} does not stand in the message"


def _without_evidence(before: Study, understanding: Understanding) -> Iterator[str]:
    """Yield the slots that the model changed without evidence. The evidence `removed` is for slots that only lost words."""
    slots = {re.split(r"\W", one.slot.removeprefix("study."))[0] for one in understanding.evidence}
    for name in Study.model_fields:
        old, new = (one.model_dump_json(include={name}, exclude_defaults=True) for one in (before, understanding.study))
        is_less = {*_words(new)} <= {*_words(old)}
        if new != old and name not in slots and not (is_less and "removed" in slots):
            yield name
    yield from (name for name in ("picks", "query") if getattr(understanding, name) and name not in slots)


def _stands_in(text: str, words: str) -> bool:
    """Return whether a folded text contains words. In scripts with upper case, they must be whole words."""
    folded = _folded(words)
    if any(unicodedata.category(letter) == "Lo" for letter in folded):
        return folded in text
    return bool(folded) and f" {folded} " in f" {text} "


def _words_of(study: Study) -> list[str]:
    """Return the texts of a study that replies quote as words of the researcher."""
    said = [*(event.words for event in study.events), *(rule.words for rule in study.rules), study.name or ""]
    return [words for words in said if words]


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _leaves(part)
    else:
        yield value


def _numbers_of(slots: BaseModel | None) -> set[float | date]:
    """Return the dates and the absolute values of numbers in slots. 0 and 1 are left out, because they are common defaults."""
    values = [*_leaves(slots.model_dump(exclude_defaults=True) if slots else {})]
    numbers = {abs(one) for one in values if isinstance(one, int | float) and not isinstance(one, bool)}
    return (numbers - {0, 1}) | {one for one in values if isinstance(one, date)}


_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_UNITS = (1, 7, 30, 31, 365, 1_000, 1_000_000)
"""Factors of numbers in a text: days in a week, month or year; thousands and millions."""
_CUSTOMARY = {2, 7, 17, 18, 30, 180, 365}
"""Numbers that a text may express by a word: twice, weekly, children, adults, monthly, half a year, yearly."""
_NUMERALS = ("en", "de", "es", "fr", "it", "nl", "pt")
"""Codes of the languages whose numerals text2num can parse."""


def _readings(text: str) -> set[str]:
    """Return versions of a text: unchanged, and for each language with the numerals of that language written as digits."""
    return {text, *(alpha2digit(text, language, threshold=0) for language in _NUMERALS)}


def _numbers_in(text: str) -> set[float]:
    """Return the numbers in a text. An ambiguous number gives two: for 10,000, these are 10.0 and 10000.0."""
    found = _NUMBER.findall(text)
    numbers = {float(one.replace(",", ".")) for one in found}
    return numbers | {float(re.sub(r"[,.]", "", one)) for one in found if one[-4:-3] in (",", ".")}


def _numbers_given(readings: Collection[str]) -> set[float]:
    """Return the numbers that a text may express: its numbers, their products with `_UNITS`, and all plus or minus 1."""
    numbers = {number for reading in readings for number in _numbers_in(reading)}
    return {n * unit + step for n in numbers for unit in _UNITS for step in (-1, 0, 1)} | _CUSTOMARY


def _is_given(day: date, numbers: Collection[int]) -> bool:
    """Return whether the numbers in a text fit a date, or the day before or after it (as in "before 1 May").

    The numbers must contain the year and the day of the month. For the first and last day of a month, the year is enough. Months
    are not compared, because texts write them as names.
    """
    near = [day + timedelta(days) for days in (-1, 0, 1)] if 1 < day.year < 9999 else []
    ends = {one for one in near if 1 in (one.day, (one + timedelta(1)).day)}
    return any(one.year in numbers and (one.day in numbers or one in ends) for one in near)


def _unused(message: str, understanding: Understanding, study: Study) -> Iterator[str]:
    """Yield the parts of a message that the model did not use: the parts that it listed, and words that it overlooked."""
    yield from understanding.not_taken
    if (
        understanding.wishes
        and understanding.study == study
        and understanding.query is None
        and not understanding.picks
    ):
        return
    pieces = [one.words for one in understanding.evidence] + understanding.not_taken
    pieces += [one.words for one in understanding.not_expressible] + [one.words for one in understanding.unclear]
    pieces += [one.words for one in understanding.names]
    words = _words(message)
    covered = {word for piece in pieces for word in _words(piece)} | _JOINING
    if understanding.picks:
        covered |= {word for word in words if word.isdigit()}
    for is_covered, run in groupby(words, covered.__contains__):
        if not is_covered:
            yield " ".join(run)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _folded(text: str) -> str:
    return " ".join(_words(text))


_JOINING = frozenset("and with und et y e en och og и".split())
"""Conjunctions, which the search for overlooked words ignores. Other words are not ignored: they may reverse the meaning."""

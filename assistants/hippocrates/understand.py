"""What a message makes of a study: one structured call, model first; code checks what comes back.

A conversation is folded: each of the researcher's messages is read once with the state before it, and the result is cached, so that
the same messages give the same state.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import bm25s.stopwords
import structlog
from cachetools import LRUCache
from pydantic import BaseModel, ConfigDict
from text_to_num import alpha2digit

from assistants.assistant import AskStructured
from assistants.hippocrates.query import Query
from assistants.hippocrates.render import ask_slots
from assistants.hippocrates.study import Choice, State, Study, Term, TreatmentExit
from assistants.hippocrates.terms import CONCEPT_ID, choose, find_term
from assistants.hippocrates.vocabulary import Vocabulary
from models.errors import ModelError

PROMPT = Path(__file__).parent / "understand.md"
PLANNER = "planner"
"""The role, under `models` of the alias, of the model that reads messages."""
TIMEOUT_S = 60.0
EARLIER = 4
"""Earlier messages that the model sees."""
MOST_CACHED = 4_096
log = structlog.get_logger()

Wish = Literal["json", "count", "send", "summary", "help", "courtesy", "question", "personal"]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Name(_Form):
    words: str
    english: str


class Picks(_Form):
    words: str
    include: list[int]
    exclude: list[int]
    descendants: bool


class Evidence(_Form):
    slot: str
    words: str


class NotExpressible(_Form):
    words: str
    nearest: str


class Unclear(_Form):
    words: str
    question: str


class Understanding(_Form):
    """What the model makes of a message. The prompt describes each field."""

    study: Study
    names: list[Name]
    picks: list[Picks]
    query: Query | None
    wishes: list[Wish]
    evidence: list[Evidence]
    not_taken: list[str]
    not_expressible: list[NotExpressible]
    unclear: list[Unclear]


Reader = Callable[[Mapping[str, Any]], Awaitable[Understanding | None]]
"""Returns what a message makes of a study; None if the model failed."""


@dataclass(frozen=True)
class Step:
    """The state after a message, and what else the message was."""

    state: State = field(default_factory=State)
    before: State = field(default_factory=State)
    """The state before the last change."""
    understanding: Understanding | None = None
    unused: tuple[str, ...] = ()
    """Pieces of the message that nothing holds."""
    left_out: tuple[Unclear, ...] = ()
    """Pieces of messages that may mean two different cohorts and wait for an answer."""
    query: Query | None = None
    """The last question about databases."""
    english: Mapping[str, str] = field(default_factory=dict)
    """What the researcher's words for concepts are called in English."""
    unread: bool = False
    """Whether the model failed or contradicted the message, so that nothing was changed."""
    note: str = ""
    """What to say besides."""


class Understander:
    """Folds conversations. It keeps nothing of them but a cache of what messages meant."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._cache: LRUCache[str, Understanding] = LRUCache(MOST_CACHED)

    async def read(self, step: Step, earlier: Sequence[str], message: str, reader: Reader) -> Step:
        """Return the step after one more message.

        Args:
            step: The step after the messages before.
            earlier: These messages, oldest first.
            message: The new message.
            reader: Reads it, unless the same message was read before in the same state.
        """
        case = _case(step, earlier, message)
        key = json.dumps(case, ensure_ascii=False, sort_keys=True)
        understanding = self._cache.get(key) or await reader(case)
        if problems := [*_problems(step, message, case, understanding)]:
            understanding = await reader({**case, "problems": problems})
        if understanding is None or any(_problems(step, message, case, understanding)):
            return replace(step, understanding=None, unused=(), unread=True, note="")
        self._cache[key] = understanding
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
        """Return the state with a study that was read, its concepts looked up, and candidates chosen."""
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
            Choice(offered[number], picks.descendants, excluded=excluded)
            for number, excluded in dict(numbers).items()
            if number in offered
        ]
        return choose(self._vocabulary, term, choices) if any(not one.excluded for one in choices) else term


def model_reader(ask_model: AskStructured) -> Reader:
    """Return a reader that asks the planner's model."""
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
    """Return what the model is shown; parts that are empty are left out."""
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


# What code checks


def _problems(step: Step, message: str, case: Mapping[str, Any], understanding: Understanding | None) -> Iterator[str]:
    """Yield what contradicts the message; the model is told once, and then nothing is changed."""
    if understanding is None:
        return
    pending = " ".join(one.words for one in step.left_out)
    text = _folded(f"{message} {pending}")
    for one in understanding.evidence:
        if _folded(one.words) not in text:
            yield f"evidence for {one.slot}: {one.words!r} does not stand in the message"
    named = {name.words for name in understanding.names}
    query = understanding.query
    asked = [words for group in query.concepts for words in group] + list(query.excluded) if query else []
    for words in [*understanding.study.concepts, *asked]:
        if words in step.state.chosen or words in step.english:
            continue
        if _folded(words) not in text:
            yield f"the concept {words!r} does not stand in the message with these words"
        elif words not in named:
            yield f"the concept {words!r} has no entry in `names`"
    for name in understanding.names:
        if (by_id := CONCEPT_ID.fullmatch(name.english)) and by_id[1] not in _words(message):
            yield f"the concept id {by_id[1]} does not stand in the message"
    for picks in understanding.picks:
        offered = range(1, len(case.get("candidates", {}).get(picks.words, ())) + 1)
        if any(number not in offered for number in picks.include + picks.exclude):
            yield f"the candidates of {picks.words!r} have no such number"
    given = _numbers_given(f"{message} {pending} {' '.join(case.get('asked', ()))}")
    old = _numbers_of(step.state.study) | _numbers_of(step.before.study) | _numbers_of(step.query)
    for number in sorted((_numbers_of(understanding.study) | _numbers_of(query)) - old - given):
        yield f"the number {number:g} is not given in the message"


def _numbers_of(slots: BaseModel | None) -> set[float]:
    """Return the absolute numbers that some slots hold, dates as their year; 0 and 1 stand everywhere."""
    numbers: set[float] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            numbers.add(abs(value))
        elif isinstance(value, str) and (year := re.fullmatch(r"(\d{4})-\d\d-\d\d", value)):
            numbers.add(float(year[1]))

    walk(slots.model_dump(mode="json", exclude_defaults=True, exclude={"name"}) if slots else {})
    return numbers - {0, 1}


_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_UNITS = (1, 7, 30, 31, 365, 1_000, 1_000_000)
"""Days, weeks, months, years; thousands and millions."""
_CUSTOMARY = {2, 7, 17, 18, 30, 180, 365}
"""What stands for words that hold no numeral: twice, weekly, children, adults, monthly, half a year, yearly."""
_NUMERALS = ("en", "de", "es", "fr", "it", "nl", "pt")
"""Languages whose numerals text2num reads."""


def _numbers_given(text: str) -> set[float]:
    """Return the numbers that a text may stand for: as they are, in units, and one more or less for "over" and "under"."""
    readings = {text, *(alpha2digit(text, language, threshold=0) for language in _NUMERALS)}
    found = {one for reading in readings for one in _NUMBER.findall(reading)}
    numbers = {float(one.replace(",", ".")) for one in found}
    numbers |= {float(re.sub(r"[,.]", "", one)) for one in found if one[-4:-3] in (",", ".")}
    return {n * unit + step for n in numbers for unit in _UNITS for step in (-1, 0, 1)} | _CUSTOMARY


def _unused(message: str, understanding: Understanding, study: Study) -> Iterator[str]:
    """Yield the pieces of a message that nothing holds: what the model did not take, and words that it overlooked."""
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
    covered = {word for piece in pieces for word in _words(piece)}
    if understanding.picks:
        covered |= {word for word in _words(message) if word.isdigit()}
    words = _words(message)
    passed_over = max(stop_words(), key=lambda listed: sum(word in listed for word in words))
    yield from dict.fromkeys(word for word in words if word not in covered and word not in passed_over)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _folded(text: str) -> str:
    return " ".join(_words(text))


_MEANINGFUL = frozenset(
    "no not nor never without non nicht kein keine keinen nie ohne sin ni nunca sem não nem pas sans jamais aucun aucune before "
    "after during until over under above below between more most both once only all any each same other few".split()
)
"""They are no stop words here: what a model overlooks must not turn round what was meant."""


@cache
def stop_words() -> tuple[frozenset[str], ...]:
    """Return bm25s's lists of stop words, a language each; a message is taken to be in the one that it has most words of."""
    lists = [value for name, value in vars(bm25s.stopwords).items() if name.startswith("STOPWORDS_")]
    return tuple(frozenset(map(str.casefold, one)) - _MEANINGFUL for one in lists)

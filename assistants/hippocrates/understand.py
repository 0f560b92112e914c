"""What a message makes of a study: one structured call, model first; code checks what comes back.

A conversation is folded: each of the researcher's messages is read once with the state before it, and the result is cached, so that
the same messages give the same state.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

import bm25s.stopwords
import structlog
from cachetools import LRUCache
from pydantic import BaseModel, ConfigDict

from assistants.assistant import AskStructured
from assistants.hippocrates.query import Query
from assistants.hippocrates.render import ask
from assistants.hippocrates.study import Choice, State, Study, Term, TreatmentExit
from assistants.hippocrates.terms import choose, find_term
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
    include: list[int]
    exclude: list[int]
    descendants: bool
    none: bool


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
    picks: Picks | None
    query: Query | None
    wishes: list[Wish]
    evidence: list[Evidence]
    not_taken: list[str]
    not_expressible: list[NotExpressible]
    unclear: list[Unclear]


class Reader(Protocol):
    """Reads one message."""

    async def __call__(self, case: Mapping[str, Any]) -> Understanding | None:
        """Return what a message makes of a study; None if it could not be read."""


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
        problems = [] if understanding is None else list(_problems(step.state, message, case, understanding))
        if problems:
            understanding = await reader({**case, "problems": problems})
            problems = [] if understanding is None else list(_problems(step.state, message, case, understanding))
        if understanding is None or problems:
            return Step(step.state, step.before, left_out=step.left_out, unread=True)
        self._cache[key] = understanding
        state = self._apply(step.state, understanding)
        unused = tuple(_unused(message, understanding, step.state.study))
        before = step.before if state == step.state else step.state
        return Step(state, before, understanding, unused, tuple(understanding.unclear))

    def _apply(self, state: State, understanding: Understanding) -> State:
        """Return the state with a study that was read, its concepts looked up, and candidates chosen."""
        study, chosen = understanding.study, dict(state.chosen)
        english = {name.words: name.english for name in understanding.names}
        drugs = study.exit.drugs if isinstance(study.exit, TreatmentExit) else ()
        for words in study.concepts:
            if words not in chosen:
                domains = ("Drug",) if words in drugs else ()
                term = find_term(self._vocabulary, words, english.get(words, ""), domains)
                chosen[words] = choose(self._vocabulary, term, term.choices) if term.choices else term
        open_term, picks = state.open_term, understanding.picks
        if open_term is not None and picks is not None and picks.include:
            chosen[open_term.words] = self._pick(open_term, picks)
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
    term = step.state.open_term
    return {
        "study": step.state.study.model_dump(mode="json", exclude_defaults=True),
        "study_before": step.before.study.model_dump(mode="json", exclude_defaults=True),
        "earlier": list(earlier[-EARLIER:]),
        "asked": ask(step.state).split("\n")[0],
        **({"open_words": term.words, "candidates": _offered(term)} if term is not None else {}),
        **({"left_out": [one.model_dump() for one in step.left_out]} if step.left_out else {}),
        "message": message,
    }


def _offered(term: Term) -> list[str]:
    return [f"{n}. {one.name} ({one.domain_id})" for n, one in enumerate(term.candidates, start=1)]


# What code checks


def _problems(state: State, message: str, case: Mapping[str, Any], understanding: Understanding) -> Iterator[str]:
    """Yield what contradicts the message; the model is told once, and then nothing is changed."""
    before = " ".join(one["words"] for one in case.get("left_out", ()))
    text = _folded(f"{message} {before}")
    for one in understanding.evidence:
        if _folded(one.words) not in text:
            yield f"evidence for {one.slot}: {one.words!r} does not stand in the message"
    known = state.study.concepts
    named = {name.words for name in understanding.names}
    query = understanding.query
    asked = [words for group in query.concepts for words in group] + list(query.excluded) if query else []
    for words in [*(words for words in understanding.study.concepts if words not in known), *asked]:
        if _folded(words) not in text:
            yield f"the concept {words!r} does not stand in the message with these words"
        elif words not in named:
            yield f"the concept {words!r} has no entry in `names`"
    given = _numbers_given(" ".join([message, before, str(case.get("asked", ""))]))
    new = _numbers_of(understanding.study) - _numbers_of(state.study) | (_numbers_of(query) if query else set())
    in_words = any(not re.search(r"\d", one.words) for one in understanding.evidence)
    for number in sorted(new - given):
        if not in_words:
            yield f"the number {number:g} is not given in the message"


def _numbers_of(slots: BaseModel) -> set[float]:
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

    walk(slots.model_dump(mode="json", exclude_defaults=True, exclude={"name"}))
    return numbers - {0, 1}


_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_IN_DAYS = (1, 7, 30, 31, 365)


def _numbers_given(text: str) -> set[float]:
    """Return the numbers that a text may stand for: as they are, in days, and one more or less for "over" and "under"."""
    numbers = {float(one.replace(",", ".")) for one in _NUMBER.findall(text)}
    numbers |= {
        float(one.replace(",", "").replace(".", "")) for one in _NUMBER.findall(text) if one[-4:-3] in (",", ".")
    }
    return {n * unit + step for n in numbers for unit in _IN_DAYS for step in (-1, 0, 1)}


def _unused(message: str, understanding: Understanding, study: Study) -> Iterator[str]:
    """Yield the pieces of a message that nothing holds: what the model did not take, and words that it overlooked."""
    yield from understanding.not_taken
    if (
        understanding.wishes
        and understanding.study == study
        and understanding.query is None
        and understanding.picks is None
    ):
        return
    pieces = [one.words for one in understanding.evidence] + understanding.not_taken
    pieces += [one.words for one in understanding.not_expressible] + [one.words for one in understanding.unclear]
    pieces += [one.words for one in understanding.names]
    covered = {word for piece in pieces for word in _words(piece)}
    if understanding.picks is not None:
        covered |= {word for word in _words(message) if word.isdigit()}
    yield from dict.fromkeys(word for word in _words(message) if word not in covered and word not in stop_words())


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _folded(text: str) -> str:
    return " ".join(_words(text))


@cache
def stop_words() -> frozenset[str]:
    """Return the stop words of the languages that bm25s has lists of."""
    lists = (value for name, value in vars(bm25s.stopwords).items() if name.startswith("STOPWORDS_"))
    return frozenset(word.casefold() for one in lists for word in one)

"""Sentences that the grammar does not understand, read by a model. It only fills slots: code checks them and builds the rest.

A sentence whose statements do not stand in it, by their words and numbers, is asked back as before; so it is where the model fails.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import structlog
from pydantic import BaseModel, ConfigDict

from assistants.assistant import AskStructured
from assistants.hippocrates.amounts import MOST_DAYS, OLDEST, N, number
from assistants.hippocrates.assembly import assemble
from assistants.hippocrates.heads import Head, Role
from assistants.hippocrates.phrases import Persons, Value, Window
from assistants.hippocrates.sentence import Phrase, Piece, Unclear
from assistants.hippocrates.slots import Age, Count, Days, DrugEraExit, Event, FixedExit, ObservationExit, Origin
from assistants.hippocrates.study import Ask, Read, Reading, Study, fold
from assistants.hippocrates.terms import Terms
from models.errors import ModelError
from models.request import Message, text_of

PROMPT = Path(__file__).parent / "planner.md"
PLANNER = "planner"
"""The role, under `models` of the alias, of the model that is asked."""
_FOR_MODELS = ("unclear", "no_concept")
"""What the grammar asks back of sentences that a model may read."""
_MOST_SENTENCES = 20
_TIMEOUT_S = 30.0
_DEFAULT_GAP = DrugEraExit().gap
log = structlog.get_logger()


class Statement(BaseModel):
    model_config = ConfigDict(extra="forbid")

    turn: int
    words: str
    kind: Literal[
        "entry",
        "also_entry",
        "include",
        "exclude",
        "censor",
        "prior_days",
        "post_days",
        "gap",
        "age",
        "sex",
        "fixed_exit",
        "treatment_exit",
        "observation_exit",
        "all_events",
        "earliest_event",
        "unclear",
        "other",
    ]
    concepts: list[str]
    first: bool
    death: bool
    bound: Literal["at least", "at most", "exactly"] | None
    count: int | None
    window: bool
    start: int | None
    end: int | None
    days: int | None
    least: int | None
    most: int | None
    sex: Literal["female", "male"] | None


class Plan(BaseModel):
    model_config = ConfigDict(extra="forbid")

    statements: list[Statement]


async def plan(ask: AskStructured, messages: Sequence[Message], read: Read, terms: Terms) -> Study:
    """Return the study that the messages describe; the model is asked once, and only if the grammar leaves sentences unread.

    Args:
        read: Reads by the grammar.
    """
    unread: list[Origin] = []

    def read_and_note(study: Study, turn: int, text: str) -> Reading:
        reading = read(study, turn, text)
        unread.extend(Origin(turn, ask.words) for ask in reading.asks if ask.kind in _FOR_MODELS)
        return reading

    study = fold(messages, read_and_note)
    if not unread:
        return study
    case = {
        "conversation": [{"role": message.get("role"), "text": text_of(message)} for message in messages],
        "sentences": [{"turn": origin.turn, "words": origin.words} for origin in unread[-_MOST_SENTENCES:]],
    }
    prompt = [
        {"role": "system", "content": PROMPT.read_text(encoding="utf-8")},
        {"role": "user", "content": json.dumps(case, ensure_ascii=False)},
    ]
    try:
        answer = await ask(PLANNER, prompt, Plan, step=PLANNER, timeout_s=_TIMEOUT_S)
    except ModelError as error:
        log.warning("planner_failed", error=error.kind)
        return study
    return fold(messages, _Planned(read, terms, answer.value.statements).read)


class _Planned:
    """The grammar, and for what it does not understand the statements of a model."""

    def __init__(self, read: Read, terms: Terms, statements: Sequence[Statement]) -> None:
        self._read, self._terms = read, terms
        self._statements: dict[Origin, list[Statement]] = {}
        for one in statements:
            self._statements.setdefault(Origin(one.turn, one.words.strip()), []).append(one)

    def read(self, study: Study, turn: int, text: str) -> Reading:
        reading = self._read(study, turn, text)
        if reading.undo:
            return reading
        study, asks = reading.study, []
        for ask in reading.asks:
            study, remaining = self._fill(study, turn, ask)
            asks += remaining
        return Reading(study, asks)

    def _fill(self, study: Study, turn: int, ask: Ask) -> tuple[Study, list[Ask]]:
        """Return the study with what the model read in a sentence, and what is still asked back."""
        origin = Origin(turn, ask.words)
        statements = self._statements.get(origin)
        if not statements or ask.kind not in _FOR_MODELS:
            return study, [ask]
        kinds = {one.kind for one in statements}
        if kinds == {"other"}:
            return study, [Ask("question", ask.words, "")]
        if "unclear" in kinds or not all(_stands_in(one, origin.words) for one in statements):
            return study, [ask]
        try:
            pieces = [piece for one in statements if one.kind != "other" for piece in _pieces(one, self._terms)]
            return assemble(study, pieces, origin), []
        except Unclear as problem:
            return study, [Ask(ask.kind, ask.words, str(problem))]


def _stands_in(statement: Statement, words: str) -> bool:
    """Tell whether a sentence gives the words and numbers of a statement."""
    text = _plain(words)
    numbers = {number(one) for one in re.findall(rf"\b{N}\b", words, re.IGNORECASE)} | {0, 1}
    lengths = numbers | {n * unit for n in numbers for unit in (7, 30, 365)}
    years = numbers | {n + step for n in numbers for step in (-1, 1)}
    years |= {18} if "adult" in text else {17} if "child" in text else set()
    days = [n for n in (statement.count, statement.days, statement.start, statement.end) if n is not None]
    ages = [n for n in (statement.least, statement.most) if n is not None]
    return (
        all(_plain(concept) in text for concept in statement.concepts)
        and all(abs(n) in lengths and abs(n) <= MOST_DAYS for n in days)
        and all(n in years and 0 <= n <= OLDEST for n in ages)
    )


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


_ROLES: dict[str, Role] = {
    "entry": "named",
    "also_entry": "also",
    "include": "rule",
    "exclude": "exclude",
    "censor": "censor",
    "treatment_exit": "drug_exit",
}


def _pieces(statement: Statement, terms: Terms) -> list[Piece]:
    """Return a statement as the phrases that the grammar would have read."""
    kind = statement.kind
    if kind in _ROLES:
        return _phrase(statement, _ROLES[kind], terms)
    match kind:
        case "prior_days" | "post_days" | "gap":
            return [Value(kind, _days(statement.days))]
        case "age":
            if statement.least is None and statement.most is None:
                raise Unclear("Which limits of age are meant?")
            return [Value("age", Age(statement.least, statement.most))]
        case "sex" if statement.sex:
            return [Persons(sex=statement.sex)]
        case "fixed_exit":
            return [Value("exit", FixedExit(_days(statement.days)))]
        case "observation_exit":
            return [Value("exit", ObservationExit())]
        case "all_events" | "earliest_event":
            return [Value("events_per_person", kind.removesuffix("_event").removesuffix("_events"))]
    raise Unclear("That is not clear to me. Please say it in other words.")


def _phrase(statement: Statement, role: Role, terms: Terms) -> list[Piece]:
    domains = ("Drug",) if role == "drug_exit" else ("Condition",) if statement.death else ()
    searched = [(words, terms.search(words, domains)) for words in statement.concepts]
    if missing := [words for words, term in searched if term is None]:
        raise Unclear(f"I know no concept like “{missing[0]}”. What else is it called?")
    if not searched and not statement.death and role != "drug_exit":
        raise Unclear("Which condition, drug or procedure is meant?")
    event = Event(tuple(term for _, term in searched if term), Origin(0, ""), statement.first, statement.death)
    head = Head(role, re.compile(""))
    if role == "drug_exit":
        gap = _DEFAULT_GAP if statement.days is None else statement.days
        return [Phrase(head, event, end=DrugEraExit(event.terms, gap))]
    how_many = None if statement.count is None else Count(statement.bound or "at least", statement.count)
    pieces: list[Piece] = [Phrase(head, event, how_many)]
    if statement.window:
        if statement.start is not None and statement.end is not None and statement.start > statement.end:
            raise Unclear("When is that to have happened? Please say the window again.")
        pieces.append(Window(Days(statement.start, statement.end)))
    return pieces


def _days(days: int | None) -> int:
    if days is None or days < 0:
        raise Unclear("How many days are meant?")
    return days

"""One guarded turn: from what the user said to what they are told.

take_turn ── emergency judge (models) ┐ concurrent: if it fires, the draft is cancelled
   └── _answer ───────────────────────┘
         ├── _select      sections for the question
         ├── draft
         └── _settle      for each choice: hard checks, judges, refinement
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import structlog

from judges.case import Case, Said
from judges.filter import Review
from judges.modes import Mode, modes_of
from judges.observation import Crisis
from judges.refiner import Rejected
from judges.verdict import Judgement
from knowledge_base import citations
from knowledge_base.library import Source
from knowledge_base.selection import select
from models.client import Body
from models.errors import ModelError
from models.usage import Ledger, estimate_tokens
from proxy import context
from proxy.chatbot import Chatbot
from proxy.config import Filter
from proxy.conversation import Conversation, reply_hash
from proxy.messages import ChatRequest
from proxy.trace import Attempt, Outcome, SelectedSource, Trace

log = structlog.get_logger()

MAX_REDRAFTS = 2
HISTORY_FOR_JUDGES = 6
"""Earlier messages that a judge sees."""
USER_TURNS_FOR_ALARM = 3
"""Earlier user messages that the emergency judge reads, besides the newest."""


@dataclass(slots=True)
class Turn:
    """What one turn works on."""

    bot: Chatbot
    request: ChatRequest
    user_message: str
    earlier: list[str]
    """The user's earlier messages, oldest first."""
    conversation: Conversation
    filter: Filter
    alarm: Review
    """What the local emergency judge said before anything else was done."""
    trace: Trace
    ledger: Ledger = field(default_factory=Ledger)
    started: float = field(default_factory=time.perf_counter)
    selected: bool = False
    """Whether sources have been selected; an emergency comes before that."""
    in_use: dict[str, int] = field(default_factory=dict)
    """Sources in use, each with the turn in which it was last cited or put in."""
    shadowed: list[tuple[Attempt, Case, frozenset[Mode]]] = field(default_factory=list)
    """What is judged in the background when the filter is in shadow."""

    @property
    def number(self) -> int:
        return self.conversation.turn + 1

    @property
    def judged(self) -> bool:
        return self.filter == "on" and not self.bot.filter.empty

    @property
    def cites(self) -> bool:
        """Whether the chatbot is to write citation commands: not in JSON, and a wrapped one knows none."""
        return self.bot.settings.kind == "guarded" and self.bot.library is not None and not self.request.wants_json

    @property
    def sources(self) -> tuple[Source, ...]:
        library = self.bot.library
        return tuple(library[s] for s in self.in_use) if library else ()

    @property
    def at_ms(self) -> float:
        return round((time.perf_counter() - self.started) * 1000, 2)


@dataclass(slots=True)
class Delivery:
    """One choice, settled."""

    text: str | None
    """None: there is no text (only tool calls, or the model's own refusal), or it is withheld (`refused`)."""
    outcome: Outcome
    citations: tuple[str, ...] = ()
    judgements: list[Judgement] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    """(rule, detail) of each warning the choice gave rise to."""
    refused: bool = False
    message: Body = field(default_factory=dict)
    """The upstream's message, for all but its text."""
    choice: Body = field(default_factory=dict)
    """The upstream's choice that the message came in."""

    @property
    def crisis(self) -> str | None:
        """The kind of emergency this delivery answers."""
        return next((s.kind for s in signs(self.judgements)), None) if self.outcome == "emergency" else None


@dataclass(slots=True)
class Answer:
    """What a turn came to."""

    deliveries: list[Delivery]
    upstream: Body = field(default_factory=dict)
    """The upstream's response to the draft, for the fields the proxy does not set."""


async def take_turn(turn: Turn) -> Answer:
    """Answer the user, unless the emergency judge fires first.

    Raises:
        ModelError: The chatbot's model could not be asked, and there was no emergency to answer instead.
    """
    if turn.alarm.verdict == "reject":
        return Answer([emergency(turn, turn.alarm)])
    judge = turn.bot.filter.emergency if turn.judged else None
    if judge is None or judge.local_only:
        return (
            Answer([fallback(turn, turn.alarm)])
            if turn.alarm.failed_closed
            else _heard(turn.alarm, await _answer(turn))
        )
    case = alarm_case(turn.user_message, turn.earlier)
    alarm = asyncio.create_task(turn.bot.filter.alarm(case, turn.ledger))
    answer = asyncio.create_task(_answer(turn))
    try:
        review = await alarm
        turn.trace.emergency += review.judgements
        heard = replace(review, judgements=turn.alarm.judgements + review.judgements)
        if review.verdict in ("warn", "reject"):
            return Answer([emergency(turn, heard)])
        if review.failed_closed:
            return Answer([fallback(turn, heard)])
        return _heard(heard, await answer)
    finally:
        for task in (alarm, answer):
            task.cancel()
        await asyncio.gather(alarm, answer, return_exceptions=True)


def alarm_case(user_message: str, earlier: Sequence[str]) -> Case:
    """Return what the emergency judge sees: the user's last messages."""
    return Case(user_message, history=tuple(Said("user", text) for text in earlier[-USER_TURNS_FOR_ALARM:]))


def _heard(alarm: Review, answer: Answer) -> Answer:
    """Add what the emergency judge said to a settled answer."""
    for delivery in answer.deliveries:
        delivery.judgements[:0] = alarm.judgements
        if alarm.verdict == "unjudged" and delivery.outcome in ("refined", "warned", "accepted"):
            delivery.outcome = "unjudged"
    return answer


def emergency(turn: Turn, review: Review) -> Delivery:
    """Answer an emergency: the configured text for its kind, and nothing else."""
    found = signs(review.judgements)
    kind = found[0].kind if found else ""
    text = turn.bot.emergency_text(kind, turn.user_message)
    detail = (
        f"In turn {turn.number} the user's message told of an emergency{f' ({kind})' if kind else ''}, and they were given "
        "the emergency contact. Be calm and brief, and name the contact again if they are still in danger."
    )
    return Delivery(text, "emergency", ("emergency_contact",), list(review.judgements), [("emergency", detail)])


def signs(judgements: Sequence[Judgement]) -> list[Any]:
    """Return the signs of present danger that the judges saw, the strongest judge's first."""
    return [
        sign
        for judgement in reversed(judgements)
        if isinstance(judgement.observation, Crisis)
        for sign in judgement.observation.signs
        if sign.when == "now"
    ]


def fallback(turn: Turn, review: Review, warnings: Sequence[tuple[str, str]] = ()) -> Delivery:
    """Replace a reply that could not be made acceptable, or not be judged."""
    if turn.request.wants_json:
        return Delivery(None, "fallback", (), list(review.judgements), list(warnings), refused=True)
    return Delivery(turn.bot.fallback, "fallback", ("not_in_sources",), list(review.judgements), list(warnings))


async def _answer(turn: Turn) -> Answer:
    await _select(turn)
    body = _draft_body(turn) | ({"n": turn.request.n} if (turn.request.n or 1) > 1 else {})
    upstream = await turn.bot.models.complete(turn.bot.settings.model, body, step="draft", ledger=turn.ledger)
    choices = upstream["choices"]
    if len(choices) == 1:
        return Answer([await _settle(turn, 0, choices[0])], upstream)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_settle(turn, i, choice)) for i, choice in enumerate(choices)]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return Answer([task.result() for task in tasks], upstream)


async def _select(turn: Turn) -> None:
    """Bring the sources in use up to date: those long uncited go, those this question needs come."""
    bot, settings = turn.bot, turn.bot.settings.retrieval
    if bot.library is None or bot.lexical is None:
        return
    if bot.settings.kind == "wrapped" and turn.filter == "off":
        return  # the sources are evidence for judges alone
    turn.selected = True
    turn.in_use = {
        s: last
        for s, last in turn.conversation.sources.items()
        if s in bot.library and turn.number - last <= settings.uncited_turns
    }
    if settings.selector == "lexical":
        chosen = bot.lexical.choose(turn.user_message, turn.earlier[-2:], settings.max_requests)
        turn.trace.selected = [SelectedSource(c.id, "lexical", c.reason) for c in chosen]
    else:
        said = [{"role": s.speaker, "content": s.text} for s in _history(turn)]
        picked = await select(
            bot.models, settings.selector, turn.user_message, said, bot.lexical, settings.max_requests, turn.ledger
        )
        by: Literal["model", "lexical"] = "lexical" if picked.fallback else "model"
        turn.trace.selected = [SelectedSource(c.id, by, c.reason) for c in picked.choices]
        turn.trace.selection_note = f"fell back to words: {picked.fallback}" if picked.fallback else picked.reason
        turn.trace.invalid_ids = picked.invalid
    for source in turn.trace.selected:
        _put_in(turn, source.id)


def _put_in(turn: Turn, source: str) -> None:
    """Put a source into use; past the limit, the one longest uncited goes."""
    # It counts as uncited from this turn on, until a reply cites it.
    turn.in_use[source] = max(turn.in_use.get(source, 0), turn.number - 1)
    while len(turn.in_use) > turn.bot.settings.retrieval.max_sources:
        turn.in_use.pop(min((s for s in turn.in_use if s != source), key=turn.in_use.__getitem__))


def _draft_body(turn: Turn, extra: Sequence[Body] = ()) -> Body:
    bot, request = turn.bot, turn.request
    if bot.settings.kind == "wrapped":
        raw = request.raw["messages"]
        messages = context.wrapped_messages(raw, request.messages, turn.conversation, turn.number, bot.settings.role)
    else:
        conversation = turn.conversation if turn.filter == "on" else replace(turn.conversation, warnings=())
        messages = context.guarded_messages(
            bot.settings.role, bot.library, turn.sources, request.messages, conversation, turn.number,
            bot.settings.context_tokens, cites=turn.cites,
        )  # fmt: skip
    return {**request.options, "messages": [*messages, *extra]}


async def _settle(turn: Turn, index: int, choice: Body) -> Delivery:
    """Bring one choice from draft to delivery."""
    message = choice["message"]
    text = message.get("content")
    text = text if isinstance(text, str) else ""
    if not text.strip() and (message.get("tool_calls") or message.get("function_call") or message.get("refusal")):
        return Delivery(None, "unfiltered", message=message, choice=choice)
    attempt = await _checked(turn, index, text, bool(message.get("tool_calls")))
    delivery = await _judged(turn, attempt)
    delivery.message, delivery.choice = message, choice
    return delivery


async def _checked(turn: Turn, index: int, draft: str, with_tools: bool) -> Attempt:
    """Run the hard checks on a draft: sources asked for are put in, faulty commands redrafted, great length shortened."""
    kind, redrafts, requests = "draft", 0, 0
    while True:
        attempt, parsed = _attempt(turn, kind, index, draft)
        if not turn.cites:
            break
        wanted = _wanted(turn, parsed) if requests < turn.bot.settings.retrieval.max_requests else []
        if not wanted and with_tools:
            break
        if wanted:
            requests += len(wanted)
            extra: list[Body] = []
            for source in wanted:
                _put_in(turn, source)
                turn.trace.selected.append(SelectedSource(source, "chatbot", "asked for in its reply"))
        else:
            attempt.problems = citations.problems(parsed, turn.bot.library or {}, turn.in_use)
            if not parsed.text:
                attempt.problems.append("Your reply has no text for the user.")
            if not attempt.problems or redrafts == MAX_REDRAFTS:
                break
            redrafts += 1
            extra = context.hard_check_messages(draft, attempt.problems)
        kind, draft = "redraft", await _ask_again(turn, extra)
    if estimate_tokens(attempt.text) > turn.bot.settings.length.hard and not turn.request.wants_json:
        shorter = await _ask_again(turn, context.shorten_messages(draft, turn.bot.settings.length.soft))
        attempt, _ = _attempt(turn, "shortened", index, shorter)
        attempt.text = _cut(attempt.text, turn.bot.settings.length.hard)
    return attempt


def _wanted(turn: Turn, parsed: citations.Parsed) -> list[str]:
    """Return the sources a reply asks for, when that is all it does."""
    if parsed.text or turn.bot.library is None:
        return []
    return [s for s in citations.requested(parsed, turn.bot.library) if s not in turn.in_use]


async def _ask_again(turn: Turn, extra: Sequence[Body]) -> str:
    body = _draft_body(turn, extra)
    answer = await turn.bot.models.complete(turn.bot.settings.model, body, step="redraft", ledger=turn.ledger)
    return answer["choices"][0]["message"].get("content") or ""


def _attempt(turn: Turn, kind: Any, index: int, draft: str) -> tuple[Attempt, citations.Parsed]:
    parsed = citations.Parsed(draft) if turn.request.wants_json else citations.parse(draft)
    attempt = Attempt(kind, index, parsed.text, list(parsed.citations), turn.at_ms)
    turn.trace.attempts.append(attempt)
    return attempt, parsed


def _cut(text: str, tokens: int) -> str:
    """Cut a text at the end of a sentence so that it has at most so many tokens."""
    while estimate_tokens(text) > tokens:
        end = max(text[:-1].rfind(mark) for mark in (". ", ".\n", "! ", "? ", "!\n", "?\n"))
        text = text[: end + 1] if end > 0 else text[: int(len(text) * 0.9)]
        text = text.rstrip()
    return text


async def _judged(turn: Turn, attempt: Attempt) -> Delivery:
    """Judge a checked draft; rewrite and judge again what is rejected; end on a delivery."""
    case, cited, modes = _case(turn, attempt)
    if not attempt.text:
        return fallback(turn, Review())
    if not turn.judged:
        if turn.filter == "shadow":
            turn.shadowed.append((attempt, case, modes))
        return Delivery(attempt.text, "unfiltered", cited)
    review = await turn.bot.filter.review(case, modes, turn.ledger)
    attempt.judgements = review.judgements
    judgements, outcome = list(review.judgements), "accepted"
    warnings = [(j.rule, _detail(j)) for j in review.objections if j.rule]
    for _ in range(turn.bot.settings.max_refinements):
        if review.verdict != "reject" or review.failed_closed:
            break
        refined = await _refined(turn, attempt, case, review)
        if refined is None:
            break
        attempt, outcome = refined, "refined"
        case, cited, modes = _case(turn, attempt)
        review = await turn.bot.filter.review(case, modes, turn.ledger, strongest=True)
        attempt.judgements = review.judgements
        judgements += review.judgements
        warnings += [(j.rule, _detail(j)) for j in review.objections if j.rule]
    if review.failed_closed or review.verdict == "reject":
        return fallback(turn, replace(review, judgements=judgements), warnings)
    if estimate_tokens(attempt.text) > turn.bot.settings.length.soft:
        warnings.append(("length", ""))
    if any(j.verdict == "unjudged" for j in review.decisive):
        outcome = "unjudged"
    elif outcome == "accepted" and warnings:
        outcome = "warned"
    return Delivery(attempt.text, outcome, cited, judgements, warnings)  # type: ignore[arg-type]


async def _refined(turn: Turn, attempt: Attempt, case: Case, review: Review) -> Attempt | None:
    """Have a rejected draft rewritten; None when it cannot be."""
    if turn.bot.refiner is None:
        return None
    options = {k: v for k, v in turn.request.options.items() if k in ("response_format", "seed")}
    try:
        text = await turn.bot.refiner.refine(Rejected(case, review.objections, turn.sources, options), turn.ledger)
    except ModelError as error:
        log.warning("refiner failed", turn_id=turn.trace.turn_id, error=error.kind)
        return None
    if text is None:
        return None
    refined, parsed = _attempt(turn, "refinement", attempt.choice, text)
    if turn.cites:
        refined.problems = citations.problems(parsed, turn.bot.library or {}, turn.in_use)
    refined.text = _cut(refined.text, turn.bot.settings.length.hard)
    return refined if refined.text else None


def _case(turn: Turn, attempt: Attempt) -> tuple[Case, tuple[str, ...], frozenset[Mode]]:
    """Return the case an attempt makes, what it validly cites, and the modes of judges it calls for.

    Where the chatbot writes no citations, the evidence retrieved counts as cited.
    """
    if turn.cites:
        sources, classes, _ = citations.split(attempt.citations, turn.bot.library or {}, turn.in_use)
    else:
        sources, classes = turn.sources, ()
    case = Case(
        turn.user_message,
        attempt.text,
        history=_history(turn),
        cited=sources,
        role=turn.bot.settings.role,
        topics=turn.bot.topics,
    )
    modes = modes_of(case, classes) if turn.filter != "off" else frozenset[Mode]()
    attempt.modes = sorted(modes)
    return case, (*(s.id for s in sources), *classes), modes


def _history(turn: Turn) -> tuple[Said, ...]:
    """Return the messages before the user's newest, as judges see them."""
    said: list[Said] = []
    for message in turn.request.messages:
        if message.role == "user":
            said.append(Said("user", message.text))
        elif message.is_reply:
            ours = reply_hash(message.text) in turn.conversation.delivered
            said.append(Said("assistant", message.text, verified=ours))
    while said and said[-1].speaker == "user":
        said.pop()
    return tuple(said[-HISTORY_FOR_JUDGES:])


def _detail(judgement: Judgement) -> str:
    """Return what a warning adds to its rule's text: the reason of a judge without a rule of its own."""
    return " ".join(judgement.reason.split())[:300] if judgement.rule == "custom" else ""

"""The draft: the chatbot's answer, checked by hard rules, and asked for again with the reason."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import structlog

from judges.case import run_in_thread_if
from knowledge_base import citations
from knowledge_base.commands import has_bracket
from models.engine import Body
from models.errors import ModelError
from models.streaming import AnswerStream
from models.usage import BYTES_PER_TOKEN, estimate_tokens
from proxy.traces.trace import Attempt
from proxy.turn import context
from proxy.turn.sources import retrieve_requested, take_upstream_evidence
from proxy.turn.stream import DraftForm, StreamGate, Writer
from proxy.turn.turn import ChoiceRun, TurnRun

log = structlog.get_logger()

MAX_REDRAFTS = 2

Kind = Literal["draft", "redraft", "shortened", "refinement"]


@dataclass(frozen=True, slots=True)
class Reply:
    """A text of the chatbot or the refiner, read once."""

    attempt: Attempt
    """As the trace records it."""
    requested: Sequence[str] = ()
    """The sections it asks for, if that is all it does."""

    @property
    def text(self) -> str:
        """The text without commands and invisible characters, up to the client's `stop`."""
        return self.attempt.text


async def draft(choice: ChoiceRun) -> Body:
    """Ask the chatbot's model for as many choices as the client wants, and return its response.

    Raises:
        ModelError: It could not be asked.
    """
    n = choice.turn.request.n or 1
    return await _ask(choice, await context.write_request(choice) | ({"n": n} if n > 1 else {}), "draft", None)


async def check_draft(choice: ChoiceRun, text: str, with_tools: bool) -> Reply:
    """Run the hard checks on a draft: faulty commands are redrafted, great length is shortened.

    Args:
        choice: The choice. It gets the sections that the chatbot asked for.
        text: The draft as the model wrote it.
        with_tools: Whether tool calls came with it; such a draft needs no citation.

    Returns:
        The reply that is left to judge.
    """
    text, reply = await _redraft(choice, text, with_tools)
    length, committed = choice.turn.bot.settings.length, choice.committed.text
    if estimate_tokens(reply.text) <= length.hard or choice.turn.request.wants_json:
        return reply
    if not committed:  # else it cannot be shortened any more
        shorter = await _ask_again(choice, context.shorten_messages(text, length.soft))
        if shorter is not None:
            take_upstream_evidence(choice, shorter)
            reply = await read_reply(choice, "shortened", _text(shorter), checked=False)
    cut = max(cut_to_tokens(reply.text, length.hard), committed, key=len)
    reply = replace(reply, attempt=replace(reply.attempt, kind="shortened", text=cut))
    choice.run.record(reply.attempt)
    return reply


async def _redraft(choice: ChoiceRun, text: str, with_tools: bool) -> tuple[str, Reply]:
    """Ask again until the draft's commands are right, or it has been asked often enough."""
    redrafts, requests = 0, choice.turn.bot.settings.retrieval.max_requests
    kind: Kind = "draft"
    while True:
        reply = await read_reply(choice, kind, text, checked=not with_tools, max_requests=requests)
        choice.run.record(reply.attempt)
        problems = reply.attempt.problems
        if reply.requested:
            requests -= len(reply.requested)
            retrieve_requested(choice, reply.requested)
            again = await _ask_again(choice)
        elif not problems or redrafts == MAX_REDRAFTS or choice.committed.text:
            return text, reply
        else:
            redrafts += 1
            again = await _ask_again(choice, context.hard_check_messages(text, problems))
        if again is None:
            return text, reply
        take_upstream_evidence(choice, again)
        kind, text = "redraft", _text(again)


def _text(drafted: Body) -> str:
    return drafted["message"].get("content") or ""


async def _ask_again(choice: ChoiceRun, extra: Sequence[Body] = ()) -> Body | None:
    """Ask the chatbot once more and return its choice; None when that fails: then the draft at hand is judged as it is."""
    try:
        with choice.run.step("redraft"):
            answer = await _ask(choice, await context.write_request(choice, extra), "redraft", choice.index)
    except ModelError as error:
        gate = choice.run.gate
        if gate is not None and not gate.forget([choice.index]):
            raise
        log.warning("redraft failed", turn_id=choice.turn.id, error=error.kind)
        return None
    drafted: Body = answer["choices"][0]
    return drafted


async def _ask(choice: ChoiceRun, body: Body, step: str, index: int | None) -> Body:
    """Ask for a draft of a choice, or of all of them at once, and commit of it what may be sent while it is written."""
    bot, ledger, gate = choice.turn.bot, choice.run.ledger, choice.run.gate
    if gate is None:
        return await bot.models.complete(bot.settings.model, body, step=step, ledger=ledger)
    writers: dict[int, Writer] = {}

    def forget(drafted: Collection[int]) -> bool:
        writers.clear()
        return gate.forget(drafted if index is None else {index for _ in drafted})

    stream = AnswerStream(forget)
    committing = asyncio.create_task(_commit(choice, gate, stream, writers, index))
    try:
        answer = await bot.models.complete(bot.settings.model, body, step=step, ledger=ledger, stream=stream)
        stream.end()
        await committing
    finally:
        committing.cancel()
    return answer


async def _commit(
    choice: ChoiceRun, gate: StreamGate, stream: AnswerStream, writers: dict[int, Writer], index: int | None
) -> None:
    """Commit what may be sent of a draft as it comes. Args: index: the choice; None: all that were asked for."""
    turn = choice.turn
    form = DraftForm(turn.cites, choice.citable, choice.source_ids, turn.request.stops, turn.bot.settings.length.hard)
    asked_for = (turn.request.n or 1) if index is None else 1
    async for drafted, text in stream:
        if not gate.sent_chars:
            gate.head = stream.head
        if drafted < asked_for:
            place = drafted if index is None else index
            if place not in writers:
                writers[place] = Writer(gate, place, form)
            writers[place].read(text)
    if not gate.sent_chars:
        gate.head = stream.head


async def read_reply(choice: ChoiceRun, kind: Kind, text: str, *, checked: bool = True, max_requests: int = 0) -> Reply:
    """Read a text that a model wrote for a choice; a long one in a thread.

    Args:
        choice: The choice.
        kind: What the text is.
        text: The text.
        checked: Whether to run the hard checks on its commands.
        max_requests: How many sections it may still ask for.
    """
    is_long = len(text) > context.LONG_TEXT and has_bracket(text)
    parsed = await run_in_thread_if(is_long, _parse, choice.run, text)
    turn = choice.turn
    requested: list[str] = []
    if not parsed.text and turn.cites:
        in_use = choice.in_use or ()
        requested = [s for s in citations.requested_sections(parsed, turn.bot.sections) if s not in in_use]
        requested = requested[:max_requests]
    problems: list[str] = []
    if checked and not requested and turn.cites:
        problems = citations.problems(parsed, choice.citable, choice.source_ids)
        if not parsed.text and kind != "refinement":
            problems.append("Your reply has no text for the user.")
    left = len(choice.committed.text)
    attempt = Attempt(kind, choice.index, parsed.text, parsed.citations, turn.at_ms, problems, left=left)
    return Reply(attempt, requested)


def _parse(run: TurnRun, text: str) -> citations.ParsedReply:
    """Split a text of the model's into its commands and the rest, without invisible characters. JSON holds no commands.

    It ends where the client's `stop` wants it to, which a model that writes commands is not told, nor a refiner.
    """
    request = run.turn.request
    text = run.visible(text, as_json=request.wants_json)
    if request.wants_json:
        return citations.ParsedReply(text)
    parsed = citations.parse(text)
    return replace(parsed, text=cut_at_stop(parsed.text, request.stops))


def cut_at_stop(text: str, stops: Sequence[str]) -> str:
    """Return a text up to the first of some stop sequences."""
    return text[: min((at for stop in stops if (at := text.find(stop)) >= 0), default=len(text))]


def cut_to_tokens(text: str, tokens: int) -> str:
    """Cut a text at the end of a sentence so that it has at most so many tokens, in time linear in its length."""
    if estimate_tokens(text) <= tokens:
        return text
    fits = len(text.encode(errors="replace")[: tokens * BYTES_PER_TOKEN].decode(errors="ignore"))
    end = max(text.rfind(mark, 0, fits + 1) for mark in (". ", ".\n", "! ", "? ", "!\n", "?\n"))
    return text[: end + 1 if end > 0 else fits].rstrip()

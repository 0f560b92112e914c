"""Requests a draft from the chatbot's model, and runs the hard checks on it. A faulty draft is requested again."""

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
    """A parsed text that the chatbot's model or the refiner wrote."""

    attempt: Attempt
    """The record of this text in the trace."""
    requested: Sequence[str] = ()
    """Ids of the sections that the text requests, if it contains nothing else."""

    @property
    def text(self) -> str:
        """The text without commands and invisible characters, up to the client's `stop`."""
        return self.attempt.text


async def draft(choice: ChoiceRun) -> Body:
    """Request a draft from the chatbot's model, with the number of choices that the client asked for.

    Returns:
        The model's response.

    Raises:
        ModelError: The call failed.
    """
    n = choice.turn.request.n or 1
    return await _ask(choice, await context.write_request(choice) | ({"n": n} if n > 1 else {}), "draft", None)


async def check_draft(choice: ChoiceRun, text: str, with_tools: bool) -> Reply:
    """Run the hard checks on a draft. Redraft it if commands are faulty, and shorten it above the length limit.

    Args:
        choice: The choice. Sections that the chatbot requests are added to it.
        text: The draft as the model wrote it.
        with_tools: Whether the draft has tool calls. Such a draft needs no citation.

    Returns:
        The reply to judge.
    """
    text, reply = await _redraft(choice, text, with_tools)
    length, committed = choice.turn.bot.settings.length, choice.committed.text
    if estimate_tokens(reply.text) <= length.hard or choice.turn.request.wants_json:
        return reply
    if not committed:  # text that may already be sent cannot be shortened
        shorter = await _ask_again(choice, context.shorten_messages(text, length.soft))
        if shorter is not None:
            take_upstream_evidence(choice, shorter)
            reply = await read_reply(choice, "shortened", _text(shorter), checked=False)
    cut = max(cut_to_tokens(reply.text, length.hard), committed, key=len)
    reply = replace(reply, attempt=replace(reply.attempt, kind="shortened", text=cut))
    choice.run.record(reply.attempt)
    return reply


async def _redraft(choice: ChoiceRun, text: str, with_tools: bool) -> tuple[str, Reply]:
    """Request redrafts until the draft's commands are valid, at most MAX_REDRAFTS times."""
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
    """Request a redraft and return its choice; None if the call failed, so that the previous draft is judged."""
    try:
        with choice.run.step("redraft"):
            answer = await _ask(choice, await context.write_request(choice, extra), "redraft", choice.index)
    except ModelError as error:
        gate = choice.run.gate
        if gate is not None and not gate.forget([choice.index]):
            raise
        log.warning("redraft failed", turn_id=choice.turn.id, error=error.kind, cause=error.cause)
        return None
    drafted: Body = answer["choices"][0]
    return drafted


async def _ask(choice: ChoiceRun, body: Body, step: str, index: int | None) -> Body:
    """Request a draft, and commit the part that may be sent while the model writes it.

    Args:
        choice: The choice.
        body: The request to the model.
        step: The name of the step, for the ledger.
        index: The index of the choice to draft; None: all requested choices.
    """
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
    """Commit the part of a draft that may be sent, while the draft arrives.

    Args:
        choice: The choice.
        gate: Holds the committed text.
        stream: The draft.
        writers: Writers by choice, which this function adds.
        index: The index of the choice that is drafted; None: all requested choices.
    """
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
    """Parse a text that a model wrote for a choice. A long text is parsed in a thread.

    Args:
        choice: The choice.
        kind: The step that wrote the text.
        text: The text.
        checked: Whether to run the hard checks on its commands.
        max_requests: Number of sections that the text may still request.
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
    """Separate the commands in a model's text from the other text, and remove invisible characters. JSON has no commands.

    The text is cut at the client's `stop`, because `stop` is not sent to refiners and to models that write commands.
    """
    request = run.turn.request
    text = run.visible(text, as_json=request.wants_json)
    if request.wants_json:
        return citations.ParsedReply(text)
    parsed = citations.parse(text)
    return replace(parsed, text=cut_at_stop(parsed.text, request.stops))


def cut_at_stop(text: str, stops: Sequence[str]) -> str:
    """Return the part of a text before its first stop sequence."""
    return text[: min((at for stop in stops if (at := text.find(stop)) >= 0), default=len(text))]


def cut_to_tokens(text: str, tokens: int) -> str:
    """Cut a text at the end of a sentence to at most `tokens` tokens, in linear time."""
    if estimate_tokens(text) <= tokens:
        return text
    fits = len(text.encode(errors="replace")[: tokens * BYTES_PER_TOKEN].decode(errors="ignore"))
    end = max(text.rfind(mark, 0, fits + 1) for mark in (". ", ".\n", "! ", "? ", "!\n", "?\n"))
    return text[: end + 1 if end > 0 else fits].rstrip()

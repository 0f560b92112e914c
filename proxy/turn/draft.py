"""The draft: the chatbot's answer, checked by hard rules, and asked for again with the reason."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import structlog

from judges.case import run_in_thread_if
from knowledge_base import citations
from knowledge_base.commands import has_bracket
from models.engine import Body
from models.errors import ModelError
from models.usage import BYTES_PER_TOKEN, estimate_tokens
from proxy.traces.trace import Attempt
from proxy.turn import context
from proxy.turn.evidence import with_upstream_evidence
from proxy.turn.inputs import Turn
from proxy.turn.retrieval import retrieve_requested
from proxy.turn.writer import DraftStream

log = structlog.get_logger()

MAX_REDRAFTS = 2
LONG_TEXT = 10_000
"""Characters from which a text is long in which commands are looked for: they take some 20 ms if it holds nothing else."""

Kind = Literal["draft", "redraft", "shortened", "refinement"]


async def draft(turn: Turn) -> Body:
    """Ask the chatbot's model, for as many choices as the client wants; return its response.

    Raises:
        ModelError: It could not be asked.
    """
    choices = {"n": turn.request.n} if (turn.request.n or 1) > 1 else {}
    return await _ask(turn, await _write_body(turn) | choices, "draft", None)


async def check_draft(turn: Turn, index: int, text: str, with_tools: bool) -> tuple[Turn, Attempt]:
    """Run the hard checks on a draft: faulty commands are redrafted, great length is shortened.

    Args:
        turn: The turn.
        index: Which choice the draft is.
        text: The draft as the model wrote it.
        with_tools: Whether tool calls came with it; such a draft needs no citation.

    Returns:
        The turn as it goes on, with the sources that the chatbot asked for, and the text that is left to judge.
    """
    turn, text, attempt = await _redraft(turn, index, text, with_tools)
    hard = turn.bot.settings.length.hard
    if estimate_tokens(attempt.text) <= hard or turn.request.wants_json:
        return turn, attempt
    committed = turn.committed(index).text
    if not committed:  # else it cannot be shortened any more
        shorter = await _ask_again(turn, index, context.shorten_messages(text, turn.bot.settings.length.soft))
        if shorter is not None:
            turn = with_upstream_evidence(turn, shorter)
            attempt = _attempt(turn, "shortened", index, await read_draft(turn, _text(shorter)))
    attempt = replace(attempt, kind="shortened", text=max(cut_to_tokens(attempt.text, hard), committed, key=len))
    turn.results.attempts.append(attempt)
    return turn, attempt


async def _redraft(turn: Turn, index: int, text: str, with_tools: bool) -> tuple[Turn, str, Attempt]:
    """Ask again until the draft's commands are right, or it has been asked often enough."""
    redrafts, requests = 0, turn.bot.settings.retrieval.max_requests
    kind: Kind = "draft"
    while True:
        parsed = await read_draft(turn, text)
        requested = _requested_sources(turn, parsed)[:requests]
        problems = [] if requested or with_tools else _problems(turn, parsed)
        attempt = _attempt(turn, kind, index, parsed, problems)
        turn.results.attempts.append(attempt)
        if requested:
            requests -= len(requested)
            turn = turn.with_sources(retrieve_requested(turn, requested))
            again = await _ask_again(turn, index)
        elif not problems or redrafts == MAX_REDRAFTS or turn.committed(index).text:
            return turn, text, attempt
        else:
            redrafts += 1
            again = await _ask_again(turn, index, context.hard_check_messages(text, problems))
        if again is None:
            return turn, text, attempt
        kind, text, turn = "redraft", _text(again), with_upstream_evidence(turn, again)


def _problems(turn: Turn, parsed: citations.ParsedReply) -> list[str]:
    if not turn.cites:
        return []
    problems = citations.problems(parsed, turn.citable, turn.source_ids)
    return problems if parsed.text else [*problems, "Your reply has no text for the user."]


def _requested_sources(turn: Turn, parsed: citations.ParsedReply) -> list[str]:
    """Return the sources a reply asks for, when that is all it does."""
    if parsed.text or not turn.cites:
        return []
    return [s for s in citations.requested_sections(parsed, turn.bot.sections) if s not in (turn.in_use or ())]


def _text(choice: Body) -> str:
    return choice["message"].get("content") or ""


async def _ask_again(turn: Turn, index: int, extra: Sequence[Body] = ()) -> Body | None:
    """Ask the chatbot once more and return its choice; None when that fails: then the draft at hand is judged as it is."""
    try:
        with turn.step("redraft"):
            answer = await _ask(turn, await _write_body(turn, extra), "redraft", index)
    except ModelError as error:
        if turn.stream_gate is not None and not turn.stream_gate.forget([index]):
            raise
        log.warning("redraft failed", turn_id=turn.id, error=error.kind)
        return None
    choice: Body = answer["choices"][0]
    return choice


async def _ask(turn: Turn, body: Body, step: str, index: int | None) -> Body:
    """Ask for a draft of a choice, or of all of them at once, and commit of it what may be sent while it is written."""
    ask, alias = turn.bot.models.complete, turn.bot.settings.model
    if turn.stream_gate is None:
        answer = await ask(alias, body, step=step, ledger=turn.ledger)
    else:
        stream = DraftStream(turn, turn.stream_gate, index)
        committing = asyncio.create_task(stream.commit())
        try:
            answer = await ask(alias, body, step=step, ledger=turn.ledger, listener=stream)
            stream.end()
            await committing
        finally:
            committing.cancel()
    return answer


async def read_draft(turn: Turn, text: str) -> citations.ParsedReply:
    """Split a text of the model's as `parse_draft` does; a long one beside the event loop."""
    return await run_in_thread_if(len(text) > LONG_TEXT and has_bracket(text), parse_draft, turn, text)


def parse_draft(turn: Turn, text: str) -> citations.ParsedReply:
    """Split a text of the model's into its commands and the rest, without invisible characters. A JSON document holds no commands.

    It ends where the client's `stop` wants it to, which a model that writes commands is not told, nor a refiner.
    """
    text = turn.results.visible(text, as_json=turn.request.wants_json)
    if turn.request.wants_json:
        return citations.ParsedReply(text)
    parsed = citations.parse(text)
    return replace(parsed, text=cut_at_stop(parsed.text, turn.request.stops))


def _attempt(
    turn: Turn, kind: Kind, index: int, parsed: citations.ParsedReply, problems: Sequence[str] = ()
) -> Attempt:
    sent = len(turn.committed(index).text)
    return Attempt(kind, index, parsed.text, parsed.citations, turn.at_ms, problems, left=sent)


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


async def _write_body(turn: Turn, extra: Sequence[Body] = ()) -> Body:
    """Return the request for a draft. What others wrote is made inert in it, of long texts beside the event loop."""
    texts = [text for message in turn.request.messages if has_bracket(text := message.text)]
    is_long = sum(map(len, texts)) > LONG_TEXT
    return await run_in_thread_if(is_long, _body, turn, extra)


def _body(turn: Turn, extra: Sequence[Body] = ()) -> Body:
    options = turn.request.options
    if turn.bot.settings.kind == "wrapped":
        messages = context.wrapped_messages(turn)
    else:
        messages = context.guarded_messages(turn)
        if turn.documents:
            options.pop("documents", None)  # it has been shown them
    if turn.cites and turn.request.stops:
        # One such as a line break would end the draft with its citation command: see parse_draft.
        options.pop("stop", None)
    return {**options, "messages": [*messages, *extra]}

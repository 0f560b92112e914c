"""The draft: asked for, checked by hard rules, asked for again with the reason."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import structlog

from knowledge_base import citations
from models.client import Body
from models.errors import ModelError
from models.request import text_of
from models.usage import BYTES_PER_TOKEN, estimate_tokens
from proxy.traces.trace import Attempt, SelectedSource
from proxy.turn import context
from proxy.turn.delivery import Turn
from proxy.turn.retrieval import put_in
from proxy.turn.writer import Drafting

log = structlog.get_logger()

MAX_REDRAFTS = 2

Kind = Literal["draft", "redraft", "shortened", "refinement"]


async def draft(turn: Turn) -> Body:
    """Ask the chatbot's model, for as many choices as the client wants; return its response.

    Raises:
        ModelError: It could not be asked.
    """
    choices = {"n": turn.request.n} if (turn.request.n or 1) > 1 else {}
    body = _body(turn) | choices
    return await _asked(turn, body, "draft", None)


async def checked(turn: Turn, index: int, text: str, with_tools: bool) -> Attempt:
    """Run the hard checks on a draft: faulty commands are redrafted, great length is shortened.

    Args:
        turn: The turn.
        index: Which choice the draft is.
        text: The draft as the model wrote it.
        with_tools: Whether tool calls came with it; such a draft needs no citation.
    """
    text, attempt = await _redrafted(turn, index, text, with_tools)
    hard = turn.bot.settings.length.hard
    if estimate_tokens(attempt.text) <= hard or turn.request.wants_json:
        return attempt
    if committed := turn.committed(index).text:  # which cannot be shortened any more
        attempt.text = max(cut(attempt.text, hard), committed, key=len)
        return attempt
    shorter = await _ask_again(turn, index, context.shorten_messages(text, turn.bot.settings.length.soft))
    if shorter is not None:
        attempt, _ = attempt_of(turn, "shortened", index, shorter)
    attempt.text = max(cut(attempt.text, hard), turn.committed(index).text, key=len)
    return attempt


async def _redrafted(turn: Turn, index: int, text: str, with_tools: bool) -> tuple[str, Attempt]:
    """Ask again until the draft's commands are right, or it has been asked often enough."""
    attempt, parsed = attempt_of(turn, "draft", index, text)
    redrafts, requests = 0, turn.bot.settings.retrieval.max_requests
    while turn.cites:
        wanted = _wanted(turn, parsed)[:requests]
        if wanted:
            requests -= len(wanted)
            for source in wanted:
                put_in(turn, source)
                turn.trace.selected.append(SelectedSource(source, "chatbot", "asked for in its reply"))
            again = await _ask_again(turn, index)
        else:
            attempt.problems = [] if with_tools else _problems(turn, parsed)
            if not attempt.problems or redrafts == MAX_REDRAFTS or turn.committed(index).text:
                break
            redrafts += 1
            again = await _ask_again(turn, index, context.hard_check_messages(text, attempt.problems))
        if again is None:
            break
        text = again
        attempt, parsed = attempt_of(turn, "redraft", index, text)
    return text, attempt


def _problems(turn: Turn, parsed: citations.Parsed) -> list[str]:
    found = citations.problems(parsed, turn.bot.sections, turn.in_use)
    return found if parsed.text else [*found, "Your reply has no text for the user."]


def _wanted(turn: Turn, parsed: citations.Parsed) -> list[str]:
    """Return the sources a reply asks for, when that is all it does."""
    if parsed.text:
        return []
    return [s for s in citations.requested(parsed, turn.bot.sections) if s not in turn.in_use]


async def _ask_again(turn: Turn, index: int, extra: Sequence[Body] = ()) -> str | None:
    """Ask the chatbot once more; None when that fails: then the draft at hand is all there is, and it is judged as it is."""
    try:
        with turn.step("redraft"):
            answer = await _asked(turn, _body(turn, extra), "redraft", index)
    except ModelError as error:
        if turn.stream_gate is not None and not turn.stream_gate.forget([index]):
            raise
        log.warning("redraft failed", turn_id=turn.trace.turn_id, error=error.kind)
        return None
    return answer["choices"][0]["message"].get("content") or ""


async def _asked(turn: Turn, body: Body, step: str, index: int | None) -> Body:
    """Ask for a draft. Args: index: the choice it is for; None: all of them."""
    alias = turn.bot.settings.model
    listener = None if turn.stream_gate is None else Drafting(turn, turn.stream_gate, index)
    answer = await turn.bot.models.complete(alias, body, step=step, ledger=turn.ledger, listener=listener)
    for choice in answer["choices"]:
        message = choice["message"]
        if isinstance(message.get("content"), list):  # some servers write parts
            message["content"] = text_of(message)
    return answer


def attempt_of(turn: Turn, kind: Kind, index: int, text: str) -> tuple[Attempt, citations.Parsed]:
    """Take a text of the model's apart, and trace it. A JSON document holds no commands.

    It ends where the client's `stop` wants it to, which a model that writes commands is not told, nor a refiner.
    """
    parsed = citations.Parsed(text) if turn.request.wants_json else citations.parse(text)
    if turn.request.stops and not turn.request.wants_json:
        parsed = replace(parsed, text=before(parsed.text, turn.request.stops))
    attempt = Attempt(kind, index, parsed.text, list(parsed.citations), turn.at_ms)
    turn.trace.attempts.append(attempt)
    return attempt, parsed


def before(text: str, stops: Sequence[str]) -> str:
    """Return a text up to the first of some stop sequences."""
    return text[: min((at for stop in stops if (at := text.find(stop)) >= 0), default=len(text))]


def cut(text: str, tokens: int) -> str:
    """Cut a text at the end of a sentence so that it has at most so many tokens, in time linear in its length."""
    if estimate_tokens(text) <= tokens:
        return text
    fits = len(text.encode(errors="replace")[: tokens * BYTES_PER_TOKEN].decode(errors="ignore"))
    end = max(text.rfind(mark, 0, fits + 1) for mark in (". ", ".\n", "! ", "? ", "!\n", "?\n"))
    return text[: end + 1 if end > 0 else fits].rstrip()


def _body(turn: Turn, extra: Sequence[Body] = ()) -> Body:
    bot, request = turn.bot, turn.request
    conversation, raw = turn.conversation, request.raw["messages"]
    if conversation.warnings and turn.filter != "on":
        conversation = replace(conversation, warnings=())
    if bot.settings.kind == "wrapped":
        messages = context.wrapped_messages(raw, request.messages, conversation, turn.number, bot.settings.role)
    else:
        messages = context.guarded_messages(
            bot.settings.role, bot.contact(turn.user_message), bot.library, turn.sources, raw, request.messages, conversation,
            turn.number, bot.settings.context_tokens, cites=turn.cites,
        )  # fmt: skip
    options = request.options
    if (
        turn.cites and request.stops
    ):  # one such as a line break would end the draft with its citation command: see attempt_of
        options.pop("stop", None)
    return {**options, "messages": [*messages, *extra]}

"""Runs the actions of assistants on other systems.

An action runs once, after the verdict, and only if the user confirmed exactly this action.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from itertools import takewhile
from typing import Any

import orjson
import structlog

from models.engine import ActingEngine, Body
from models.errors import ModelError
from models.turn_scope import Note
from proxy.state.conversation_store import ConversationStore
from proxy.turn.delivery import Answer, Delivery
from proxy.turn.turn import Turn, TurnRun

log = structlog.get_logger()

NOT_ALLOWED = "This was not done: the API key of the request lacks the permission `act`."
NOT_CONFIRMED = "This was not done: this service has no record of proposing exactly this to you."
NOT_FOR_SEVERAL = "This was not done: it needs a request for a single reply, but this request asked for several (`n`)."
NOT_AS_JSON = "This was not done: it cannot be confirmed in a JSON reply. Please confirm it without `response_format`."
NOT_JUDGED = "This was not done: this service's filter did not accept the reply."
DONE_BEFORE = "You confirmed this before, so it was not done again. If it did not succeed then, ask for it again."
FAILED = "This failed, or was done only in part. Your work so far is not lost, and you can ask for it again."
TOO_LONG = "This took too long and was cancelled. It may have been done: check before you ask for it again."
LIMIT_S = 120.0
"""Time limit of an action, in seconds."""


class Actions:
    """The running actions. They are referenced here because an event loop keeps only weak references to its tasks."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[str]] = set()

    async def finish(self, work: Coroutine[Any, Any, str]) -> str:
        """Run an action to its end, even if the caller is cancelled. Return the line for the user."""
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)


async def act(actions: Actions, store: ConversationStore, run: TurnRun, answer: Answer) -> Answer:
    """Run an action that the user confirmed, and add its result to the reply. For a proposed action, add the confirmation prompt.

    A started action runs to its end even if the client disconnects, because half an action is worse than none. A repeated
    request does not repeat the action.

    The action is not run if:

    * the judges did not accept the first draft;
    * the request asks for several choices, or for JSON;
    * the key lacks the permission `act`;
    * the last reply is not ours, or did not ask to confirm exactly this action.
    """
    turn = run.turn
    engine = turn.bot.models.acting_engine(turn.bot.settings.model)
    first = answer.deliveries[0]
    action = first.message.get("action")
    if engine is None or not isinstance(action, dict) or first.text is None:
        return answer
    if first.text_outcome in ("emergency", "fallback"):
        return answer
    code, prompt = action["code"], action["prompt"].replace("{code}", action["code"])
    if not action["confirmed"]:
        may = _objection(run, answer, None) is None and _is_whole(first)
        return _with_line(answer, prompt, proposed=code) if may else answer
    result = _objection(run, answer, code)
    if result is None:
        with run.step("act"):
            result = await actions.finish(_act_once(store, turn, engine, action))
    run.notes.append(Note("act", f"{action['name']}: {result}"))
    if result == NOT_CONFIRMED:
        return _with_line(answer, f"{result} {prompt}", proposed=code)
    return _with_line(answer, result, as_json=turn.request.wants_json)


async def _act_once(store: ConversationStore, turn: Turn, engine: ActingEngine, action: Body) -> str:
    """Run the action unless an earlier request has already run it. Return the line for the user."""
    done = await store.claim(turn.identity.action_key(action["code"]))
    try:
        async with asyncio.timeout(LIMIT_S):
            result = await engine.act(action) if done else DONE_BEFORE
    except TimeoutError:
        log.warning("action failed", turn_id=turn.id, action=action["name"], error="TimeoutError")
        return TOO_LONG
    except ModelError as error:
        log.warning("action failed", turn_id=turn.id, action=action["name"], error=error.kind)
        return f"{FAILED}\n{error.reason}" if error.reason else FAILED
    log.info("acted", turn_id=turn.id, action=action["name"], done=done)
    return result


def _with_line(answer: Answer, line: str, *, as_json: bool = False, proposed: str = "") -> Answer:
    first, *others = answer.deliveries
    text = _add_to_document(first.text or "", line) if as_json else f"{first.text}\n\n{line}"
    return replace(answer, deliveries=[replace(first, text=text, proposed=proposed), *others])


def _add_to_document(document: str, line: str) -> str:
    """Add a line to the field `answer` of an assistant's JSON reply. Without this field, return the reply unchanged."""
    try:
        read = orjson.loads(document)
    except orjson.JSONDecodeError:
        return document
    if not isinstance(read, dict) or not isinstance(read.get("answer"), str):
        return document
    return orjson.dumps(read | {"answer": f"{read['answer']}\n\n{line}"}).decode()


def _objection(run: TurnRun, answer: Answer, code: str | None) -> str | None:
    """Return the reason why an action must not run, as a line for the user; None if the action may run.

    Args:
        run: The turn.
        answer: The turn's answer.
        code: The code of the confirmed action; None: the action is not confirmed yet.
    """
    turn, drafts = run.turn, [attempt for attempt in run.attempts if attempt.kind != "tool_calls"]
    if "act" not in turn.principal.permissions:
        return NOT_ALLOWED
    if turn.request.wants_json:
        return NOT_AS_JSON
    if len(answer.deliveries) != 1:
        return NOT_FOR_SEVERAL
    if len(drafts) != 1 or not _accepted(answer.deliveries[0]):
        return NOT_JUDGED
    if code is None:
        return None
    last = next((message for message in reversed(turn.request.messages) if message.is_reply), None)
    delivered = turn.conversation.find_delivered(last) if last is not None else None
    # Compare with the stored code: the reply's text may quote the user, and so another action's code.
    is_confirmed = delivered is not None and delivered.proposed == code
    return None if is_confirmed and _answers_our_calls(turn) else NOT_CONFIRMED


def _answers_our_calls(turn: Turn) -> bool:
    """Return whether this proxy delivered all tool calls of the request. Without new tool results, return true.

    Only the assistant knows which call a tool result answers, so all calls must be from this proxy.
    """
    messages = turn.request.messages
    newest = takewhile(lambda message: message.role != "user", reversed(messages))
    if all(message.role not in ("tool", "function") for message in newest):
        return True
    calls = [(turn.calls.get(str(call.get("id"))), call) for message in messages for call in message.tool_calls or ()]
    return all(ours is not None and ours.is_call(call) for ours, call in calls)


def _is_whole(delivery: Delivery) -> bool:
    """Return whether the user sees the whole draft: a user cannot confirm text that `stop` or the length limit cut off."""
    drafted = delivery.message.get("content")
    cut = delivery.choice.get("finish_reason") == "length"
    return not cut and isinstance(drafted, str) and drafted.rstrip().endswith(delivery.text or "")


def _accepted(delivery: Delivery) -> bool:
    """Return whether the judges accepted the reply. Warnings about the length or a concern do not prevent this."""
    return delivery.outcome == "accepted" or (
        delivery.outcome == "warned" and all(rule in ("length", "concern") for rule, _ in delivery.warnings)
    )

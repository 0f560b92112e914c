"""What an assistant proposes to do outside: done once, after the verdict, on a user's confirmation of exactly that."""

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

NOT_ALLOWED = "This was not done: the key that asks may not act (it needs the permission `act`)."
NOT_CONFIRMED = "This was not done: this service has no record of proposing exactly this to you."
NOT_FOR_SEVERAL = "This was not done: it is done for a single reply only, and several were asked for (`n`)."
NOT_AS_JSON = "This was not done: nothing is done for a reply in JSON. Please confirm it without `response_format`."
NOT_JUDGED = "This was not done: the reply was not accepted by this service's filter."
DONE_BEFORE = "This was confirmed before, and was not done again. If it did not come about then, ask for it again."
FAILED = "This was not done, or not wholly. Nothing of what we have put together is lost; you can ask for it again."
TOO_LONG = "This took too long and was broken off. It may have been done: look there before you ask for it again."
LIMIT_S = 120.0
"""How long an action may take."""


class Actions:
    """The actions that are being done. An event loop keeps only weak references to its tasks."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[str]] = set()

    async def finish(self, work: Coroutine[Any, Any, str]) -> str:
        """Do something to its end, also when whoever waits for it is cancelled; return what to tell the user."""
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)


async def act(actions: Actions, store: ConversationStore, run: TurnRun, answer: Answer) -> Answer:
    """Do what the user has confirmed by the delivered reply, and tell in it what came of that; ask to confirm what is proposed.

    What has begun goes on to its end, also when the client leaves meanwhile: half an action is worse than none.

    Nothing is done for a reply that the judges did not accept as it was drafted first, for one of several choices, without the
    permission `act`, or when the last reply was not ours, or did not ask to confirm exactly this action. A request that is
    sent again does nothing a second time.
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
    """Do it, unless it has been claimed before; return what to tell the user."""
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
    """Add a line to the `answer` of an assistant's document; one that a refiner or a limit has left without stays as it is."""
    try:
        read = orjson.loads(document)
    except orjson.JSONDecodeError:
        return document
    if not isinstance(read, dict) or not isinstance(read.get("answer"), str):
        return document
    return orjson.dumps(read | {"answer": f"{read['answer']}\n\n{line}"}).decode()


def _objection(run: TurnRun, answer: Answer, code: str | None) -> str | None:
    """Return why an action is not to be done; None: it is. Args: code: its own; None: it is not confirmed yet."""
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
    # What the reply says besides may quote the user, and so the code of something else.
    is_confirmed = delivered is not None and delivered.proposed == code
    return None if is_confirmed and _answers_our_calls(turn) else NOT_CONFIRMED


def _answers_our_calls(turn: Turn) -> bool:
    """Tell whether the tool results since the user's last message, if any, can be those of calls that this proxy delivered.

    All calls of the request must be: what an assistant takes a result to answer, only the assistant knows.
    """
    messages = turn.request.messages
    newest = takewhile(lambda message: message.role != "user", reversed(messages))
    if all(message.role not in ("tool", "function") for message in newest):
        return True
    calls = [(turn.calls.get(str(call.get("id"))), call) for message in messages for call in message.tool_calls or ()]
    return all(ours is not None and ours.is_call(call) for ours, call in calls)


def _is_whole(delivery: Delivery) -> bool:
    """Tell whether the user sees all that was drafted: nobody confirms what a `stop` or a limit of the client's cut off."""
    drafted = delivery.message.get("content")
    cut = delivery.choice.get("finish_reason") == "length"
    return not cut and isinstance(drafted, str) and drafted.rstrip().endswith(delivery.text or "")


def _accepted(delivery: Delivery) -> bool:
    """Tell whether the judges had nothing to object; length is no objection."""
    return delivery.outcome == "accepted" or (
        delivery.outcome == "warned" and all(rule in ("length", "concern") for rule, _ in delivery.warnings)
    )

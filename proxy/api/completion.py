"""Builds the response body of a turn. Pure.

Every field is set here, because a field that is copied from the upstream could contain a rejected draft or reasoning.
"""

from itertools import accumulate
from typing import Any

from judges.rules import RULES
from judges.verdict import Judgement
from models.engine import Body
from proxy.api import outgoing
from proxy.api.logprobs import encode, matching_tokens, token_bytes
from proxy.turn import tool_calls
from proxy.turn.delivery import Answer, Delivery, cited_titles, delivered_text
from proxy.turn.turn import Turn, TurnRun


def completion(run: TurnRun, answer: Answer, *, expose: bool) -> Body:
    """Build the chat completion for an answer.

    Args:
        run: The turn.
        answer: The turn's answer. Without a draft it has one delivery, which is repeated for every requested choice.
        expose: Whether to add the `caf` object to the response, and, with several choices, to each choice.
    """
    turn = run.turn
    deliveries = answer.deliveries if answer.upstream else [*answer.deliveries] * (turn.request.n or 1)
    # Streamed text may be from another upstream answer than the first draft: use the fields sent with it.
    upstream = answer.upstream if run.gate is None else run.gate.head
    body: Body = {
        **head(turn, upstream),
        "object": "chat.completion",
        "choices": [choice(run, delivery, index) for index, delivery in enumerate(deliveries)],
        "usage": run.ledger.usage.as_openai(),
    }
    if expose:
        body["caf"] = caf(run, answer.worst)
        if len(deliveries) > 1:
            for written, delivery in zip(body["choices"], deliveries, strict=True):
                written["caf"] = caf(run, delivery)
    return body


def head(turn: Turn, upstream: Body) -> Body:
    """Return the fields that identify a completion and the upstream's system."""
    return {
        "id": f"chatcmpl-{turn.id}",
        "created": int(turn.started_at),
        "model": turn.request.model,
        **outgoing.upstream_fields(upstream),
    }


def choice(run: TurnRun, delivery: Delivery, index: int) -> Body:
    """Build one choice of a completion, with the delivered text and tool calls."""
    turn, upstream = run.turn, delivery.message
    text = delivered_text(run, delivery)
    message: Body = {"role": "assistant", "content": text, "refusal": None, **tool_calls.fields(delivery.calls)}
    # `refusal` tells a client that expects JSON or a tool call that this reply is neither.
    programmed = turn.request.wants_json or turn.request.tools or turn.request.functions
    if delivery.refused or (programmed and delivery.text_outcome == "fallback" and turn.task is None):
        message["refusal"] = turn.fallback
    elif text is None:
        # No judge has read a refusal in the model's own words.
        own = upstream.get("refusal")
        message["refusal"] = turn.fallback if own and run.needs_judging else own and run.visible(own)
    elif programmed and delivery.outcome == "emergency":
        message["refusal"] = text
    withheld = delivery.replaced or (delivery.refused and text is None)
    return {
        "index": index,
        "message": message,
        "logprobs": delivered_logprobs(run, delivery),
        "finish_reason": outgoing.finish_reason(None if withheld else delivery.choice.get("finish_reason"), message),
    }


def delivered_logprobs(run: TurnRun, delivery: Delivery) -> Body | None:
    """Return the logprobs of the delivered tokens; None if the model did not write the text, or the text begins within a token.

    The citation command before a reply and the line of sources after it have no logprobs. Alternative tokens are left out of a
    judged reply, because no judge has read them.
    """
    logprobs = delivery.choice.get("logprobs")
    if logprobs is None:  # the usual case
        return None
    drafted, text = delivery.message.get("content"), delivery.text
    if delivery.replaced or not isinstance(drafted, str) or not text or not drafted.endswith(text):
        return None
    tokens = matching_tokens(logprobs, drafted)
    if tokens is None:
        return None
    if run.needs_judging:
        tokens = [token | {"top_logprobs": []} for token in tokens]
    starts = list(accumulate((len(token_bytes(token)) for token in tokens), initial=0))
    before = len(encode(drafted)) - len(encode(text))
    return {"content": tokens[starts.index(before) :], "refusal": None} if before in starts else None


def caf(run: TurnRun, delivery: Delivery) -> dict[str, Any]:
    """Build the `caf` object, which tells the client the outcome of the turn.

    Reasons and messages are the fixed texts of the rules, because a model's text may quote the draft. Keys with the permission
    `trace` also get the reasons that the judges wrote, and a draft that was not delivered.
    """
    turn, ledger = run.turn, run.ledger
    caf_object: dict[str, Any] = {
        "turn_id": turn.id,
        "conversation_id": turn.conversation.id,
        "outcome": delivery.outcome,
        "citations": [{"id": s, "title": title} for s, title in cited_titles(turn.bot, delivery)],
        "warnings": [{"rule": rule, "message": RULES[rule].message} for rule in dict(delivery.warnings)],
        "judges": [_judge(judgement, turn.reveals) for judgement in delivery.judgements],
        **({"concern": {"kind": delivery.concern}} if delivery.concern is not None else {}),
        "calls": len(ledger.calls),
        "usage": [{"step": c.step, "model": c.alias, **c.usage.as_openai()} for c in ledger.calls],
        "ms": turn.at_ms,
    }
    if turn.reveals and delivery.outcome in ("refined", "fallback"):
        index = delivery.choice.get("index", 0)
        drafts = ("draft", "redraft", "shortened") if delivery.replaced else ("tool_calls",)
        caf_object["draft"] = next((a.text for a in run.attempts if a.choice == index and a.kind in drafts), None)
    return caf_object


def _judge(judgement: Judgement, reveals: bool) -> dict[str, Any]:
    own = judgement.reason if reveals else ""
    return {
        "name": judgement.judge,
        "stage": judgement.stage,
        "verdict": judgement.verdict,
        "reason": own or (RULES[judgement.rule].text if judgement.rule else ""),
        "ms": judgement.ms,
    }

"""Forwards the requests to passthrough chatbots (`kind: passthrough`) and the answers of their models."""

import asyncio
from types import TracebackType
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from models.answer import find_garbled
from models.engine import Body, Forwarded
from models.errors import ModelError, error_for_status
from models.request import text_of
from models.usage import Call, Ledger, Usage
from proxy.api import stream
from proxy.api.forwarded_usage import StreamUsage, estimate_usage, usage_of
from proxy.api.logprobs import matching_tokens
from proxy.api.middleware import to_api_error
from proxy.api.service import Service
from proxy.audit.records import record_passthrough
from proxy.auth.keys import KeyRecord
from proxy.protocol.messages import OWN_FIELDS
from proxy.telemetry.logs import FIELDS
from proxy.turn.chatbot import Chatbot


class ForwardAccounting:
    """Context manager that counts and audits the calls forwarded within its block."""

    __slots__ = ("_chatbot", "_key", "_ledger", "_service")

    def __init__(self, service: Service, chatbot: str, key: KeyRecord | None, ledger: Ledger) -> None:
        self._service, self._chatbot, self._key, self._ledger = service, chatbot, key, ledger

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._service.metrics.count_forwarded(self._ledger)
        if self._service.audit is not None:
            record_passthrough(self._service.audit, self._chatbot, self._key, self._ledger.calls, error)


DONE = (b"data: [DONE]\n\n", b"data: [DONE]\r\n\r\n", b"data: [DONE]\n")
LONGEST_LINE = 2**20
"""Maximum bytes of a line that is held until its end has arrived. A longer line is forwarded in parts."""


async def passthrough(
    request: web.Request, bot: Chatbot, raw: bytes, data: dict[str, Any], ledger: Ledger
) -> web.StreamResponse:
    """Forward a request. Only the name of the model is replaced, by the name that the upstream uses.

    Args:
        request: The client's request.
        bot: The chatbot.
        raw: The body of the request.
        data: The decoded body.
        ledger: The call and its usage are added to this ledger.

    Raises:
        ModelError: The upstream cannot be reached.
    """
    request[FIELDS]["chatbot"] = bot.name
    upstream = bot.upstream_model
    if data["model"] != upstream or not _names_one_model(raw):
        raw = orjson.dumps({**data, "model": upstream})
    try:
        forwarded = await bot.models.forward(bot.settings.model, raw, request.headers, ledger)
    except asyncio.CancelledError:  # the client disconnected before the answer
        ledger.add(ledger_entry(bot, bot.settings.model, estimate_usage(len(raw), 0), "cancelled"))
        raise
    stream_usage: StreamUsage | None = None
    failure = find_failure(forwarded)
    if failure is not None:
        failure.at(forwarded.alias, "forward")
        request[FIELDS].update(cause=failure.cause, model=failure.alias, step=failure.step)
    error = failure.kind if failure is not None and forwarded.status >= 400 else None
    last = half = b""
    try:
        if forwarded.chunks is None:
            return web.Response(status=forwarded.status, headers=forwarded.headers, body=forwarded.body)
        async with forwarded:
            stream_usage = StreamUsage()
            response = web.StreamResponse(status=forwarded.status, headers=forwarded.headers)
            await response.prepare(request)
            try:
                async for chunk in forwarded.chunks:
                    last, half = whole_lines(half + chunk)
                    if last:
                        stream_usage.add_lines(last)
                        await response.write(last)
                if half:
                    stream_usage.add_lines(half)
                    await response.write(half)
            except ModelError as broken:  # the headers are sent already: end with an error event, without [DONE]
                error = broken.kind
                between = b"" if last.endswith((b"\n\n", b"\r\n\r\n")) else b"\n"
                await response.write(between + stream.event(to_api_error(request, broken).body()))
            return response
    except (asyncio.CancelledError, aiohttp.ClientConnectionResetError):
        if not last.endswith(DONE):  # after [DONE] the client has the whole answer
            error = "cancelled"
        raise
    finally:
        used = stream_usage.usage(len(raw)) if stream_usage is not None else usage_of(forwarded.body or b"", len(raw))
        ledger.add(ledger_entry(bot, forwarded.alias, used, error))


def find_failure(forwarded: Forwarded) -> ModelError | None:
    """Return the error for a forwarded answer with an error status or an empty or HTML body; None for other answers."""
    if forwarded.status >= 400:
        return error_for_status(forwarded.status)
    return find_garbled(forwarded.body) if forwarded.body is not None else None


def _names_one_model(raw: bytes) -> bool:
    """Return whether a request certainly has only one field `model`.

    If there are two fields, an upstream may read the other one. An escape may hide a second field.
    """
    return raw.lower().count(b'"model"') == 1 and b"\\u00" not in raw


def ledger_entry(bot: Chatbot, alias: str, usage: Usage, error: str | None) -> Call:
    """Return the ledger entry of a forwarded call."""
    return Call("forward", alias, 0.0, usage, usage.cost(bot.models.settings[alias].price), error)


def whole_lines(data: bytes) -> tuple[bytes, bytes]:
    """Split received data after its last complete line.

    An incomplete line is held back, so that an error event is not appended to half a line if the upstream disconnects.
    """
    if data.endswith(b"\n"):
        return data, b""
    end = data.rfind(b"\n") + 1
    return (data[:end], data[end:]) if len(data) - end <= LONGEST_LINE else (data, b"")


async def forward_translated(request: web.Request, bot: Chatbot, data: dict[str, Any], ledger: Ledger) -> Body:
    """Forward a request that was translated into a chat request, and return the completion.

    Raises:
        ModelError: The upstream cannot be reached, or refuses the request.
    """
    request[FIELDS]["chatbot"] = bot.name
    body = {name: value for name, value in data.items() if name not in OWN_FIELDS}
    body["messages"] = data["messages"]
    answer = await bot.models.complete(bot.settings.model, body, step="forward", ledger=ledger)
    first = answer["choices"][0]
    message = first["message"]
    refusal, calls = message.get("refusal"), message.get("tool_calls")
    text = text_of(message)
    tokens = matching_tokens(first.get("logprobs"), text) if text else None
    first["logprobs"] = {"content": tokens, "refusal": None} if tokens else None
    first["message"] = {
        "content": text or None,
        "refusal": refusal if isinstance(refusal, str) else None,
        "tool_calls": [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else [],
    }
    return {**answer, "choices": [{"index": 0, "finish_reason": "stop"} | first], "usage": ledger.usage.as_openai()}

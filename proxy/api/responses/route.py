"""Handlers of /v1/responses: the same guarded turn as for /v1/chat/completions, in the form of OpenAI's Responses API.

request.py  validates the request; translation.py: translates it into a chat request
../chat.py  runs the turn
reply.py    translates the completion into a response; stream.py: into the events of a response
store.py    stores responses, for `previous_response_id`; redis_store.py: for several processes
"""

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping

import orjson
import structlog
from aiohttp import web

from models.engine import Body
from proxy.api import stream
from proxy.api.chat import converse
from proxy.api.responses.reply import Frame, reply_message, response
from proxy.api.responses.request import ResponsesRequest, read_responses_request
from proxy.api.responses.store import ResponseStore, StoredResponse, messages_before
from proxy.api.responses.stream import ResponseStream
from proxy.api.responses.translation import as_chat, messages_of, read_leniently
from proxy.api.service import SERVICE
from proxy.protocol.errors import ApiError, BadRequest, ResponseNotFound


async def create_response(request: web.Request) -> web.StreamResponse:
    """Create a response: run a guarded turn for the request."""
    return await converse(request, ResponsesDialect(request.app[SERVICE].responses))


async def read_response(request: web.Request) -> web.Response:
    """Return a stored response to the key that created it."""
    service = request.app[SERVICE]
    access = service.access(request)
    ident = request.match_info["id"]
    found = await service.responses.get(access.key_id, ident)
    if found is None:
        raise ResponseNotFound(ident)
    return web.Response(body=found.body, content_type="application/json")


async def delete_response(request: web.Request) -> web.Response:
    """Delete a stored response. Later responses that continue it can then no longer be continued."""
    service = request.app[SERVICE]
    access = service.access(request)
    ident = request.match_info["id"]
    if not await service.responses.delete(access.key_id, ident):
        raise ResponseNotFound(ident)
    body = {"id": ident, "object": "response", "deleted": True}
    return web.Response(body=orjson.dumps(body), content_type="application/json")


log = structlog.get_logger()


class ResponsesDialect:
    """The dialect of /v1/responses, for one request."""

    verbatim = False

    def __init__(self, store: ResponseStore) -> None:
        self._store = store
        self._frame = Frame(uuid.uuid4().hex, int(time.time()), "")
        self._stream = ResponseStream(self._frame)
        self._key_id = ""
        self._user = ""
        self.conversation_id = ""
        """The id of the turn's conversation. The turn sets it when the conversation is recognised."""

    def parse_leniently(self, data: Body) -> Body:
        self._begin(str(data.get("model")), None)
        return read_leniently(data)

    async def parse(self, data: Body, key_id: str) -> tuple[Body, Body, Exception | None]:
        self._key_id = key_id
        before: list[Body] = []
        try:
            # Load the history first, so that the emergency judge reads it even if the rest of the request is invalid.
            previous, user = data.get("previous_response_id"), data.get("user")
            user = user if isinstance(user, str) else None
            self._user = user or ""
            if isinstance(previous, str):
                before, self._user = await messages_before(self._store, key_id, user, previous)
            orjson.dumps([[[data]]])  # the translated request is nested deeper
            sent = read_responses_request(data)
            chat = as_chat(sent, before)
        except Exception as error:  # raised by the caller, after the emergency judge
            self._begin(str(data.get("model")), None)
            too_deep = isinstance(error, orjson.JSONEncodeError)
            fault = BadRequest("The request body is nested too deeply; use fewer levels.") if too_deep else error
            return (readable := read_leniently(data, before)), readable, fault
        if self._user:  # a request that continues a response need not repeat `user`
            chat["user"] = self._user
        self._begin(sent.model, sent)
        return chat, read_leniently(data, before), None

    async def render(self, completion: Body) -> Body:
        body = response(self._frame, completion)
        sent = self._frame.sent
        if sent is None or not self._frame.is_stored:
            return body
        messages = orjson.dumps([*messages_of(sent.input), reply_message(completion)])
        conversation = self.conversation_id or (completion.get("caf") or {}).get("conversation_id", "")
        stored = StoredResponse(
            self._frame.id, self._user, sent.previous_response_id, messages, orjson.dumps(body), conversation
        )
        try:
            await self._store.put(self._key_id, stored)
        except Exception as error:
            # A failing store must not stop the reply, which may be an emergency text. The reply says `store: false`.
            log.error("response not kept", error=type(error).__name__)
            self._stream.mark_not_stored()
            body["store"] = False
        return body

    def opening(self) -> bytes:
        return self._stream.opening()

    def pieces(self, chunks: Iterable[Body]) -> bytes:
        events = (event for chunk in chunks for event in self._stream.chunk(chunk))
        return b"".join((self._stream.opening(), *events))

    def events(self, completion: Body, include_usage: bool, sent: Mapping[int, int]) -> Iterator[bytes]:
        return self._stream.events(stream.chunks(completion, True, sent))

    def failure(self, error: ApiError) -> bytes:
        return self._stream.failure(error)

    def _begin(self, model: str, sent: ResponsesRequest | None) -> None:
        self._frame = Frame(self._frame.hex, self._frame.created_at, model, sent)
        self._stream = ResponseStream(self._frame)

"""Runs an assistant as the engine of a model alias, so that the proxy calls it like a model."""

import hashlib
import traceback
from collections.abc import Awaitable, Collection, Iterator, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

import orjson
import structlog
from pydantic import BaseModel

from assistants import view
from assistants.assistant import (
    ActingAssistant,
    Action,
    Assistant,
    AssistantError,
    AssistantReply,
    AssistantRequest,
    ErasingAssistant,
    ToolRequest,
)
from knowledge_base.citations import cite_command
from models.client import Models
from models.completion import wrap_message
from models.engine import Body, Forwarded, forward_by_completing
from models.errors import AssistantFailed, ModelError
from models.request import Message
from models.settings import ModelSettings
from models.structured import StructuredAnswer
from models.turn_scope import SCOPE, Note, TurnScope
from models.usage import BYTES_PER_TOKEN, estimate_tokens

log = structlog.get_logger(__name__)
T = TypeVar("T")
S = TypeVar("S", bound=BaseModel)


class AssistantEngine:
    """Answers chat completion requests with the replies of an assistant."""

    def __init__(self, assistant: Assistant, settings: ModelSettings | None = None) -> None:
        self._assistant = assistant
        self._roles: Mapping[str, str] = settings.models if settings is not None else {}
        self._models: Models | None = None

    @property
    def acts(self) -> bool:
        """Whether the assistant can perform actions."""
        return isinstance(self._assistant, ActingAssistant)

    def use_models(self, models: Models) -> None:
        """Set the models that the assistant may call."""
        self._models = models

    async def complete(self, body: Body) -> Body:
        scope = SCOPE.get() or TurnScope()
        request = self._read(body, scope)
        reply = await self._guard(self._assistant.reply(request))
        cites = request.view.cites and not _wants_json(request.options)
        response = wrap_message(body, _message(reply, cites, request.options))
        for choice in response["choices"]:
            content, limit = choice["message"]["content"], body.get("max_completion_tokens") or body.get("max_tokens")
            if limit and content and estimate_tokens(content) > limit:  # truncate the reply, as a model's server does
                cut = content.encode()[: limit * BYTES_PER_TOKEN].decode(errors="ignore")
                choice |= {"message": choice["message"] | {"content": cut}, "finish_reason": "length"}
        if self._roles:  # the models that the assistant calls report their own usage
            response["usage"] = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        return response

    async def act(self, action: Body) -> str:
        """Perform a confirmed action. Return a sentence for the user.

        Args:
            action: The field `action` of the assistant's message, with `name`, `arguments` and `code`.

        Raises:
            ModelError: The assistant cannot perform actions, the code is wrong, or the action failed.
        """
        scope = SCOPE.get() or TurnScope()
        if not isinstance(self._assistant, ActingAssistant):
            raise AssistantFailed("the assistant cannot perform actions")
        confirmed = Action(action["name"], action["arguments"], True)
        if confirmed.code != action["code"]:
            raise AssistantFailed("the confirmation code belongs to another action")
        return await self._guard(self._assistant.act(confirmed, scope.principal))

    async def erase(self, conversation_ids: Collection[str] | None) -> int:
        """Delete the data that the assistant stores of conversations. Return the number of deleted entries.

        Args:
            conversation_ids: The conversations to delete; None for all.

        Raises:
            ModelError: Some data may not have been deleted.
        """
        if not isinstance(self._assistant, ErasingAssistant):
            return 0
        return await self._guard(self._assistant.erase(conversation_ids))

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
        return await forward_by_completing(self._complete_for_client, raw)

    async def _complete_for_client(self, body: Body) -> Body:
        """Answer a request that the proxy forwards without judging.

        The reply has no `documents`, which only judges need, and no `action`, because unjudged actions are never performed.
        """
        answer = await self.complete(body)
        for choice in answer["choices"]:
            for name in ("documents", "action"):
                choice["message"].pop(name, None)
        return answer

    async def close(self) -> None:
        await self._assistant.close()

    def _read(self, body: Body, scope: TurnScope) -> AssistantRequest:
        messages = body.get("messages") or []

        async def ask(role: str, request: Body, *, step: str = "assistant") -> Body:
            models, alias = self._model(role)
            return await models.complete(alias, request, step=step, ledger=scope.ledger)

        async def ask_structured(
            role: str, messages: list[Message], schema: type[S], *, step: str = "assistant", **options: Any
        ) -> StructuredAnswer[S]:
            models, alias = self._model(role)
            return await models.structured(alias, messages, schema, step=step, ledger=scope.ledger, **options)

        return AssistantRequest(
            messages,
            view.read(messages),
            tuple(_names(body.get("tools"))) if body.get("tool_choice") != "none" else (),
            scope.principal,
            {name: value for name, value in body.items() if name not in ("messages", "model")},
            ask if self._roles else None,
            ask_structured if self._roles else None,
            lambda step, detail: scope.notes.append(Note(step, detail)),
            scope.conversation_id,
        )

    def _model(self, role: str) -> tuple[Models, str]:
        """Return the client for models, and the alias that the configuration names for a role.

        Raises:
            AssistantError: The configuration names no model for the role.
        """
        if self._models is None or role not in self._roles:
            raise AssistantError(
                f"no model is configured for the role {role!r}; add the role to `models` of the assistant's alias"
            )
        return self._models, self._roles[role]

    async def _guard(self, work: Awaitable[T]) -> T:
        """Await a call of the assistant. Convert every exception that the call raises to a ModelError."""
        try:
            return await work
        except ModelError:
            raise
        except AssistantError as error:
            (SCOPE.get() or TurnScope()).notes.append(Note("error", str(error)))
            raise AssistantFailed(str(error)) from error
        except Exception as error:
            # Log the stack frames only: the exception's message and local variables may quote a user.
            frames = traceback.format_tb(error.__traceback__)
            log.error("assistant_crashed", error=type(error).__name__, frames=frames)
            raise AssistantFailed(f"the assistant crashed with {type(error).__name__}") from error


def _message(reply: AssistantReply, cites: bool, options: Body) -> Body:
    """Convert an assistant's reply to a message of a chat completion.

    The message also contains a citation line, `documents` and `action`. The proxy removes these before it delivers the reply.

    Args:
        cites: Whether to begin the content with a citation line, or to return a request for a section.
        options: Fields of the request. With a JSON `response_format`, the content is `{"answer": TEXT}`.
    """
    ids = {one.id: f"evidence:{number}" for number, one in enumerate(reply.documents, start=1)}
    if reply.requested_section and cites:
        return {"content": f"[[source: {reply.requested_section}]]"}
    content: str | None = reply.text
    if _wants_json(options):
        content = orjson.dumps({"answer": reply.text}).decode()
    elif cites:
        content = f"{cite_command([ids.get(one, one) for one in reply.citations] or ['no_claims'])}\n{reply.text}"
    message: Body = {"content": content if reply.text else None}
    if reply.tool_calls:
        message["tool_calls"] = [_tool_call(one) for one in reply.tool_calls]
    if reply.documents:
        message["documents"] = [{"id": ids[one.id], "title": one.title, "text": one.text} for one in reply.documents]
    if reply.action is not None:
        message["action"] = asdict(reply.action) | {"code": reply.action.code}
    return message


def _wants_json(options: Body) -> bool:
    return ((options.get("response_format") or {}).get("type") or "text") != "text"


def _tool_call(request: ToolRequest) -> Body:
    arguments = orjson.dumps(request.arguments)
    ident = hashlib.blake2b(request.name.encode() + arguments, digest_size=5).hexdigest()[:9]
    return {"id": ident, "type": "function", "function": {"name": request.name, "arguments": arguments.decode()}}


def _names(tools: Any) -> Iterator[str]:
    """Yield the names of the functions that a request declares."""
    for tool in tools if isinstance(tools, list) else ():
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            yield function["name"]

"""Models, the door to language models: `structured` asks as `complete` does, an alias and then its fallbacks."""

import asyncio
import math
import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

import aiohttp
import structlog
from pydantic import BaseModel

from models.alias import Alias
from models.engine import ActingEngine, Body, Engine, ErasingEngine, Forwarded
from models.errors import ModelError, ModelSettingsError, UnreadableAnswer, UpstreamRefused
from models.fallback import chain
from models.litellm_engine import LiteLLMEngine
from models.openai_engine import OpenAIEngine
from models.relay import relay
from models.request import choice_count
from models.scripted import scripted_engine
from models.settings import ModelSettings
from models.streaming import AnswerStream
from models.structured import (
    StructuredAnswer,
    UnreadableText,
    Way,
    build_request,
    less_strict_way,
    raw_text,
    read_answer,
    repair_messages,
)
from models.usage import Call, Ledger, Usage

T = TypeVar("T", bound=BaseModel)
log = structlog.get_logger(__name__)

LOGPROBS: Body = {"logprobs": True, "top_logprobs": 5}
"""Five: older vLLM gives no more unless told to (https://github.com/vllm-project/vllm/issues/5299)."""
EngineFactory = Callable[[ModelSettings], Engine]
EngineWrapper = Callable[[str, Engine], Engine]
"""Puts something between an alias and its engine: a cache, a budget."""


def unwrapped(alias: str, engine: Engine) -> Engine:
    """Return the engine as it is."""
    return engine


@runtime_checkable
class AsksModels(Engine, Protocol):
    """An engine that asks other models itself."""

    def use_models(self, models: "Models") -> None:
        """Take the models that it may ask, before it is asked anything."""


class Models:
    """The configured models by alias."""

    def __init__(
        self, settings: Mapping[str, ModelSettings], engines: Mapping[str, Engine], *, first_pause_s: float = 0.5
    ) -> None:
        """Args: first_pause_s: seconds before the second try where the upstream names none; doubled for each next."""
        self.settings = settings
        self._aliases = {
            alias: Alias(alias, settings[alias], engine, first_pause_s) for alias, engine in engines.items()
        }
        self._ways: dict[str, Way] = {}
        self._without_logprobs: set[str] = set()
        self.bulkheads = {alias: one.bulkhead for alias, one in self._aliases.items() if one.bulkhead is not None}
        """By alias, where there is one; metrics read their numbers."""
        self._chains = {alias: chain(alias, settings) for alias, one in settings.items() if one.fallback}
        """By alias, where others stand in for it: itself, then these."""
        self._acting = {
            alias: engine
            for alias, engine in engines.items()
            if isinstance(engine, ActingEngine) and alias not in self._chains
        }

    async def structured(
        self,
        alias: str,
        messages: list[dict[str, Any]],
        schema: type[T],
        *,
        step: str,
        ledger: Ledger,
        options: Body | None = None,
        timeout_s: float = math.inf,
    ) -> StructuredAnswer[T]:
        """Ask for an answer that fits a pydantic model; what cannot be read is asked for once more.

        Args:
            options: further fields of the request, such as `seed` or `max_tokens`.
            timeout_s: seconds that all of it may take.

        Raises:
            UnreadableAnswer: also the second answer does not fit.
            ModelError: as `complete`.
        """
        request_messages, until = messages, asyncio.get_running_loop().time() + timeout_s
        for repaired in (False, True):

            def ask(name: str, request_messages: list[dict[str, Any]] = request_messages) -> Awaitable[Body]:
                return self._ask(name, request_messages, schema, options or {}, step, ledger, until)

            answer = await self._first(alias, step, ask)
            parsed = read_answer(answer, schema)
            if not isinstance(parsed, UnreadableText):
                return StructuredAnswer(parsed, raw_text(answer), repaired)
            request_messages = repair_messages(messages, parsed)
        raise UnreadableAnswer(raw_text(answer)).at(alias, step)

    async def _ask(
        self,
        alias: str,
        messages: list[dict[str, Any]],
        schema: type[T],
        options: Body,
        step: str,
        ledger: Ledger,
        until: float,
    ) -> Body:
        """Ask in the strictest way that this alias is known to take, and remember which that is."""
        first_way = way = self._ways.get(alias, self._alias(alias).settings.structured)
        while True:
            try:
                answer = await self._alias(alias).ask(
                    options | build_request(messages, schema, way), step, ledger, until
                )
            except UpstreamRefused as error:
                if (less := less_strict_way(way, error)) is None:
                    raise
                way = less
            else:
                if way != first_way:
                    self._ways[alias] = way
                    log.warning("model_refuses_response_format", alias=alias, refused=first_way, used=way)
                return answer

    async def with_logprobs(
        self, alias: str, body: Body, *, step: str, ledger: Ledger, timeout_s: float = math.inf
    ) -> Body:
        """Answer a request as `complete` does, with how likely its tokens are, if the upstream tells.

        Args:
            timeout_s: seconds that all of it may take.
        """
        until = asyncio.get_running_loop().time() + timeout_s

        async def ask(name: str) -> Body:
            if name not in self._without_logprobs:
                try:
                    return await self._alias(name).ask(body | LOGPROBS, step, ledger, until)
                except UpstreamRefused as error:
                    # Many servers do not say which field they refused.
                    if error.status not in (400, 422) or "logprobs" not in (error.param or "logprobs"):
                        raise
            answer = await self._alias(name).ask(body, step, ledger, until)
            if name not in self._without_logprobs:
                self._without_logprobs.add(name)
                log.warning("model_refuses_logprobs", alias=name)
            return answer

        return await self._first(alias, step, ask)

    async def complete(
        self, alias: str, body: Body, *, step: str, ledger: Ledger, stream: AnswerStream | None = None
    ) -> Body:
        """Answer a chat completion request; the ledger gets each call, also when it fails or is cancelled.

        Of the answer's choices, no more are returned than `n` of the request asks for.

        Args:
            stream: Gets the answer's text while it is written.

        Raises:
            ModelError: see errors.py. With a `fallback`, what the alias itself raised.
        """
        answer = await self._first(
            alias, step, lambda one: self._alias(one).ask(body, step, ledger, stream=stream), stream
        )
        return {**answer, "choices": answer["choices"][: choice_count(body)]}

    async def _first(
        self,
        alias: str,
        step: str,
        ask: Callable[[str], Awaitable[Body]],
        stream: AnswerStream | None = None,
    ) -> Body:
        """Return the first good answer of the alias and those that stand in for it."""
        if alias not in self._chains:
            return await ask(alias)
        failed: ModelError | None = None
        for name in self._chains[alias]:
            try:
                return await ask(name)
            except ModelError as error:
                # What one model refuses is not offered to the next until one says yes.
                if not error.elsewhere or (stream is not None and not stream.reset_for_retry()):
                    raise failed or error from None
                log.warning("model_failed", alias=name, of=alias, step=step, error=error.kind, cause=error.cause)
                failed = failed or error
        assert failed is not None
        raise failed

    async def forward(
        self, alias: str, raw: bytes, headers: Mapping[str, str], ledger: Ledger | None = None
    ) -> Forwarded:
        """Send a request's bytes as they are, once, and relay the answer, also one that is an error.

        The `model` in the bytes is the upstream's: put `settings[alias].model` there first where it differs. A fallback
        gets its own. What answered is in the answer's `alias`.

        Args:
            headers: the client's; the engine passes on the few that are not between client and proxy.
            ledger: gets the calls that failed; what an answer used, only who relays it can tell.

        Raises:
            ModelError: no answer, or one about the proxy's own key or address or the upstream's own faults, which is none of
                the client's business.
        """
        if alias in self._chains or alias in self.bulkheads:
            return await relay([self._alias(one) for one in self._chains.get(alias, (alias,))], raw, headers, ledger)
        try:
            answer = await self._alias(alias).engine.forward(raw, headers)
        except ModelError as error:
            error.at(alias, "forward")
            if ledger is not None:
                ledger.add(Call("forward", alias, ms=0.0, usage=Usage(), cost=None, error=error.kind))
            raise
        answer.alias = alias
        return answer

    def acting_engine(self, alias: str) -> ActingEngine | None:
        """Return the engine of an alias if it can act outside.

        Where others stand in for it there is none: an action in an answer may then be one that another server made up.
        """
        return self._acting.get(alias)

    async def erase(self, conversation_ids: Collection[str]) -> int:
        """Delete what engines keep of conversations; return the number of entries. Raises ModelError."""
        engines = [alias.engine for alias in self._aliases.values()]
        return sum([await one.erase(conversation_ids) for one in engines if isinstance(one, ErasingEngine)])

    async def close(self) -> None:
        """Close all engines; the session stays its owner's."""
        for alias in self._aliases.values():
            await alias.engine.close()

    def _alias(self, alias: str) -> Alias:
        try:
            return self._aliases[alias]
        except KeyError:
            names = ", ".join(sorted(self.settings)) or "none"
            raise ModelSettingsError(
                f"no model alias {alias!r} is configured under models; there is: {names}"
            ) from None


def open_models(
    settings: Mapping[str, ModelSettings],
    session: aiohttp.ClientSession,
    extra: Mapping[str, EngineFactory],
    environ: Mapping[str, str] = os.environ,
    *,
    wrap_engine: EngineWrapper = unwrapped,
    first_pause_s: float = 0.5,
) -> Models:
    """Build an engine for every alias.

    Args:
        session: shared by all engines that speak HTTP; see `openai_engine.make_session`.
        extra: further kinds of engine, by the name they have in `models.<alias>.engine`.
        environ: where secrets are read from, once.
        wrap_engine: puts something between an alias and its engine.
        first_pause_s: as of `Models`.

    Raises:
        ModelSettingsError: a secret is missing, a file cannot be read, or a kind of engine is not registered.
    """
    engines: dict[str, Engine] = {}
    for alias, model_settings in settings.items():
        try:
            engines[alias] = wrap_engine(alias, _engine(alias, model_settings, session, extra, environ))
        except ModelSettingsError as error:
            raise ModelSettingsError(f"models.{alias}: {error}") from None
    models = Models(settings, engines, first_pause_s=first_pause_s)
    for engine in engines.values():
        if isinstance(engine, AsksModels):
            engine.use_models(models)
    return models


def _engine(
    alias: str,
    settings: ModelSettings,
    session: aiohttp.ClientSession,
    extra: Mapping[str, EngineFactory],
    environ: Mapping[str, str],
) -> Engine:
    if settings.engine in extra:
        return extra[settings.engine](settings)
    if settings.engine == "openai":
        return OpenAIEngine(settings, session, environ, alias=alias)
    if settings.engine == "litellm":
        return LiteLLMEngine(settings, environ)
    if settings.engine == "scripted":
        return scripted_engine(settings)
    raise ModelSettingsError(f"nobody registered the engine {settings.engine!r}; give its factory in `extra`")

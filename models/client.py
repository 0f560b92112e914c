"""Models, the interface through which CAF calls language models. Calls name an alias; if it fails, its fallbacks answer."""

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
"""Fields of a request for log probabilities. Older vLLM refuses `top_logprobs` above five:
https://github.com/vllm-project/vllm/issues/5299"""
EngineFactory = Callable[[ModelSettings], Engine]
EngineWrapper = Callable[[str, Engine], Engine]
"""Wraps the engine of an alias, for example in a cache or a budget."""


def unwrapped(alias: str, engine: Engine) -> Engine:
    """Return the engine unchanged. This is the default of `wrap_engine` in `open_models`."""
    return engine


@runtime_checkable
class AsksModels(Engine, Protocol):
    """An engine that sends requests to other configured models, such as an assistant."""

    def use_models(self, models: "Models") -> None:
        """Receive all configured models. `open_models` calls this before the engine's first request."""


class Models:
    """All configured models. Every call names the alias of a model."""

    def __init__(
        self, settings: Mapping[str, ModelSettings], engines: Mapping[str, Engine], *, first_pause_s: float = 0.5
    ) -> None:
        """Args: first_pause_s: seconds before the first retry, unless the upstream sends Retry-After. Later pauses double."""
        self.settings = settings
        self._aliases = {
            alias: Alias(alias, settings[alias], engine, first_pause_s) for alias, engine in engines.items()
        }
        self._ways: dict[str, Way] = {}
        self._without_logprobs: set[str] = set()
        self.bulkheads = {alias: one.bulkhead for alias, one in self._aliases.items() if one.bulkhead is not None}
        """By alias, the bulkheads of the aliases that have one. Metrics read their counters."""
        self._chains = {alias: chain(alias, settings) for alias, one in settings.items() if one.fallback}
        """For each alias with a `fallback`, the alias itself and then its fallbacks in order."""
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
        """Ask for an answer that fits a pydantic model. If the answer does not fit, request a repair once.

        Args:
            options: further fields of the request, such as `seed` or `max_tokens`.
            timeout_s: maximum seconds for the request and its repair together.

        Raises:
            UnreadableAnswer: the answer to the repair request does not fit the model either.
            ModelError: a call failed, as for `complete`.
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
        """Request JSON in the strictest `response_format` that the alias accepts, and remember that format for later calls."""
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
        """Answer a request as `complete` does, and add the log probabilities of the tokens if the upstream supports them.

        Args:
            timeout_s: maximum seconds for the request, its repetition without log probabilities, and the fallbacks together.
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
        """Answer a chat completion request. The ledger records each call, even if the call fails or is cancelled.

        The answer has at most as many choices as `n` of the request.

        Args:
            step: name of the caller's step, for the ledger, logs and errors.
            stream: receives the answer's text while the model writes it.

        Raises:
            ModelError: the call failed; see errors.py. If the fallbacks failed too, this is the error of the alias itself.
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
        """Call `ask` with the alias and then with its fallbacks, and return the first answer."""
        if alias not in self._chains:
            return await ask(alias)
        failed: ModelError | None = None
        for name in self._chains[alias]:
            try:
                return await ask(name)
            except ModelError as error:
                # A refusal ends the loop: a request that one model refuses does not go to the next.
                if not error.elsewhere or (stream is not None and not stream.reset_for_retry()):
                    raise failed or error from None
                log.warning("model_failed", alias=name, of=alias, step=step, error=error.kind, cause=error.cause)
                failed = failed or error
        assert failed is not None
        raise failed

    async def forward(
        self, alias: str, raw: bytes, headers: Mapping[str, str], ledger: Ledger | None = None
    ) -> Forwarded:
        """Forward a request to an upstream without retries, and relay the upstream's response, even a 4xx.

        The upstream gets the bytes unchanged, so the caller must write `settings[alias].model` into them first. A fallback gets
        the request with its own model. `Forwarded.alias` names the alias that answered.

        Args:
            raw: the body of the request.
            headers: the client's headers. The engine forwards only a few of them, such as `X-Request-Id`.
            ledger: records failed calls. For an answer, the caller must record the usage.

        Raises:
            ModelError: the upstream did not answer, failed (5xx), redirected, or refused the proxy's key (401, 403).
        """
        if alias in self._chains or alias in self.bulkheads:
            return await relay([self._alias(one) for one in self._chains.get(alias, (alias,))], raw, headers, ledger)
        try:
            answer = await self._alias(alias).engine.forward(raw, headers)
        except ModelError as error:
            error.at(alias, "forward")
            if ledger is not None:
                ledger.add(
                    Call("forward", alias, ms=0.0, usage=Usage(), cost=None, error=error.kind, cause=error.cause)
                )
            raise
        answer.alias = alias
        return answer

    def acting_engine(self, alias: str) -> ActingEngine | None:
        """Return the engine of an alias if the engine can perform confirmed actions, else None.

        The result is None for an alias with a fallback, because the fallback's server could invent an action in its answer.
        """
        return self._acting.get(alias)

    async def erase(self, conversation_ids: Collection[str]) -> int:
        """Delete the data that engines store about conversations. Return the number of deleted entries.

        Raises:
            ModelError: an engine could not delete its data.
        """
        engines = [alias.engine for alias in self._aliases.values()]
        return sum([await one.erase(conversation_ids) for one in engines if isinstance(one, ErasingEngine)])

    async def close(self) -> None:
        """Close all engines. The HTTP session stays open, because its owner closes it."""
        for alias in self._aliases.values():
            await alias.engine.close()

    def _alias(self, alias: str) -> Alias:
        try:
            return self._aliases[alias]
        except KeyError:
            names = ", ".join(sorted(self.settings)) or "none"
            raise ModelSettingsError(f"cannot call a model: no model alias {alias!r} (configured: {names})") from None


def open_models(
    settings: Mapping[str, ModelSettings],
    session: aiohttp.ClientSession,
    extra: Mapping[str, EngineFactory],
    environ: Mapping[str, str] = os.environ,
    *,
    wrap_engine: EngineWrapper = unwrapped,
    first_pause_s: float = 0.5,
) -> Models:
    """Build `Models` with an engine for every configured alias.

    Args:
        session: HTTP session that all engines share; see `openai_engine.make_session`.
        extra: factories of further engines, by their name in `models.<alias>.engine`.
        environ: environment variables with the secrets, which are read only once, here.
        wrap_engine: called with each alias and its engine; returns the engine to use instead.
        first_pause_s: seconds before the first retry; see `Models`.

    Raises:
        ModelSettingsError: a secret is missing, a script cannot be read, or an engine is not registered.
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
    raise ModelSettingsError(
        f"engine {settings.engine!r} is not registered: use another engine, or pass its factory to `open_models`"
    )

"""Models, the door to language models: `structured` asks through `complete`, which tries an engine."""

import asyncio
import os
import random
import time
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, TypeVar

import aiohttp
import structlog
from pydantic import BaseModel

from models.engine import Body, Engine, Forwarded
from models.errors import ModelError, ModelSettingsError, UnreadableAnswer, UpstreamRefused, UpstreamTimeout
from models.litellm_engine import LiteLLMEngine
from models.openai_engine import OpenAIEngine
from models.request import as_completion, fill
from models.scripted import scripted_engine
from models.settings import ModelSettings
from models.structured import Structured, Unread, Way, after_refusal, question, raw_text, read, repair
from models.usage import Call, Ledger, Usage

__all__ = ["Around", "Body", "Engine", "EngineFactory", "Forwarded", "Models", "Structured", "open_models", "plain"]

T = TypeVar("T", bound=BaseModel)
log = structlog.get_logger(__name__)

LONGEST_PAUSE_S = 20.0
"""An upstream may ask for minutes; a person is waiting."""


EngineFactory = Callable[[ModelSettings], Engine]
Around = Callable[[str, Engine], Engine]
"""What to put between an alias and its engine: a memory, a budget."""


def plain(alias: str, engine: Engine) -> Engine:
    """Put nothing there."""
    return engine


class Models:
    """The configured models by alias."""

    def __init__(
        self, settings: Mapping[str, ModelSettings], engines: Mapping[str, Engine], *, first_pause_s: float = 0.5
    ) -> None:
        """Args: first_pause_s: seconds before the second try where the upstream names none; doubled for each next."""
        self.settings = settings
        self._engines = engines
        self._first_pause_s = first_pause_s
        self._ways: dict[str, Way] = {}

    async def structured(
        self,
        alias: str,
        messages: list[dict[str, Any]],
        schema: type[T],
        *,
        step: str,
        ledger: Ledger,
        options: Body | None = None,
    ) -> Structured[T]:
        """Ask for an answer that fits a pydantic model; what cannot be read is asked for once more.

        Args:
            options: further fields of the request, such as `seed` or `max_tokens`.

        Raises:
            UnreadableAnswer: also the second answer does not fit.
            ModelError: as `complete`.
        """
        asked = messages
        for repaired in (False, True):
            answer = await self._ask(alias, asked, schema, options or {}, step, ledger)
            found = read(answer, schema)
            if not isinstance(found, Unread):
                return Structured(found, raw_text(answer), repaired)
            asked = repair(messages, found)
        raise UnreadableAnswer(raw_text(answer), alias=alias, step=step)

    async def _ask(
        self, alias: str, messages: list[dict[str, Any]], schema: type[T], options: Body, step: str, ledger: Ledger
    ) -> Body:
        """Ask in the strictest way that this alias is known to take, and remember which that is."""
        known = way = self._ways.get(alias, self._model(alias)[0].structured)
        while True:
            try:
                answer = await self.complete(alias, options | question(messages, schema, way), step=step, ledger=ledger)
            except UpstreamRefused as error:
                if (less := after_refusal(way, error)) is None:
                    raise
                way = less
            else:
                if way != known:
                    self._ways[alias] = way
                    log.warning("model_refuses_response_format", alias=alias, refused=known, used=way)
                return answer

    async def complete(self, alias: str, body: Body, *, step: str, ledger: Ledger) -> Body:
        """Answer a chat completion request; the ledger gets the call, also when it fails or is cancelled.

        Raises:
            ModelError: see errors.py.
        """
        settings, engine = self._model(alias)
        request = fill(body, alias, settings)
        call = Call(step, alias, ms=0.0, usage=Usage(), cost=None, error=None, attempts=0)
        started = time.perf_counter()
        try:
            answer = await self._tries(engine, settings, request, call)
            call.usage = Usage.from_body(answer, request)
            call.cost = call.usage.cost(settings.price)
            return answer
        except ModelError as error:
            call.error = error.at(alias, step).kind
            raise
        except BaseException as error:
            call.error = "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__name__
            raise
        finally:
            call.ms = (time.perf_counter() - started) * 1000
            ledger.add(call)

    async def _tries(self, engine: Engine, settings: ModelSettings, request: Body, call: Call) -> Body:
        # A loop of our own, since stamina adds 20 microseconds to every call that succeeds at once, this 0.3: a
        # pass-through costs 140 in all, and a guarded turn makes several calls.
        for attempt in count(1):
            call.attempts = attempt
            try:
                async with asyncio.timeout(settings.timeout_s):
                    return as_completion(await engine.complete(request))
            except TimeoutError:
                raise UpstreamTimeout(f"no answer within {settings.timeout_s:g} s") from None
            except ModelError as error:
                if not error.retryable or attempt >= settings.max_attempts:
                    raise
                pause = self._pause(attempt, error.retry_after)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    def _pause(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait after a failed try. Without orders, chance spreads those who failed together."""
        if retry_after is not None:
            return min(retry_after, LONGEST_PAUSE_S)
        return min(self._first_pause_s * 2.0 ** (attempt - 1), LONGEST_PAUSE_S) * random.uniform(0.5, 1)

    async def forward(self, alias: str, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
        """Send a request's bytes as they are, once, and relay the answer, also one that is an error.

        The `model` in the bytes is the upstream's: put `settings[alias].model` there first where it differs.

        Args:
            headers: the client's; the engine passes on the few that are not between client and proxy.

        Raises:
            ModelError: no answer, or one about the proxy's own key or address, which is none of the client's business.
        """
        _, engine = self._model(alias)
        try:
            return await engine.forward(raw, headers)
        except ModelError as error:
            error.at(alias, "forward")
            raise

    async def close(self) -> None:
        """Close all engines; the session stays its owner's."""
        for engine in self._engines.values():
            await engine.close()

    def _model(self, alias: str) -> tuple[ModelSettings, Engine]:
        try:
            return self.settings[alias], self._engines[alias]
        except KeyError:
            known = ", ".join(sorted(self.settings)) or "none"
            raise ModelSettingsError(
                f"no model alias {alias!r} is configured under models; there is: {known}"
            ) from None


def open_models(
    settings: Mapping[str, ModelSettings],
    session: aiohttp.ClientSession,
    extra: Mapping[str, EngineFactory],
    environ: Mapping[str, str] = os.environ,
    *,
    around: Around = plain,
) -> Models:
    """Build an engine for every alias.

    Args:
        session: shared by all engines that speak HTTP; see `openai_engine.make_session`.
        extra: further kinds of engine, by the name they have in `models.<alias>.engine`.
        environ: where secrets are read from, once.
        around: what to put between an alias and its engine.

    Raises:
        ModelSettingsError: a secret is missing, a file cannot be read, or a kind of engine is not registered.
    """
    engines: dict[str, Engine] = {}
    for alias, one in settings.items():
        try:
            engines[alias] = around(alias, _engine(alias, one, session, extra, environ))
        except ModelSettingsError as error:
            raise ModelSettingsError(f"models.{alias}: {error}") from None
    return Models(settings, engines)


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

"""LiteLLMEngine calls any provider that litellm supports. No other module imports litellm.

The first request imports litellm in a thread, because the import takes two seconds and 170 MB. `Models` retries, so litellm's
retries are disabled.
"""

import asyncio
import importlib
import importlib.util
import os
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import orjson

from models.assembly import Assembly
from models.engine import Body, Forwarded, decode_body
from models.errors import (
    ModelError,
    ModelSettingsError,
    UpstreamTimeout,
    UpstreamUnavailable,
    error_for_status,
)
from models.extras import install_command
from models.openai_engine import retry_after, secret, secret_headers
from models.refusal import read_refusal
from models.settings import ModelSettings
from models.streaming import AnswerStream

_OPENAI_FIELDS = frozenset((
    "messages", "functions", "function_call", "temperature", "top_p", "n", "stream", "stream_options", "stop",
    "max_tokens", "max_completion_tokens", "modalities", "prediction", "audio", "presence_penalty",
    "frequency_penalty", "logit_bias", "user", "response_format", "seed", "tools", "tool_choice", "parallel_tool_calls",
    "logprobs", "top_logprobs", "reasoning_effort", "verbosity", "safety_identifier", "service_tier", "store",
    "prompt_cache_key", "web_search_options",
))  # fmt: skip


class LiteLLMEngine:
    """Sends requests to a model through `litellm.acompletion`."""

    def __init__(self, settings: ModelSettings, environ: Mapping[str, str] = os.environ) -> None:
        """Raises: ModelSettingsError: litellm is not installed, or a secret is missing."""
        if importlib.util.find_spec("litellm") is None:
            raise ModelSettingsError(
                f"engine litellm needs the package litellm, which is not installed; run {install_command('litellm')}"
            )
        self._fixed: dict[str, Any] = {
            "model": settings.model,
            "timeout": settings.timeout_s,
            "num_retries": 0,
            "extra_headers": secret_headers(settings.model_copy(update={"api_key_env": None}), environ),
        }
        if settings.base_url:
            self._fixed["api_base"] = settings.base_url
        if settings.api_key_env:
            self._fixed["api_key"] = secret(settings.api_key_env, environ)

    async def complete(self, body: Body) -> Body:
        return _as_body(await self._ask(body))

    async def write(self, body: Body, stream: AnswerStream) -> Body:
        assembly = Assembly(body.get("n") or 1)
        stream.head = assembly.head
        async for event in _events(
            await self._ask({**body, "stream": True, "stream_options": {"include_usage": True}})
        ):
            for choice, piece in assembly.feed(event):
                stream.receive(choice, piece)
        return assembly.completion()

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
        """Decode the request and encode the response, because litellm does not expose the bytes of the upstream."""
        body = decode_body(raw)
        answer = await self._ask(body)
        if body.get("stream"):
            return Forwarded(200, {"Content-Type": "text/event-stream"}, chunks=_events(answer))
        return Forwarded(200, {"Content-Type": "application/json"}, orjson.dumps(_as_body(answer)))

    async def close(self) -> None:
        """Do nothing. litellm keeps its HTTP clients until the process ends."""

    async def _ask(self, body: Body) -> Any:
        try:
            litellm = await asyncio.to_thread(load_litellm)
            return await litellm.acompletion(**litellm_arguments(body, self._fixed))
        except Exception as error:  # providers' code in litellm may raise any exception
            raise to_model_error(error, time.time()) from None


def load_litellm() -> Any:
    """Import litellm, and disable its telemetry and its download of a price map. Only the model's server is contacted."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    litellm: Any = importlib.import_module("litellm")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = False
    litellm.modify_params = False
    return litellm


def litellm_arguments(body: Body, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of `litellm.acompletion` for a request.

    litellm also accepts `api_base`, `api_key`, `fallbacks` and others. With `api_base`, a client could redirect the proxy's API
    key to its own server. So only OpenAI's fields become arguments, and all other fields are passed in `extra_body`.

    Args:
        fixed: arguments from the settings of the alias. They take precedence over the request.
    """
    openai_fields = {name: value for name, value in body.items() if name in _OPENAI_FIELDS}
    unknown = {name: value for name, value in body.items() if name not in _OPENAI_FIELDS and name != "model"}
    return openai_fields | ({"extra_body": unknown} if unknown else {}) | dict(fixed)


def to_model_error(error: Exception, now: float) -> ModelError:
    """Convert an exception of litellm to a ModelError without its text, which may contain prompts and keys.

    Args:
        now: the current Unix time, for a Retry-After header with a date.
    """
    name, status = type(error).__name__, getattr(error, "status_code", None)
    if isinstance(error, TimeoutError) or name == "Timeout":
        return UpstreamTimeout()
    if not isinstance(status, int) or status < 300 or name == "APIConnectionError":
        return UpstreamUnavailable(f"could not be called by litellm ({name})")
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    code, param = read_refusal({
        "code": getattr(error, "code", None), "param": getattr(error, "param", None), "message": str(error),
    })  # fmt: skip
    return error_for_status(status, retry_after=retry_after(headers.get("retry-after"), now), code=code, param=param)


async def _events(chunks: Any) -> AsyncIterator[bytes]:
    try:
        async for chunk in chunks:
            yield b"data: " + orjson.dumps(_as_body(chunk)) + b"\n\n"
    except Exception as error:  # as in _ask
        raise to_model_error(error, time.time()) from None
    finally:
        await chunks.aclose()
    # litellm adds a "stop" to every stream, even to one that broke off or was empty.
    reasons = (getattr(chunks, f"{origin}_finish_reason", "unknown") for origin in ("received", "intermittent"))
    if all(reason is None for reason in reasons):
        raise UpstreamUnavailable("ended the stream before the answer was complete")
    yield b"data: [DONE]\n\n"


def _as_body(answer: Any) -> Body:
    # litellm's objects do not match the field types of its pydantic models, so pydantic would warn.
    plain: Body = answer.model_dump(mode="json", exclude_none=False, warnings=False)
    return plain

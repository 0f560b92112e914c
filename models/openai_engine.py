"""Any OpenAI-compatible server, over one pooled aiohttp session."""

import os
import time
from collections.abc import AsyncIterator, Mapping
from email.utils import parsedate_to_datetime
from io import BytesIO
from typing import Any

import aiohttp
import orjson
from yarl import URL

from models.engine import Body, Forwarded
from models.errors import (
    ModelError,
    ModelSettingsError,
    UpstreamGarbled,
    UpstreamTimeout,
    UpstreamUnavailable,
    accused,
    error_for_status,
)
from models.settings import ModelSettings
from models.watch import TRACE_HEADERS

MAX_ANSWER = 32 * 2**20
"""Bytes; a longer answer is not read to its end."""
CONNECT_S = 10.0
LARGE_BODY = 2**20
"""aiohttp warns of larger ones given as bytes, since writing them in one go may hold the event loop."""

_PASSED_UP = ("Idempotency-Key", "OpenAI-Beta", "X-Client-Request-Id", "X-Request-Id", "traceparent", "tracestate")
_PASSED_DOWN = frozenset(("content-type", "retry-after", "retry-after-ms", "x-request-id", "x-should-retry"))
_BROKEN = (aiohttp.ClientError, OSError, TimeoutError)


def make_session() -> aiohttp.ClientSession:
    """Return the session that all engines share: as many connections as there are requests, no cookies, no redirects
    to follow, and no limit on the total time, which each request sets itself. Call it in a running event loop."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
        json_serialize=lambda value: orjson.dumps(value).decode(),
    )


class OpenAIEngine:
    """POST {base_url}/chat/completions, or another `path` of the server, of which only `forward` makes sense."""

    def __init__(
        self,
        settings: ModelSettings,
        session: aiohttp.ClientSession,
        environ: Mapping[str, str] = os.environ,
        *,
        alias: str = "",
        max_answer: int = MAX_ANSWER,
        path: str = "chat/completions",
    ) -> None:
        self._session = session
        self._url = URL(f"{settings.base_url}/{path}").with_query(settings.query)
        self._headers = {"Content-Type": "application/json"} | secret_headers(settings, environ)
        self._timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=min(CONNECT_S, settings.timeout_s), sock_read=settings.timeout_s
        )
        self._alias = alias
        self._max_answer = max_answer

    async def complete(self, body: Body) -> Body:
        """Answer a chat completion request. The time it may take as a whole is its caller's."""
        try:
            async with self._session.post(self._url, **self._request(orjson.dumps(body))) as response:
                raw = await self._read(response)
        except _BROKEN as error:
            raise translated(error) from None
        if not 200 <= response.status < 300:
            raise _refusal(response, raw)
        answer = _decoded(raw)
        if not isinstance(answer, dict):
            raise UpstreamGarbled("answered with something other than a JSON object")
        return answer

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
        """Relay; what is wrong with our own key or address is raised and not told to the client."""
        try:
            response = await self._session.post(self._url, **self._request(raw, headers))
            try:
                if response.status in (401, 403) or 300 <= response.status < 400:
                    raise error_for_status(response.status)
                down = passed_down(response.headers)
                if response.headers.get("Content-Type", "").startswith("text/event-stream"):
                    return Forwarded(response.status, down, chunks=self._chunks(response), close=response.close)
                return Forwarded(response.status, down, await self._read(response))
            except BaseException:
                response.close()
                raise
        except _BROKEN as error:
            raise translated(error) from None

    async def close(self) -> None:
        """Nothing to do: the session is its owner's."""

    def _request(self, raw: bytes, client: Mapping[str, str] | None = None) -> dict[str, Any]:
        headers = self._headers
        if client and (passed := {name: client[name] for name in _PASSED_UP if name in client}):
            headers = passed | headers
        if (trace := TRACE_HEADERS.get()) is not None:
            headers = {**headers, **trace}
        data = raw if len(raw) < LARGE_BODY else BytesIO(raw)
        return {"data": data, "headers": headers, "timeout": self._timeout, "allow_redirects": False}

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """Read the body, as long as it is not too long. Its stated length tells only if it is not compressed."""
        length = response.content_length
        if length is not None and length <= self._max_answer and "Content-Encoding" not in response.headers:
            return await response.read()
        parts, size = [], 0
        async for part in response.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > self._max_answer:
                raise UpstreamGarbled(f"answered with more than {self._max_answer} bytes")
        return b"".join(parts)

    async def _chunks(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        try:
            async for chunk in response.content.iter_any():
                yield chunk
        except _BROKEN as error:
            raise translated(error).at(self._alias, "forward") from None
        finally:
            response.close()


def secret_headers(settings: ModelSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the configured headers with their secrets filled in.

    Raises:
        ModelSettingsError: an environment variable is not set.
    """
    headers = {}
    for name, value in settings.headers.items():
        headers[name] = secret(value[4:], environ) if value.startswith("env:") else value
    if settings.api_key_env:
        headers["Authorization"] = f"Bearer {secret(settings.api_key_env, environ)}"
    return headers


def secret(variable: str, environ: Mapping[str, str]) -> str:
    value = environ.get(variable, "").strip()
    if not value:
        raise ModelSettingsError(f"the environment variable {variable} is not set; export it before starting")
    if not (value.isascii() and value.isprintable()):
        raise ModelSettingsError(f"the environment variable {variable} holds characters that no key has")
    return value


def passed_down(headers: Mapping[str, str]) -> dict[str, str]:
    """Choose the upstream's headers that its client needs, without those that name the account."""
    chosen = {}
    for name, value in headers.items():
        low = name.lower()
        if low in _PASSED_DOWN or low.startswith(
            ("x-ratelimit-", "openai-processing-", "openai-version", "openai-model")
        ):
            chosen[name] = value
    return chosen


def retry_after(value: str | None, now: float) -> float | None:
    """Read a Retry-After header, in seconds or as an HTTP date, as seconds from `now` (Unix time)."""
    if not value:
        return None
    try:
        seconds = float(value) if value.strip().isdigit() else parsedate_to_datetime(value).timestamp() - now
    except ValueError:
        return None
    return max(0.0, seconds)


def translated(error: BaseException) -> ModelError:
    """Return our error for one of aiohttp's, whose details may hold the request's headers and so the key."""
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return UpstreamUnavailable("no connection in time")
    if isinstance(error, TimeoutError):
        return UpstreamTimeout("no bytes in time")
    if isinstance(error, aiohttp.ClientPayloadError):
        return UpstreamUnavailable("the connection was cut within the answer")
    return UpstreamUnavailable(f"no connection, or one that broke ({type(error).__name__})")


def _refusal(response: aiohttp.ClientResponse, raw: bytes) -> ModelError:
    body = _decoded(raw)
    code, param = accused(body.get("error") if isinstance(body, dict) else None)
    wait = retry_after(response.headers.get("Retry-After"), time.time())
    return error_for_status(response.status, retry_after=wait, code=code, param=param)


def _decoded(raw: bytes) -> object:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None

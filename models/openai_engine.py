"""OpenAIEngine sends requests to any OpenAI-compatible server. All engines share one pooled aiohttp session."""

import asyncio
import errno
import io
import os
import re
import time
from collections.abc import AsyncIterator, Mapping
from email.utils import parsedate_to_datetime
from functools import lru_cache
from types import MappingProxyType

import aiohttp
import orjson
from multidict import CIMultiDict
from yarl import URL

from models.answer import as_completion, decode_answer, decode_completion
from models.assembly import Assembly
from models.engine import Body, Forwarded
from models.errors import (
    ModelError,
    ModelSettingsError,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
    error_for_status,
)
from models.refusal import read_refusal
from models.settings import ModelSettings
from models.streaming import AnswerStream, replay_answer
from models.turn_scope import TRACE_HEADERS

MAX_ANSWER = 32 * 2**20
"""Maximum bytes of an answer. A longer answer is an error."""
CONNECT_S = 10.0
LARGE_BODY = 2**20
"""Bytes of a request from which on the body is sent as a file object, because aiohttp warns about larger byte strings."""
LINGER_S = 0.05
"""Maximum seconds to wait for the end of the HTTP response after `[DONE]`."""
A_DAY_S = 86_400.0

_HEADERS_UP = ("Idempotency-Key", "OpenAI-Beta", "X-Client-Request-Id", "X-Request-Id", "traceparent", "tracestate")
_HEADERS_DOWN = frozenset(("content-type", "retry-after", "retry-after-ms", "x-request-id", "x-should-retry"))
_BLANKS = b" \t\r\n\xef\xbb\xbf"
"""White space and the byte order mark, which may precede a body."""
_ASKS_FOR_STREAM = re.compile(rb'"stream"\s*+:\s*+true')
"""Matches a request body that asks for a stream. JSON strings cannot match, because they escape quotation marks."""
_BROKEN_CONNECTION = (aiohttp.ClientError, OSError, TimeoutError)


def make_session() -> aiohttp.ClientSession:
    """Return the HTTP session for all engines. Call this function in a running event loop.

    The session stores no cookies and does not limit connections. It has no total timeout, because each request sets its own.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
    )


class OpenAIEngine:
    """Sends requests to `POST {base_url}/chat/completions`. An engine with another `path` supports only `forward`."""

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
        self._timeout_s = settings.timeout_s
        self._alias = alias
        self._max_answer = max_answer
        self._with_usage: Body = {"stream_options": {"include_usage": True}}
        """Fields to add to a request for a stream; empty if the server refuses `stream_options`."""

    async def complete(self, body: Body) -> Body:
        """Return the chat completion for a request. The caller must set a total timeout."""
        return await self._ask(body, None)

    async def write(self, body: Body, stream: AnswerStream) -> Body:
        """Answer a request with a stream. If the server does not stream, pass on the finished answer word by word."""
        try:
            return await self._ask({**body, "stream": True, **self._with_usage}, stream)
        except UpstreamRefused as error:
            if not (self._with_usage and (error.param or "").startswith("stream_options")):
                raise
        self._with_usage = {}  # an older server: its usage is estimated
        return await self._ask({**body, "stream": True}, stream)

    async def _ask(self, body: Body, stream: AnswerStream | None) -> Body:
        """Send a request and read its answer.

        The server may send events although no stream was requested, or a finished answer although a stream was requested.
        """
        assembly = Assembly(body.get("n") or 1)
        try:
            async with await self._post(orjson.dumps(body)) as response:
                if not 200 <= response.status < 300:
                    raise _refusal(response, await self._read(response))
                head = await self._read_head(response)
                if not _is_events(head):
                    answer = as_completion(decode_completion(await self._read(response, head)))
                    if stream is not None:
                        replay_answer(answer, stream)
                    return answer
                if stream is not None:
                    stream.head = assembly.head
                async for part in self._parts(response, head.lstrip(_BLANKS)):
                    for choice, piece in assembly.feed(part):
                        if stream is not None:
                            stream.receive(choice, piece)
                    if assembly.done:
                        # Only a response read to its end returns its connection to the pool; do not wait long for that.
                        async with asyncio.timeout(LINGER_S):
                            await response.content.readany()
                        break
        except _BROKEN_CONNECTION as error:
            if not assembly.done:
                raise to_model_error(error) from None
        return assembly.completion()

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
        """Forward a request, and relay the response.

        Raises:
            ModelError: The upstream refused the proxy's key (401, 403), redirected, failed (5xx), or cannot be reached. These
                responses are not relayed, because error pages of servers and gateways may quote request headers.
        """
        try:
            response = await self._post(raw, {name: headers[name] for name in _HEADERS_UP if name in headers})
            try:
                if response.status in (401, 403) or 300 <= response.status < 400 or response.status >= 500:
                    raise error_for_status(response.status, retry_after=_retry_after_of(response))
                return await self._relay(response, raw)
            except BaseException:
                response.close()
                raise
        except _BROKEN_CONNECTION as error:
            raise to_model_error(error) from None

    async def _relay(self, response: aiohttp.ClientResponse, raw: bytes) -> Forwarded:
        """Relay a response: in chunks if the content type, the request or the first bytes indicate a stream, else in one piece."""
        status, down, head = response.status, pass_headers_down(response.headers), b""
        if response.content_type != "text/event-stream":
            streamed = status < 400 and _ASKS_FOR_STREAM.search(raw) is not None
            if response.content.is_eof():  # fully received; a timer would add 5 % to the time of a request
                head, streamed = await self._read(response), False
            else:
                # A finished answer gets a total timeout, because a body that arrives slowly never reaches the read timeout.
                async with asyncio.timeout(None if streamed else self._timeout_s):
                    head = await self._read_head(response)
                    if not (streamed or _is_events(head)):
                        head = await self._read(response, head)
            if _is_events(head):  # some clients trust the content type
                down = {name: value for name, value in down.items() if name.lower() != "content-type"}
                down["Content-Type"] = "text/event-stream"
            elif not streamed:
                return Forwarded(status, down, head)
        return Forwarded(status, down, chunks=self._chunks(response, head), close=response.close)

    async def close(self) -> None:
        """Do nothing. The owner of the session closes the session."""

    async def _post(self, raw: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> aiohttp.ClientResponse:
        """Send a request once, and return the response after its headers have arrived.

        Args:
            headers: Headers of the client. Configured headers take precedence; headers with control characters are dropped.
        """
        sent = CIMultiDict(self._headers)
        for name, value in {**headers, **(TRACE_HEADERS.get() or {})}.items():
            if name not in sent and value.isprintable():
                sent[name] = value
        return await self._session.post(
            self._url,
            data=raw if len(raw) < LARGE_BODY else io.BytesIO(raw),
            headers=sent,
            timeout=self._timeout,
            allow_redirects=False,  # otherwise another server would get the API key
        )

    async def _read_head(self, response: aiohttp.ClientResponse) -> bytes:
        """Read a body until the first byte that is not blank, which tells JSON from events. Return the bytes read."""
        head = b""
        while not head.strip(_BLANKS) and not response.content.at_eof():
            head += await response.content.readany()
            self._check_length(len(head))
        return head

    async def _read(self, response: aiohttp.ClientResponse, head: bytes = b"") -> bytes:
        """Read the rest of a body, and return the whole body. Args: head: the bytes already read."""
        if response.content.is_eof():  # fully received
            body = head + await response.content.read()
            self._check_length(len(body))
            return body
        return b"".join([part async for part in self._parts(response, head)])

    async def _parts(self, response: aiohttp.ClientResponse, head: bytes) -> AsyncIterator[bytes]:
        """Yield `head`, the bytes already read, and then the rest of the body as it arrives.

        Raises:
            UpstreamGarbled: The body is longer than the maximum.
        """
        size = len(head)
        if head:
            yield head
        async for part in response.content.iter_any():
            size += len(part)
            self._check_length(size)
            yield part

    def _check_length(self, size: int) -> None:
        if size > self._max_answer:
            raise UpstreamGarbled(f"answered with more than {self._max_answer} bytes, the maximum")

    async def _chunks(self, response: aiohttp.ClientResponse, head: bytes) -> AsyncIterator[bytes]:
        try:
            if head:
                yield head
            async for chunk in response.content.iter_any():
                yield chunk
        except _BROKEN_CONNECTION as error:
            raise to_model_error(error).at(self._alias, "forward") from None
        finally:
            response.close()


def secret_headers(settings: ModelSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the configured HTTP headers. Values `env:NAME` and the API key are read from environment variables.

    Raises:
        ModelSettingsError: An environment variable is not set, or a value is not valid in an HTTP header.
    """
    headers = {}
    for name, value in settings.headers.items():
        if not value.isprintable():
            raise ModelSettingsError(f"headers.{name}: invalid value: expected one line of printable characters")
        headers[name] = secret(value[4:], environ) if value.startswith("env:") else value
    if settings.api_key_env:
        headers["Authorization"] = f"Bearer {secret(settings.api_key_env, environ)}"
    return headers


def secret(variable: str, environ: Mapping[str, str]) -> str:
    """Return the secret in an environment variable.

    Raises:
        ModelSettingsError: The variable is not set, or its value is not valid in an HTTP header.
    """
    value = environ.get(variable, "").strip()
    if not value:
        raise ModelSettingsError(f"the environment variable {variable!r} is not set; export it before starting")
    if not (value.isascii() and value.isprintable()):
        raise ModelSettingsError(
            f"the environment variable {variable!r} has an invalid value: expected one line of printable ASCII characters"
        )
    return value


def pass_headers_down(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the upstream's headers that the client gets. Headers that identify the operator's account are removed."""
    return {name: value for name, value in headers.items() if _is_passed_down(name)}


@lru_cache(maxsize=256)
def _is_passed_down(name: str) -> bool:
    low = name.lower()
    return low in _HEADERS_DOWN or low.startswith(
        ("x-ratelimit-", "openai-processing-", "openai-version", "openai-model")
    )


def retry_after(value: str | None, now: float) -> float | None:
    """Parse a Retry-After header, which holds seconds or an HTTP date.

    Args:
        value: the header. None: the response has no such header.
        now: the current Unix time.

    Returns:
        Seconds to wait, at most a day; None if the header is missing or invalid.
    """
    if not value:
        return None
    try:
        seconds = float(value) if value.strip().isdigit() else parsedate_to_datetime(value).timestamp() - now
    except (ValueError, OverflowError):  # not a date, or a number of a hundred digits
        return None
    return min(max(0.0, seconds), A_DAY_S)


def to_model_error(error: BaseException) -> ModelError:
    """Convert an exception of aiohttp to a ModelError. The exception's text is dropped, because it may contain the API key."""
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return UpstreamUnavailable("did not accept the connection within the timeout")
    if isinstance(error, TimeoutError):
        return UpstreamTimeout("sent no data within the timeout")
    return UpstreamUnavailable(_describe_broken_connection(error))


def _describe_broken_connection(error: BaseException) -> str:
    match error:
        case aiohttp.ClientPayloadError():
            return "closed the connection in the middle of the answer"
        case aiohttp.ClientConnectorDNSError():
            return "has a host name that DNS cannot resolve"
        case aiohttp.ClientConnectorCertificateError():
            return "has a TLS certificate that this machine does not trust"
        case aiohttp.ClientSSLError():
            return "failed the TLS handshake"
        case aiohttp.ClientConnectorError() if error.os_error.errno == errno.ECONNREFUSED:
            return "refused the connection"
        case aiohttp.ServerDisconnectedError():
            return "closed the connection before it answered"
    code = errno.errorcode.get(getattr(error, "errno", None) or 0, type(error).__name__)
    return f"cannot be reached, or broke the connection ({code})"


def _is_events(head: bytes) -> bool:
    """Return whether a body is a stream of events, by its first character.

    The content type is unreliable: many servers send events as text/plain.
    """
    return head.lstrip(_BLANKS)[:1] in (b"d", b"e", b"i", b"r", b":")  # data, event, id, retry, a comment


def _refusal(response: aiohttp.ClientResponse, raw: bytes) -> ModelError:
    body = decode_answer(raw)
    code, param = read_refusal(body.get("error") if isinstance(body, dict) else None)
    return error_for_status(response.status, retry_after=_retry_after_of(response), code=code, param=param)


def _retry_after_of(response: aiohttp.ClientResponse) -> float | None:
    return retry_after(response.headers.get("Retry-After"), time.time())

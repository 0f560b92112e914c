"""Reads the body of a request, within limits on its size and duration."""

import asyncio
import zlib

from aiohttp import hdrs, web

from proxy.api.service import SERVICE
from proxy.auth.key_ring import KeyRing
from proxy.protocol.errors import BadRequest, BodyTimeout, NotJson

EXPECT = web.RequestKey("expect", str)
"""The value of the header `Expect`, if the server leaves its answer to `read_body`, as `caf serve` does."""
CONTINUE = "100-continue"


async def read_body(request: web.Request) -> bytes:
    """Read a request's body. Call it only after checking that the client may send one.

    Raises:
        web.HTTPRequestEntityTooLarge: The body is larger than server.max_body_bytes. It is not read if Content-Length says so.
        BodyTimeout: The body took longer than server.body_timeout_s to arrive.
        BadRequest: The body does not match the headers.
    """
    content, length, limit = request.content, request.content_length, request.client_max_size
    if length is not None and length > limit:
        raise web.HTTPRequestEntityTooLarge(limit, length)
    if length is not None and content.is_eof() and hdrs.CONTENT_ENCODING not in request.headers:
        return content.read_nowait()  # usual: the body arrived with the headers, no wait is needed
    if EXPECT in request and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    seconds = request.app[SERVICE].config.server.body_timeout_s
    try:
        async with asyncio.timeout(seconds):
            raw = await request.read()
        return _decompress(raw, limit) if raw and _is_compressed(request) else raw
    except TimeoutError:
        raise BodyTimeout(seconds) from None
    except (web.RequestPayloadError, zlib.error) as error:  # invalid chunks, or a wrong Content-Encoding
        fault = BadRequest(
            "The request body cannot be decoded; send it uncompressed, or with the Content-Encoding gzip or deflate."
        )
        fault.closes = True  # aiohttp closes a connection after an unreadable request
        raise fault from error


def _is_compressed(request: web.Request) -> bool:
    """Return whether a body is still compressed, as under `caf serve`, which does not decompress it before authentication."""
    encoding = request.headers.get(hdrs.CONTENT_ENCODING, "").lower()
    return encoding in ("gzip", "deflate") and request.content.total_compressed_bytes is None


def _decompress(raw: bytes, limit: int) -> bytes:
    """Decompress data in the format gzip or deflate.

    Raises:
        web.HTTPRequestEntityTooLarge: The decompressed data are larger than `limit` bytes.
        zlib.error: The data are in another format, or incomplete.
    """
    stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # 32: detect gzip or deflate by the header
    body = stream.decompress(raw, limit + 1)
    if len(body) > limit:
        raise web.HTTPRequestEntityTooLarge(limit)
    if not stream.eof or stream.unused_data:
        raise zlib.error
    return body


SENT_BY_FORMS = frozenset(("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"))
"""Content types that any web page may send to any server without a CORS preflight."""


def refuse_forms(request: web.Request, keys: KeyRing | None) -> None:
    """Refuse requests that any web page could send to a proxy without keys.

    Raises:
        NotJson: The content type is one of HTML forms, or a browser sent none.
    """
    unnamed = "text/plain" if hdrs.ORIGIN in request.headers else "application/json"
    kind = request.headers.get(hdrs.CONTENT_TYPE, unnamed).partition(";")[0].strip().lower()
    if keys is None and kind in SENT_BY_FORMS:
        raise NotJson

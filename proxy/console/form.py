"""Reads submitted forms, with limits of size, time and number of fields.

aiohttp's `request.post()` is not used: it has no time limit, also before the sign-in, and it accepts files, which the console
does not need.
"""

from urllib.parse import parse_qsl

from aiohttp import web
from multidict import MultiDict

from proxy.api.request_body import read_body
from proxy.protocol.errors import BadRequest, TooLarge

KIND = "application/x-www-form-urlencoded"
LARGEST = 100_000
"""Maximum size of a form in bytes. The longest note, percent-encoded, takes a quarter of it."""
MOST_FIELDS = 500
_FORM = web.RequestKey("console_form", MultiDict[str])


async def read_form(request: web.Request) -> MultiDict[str]:
    """Return the fields of a request's form.

    Raises:
        BadRequest: The request is not a form, or the form has too many fields.
        BodyTimeout: The form took too long to arrive.
        TooLarge: The form is larger than `LARGEST`.
    """
    if _FORM not in request:
        request[_FORM] = await _read(request)
    return request[_FORM]


async def _read(request: web.Request) -> MultiDict[str]:
    if request.content_type != KIND:
        raise BadRequest(f"Invalid Content-Type {request.content_type[:100]!r}: the console expects a form, {KIND}.")
    try:
        raw = await read_body(request.clone(client_max_size=LARGEST))
    except web.HTTPRequestEntityTooLarge:
        raise TooLarge(f"The form is too large: the maximum is {LARGEST} bytes. Shorten the text.") from None
    try:
        fields = parse_qsl(raw.decode(errors="replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise BadRequest(f"The form has too many fields: the maximum is {MOST_FIELDS}.") from None
    return MultiDict(fields)

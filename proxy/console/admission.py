"""Admits requests to the console.

A proxy without keys serves the console to browsers on its own machine that ask directly (`auth.access.asks_directly` refuses a
page that reaches loopback by DNS rebinding). A proxy with keys asks once for a key with the permission `console`. After that, a
session cookie identifies the client; scripts cannot read it, and requests from other sites do not carry it. A request that
changes data must also come from a page of the same address and carry the CSRF token. `cors_origins` has no effect here.
"""

import hmac
from collections.abc import Awaitable, Callable
from typing import get_args
from urllib.parse import quote, urlsplit

from aiohttp import ClientConnectionResetError, hdrs, web

from proxy.api.middleware import to_api_error
from proxy.api.service import SERVICE, Service
from proxy.auth.access import ASK_DIRECTLY, Access, asks_directly, key_access, keyless_access
from proxy.auth.keys import Permission
from proxy.console.console_request import ConsoleRequest
from proxy.console.form import KIND, read_form
from proxy.console.render import HEADERS, render
from proxy.console.session_store import SESSION_S, SessionStore, csrf_token
from proxy.protocol.errors import ApiError, Forbidden

SESSIONS = web.AppKey("console_sessions", SessionStore)
CSRF_HEADER = "X-CSRF-Token"
SIGN_IN = "/console/sign-in"
KEYLESS = "keyless"
"""The key id of sessions if the proxy has no configured keys."""
SAFE = (hdrs.METH_GET, hdrs.METH_HEAD)

Screen = Callable[[ConsoleRequest], Awaitable[web.StreamResponse]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def admit(screen: Screen, *needed: Permission) -> Handler:
    """Wrap the handler of a page: check session, permissions and CSRF token first, and show errors as pages.

    Args:
        screen: The handler of the page. It receives the admitted request.
        needed: Permissions that the page needs in addition to `console`.
    """

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            check_origin(request)
            console, new_token = await _begin(request)
            if console is None:
                return _to_sign_in(request)
            console.require("console", *needed)
            if request.method not in SAFE:
                await _check_csrf(console)
            response = await screen(console)
        except ClientConnectionResetError:  # the client left during the response
            raise
        except Exception as error:
            return show_error(request, to_api_error(request, error))
        if new_token is not None and not response.prepared:
            set_session(request, response, new_token)
        return response

    return handle


def check_origin(request: web.Request) -> None:
    """Refuse requests that a page of another site sends.

    Raises:
        Forbidden: The request comes from another site, or it changes data and has no Origin header.
    """
    origin, host = request.headers.get(hdrs.ORIGIN), request.headers.get(hdrs.HOST, "")
    fetched = request.headers.get("Sec-Fetch-Site", "same-origin")
    followed = (
        request.method in SAFE and request.headers.get("Sec-Fetch-Mode") == "navigate"
    )  # a link on another site may lead to the console
    if (fetched not in ("same-origin", "none") and not followed) or (origin and _host_of(origin) != host):
        raise Forbidden(
            "The console refused this request because it comes from a page of another site. Open the console directly."
        )
    if request.method not in SAFE and not origin:
        raise Forbidden(
            "The console refused this request because it has no Origin header. Send it from a page of the console in a browser."
        )


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # an unbalanced bracket
        return None


async def _begin(request: web.Request) -> tuple[ConsoleRequest | None, str | None]:
    """Return the admitted request (None: a sign-in is needed) and the token of a new session (None: no new session).

    Raises:
        Forbidden: The proxy has no configured keys, and the request does not come directly from a browser on its machine.
    """
    service, sessions = request.app[SERVICE], request.app[SESSIONS]
    token = request.cookies.get(cookie_name(request), "")
    key_id = await sessions.find(token) if token else None
    access = _access(request, service, key_id)
    if access is None:
        return None, None
    if key_id is not None:
        return ConsoleRequest(request, service, access, csrf_token(token)), None
    token = await sessions.begin(KEYLESS)
    return ConsoleRequest(request, service, access, csrf_token(token)), token


def _access(request: web.Request, service: Service, key_id: str | None) -> Access | None:
    """Return the access of the client; None: a sign-in is needed."""
    if service.keys is not None:
        record = service.keys.find_id(key_id) if key_id else None
        return None if record is None else key_access(record)
    if not asks_directly(request):
        raise Forbidden(
            f"Without configured keys, the console is available only on the machine of the proxy. {ASK_DIRECTLY}"
        )
    return Access(keyless_access(request.headers).key_id, frozenset(get_args(Permission)))


async def _check_csrf(console: ConsoleRequest) -> None:
    """Check the CSRF token of a request. Raises: Forbidden: the token is missing or belongs to another session."""
    token = console.request.headers.get(CSRF_HEADER)
    if token is None and console.request.content_type == KIND:
        token = (await read_form(console.request)).get("csrf", "")
    if not hmac.compare_digest((token or "").encode(), console.csrf.encode()):
        raise Forbidden("The session has ended, or the form is from another session. Reload the page and try again.")


def cookie_name(request: web.Request) -> str:
    """Return the name of the session cookie. It contains the port, because browsers share cookies between ports."""
    try:
        port = urlsplit(f"//{request.headers.get(hdrs.HOST, '')}").port
    except ValueError:
        port = None
    return f"caf_console_{port or ''}"


def set_session(request: web.Request, response: web.StreamResponse, token: str) -> None:
    """Set the session cookie on a response."""
    secure = request.secure or request.headers.get("X-Forwarded-Proto") == "https"
    response.set_cookie(
        cookie_name(request), token, max_age=SESSION_S, path="/console", httponly=True, samesite="Strict", secure=secure
    )


def _to_sign_in(request: web.Request) -> web.Response:
    if request.method in SAFE and "text/html" in request.headers.get(hdrs.ACCEPT, "text/html"):
        location = f"{SIGN_IN}?to={quote(request.path_qs)}"
        return web.Response(status=302, headers={**HEADERS, "Location": location})
    return web.Response(status=401, text="Your session has ended. Sign in again.", headers=HEADERS)


def show_error(request: web.Request, error: ApiError) -> web.Response:
    """Return the response for an error: a page, or JSON if the request does not accept HTML."""
    if "text/html" not in request.headers.get(hdrs.ACCEPT, "text/html"):
        response = error.response()
    else:
        response = render(
            "error.html", {"console": None, "message": error.message, "code": error.code}, status=error.status
        )
    response.headers.update({**HEADERS, **error.headers})
    if error.closes:
        response.force_close()
    return response

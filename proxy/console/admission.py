"""Lets a request into the console, or not.

A proxy without keys shows it to browsers on its own machine that ask it directly (`auth.access.asks_directly`: a page that
reaches loopback by DNS rebinding does not). A proxy with keys asks for one with the permission `console`, once: a session then
stands for it, in a cookie that no script reads and that no other site's request carries. What changes something must also come
from a page of this very address, and bring the session's CSRF token. `cors_origins` opens none of this.
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
"""Stands for the key in a session of a proxy without keys."""
SAFE = (hdrs.METH_GET, hdrs.METH_HEAD)

Screen = Callable[[ConsoleRequest], Awaitable[web.StreamResponse]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def admit(screen: Screen, *needed: Permission) -> Handler:
    """Return a handler that admits clients that may see a screen, and answers what fails with a page.

    Args:
        screen: What answers them.
        needed: The permissions that it takes beside `console`.
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
        except ClientConnectionResetError:  # the client has gone while it was written to: nobody reads a page
            raise
        except Exception as error:
            return show_error(request, to_api_error(request, error))
        if new_token is not None and not response.prepared:
            set_session(request, response, new_token)
        return response

    return handle


def check_origin(request: web.Request) -> None:
    """Refuse what a page of another address asks for.

    Raises:
        Forbidden: It comes from elsewhere, or changes something and does not say where it comes from.
    """
    origin, host = request.headers.get(hdrs.ORIGIN), request.headers.get(hdrs.HOST, "")
    fetched = request.headers.get("Sec-Fetch-Site", "same-origin")
    followed = (
        request.method in SAFE and request.headers.get("Sec-Fetch-Mode") == "navigate"
    )  # a link elsewhere may lead here
    if (fetched not in ("same-origin", "none") and not followed) or (origin and _host_of(origin) != host):
        raise Forbidden("The console answers its own pages only, not those of other addresses.")
    if request.method not in SAFE and not origin:
        raise Forbidden("This request does not say which page it comes from (Origin); use a browser.")


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # a bracket without its other one
        return None


async def _begin(request: web.Request) -> tuple[ConsoleRequest | None, str | None]:
    """Return the console, None without a session; and the token of a session that was just begun for it.

    Raises:
        Forbidden: The proxy has no keys, and the client does not ask it directly.
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
    """Return what the client may do; None: they have to sign in."""
    if service.keys is not None:
        record = service.keys.find_id(key_id) if key_id else None
        return None if record is None else key_access(record)
    if not asks_directly(request):
        raise Forbidden(f"The console of a proxy without keys is for this machine. {ASK_DIRECTLY}")
    return Access(keyless_access(request.headers).key_id, frozenset(get_args(Permission)))


async def _check_csrf(console: ConsoleRequest) -> None:
    """Raises: Forbidden: the request does not bring the session's CSRF token."""
    token = console.request.headers.get(CSRF_HEADER)
    if token is None and console.request.content_type == KIND:
        token = (await read_form(console.request)).get("csrf", "")
    if not hmac.compare_digest((token or "").encode(), console.csrf.encode()):
        raise Forbidden("The session has ended, or this form is not of it. Reload the page and try again.")


def cookie_name(request: web.Request) -> str:
    """Return the name of the session's cookie: browsers share cookies between ports, and proxies do not share sessions."""
    try:
        port = urlsplit(f"//{request.headers.get(hdrs.HOST, '')}").port
    except ValueError:
        port = None
    return f"caf_console_{port or ''}"


def set_session(request: web.Request, response: web.StreamResponse, token: str) -> None:
    """Give the browser a session's cookie."""
    secure = request.secure or request.headers.get("X-Forwarded-Proto") == "https"
    response.set_cookie(
        cookie_name(request), token, max_age=SESSION_S, path="/console", httponly=True, samesite="Strict", secure=secure
    )


def _to_sign_in(request: web.Request) -> web.Response:
    if request.method in SAFE and "text/html" in request.headers.get(hdrs.ACCEPT, "text/html"):
        location = f"{SIGN_IN}?to={quote(request.path_qs)}"
        return web.Response(status=302, headers={**HEADERS, "Location": location})
    return web.Response(status=401, text="Sign in again.", headers=HEADERS)


def show_error(request: web.Request, error: ApiError) -> web.Response:
    """Answer with an error: as a page, or for scripts that ask for JSON as the API does."""
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

"""Signing in with a key, and out."""

from urllib.parse import urlsplit

from aiohttp import web

from proxy.api.middleware import to_api_error
from proxy.api.service import SERVICE
from proxy.console.admission import SESSIONS, check_origin, cookie_name, set_session, show_error
from proxy.console.form import read_form
from proxy.console.journal import record_action
from proxy.console.render import HEADERS, render
from proxy.console.visit import Visit
from proxy.wire.errors import TooManyFailures

HOME = "/console/playground"


async def show_form(request: web.Request) -> web.Response:
    """Show the form that asks for a key."""
    if request.app[SERVICE].keys is None:
        return web.Response(status=302, headers={**HEADERS, "Location": HOME})
    return _form(request, to=request.query.get("to", HOME))


async def sign_in(request: web.Request) -> web.Response:
    """Begin a session for whoever sends a key with the permission `console`. Its token is always a new one."""
    try:
        return await _sign_in(request)
    except Exception as error:
        return show_error(request, to_api_error(request, error))


async def _sign_in(request: web.Request) -> web.Response:
    service = request.app[SERVICE]
    if service.keys is None:
        return web.Response(status=302, headers={**HEADERS, "Location": HOME})
    check_origin(request)
    form = await read_form(request)
    to = form.get("to", HOME)
    record = service.keys.find(form.get("key", "").strip())
    if record is None:
        wait_s = service.throttle.count_failure(request.remote)
        if wait_s:
            raise TooManyFailures(wait_s)
        return _form(
            request, to=to, problem="This is no valid key. Keys begin with caf- and are shown once, when they are made."
        )
    if "console" not in record.permissions:
        problem = (
            "This key is valid, but has no permission `console`. Make one with: caf key create NAME -p chat -p console"
        )
        return _form(request, to=to, problem=problem, status=403)
    await request.app[SESSIONS].end(request.cookies.get(cookie_name(request), ""))
    token = await request.app[SESSIONS].begin(record.id)
    record_action(service, "console_sign_in", record)
    response = web.Response(status=303, headers={**HEADERS, "Location": _inside(to)})
    set_session(request, response, token)
    return response


async def sign_out(visit: Visit) -> web.Response:
    """End the session."""
    name = cookie_name(visit.request)
    await visit.request.app[SESSIONS].end(visit.request.cookies.get(name, ""))
    response = visit.see_other(HOME)
    response.del_cookie(name, path="/console")
    return response


def _form(request: web.Request, *, to: str, problem: str = "", status: int | None = None) -> web.Response:
    context = {"visit": None, "to": _inside(to), "problem": problem}
    return render("sign_in.html", context, status=status or (401 if problem else 200))


def _inside(to: str) -> str:
    """Return an address of the console: anything else that a link may have asked for becomes its first page."""
    try:
        parts = urlsplit(to)
    except ValueError:
        return HOME
    inside = not parts.scheme and not parts.netloc and parts.path.startswith("/console") and "\\" not in to
    return to if inside and to.isprintable() else HOME

"""Sign in with a key, and sign out."""

from urllib.parse import unquote

from aiohttp import hdrs, web
from yarl import URL

from proxy.api.middleware import to_api_error
from proxy.api.service import SERVICE
from proxy.console.admission import SESSIONS, SIGN_IN, check_origin, cookie_name, set_session, show_error
from proxy.console.console_request import ConsoleRequest
from proxy.console.form import read_form
from proxy.console.journal import record_action
from proxy.console.render import HEADERS, render
from proxy.protocol.errors import TooManyFailures

HOME = "/console/playground"
UNKNOWN = "/console/{rest}"
"""Matches every other address of the console."""
NO_PAGES = (SIGN_IN, UNKNOWN)


async def show_form(request: web.Request) -> web.Response:
    """Show the form that asks for a key."""
    if request.app[SERVICE].keys is None:
        return web.Response(status=302, headers={**HEADERS, "Location": HOME})
    return await _form(request, to=request.query.get("to", HOME))


async def sign_in(request: web.Request) -> web.Response:
    """Check the submitted key, and begin a session if it has the permission `console`. Each sign-in gets a new token."""
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
        return await _form(
            request, to=to, problem="Invalid API key. Keys start with caf- and are shown once, when they are created."
        )
    if "console" not in record.permissions:
        problem = "This key lacks the permission `console`. Create one with: caf key create NAME -p chat -p console"
        return await _form(request, to=to, problem=problem, status=403)
    await request.app[SESSIONS].end(request.cookies.get(cookie_name(request), ""))
    token = await request.app[SESSIONS].begin(record.id)
    record_action(service, "console_sign_in", record)
    response = web.Response(status=303, headers={**HEADERS, "Location": await _page(request, to)})
    set_session(request, response, token)
    return response


async def sign_out(console: ConsoleRequest) -> web.Response:
    """End the session."""
    name = cookie_name(console.request)
    await console.request.app[SESSIONS].end(console.request.cookies.get(name, ""))
    response = console.see_other(HOME)
    response.del_cookie(name, path="/console")
    return response


async def _form(request: web.Request, *, to: str, problem: str = "", status: int | None = None) -> web.Response:
    context = {"console": None, "to": await _page(request, to), "problem": problem}
    return render("sign_in.html", context, status=status or (401 if problem else 200))


async def _page(request: web.Request, to: str) -> str:
    """Return the address to open after the sign-in: `to` if it is a page of the console, else the playground.

    Any link can set `to`, and browsers parse `///host`, `/\\host` and `/console/..//host` differently from Python. To prevent
    redirects to other sites, the decoded address must be plain, and the application's router must find a page there.
    """
    path = to.partition("?")[0]
    plain = unquote(path)
    if not (to.isascii() and to.isprintable() and plain.isprintable() and path.startswith("/")):
        return HOME
    if any(mark in to for mark in "\\#") or "\\" in plain or "//" in plain or {".", ".."} & {*plain.split("/")}:
        return HOME
    match = await request.app.router.resolve(request.clone(method=hdrs.METH_GET, rel_url=URL(to, encoded=True)))
    resource = match.route.resource
    found = resource is not None and resource.canonical.startswith("/console/") and resource.canonical not in NO_PAGES
    return to if found else HOME

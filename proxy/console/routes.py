"""The routes of the console. Each screen has its own list."""

from pathlib import Path

from aiohttp import web

from proxy.console import (
    conversations,
    emergencies,
    experiments,
    judges,
    knowledge,
    operation,
    playground,
    turn_actions,
    turn_page,
)
from proxy.console.admission import SIGN_IN, admit
from proxy.console.console_request import ConsoleRequest
from proxy.console.render import HEADERS
from proxy.console.sign_in import HOME, show_form, sign_in, sign_out

SCREENS = (playground, conversations, turn_page, turn_actions, emergencies, judges, experiments, knowledge, operation)

STATIC = Path(__file__).parent / "static"
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def console_routes() -> list[web.RouteDef]:
    """Return the routes of the console."""
    return [
        web.get("/", to_console),
        web.get("/console", to_console),
        web.get("/console/", to_console),
        web.get("/console/static/{name}", send_asset),
        web.get(SIGN_IN, show_form),
        web.post(SIGN_IN, sign_in),
        web.post("/console/sign-out", admit(sign_out)),
        *(route for screen in SCREENS for route in screen.ROUTES),
        web.get("/console/{rest:.*}", admit(refuse_unknown)),
    ]


async def to_console(request: web.Request) -> web.Response:
    """Redirect the proxy's root address to the console."""
    return web.Response(status=302, headers={"Location": HOME})


async def refuse_unknown(console: ConsoleRequest) -> web.Response:
    """Raises: web.HTTPNotFound."""
    raise web.HTTPNotFound


async def send_asset(request: web.Request) -> web.FileResponse:
    """Answer with a style sheet or script. These files are public.

    Raises:
        web.HTTPNotFound: There is no such file.
    """
    path = STATIC / request.match_info["name"]
    if path.parent != STATIC or path.suffix not in TYPES or not path.is_file():
        raise web.HTTPNotFound
    content_type = f"{TYPES[path.suffix]}; charset=utf-8"
    return web.FileResponse(path, headers={**HEADERS, "Content-Type": content_type, "Cache-Control": "no-cache"})

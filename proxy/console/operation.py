"""Operation."""

from aiohttp import web

from proxy.console.admission import admit
from proxy.console.visit import Visit


async def show_operation(visit: Visit) -> web.Response:
    """Show the screen."""
    return visit.render("operation/index.html")


ROUTES = [web.get("/console/operation", admit(show_operation))]

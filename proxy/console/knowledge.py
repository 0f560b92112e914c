"""Knowledge."""

from aiohttp import web

from proxy.console.admission import admit
from proxy.console.visit import Visit


async def show_knowledge(visit: Visit) -> web.Response:
    """Show the screen."""
    return visit.render("knowledge/index.html")


ROUTES = [web.get("/console/knowledge", admit(show_knowledge))]

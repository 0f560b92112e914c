"""Playground."""

from aiohttp import web

from proxy.console.admission import admit
from proxy.console.visit import Visit


async def show_playground(visit: Visit) -> web.Response:
    """Show the screen."""
    return visit.render("playground/index.html")


ROUTES = [web.get("/console/playground", admit(show_playground))]

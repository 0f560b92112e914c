"""Judges."""

from aiohttp import web

from proxy.console.admission import admit
from proxy.console.visit import Visit


async def show_judges(visit: Visit) -> web.Response:
    """Show the screen."""
    return visit.render("judges/index.html")


ROUTES = [web.get("/console/judges", admit(show_judges))]

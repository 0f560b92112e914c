"""Emergencies."""

from aiohttp import web

from proxy.console.admission import admit
from proxy.console.visit import Visit


async def show_emergencies(visit: Visit) -> web.Response:
    """Show the screen."""
    return visit.render("emergencies/index.html")


ROUTES = [web.get("/console/emergencies", admit(show_emergencies))]

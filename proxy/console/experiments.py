"""Experiments."""

from aiohttp import web

from proxy.console.admission import admit
from proxy.console.visit import Visit


async def show_experiments(visit: Visit) -> web.Response:
    """Show the screen."""
    return visit.render("experiments/index.html")


ROUTES = [web.get("/console/experiments", admit(show_experiments))]

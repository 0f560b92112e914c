"""Conversations."""

from aiohttp import web

from proxy.console.admission import admit
from proxy.console.visit import Visit


async def show_conversations(visit: Visit) -> web.Response:
    """Show the screen."""
    return visit.render("conversations/index.html")


ROUTES = [web.get("/console/conversations", admit(show_conversations))]

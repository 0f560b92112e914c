"""An admitted request to the console, with the permissions of its client."""

from dataclasses import dataclass
from typing import Any

from aiohttp import web

from proxy.api.service import Service
from proxy.auth.access import Access
from proxy.auth.keys import Permission
from proxy.console.render import render
from proxy.protocol.errors import Forbidden
from proxy.turn.chatbot import Chatbot


@dataclass(frozen=True, slots=True)
class ConsoleRequest:
    """A request that passed `admission.admit`. Handlers of pages receive it instead of aiohttp's request."""

    request: web.Request
    service: Service
    access: Access
    csrf: str
    """The CSRF token: forms send it as `csrf`, scripts as the header X-CSRF-Token."""

    @property
    def bots(self) -> list[Chatbot]:
        """The chatbots that the client may see."""
        return [self.service.chatbots[name] for name in self.chatbots]

    @property
    def chatbots(self) -> list[str]:
        """The names of the chatbots that the client may see."""
        return self.access.visible_chatbots(self.service.chatbots)

    def may(self, permission: Permission) -> bool:
        """Return whether the client has a permission. `trace` shows texts, `unfiltered` chooses the filter, `admin` labels."""
        return self.access.may(permission)

    def require(self, *permissions: Permission) -> None:
        """Raises: Forbidden: the client lacks one of these permissions."""
        for permission in permissions:
            if not self.may(permission):
                raise Forbidden(f"This needs the permission `{permission}`, which the key does not have.")

    def render(self, template: str, /, *, status: int = 200, **context: Any) -> web.Response:
        """Answer with a page, or with a fragment if the name begins with `_`."""
        return render(template, {"console": self, **context}, status=status)

    def see_other(self, location: str) -> web.Response:
        """Redirect the browser after a form."""
        return web.Response(status=303, headers={"Location": location})

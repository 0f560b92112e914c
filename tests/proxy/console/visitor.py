"""Somebody who looks at a console over HTTP: keeps the session's cookie, and sends its forms as a browser would."""

import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.cookiejar import CookieJar
from pathlib import Path

from proxy.tenants import keys
from proxy.tenants.keys import Permission
from tests.proxy.console.conftest import Body, Console, console_config, serve_console


@dataclass(frozen=True)
class Page:
    """An answer."""

    status: int
    text: str
    url: str


class _AnyStatus(urllib.request.HTTPErrorProcessor):
    def http_response(self, request, response):  # type: ignore[no-untyped-def]
        if response.status in (302, 303):
            return super().http_response(request, response)
        return response


@dataclass
class Visitor:
    """A browser without scripts."""

    url: str
    _opener: urllib.request.OpenerDirector = field(init=False)

    def __post_init__(self) -> None:
        cookies = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(cookies, _AnyStatus)

    def get(self, path: str, **headers: str) -> Page:
        """Ask for a page."""
        return self._send(urllib.request.Request(self.url + path, headers=headers))

    def post(self, path: str, form: Mapping[str, str], *, origin: str | None = None, **headers: str) -> Page:
        """Send a form from one of the console's own pages."""
        body = urllib.parse.urlencode(form).encode()
        return self._send(urllib.request.Request(self.url + path, body, {"Origin": origin or self.url, **headers}))

    def csrf(self, path: str) -> str:
        """Return the session's token, as a page has it."""
        found = re.search(r'name="csrf" content="([0-9a-f]+)"', self.get(path).text)
        assert found is not None
        return found[1]

    def sign_in(self, key: str) -> "Visitor":
        assert self.post("/console/sign-in", {"key": key}).status == 200
        return self

    def _send(self, request: urllib.request.Request) -> Page:
        with self._opener.open(request, timeout=30) as response:
            return Page(response.status, response.read().decode(), response.url)


@contextmanager
def serve_with_keys(
    folder: Path, granted: Mapping[str, tuple[tuple[Permission, ...], tuple[str, ...] | None]], **changes: object
) -> Iterator[tuple[Console, dict[str, str]]]:
    """Serve the shipped chatbot and a copy of it, `other`, to keys with these permissions and chatbots; yield their texts too."""
    made = {name: keys.create(name, may, chatbots) for name, (may, chatbots) in granted.items()}
    keys.save([one.record for one in made.values()], folder / "keys.json")
    config: Body = console_config(folder, console="on", keys={"file": str(folder / "keys.json")}, **changes)
    config["chatbots"]["other"] = config["chatbots"]["schizophrenia"]
    with serve_console(folder, config) as running:
        yield running, {name: one.text for name, one in made.items()}

"""Somebody who looks at a console over HTTP: keeps the session's cookie, and sends its forms as a browser would."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, OpenerDirector, Request, build_opener

from proxy.auth import keys
from proxy.auth.keys import Permission
from tests.proxy.console.conftest import Body, Console, console_config, serve_console


class Answer(NamedTuple):
    status: int
    text: str
    headers: Any


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        return None


class Visitor:
    """A browser without scripts."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.cookies = CookieJar()
        cookies = HTTPCookieProcessor(self.cookies)
        self._opener, self._follower = build_opener(cookies, _NoRedirect), build_opener(cookies)

    def ask(self, method: str, path: str, form: Mapping[str, str] | None = None, **headers: str) -> Answer:
        """Ask for a page, or send a form; redirects are not followed. A header that is empty is left out."""
        return self._send(self._opener, method, path, form, headers)

    def get(self, path: str, **headers: str) -> Answer:
        """Ask for a page, wherever it leads."""
        return self._send(self._follower, "GET", path, None, headers)

    def post(self, path: str, form: Mapping[str, str], **headers: str) -> Answer:
        """Send a form from one of the console's own pages, and see where it leads."""
        return self._send(self._follower, "POST", path, form, headers)

    def csrf(self) -> str:
        """Return the session's token, as a page has it."""
        page = self.get("/console/playground").text
        match = re.search(r'name="csrf" content="(\w+)"', page)
        assert match, page
        return match[1]

    def sign_in(self, key: str, to: str = "/console/playground") -> Answer:
        return self.ask("POST", "/console/sign-in", {"key": key, "to": to})

    def signed_in(self, key: str) -> Self:
        assert self.sign_in(key).status == 303
        return self

    def _send(
        self, opener: OpenerDirector, method: str, path: str, form: Mapping[str, str] | None, headers: Mapping[str, str]
    ) -> Answer:
        given = {"Accept": "text/html", **({"Origin": self.url} if method != "GET" else {})}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if form is None else urlencode(form).encode()
        return self.open(opener, Request(self.url + path, data, {k: v for k, v in given.items() if v}, method=method))

    @staticmethod
    def open(opener: OpenerDirector, request: Request) -> Answer:
        try:
            with opener.open(request, timeout=30) as response:
                return Answer(response.status, response.read().decode(), response.headers)
        except HTTPError as error:
            return Answer(error.code, error.read().decode(), error.headers)


class Keyed(NamedTuple):
    """A console of a proxy with keys."""

    console: Console
    keys: dict[str, str]
    """Their texts, by name."""

    def visitor(self, name: str) -> Visitor:
        """Return somebody who has signed in with a key."""
        return Visitor(self.console.url).signed_in(self.keys[name])


Granted = Mapping[str, tuple[tuple[Permission, ...], tuple[str, ...] | None]]
"""Permissions and chatbots of keys, by name."""


@contextmanager
def serve_with_keys(folder: Path, granted: Granted, **changes: object) -> Iterator[Keyed]:
    """Serve the shipped chatbot and a copy of it, `other`, to keys; theirs is `keys.json` in the folder."""
    made = {name: keys.create(name, may, chatbots) for name, (may, chatbots) in granted.items()}
    keys.save([one.record for one in made.values()], folder / "keys.json")
    given: Body = {"console": "on", "keys": {"file": str(folder / "keys.json"), "failures_per_minute": 1000}, **changes}
    config = console_config(folder, **given)
    config["chatbots"]["other"] = config["chatbots"]["schizophrenia"]
    with serve_console(folder, config) as running:
        yield Keyed(running, {name: one.text for name, one in made.items()})

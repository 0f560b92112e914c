"""Who gets into the console, and from where. Every page is tried, those of screens that will be added too."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from proxy.auth.keys import create, load, save
from proxy.console.render import HEADERS
from proxy.console.routes import console_routes
from tests.proxy.console.conftest import Console, check_looks, console_config, serve_console
from tests.proxy.console.visitor import Granted, Keyed, Visitor, serve_with_keys

OPEN = ("/", "/console", "/console/", "/console/static/{name}", "/console/sign-in")
"""What is for everybody: no page of these shows anything of anybody."""
PAGES = sorted({(route.method, route.path) for route in console_routes() if route.path not in OPEN})


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    """A proxy with keys and a console: one key may look at it, one may only chat."""
    granted: Granted = {"staff": (("chat", "console"), None), "app": (("chat",), None)}
    with serve_with_keys(tmp_path_factory.mktemp("keyed"), granted) as running:
        yield running


def path_of(pattern: str) -> str:
    return re.sub(r"\{\w+(:[^}]*)?\}", "some", pattern)


@pytest.mark.parametrize(("method", "pattern"), PAGES)
def test_no_page_shows_anything_without_a_session(keyed: Keyed, method: str, pattern: str) -> None:
    """Not a byte of it: whoever asks for a page is led to the form, whoever asks for data is refused."""
    stranger = Visitor(keyed.console.url)
    status, body, headers = stranger.ask(method, path_of(pattern))
    if method == "GET":
        assert (status, body) == (302, "")
        assert headers["Location"].startswith("/console/sign-in?to=")
    else:
        assert (status, body) == (401, "Your session has ended. Sign in again.")
    status, body, _ = stranger.ask(method, path_of(pattern), Accept="application/json")
    assert (status, body) == (401, "Your session has ended. Sign in again.")


@pytest.mark.parametrize(("method", "pattern"), PAGES)
def test_a_page_of_another_address_gets_nothing(console: Console, method: str, pattern: str) -> None:
    """Neither by its origin, nor as a fetch that names none, nor under a name that DNS leads here."""
    visitor = Visitor(console.url)
    here = console.url.partition("//")[2]
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors"},
        {"Host": "evil.example", "Origin": ""},
        {"Host": "evil.example", "Origin": "http://evil.example"},
        {"Host": here, "X_Forwarded_For": "203.0.113.5"},
    ):
        status, body, _ = visitor.ask(method, path_of(pattern), **headers)
        assert status == 403
        assert "<h1>Error</h1>" in body
        assert "<nav" not in body


@pytest.mark.parametrize("pattern", [pattern for method, pattern in PAGES if method == "POST"])
def test_what_changes_something_needs_the_token_of_the_session(keyed: Keyed, pattern: str) -> None:
    """None, another session's, and one that looks right are refused."""
    visitor, other = Visitor(keyed.console.url), Visitor(keyed.console.url)
    assert visitor.sign_in(keyed.keys["staff"])[0] == other.sign_in(keyed.keys["staff"])[0] == 303
    for token in ("", other.csrf(), "0" * 64, "ü"):
        status, body, _ = visitor.ask("POST", path_of(pattern), {"csrf": token})
        assert (status, "form is not of it" in body or "permission" in body) == (403, True)


def test_a_key_opens_a_session_and_signing_out_ends_it(keyed: Keyed) -> None:
    """The cookie is out of reach of scripts and other sites; the key is in no page."""
    visitor = Visitor(keyed.console.url)
    status, _, headers = visitor.sign_in(keyed.keys["staff"], "/console/operation?since=1d")
    assert (status, headers["Location"]) == (303, "/console/operation?since=1d")
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Path=/console" in cookie
    status, page, _ = visitor.ask("GET", "/console/playground")
    assert status == 200
    assert keyed.keys["staff"] not in page
    kept = next(iter(visitor.cookies))
    assert visitor.ask("POST", "/console/sign-out", {"csrf": visitor.csrf()})[0] == 303
    status, _, _ = Visitor(keyed.console.url).ask("GET", "/console/playground", Cookie=f"{kept.name}={kept.value}")
    assert status == 302


def test_a_session_of_somebodys_choice_is_not_taken(keyed: Keyed) -> None:
    """Who plants a cookie before the sign-in does not know the session that follows, and ends the one that was planted."""
    visitor = Visitor(keyed.console.url)
    visitor.sign_in(keyed.keys["staff"])
    before = next(iter(visitor.cookies)).value
    visitor.sign_in(keyed.keys["staff"])
    after = next(iter(visitor.cookies))
    assert after.value != before
    planted = Visitor(keyed.console.url).ask("GET", "/console/playground", Cookie=f"{after.name}={before}")
    assert planted[0] == 302
    status, _, headers = Visitor(keyed.console.url).ask(
        "POST", "/console/sign-in", {"key": keyed.keys["staff"]}, Cookie=f"{after.name}=planted"
    )
    assert status == 303
    assert "planted" not in headers["Set-Cookie"]


def test_a_revoked_key_is_out_at_once(keyed: Keyed) -> None:
    """Its session is worth nothing from the moment that the file says so."""
    new = create("leaver", ("chat", "console"))
    records = list(load(keyed.console.folder / "keys.json").values())
    save([*records, new.record], keyed.console.folder / "keys.json")
    visitor = Visitor(keyed.console.url)
    wait_until(lambda: visitor.sign_in(new.text)[0] == 303)
    assert visitor.ask("GET", "/console/playground")[0] == 200
    save([*records, new.record.model_copy(update={"revoked": new.record.created})], keyed.console.folder / "keys.json")
    wait_until(lambda: visitor.ask("GET", "/console/playground")[0] == 302)


def wait_until(holds: Any) -> None:
    import time

    for _ in range(60):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it never did")


@pytest.mark.parametrize(
    "to",
    [
        "https://evil.example/console",
        "//evil.example/console",
        "/console\\@evil",
        "/v1/models",
        "javascript:1",
        "http://[",
    ],
)
def test_signing_in_leads_nowhere_else(keyed: Keyed, to: str) -> None:
    """A link that asks for another place ends on the first screen."""
    assert Visitor(keyed.console.url).ask("GET", f"/console/sign-in?{urlencode({'to': to})}")[0] == 200
    status, _, headers = Visitor(keyed.console.url).sign_in(keyed.keys["staff"], to)
    assert (status, headers["Location"]) == (303, "/console/playground")


def test_a_key_that_does_not_open_it_is_told_why(keyed: Keyed) -> None:
    """A wrong key and one without the permission differ; neither is repeated in the page, and there is no cookie."""
    visitor = Visitor(keyed.console.url)
    status, page, headers = visitor.sign_in("caf-00000000-" + "a" * 43)
    assert (status, headers["Set-Cookie"]) == (401, None)
    assert "Invalid API key" in page
    assert "aaaa" not in page
    status, page, _ = visitor.sign_in(keyed.keys["app"])
    assert (status, "lacks the permission" in page, keyed.keys["app"] in page) == (403, True, False)


def test_guessing_keys_ends_in_429(tmp_path: Path) -> None:
    """As at the API: an address may fail so often in a minute, and a valid key is let in all the same."""
    limited = {"file": str(tmp_path / "keys.json"), "failures_per_minute": 2}
    with serve_with_keys(tmp_path, {"staff": (("console",), None)}, keys=limited) as (running, texts):
        visitor = Visitor(running.url)
        assert [visitor.sign_in("caf-guess")[0] for _ in range(4)] == [401, 401, 429, 429]
        assert visitor.sign_in(texts["staff"])[0] == 303


def test_every_answer_forbids_what_a_page_may_not_do(keyed: Keyed, console: Console) -> None:
    """Pages, errors, redirects and assets carry the same headers."""
    for url in (keyed.console.url, console.url):
        for path in ("/console/playground", "/console/sign-in", "/console/static/console.js", "/console/nowhere"):
            headers = Visitor(url).ask("GET", path)[2]
            for name, value in HEADERS.items():
                if name != "Cache-Control":
                    assert headers[name] == value, (path, name)


def test_assets_are_those_of_their_folder(console: Console) -> None:
    """A browser keeps them, and asks whether they have changed; no other file is sent."""
    visitor = Visitor(console.url)
    status, text, headers = visitor.ask("GET", "/console/static/console.css")
    assert (status, ":root" in text, headers["Content-Type"]) == (200, True, "text/css; charset=utf-8")
    again = visitor.ask("GET", "/console/static/console.css", If_None_Match=headers["ETag"])
    assert (again.status, again.text) == (304, "")
    for name in ("..%2f__init__.py", "..%2fstatic%2fconsole.css", "%2e%2e", "none.css", "%2fetc%2fpasswd"):
        assert visitor.ask("GET", f"/console/static/{name}").status == 404


def test_auto_is_off_where_there_are_keys(tmp_path: Path) -> None:
    """Whoever wants it there says so."""
    save([create("staff", ("console",)).record], tmp_path / "keys.json")
    with serve_console(tmp_path, console_config(tmp_path, keys={"file": str(tmp_path / "keys.json")})) as running:
        assert Visitor(running.url).ask("GET", "/console/sign-in")[0] == 404
        assert Visitor(running.url).ask("GET", "/")[0] == 404


def test_the_form_by_keyboard(keyed: Keyed, open_page: Any) -> None:
    """It has the focus, says what is wrong, and leads to where one was going; in both schemes and widths."""
    page = open_page(keyed.console.url + "/console/operation")
    page.keyboard.type("caf-wrong")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    open_page.errors.clear()  # the browser reports the 401 of the wrong key
    check_looks(page, "sign-in")
    page.locator("#key").fill(keyed.keys["staff"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/operation")

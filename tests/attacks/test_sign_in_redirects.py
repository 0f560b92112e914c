"""After signing in a browser goes to one of the console's own pages, whatever address a link has asked for."""

import re
from collections.abc import Iterator
from html import unescape
from itertools import product
from urllib.parse import quote, urlencode, urljoin, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.console.routes import console_routes
from tests.proxy.console.visitor import Granted, Keyed, Visitor, serve_with_keys

HOME = "/console/playground"
STARTS = (
    "//", "///", "////", "/\\", "\\/", "\\\\", "/\t/", "\t//", " //", "/\n/", "http:", "http:/", "http://", "https://", "HtTpS://",
    "//user@", "//user:pw@", "https://console@", "javascript:", "data:text/html,", "ftp://", "file:///", "%2f%2f", "/%2f", "/%5c",
    "//%09", "/;/", "/.//", "/..//", "/console/..//", "/console/../..//", "/console//", "/console/%2e%2e//", "/console/%2E./%2f",
    "/console/.%2e/%5c", "/console\\..\\\\", "/console@", "/console.", "/console:80@", "///console.", "//console.", "/consolex/",
    "/CONSOLE/../", "/console/./playground/../..//", "/console/playground/..;//", "/console/experiments/%2f%2f", "///console@",
    "/console/experiments/..%2f..%2f%2f", "/console/experiments/%252e%252e//", "/console/conversations/\x00//", "/\x00/", "//[",
)  # fmt: skip
ENDS = (
    "host.example/x",
    "host.example",
    "/host.example/console",
    "host.example/console/playground?to=/",
    "alert(1)",
    "",
)
OTHERS = (
    "",
    "/",
    "console",
    "/v1/models",
    "/metrics",
    "/console/nowhere",
    "/console/sign-in",
    "/console/playground#//x",
    "/console?x=\\",
)
WAYS = (lambda to: to, quote, lambda to: quote(quote(to, safe=""), safe="/"), str.upper)


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    granted: Granted = {"staff": (("chat", "console"), None)}
    with serve_with_keys(tmp_path_factory.mktemp("keyed"), granted) as running:
        yield running


def lands_on(keyed: Keyed, to: str) -> str:
    """Return where signing in leads; the form that is shown before holds the same."""
    url, _, headers = keyed.console.url, *Visitor(keyed.console.url).sign_in(keyed.keys["staff"], to)[1:]
    location = str(headers["Location"])
    page = Visitor(url).ask("GET", f"/console/sign-in?{urlencode({'to': to})}").text
    match = re.search(r'name="to" value="([^"]*)"', page)
    assert match, page
    assert unescape(match[1]) == location
    return location


def expect_inside(keyed: Keyed, to: str, location: str) -> None:
    """Check that an address is one of ours for a browser, which takes backslashes for slashes and drops white space."""
    base = f"{keyed.console.url}/console/sign-in"
    seen = urljoin(base, re.sub(r"[\t\r\n]", "", location.strip()).replace("\\", "/"))
    assert urlsplit(seen).netloc == urlsplit(base).netloc, (to, location)
    assert re.match(r"/console(/|\?|$)", location), (to, location)
    assert not location.startswith("/console//")
    assert location in (to, HOME)


@pytest.mark.parametrize("start", STARTS)
def test_no_form_of_another_address_is_followed(keyed: Keyed, start: str) -> None:
    """Slashes and backslashes, schemes, users, dots, control characters: plain, encoded, twice, and in capitals."""
    for end, way in product(ENDS, WAYS):
        to = way(start + end)
        location = lands_on(keyed, to)
        expect_inside(keyed, to, location)
        assert location == HOME or (to.startswith("/console/experiments/") and "%25" in to), (
            to
        )  # a run of that odd name


@pytest.mark.parametrize("to", OTHERS)
def test_what_is_no_page_of_the_console_is_not_followed(keyed: Keyed, to: str) -> None:
    """Other routes of the proxy, the form itself, and addresses without a page."""
    assert lands_on(keyed, to) == HOME


PAGES = sorted(
    {r.path for r in console_routes() if r.method == "GET" and "{rest" not in r.path and r.path != "/"}
    - {"/console/sign-in"}
)


@pytest.mark.parametrize("pattern", PAGES)
@pytest.mark.parametrize("query", ["", "?chatbot=a&page=2", "?q=%2F%2Fhost&to=//host"])
def test_every_page_of_the_console_is_followed(keyed: Keyed, pattern: str, query: str) -> None:
    """With what its address asks for, also where a name holds letters that have to be encoded."""
    if pattern.startswith("/console/") and pattern != "/console/":
        to = re.sub(r"\{\w+\}", "a%20r%C3%A9sum%C3%A9", pattern) + query
        assert lands_on(keyed, to) == to


PIECES = st.sampled_from(
    "/|//|\\|console|/console|/console/|playground|..|.|%2e|%2f|%5c|%00|%25|@|:|?|#|host.example|http:|https://|\t|\r\n| |;|[|]|é|"
    "\u2028|\uff0f|%e2%80%a8|experiments/|x".split("|")
)


@settings(max_examples=150, deadline=None)
@given(pieces=st.lists(PIECES, min_size=1, max_size=7))
def test_no_combination_leads_elsewhere(keyed: Keyed, pieces: list[str]) -> None:
    """Whatever is put together."""
    to = "".join(pieces)
    expect_inside(keyed, to, lands_on(keyed, to))

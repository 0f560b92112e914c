"""Web pages of other origins: the browser's preflight, and the page's requests."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from proxy.config.config import ConfigError, parse_config
from proxy.serving.listening import isolated_config
from tests.proxy.auth.test_access import keyed
from tests.proxy.conftest import Proxy, Start, bot_settings, dialogue

PAGE = "https://chat.example.org"
OTHER = "https://evil.example.org"
HI = {"model": "bot", "messages": dialogue("Hi")}
CRISIS = {"model": "bot", "messages": dialogue("I am going to end my life tonight"), "stream": True}
CHAT = "/v1/chat/completions"
Headers = dict[str, str]


def listing(*origins: str) -> dict[str, Any]:
    return {"server": {"cors_origins": list(origins)}}


async def ask(proxy: Proxy, method: str, path: str, headers: Headers, **body: Any) -> tuple[int, Any, bytes]:
    async with proxy.session.request(method, proxy.url + path, headers=headers, **body) as response:
        return response.status, response.headers, await response.read()


async def preflight(proxy: Proxy, path: str, origin: str, *names: str, method: str = "POST") -> tuple[int, Any]:
    """Send the preflight that a browser sends before a page's request."""
    headers = {"Origin": origin, "Access-Control-Request-Method": method}
    headers |= {"Access-Control-Request-Headers": ",".join(names)} if names else {}
    status, answer, _ = await ask(proxy, "OPTIONS", path, headers)
    return status, answer


def opened(headers: Any) -> list[str]:
    return [name for name in headers if name.lower().startswith("access-control")]


async def test_a_listed_origin_is_told_what_it_may_send(start: Start) -> None:
    """The preflight needs no key. It allows the methods, our headers, and those of OpenAI's client."""
    proxy = await start(config=listing(PAGE))
    status, headers = await preflight(proxy, CHAT, PAGE, "authorization", "content-type", "x-stainless-os", "x-odd")
    assert (status, headers["Access-Control-Allow-Origin"], headers["Vary"]) == (204, PAGE, "Origin")
    assert "POST" in headers["Access-Control-Allow-Methods"]
    allowed = headers["Access-Control-Allow-Headers"].lower().split(", ")
    assert {"authorization", "content-type", "x-caf-filter", "x-conversation-id", "x-stainless-os"} <= set(allowed)
    assert "x-odd" not in allowed
    assert "Access-Control-Allow-Credentials" not in headers
    assert (await preflight(proxy, "/v1/responses/resp_1", PAGE, method="DELETE"))[0] == 204


@pytest.mark.parametrize("origin", [OTHER, "null", "http://chat.example.org", f"{PAGE}:8443", f"{PAGE}.evil.example"])
async def test_no_other_origin_is_told_anything(start: Start, origin: str) -> None:
    """Neither preflights nor replies have the headers, and caches keep origins apart."""
    proxy = await start(config=listing(PAGE))
    status, headers = await preflight(proxy, CHAT, origin)
    assert (status, opened(headers), headers["Vary"]) == (405, [], "Origin")
    _, headers, _ = await ask(proxy, "POST", CHAT, {"Origin": origin}, json=HI)
    assert (opened(headers), headers["Vary"]) == ([], "Origin")


async def test_by_default_there_are_no_other_origins(start: Start) -> None:
    """Without the setting, no origin is allowed."""
    proxy = await start()
    status, headers = await preflight(proxy, CHAT, PAGE)
    assert (status, opened(headers)) == (405, [])


async def test_replies_streams_and_errors_can_be_read(start: Start, tmp_path: Path) -> None:
    """All statuses have the headers, else the page would see a network failure."""
    config, bearer = keyed(tmp_path)
    proxy = await start(config=config | listing(PAGE))
    page = {"Origin": PAGE}
    for status, path, headers, body in [
        (200, CHAT, bearer, {"json": HI}),
        (200, CHAT, bearer, {"json": CRISIS}),
        (400, CHAT, bearer, {"data": b"{"}),
        (401, CHAT, {}, {"json": HI}),
        (404, "/v1/completions", bearer, {"json": HI}),
        (405, "/v1/models", bearer, {"json": HI}),
    ]:
        got, answer, _ = await ask(proxy, "POST", path, headers | page, **body)
        assert (got, answer["Access-Control-Allow-Origin"]) == (status, PAGE), path
        assert "Retry-After" in answer["Access-Control-Expose-Headers"]


@pytest.mark.parametrize("path", ["/metrics", "/admin/conversations/x", "/openapi.json", "/healthz", "/console", "/"])
@pytest.mark.parametrize("origin", [PAGE, "*"])
async def test_nothing_but_v1_is_open(start: Start, tmp_path: Path, origin: str, path: str) -> None:
    """Not even with a key for it."""
    config, bearer = keyed(tmp_path, "admin")
    proxy = await start(config=config | listing(origin))
    assert opened((await preflight(proxy, path, PAGE, method="DELETE"))[1]) == []
    for method in ("GET", "DELETE"):
        assert opened((await ask(proxy, method, path, {"Origin": PAGE} | bearer))[1]) == []


async def test_every_page_may_ask_where_there_are_keys(start: Start, tmp_path: Path) -> None:
    """Each request still needs a key."""
    config, bearer = keyed(tmp_path)
    proxy = await start(config=config | listing("*"))
    status, headers = await preflight(proxy, CHAT, OTHER)
    assert (status, headers["Access-Control-Allow-Origin"]) == (204, "*")
    assert "Vary" not in headers
    for expected, key in ((401, {}), (200, bearer)):
        got, answer, _ = await ask(proxy, "POST", CHAT, {"Origin": OTHER} | key, json=HI)
        assert (got, answer["Access-Control-Allow-Origin"]) == (expected, "*")


@pytest.mark.parametrize("origin", [PAGE, "http://localhost:3000", "http://127.0.0.1:5173"])
async def test_a_page_may_chat_and_no_more_without_keys(start: Start, origin: str) -> None:
    """Also a page from this machine, where a program could do everything: a page's author is not its visitor."""
    proxy = await start(config=listing(origin))
    assert (await proxy.post(HI, {"Origin": origin}))[0] == 200
    status, error = await proxy.error(HI, {"Origin": origin, "X-CAF-Filter": "off"})
    assert (status, error["code"]) == (403, "permission_denied")
    assert (await ask(proxy, "GET", "/metrics", {"Origin": origin}))[0] == 403
    assert (await proxy.post(HI, {"X-CAF-Filter": "off"}))[0] == 200  # not from a page


async def test_the_console_is_open_to_no_other_origin(start: Start) -> None:
    """Even if `cors_origins` lists an origin of the same machine."""
    proxy = await start(config=listing("http://localhost:3000") | {"console": "on"})
    for path in ("/console/playground", "/console/conversations"):
        status, headers, _ = await ask(proxy, "GET", path, {"Origin": "http://localhost:3000"})
        assert (status, opened(headers)) == (403, [])


async def test_a_rebound_name_is_no_way_around(start: Start) -> None:
    """DNS rebinding: a page that reaches loopback under its own name has no listed origin."""
    proxy = await start(config=listing(PAGE))
    for headers in ({"Host": "evil.example:8080"}, {"Host": "evil.example", "Origin": PAGE}):
        status, _ = await proxy.error(HI, headers | {"X-CAF-Filter": "off"})
        assert status == 403


def parse(*origins: str, **more: Any) -> Any:
    chatbots = {"bot": bot_settings(knowledge_base=None)}
    data = {
        "models": {"chatbot": {"engine": "scripted", "script": ["Hello."]}},
        "chatbots": chatbots,
        **listing(*origins),
        **more,
    }
    return parse_config(data, Path("config.yaml"))


def test_every_page_needs_keys() -> None:
    """The error message gives the reason."""
    with pytest.raises(ConfigError, match="needs `keys`: without them, every web page"):
        parse("*")
    config = parse("*", keys={"env": "KEYS"})
    assert isolated_config(config).server.cors_origins == []  # a proxy of our own, which has no keys


@pytest.mark.parametrize(
    "origin",
    ["null", "chat.example.org", f"{PAGE}/", f"{PAGE}/chat", "https://*.example.org", "HTTPS://x.org", f"{PAGE}:443",
     "http://x.org:80", "https://user@x.org", "", "https://"],
)  # fmt: skip
def test_what_no_browser_sends_is_no_origin(origin: str) -> None:
    """Such a setting would never match any request."""
    with pytest.raises(ConfigError, match="cors_origins"):
        parse(origin)


@pytest.mark.parametrize("origin", [PAGE, "http://localhost:3000", "http://[::1]:8080", "capacitor://localhost"])
def test_origins_of_pages_and_apps(origin: str) -> None:
    """Any scheme is allowed."""
    assert parse(origin).server.cors_origins == [origin]


SCRIPT = """async ([url, body]) => {
    const response = await fetch(url, {
        method: 'POST', body: JSON.stringify(body),
        headers: {'Content-Type': 'application/json', 'Authorization': 'Bearer x', 'X-Conversation-Id': 'c1'},
    });
    let text = '';
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) text += piece;
    return [response.status, text];
}"""
CHROMIUM = shutil.which("chromium")


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; apt-get install chromium")
async def test_a_page_in_a_browser_reads_a_stream(start: Start) -> None:
    """A page of a listed origin can; a page of another port is blocked."""
    playwright = pytest.importorskip("playwright.async_api", reason="the Python package playwright is not installed")

    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<!doctype html><title>Chat</title>", content_type="text/html")

    site = web.Application()
    site.router.add_get("/", page)
    runner = web.AppRunner(site)
    await runner.setup()
    try:
        addresses = []
        for _ in range(2):
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            addresses.append(f"http://127.0.0.1:{runner.addresses[-1][1]}")
        listed, other = addresses
        proxy = await start(config=listing(listed))
        async with playwright.async_playwright() as started:
            browser = await started.chromium.launch(executable_path=CHROMIUM)
            tab = await browser.new_page()
            await tab.goto(listed)
            status, text = await tab.evaluate(SCRIPT, [proxy.url + CHAT, HI | {"stream": True}])
            assert (status, text.strip().splitlines()[-1]) == (200, "data: [DONE]")
            assert '"outcome":"accepted"' in text
            status, text = await tab.evaluate(SCRIPT, [f"{proxy.url}/v1/completions", HI])
            assert status == 404
            assert "/v1/chat/completions" in text
            asked = len(proxy.upstream.requests)
            await tab.goto(other)
            with pytest.raises(playwright.Error, match="Failed to fetch"):
                await tab.evaluate(SCRIPT, [proxy.url + CHAT, HI])
            assert len(proxy.upstream.requests) == asked
            await browser.close()
    finally:
        await runner.cleanup()

"""No route discloses other clients' conversations, keys, chatbots or upstreams to strangers or plain keys."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog
from aiohttp import web

from proxy.api.service import SERVICE
from proxy.app import ROUTES
from proxy.auth.keys import NewKey, create, save
from tests.proxy.conftest import ADVICE, NUDGE, Body, Proxy, Start, bot_settings, dialogue

CHAT, RESPONSE = {"messages": dialogue(NUDGE)}, {"input": NUDGE}
HEADERS = {
    "Content-Type", "Content-Length", "Date", "WWW-Authenticate", "Allow", "Retry-After", "Cache-Control", "Transfer-Encoding",
}  # fmt: skip
CHOSEN = "WORDOFOWNER-7"
"""The conversation id that its owner chose."""


@dataclass
class Scene:
    """A proxy for strangers, on which somebody with every permission has had a conversation."""

    proxy: Proxy
    keys: dict[str, NewKey]
    kept: str = ""
    """The id of a response of theirs."""

    def secrets(self) -> list[str]:
        """Return the texts that no other client may see, in any reply or log line."""
        own = [s for k in self.keys.values() for s in (k.text.split("-", 2)[2], k.record.salt, k.record.hash)]
        settings = self.proxy.app[SERVICE].config
        upstream = (settings.models["chatbot"].base_url or "").split("//")[1]
        return [
            *own, "NAMEOF", "WORDOF", "hidden", "magnesium", "gluten", upstream, "up-chatbot", settings.chatbots["bot"].role, "/kb",
            "traces.db", "keys.json", "Traceback", "aiohttp", "Python", self.kept,
        ]  # fmt: skip

    async def ask(self, who: str, method: str, path: str, body: Any = None) -> tuple[int, dict[str, str], str]:
        """Send a request with the named key; `no key` and `wrong key` are special names."""
        text = self.keys[who].text if who in self.keys else f"caf-{self.keys['owner'].record.id}-{'a' * 43}"
        headers = {} if who == "no key" else {"Authorization": f"Bearer {text}"}
        if who == "owner":
            headers["X-Conversation-Id"] = CHOSEN
        url, sent = self.proxy.url + path, {"data": body} if isinstance(body, bytes) else {"json": body}
        async with self.proxy.session.request(method, url, headers=headers, **sent) as response:
            return response.status, dict(response.headers), await response.text()


@pytest.fixture
async def scene(start: Start, tmp_path: Path) -> Scene:
    everything = ("chat", "trace", "admin", "unfiltered")
    keys = {
        "owner": create("NAMEOFOWNER", everything),
        "plain key": create("NAMEOFPLAIN", chatbots=["bot"]),
        "revoked key": create("NAMEOFREVOKED", everything),
    }
    gone = keys["revoked key"].record
    save(
        [keys["owner"].record, keys["plain key"].record, gone.model_copy(update={"revoked": gone.created})],
        tmp_path / "keys.json",
    )
    config: Body = {
        "server": {"host": "0.0.0.0"},  # for all that the proxy knows, strangers can connect
        "keys": {"file": "keys.json"},
        "embeddings": "swift",
        "privacy": {"store": "full", "path": "traces.db"},
    }
    proxy = await start(config=config, chatbots={"bot": bot_settings(), "hidden": bot_settings()})
    proxy.upstream.answer = lambda body: ADVICE
    scene = Scene(proxy, keys)
    said = {"model": "bot", "user": "NAMEOFUSER", "input": "WORDOFOWNER: which supplements?"}
    status, _, text = await scene.ask("owner", "POST", "/v1/responses", said)
    assert status == 200
    assert "magnesium" in text  # who may see the draft does
    scene.kept = json.loads(text)["id"]
    return scene


# Method, path, body, and the status for who has no valid key, and for who has a plain one.
ASKED: list[tuple[str, str, Any, int, int]] = [
    ("POST", "/v1/chat/completions", {"model": "bot", **CHAT}, 401, 200),
    ("POST", "/v1/chat/completions", {"model": "bot", **CHAT, "stream": True}, 401, 200),
    ("POST", "/v1/chat/completions", {"model": "hidden", **CHAT}, 401, 404),
    ("POST", "/v1/chat/completions", b'{"model": "bot", "messages": [', 401, 400),
    ("POST", "/v1/responses", {"model": "bot", **RESPONSE}, 401, 200),
    ("POST", "/v1/responses", {"model": "bot", **RESPONSE, "stream": True}, 401, 200),
    ("POST", "/v1/responses", {"model": "bot", **RESPONSE, "previous_response_id": "KEPT"}, 401, 404),
    ("GET", "/v1/responses/KEPT", None, 401, 404),
    ("DELETE", "/v1/responses/KEPT", None, 401, 404),
    ("GET", "/v1/models", None, 401, 200),
    ("GET", "/v1/models/bot", None, 401, 200),
    ("GET", "/v1/models/hidden", None, 401, 404),
    ("POST", "/v1/embeddings", {"model": "swift", "input": "Hi"}, 401, 404),
    ("GET", "/openapi.json", None, 200, 200),
    ("DELETE", f"/admin/conversations/{CHOSEN}", None, 401, 403),
    ("GET", "/healthz", None, 200, 200),
    ("GET", "/readyz", None, 200, 200),
    ("GET", "/metrics", None, 401, 403),
    ("GET", "/nowhere", None, 404, 404),
    ("PUT", "/metrics", None, 405, 405),
]


@pytest.mark.parametrize("who", ["no key", "wrong key", "revoked key", "plain key"])
async def test_nothing_of_anybody_else_is_told(scene: Scene, who: str) -> None:
    """By no route, header or log line of their requests, and not in errors of the upstream."""
    secrets = scene.secrets()
    for method, path, body, stranger, plain in ASKED:
        where = path.replace("KEPT", scene.kept)
        sent = json.loads(json.dumps(body).replace("KEPT", scene.kept)) if isinstance(body, dict) else body
        for broken in (False, True):
            scene.proxy.upstream.answer = failing if broken else lambda body: ADVICE
            with structlog.testing.capture_logs() as logs:
                status, headers, text = await scene.ask(who, method, where, sent)
            expected = plain if who == "plain key" else stranger
            assert status == (400 if broken and expected == 200 and method == "POST" else expected), (path, text)
            assert set(headers) <= HEADERS, path
            if status == 404:  # which repeats what it was asked for
                text = text.replace(scene.kept, "").replace("'hidden'", "")
            told = json.dumps([headers, text, logs], default=repr)
            assert not [secret for secret in secrets if secret in told], (path, told)


def failing(body: Body) -> web.Response:
    error = {"message": "WORDOFUPSTREAM for org-WORDOF", "type": "x", "param": None, "code": None}
    return web.json_response({"error": error}, status=400, headers={"X-Upstream": "WORDOFUPSTREAM"})


def test_every_route_is_asked() -> None:
    """A new route must be added to the table above."""
    asked = {(method, path) for method, path, *_ in ASKED}
    for route in ROUTES:
        assert any(method == route.method and matches(route.path, path) for method, path in asked), route.path


def matches(pattern: str, path: str) -> bool:
    """Return whether a path is one of a route's."""
    parts, asked = pattern.split("/"), path.split("/")
    return len(parts) == len(asked) and all(p.startswith("{") or p == a for p, a in zip(parts, asked, strict=True))


@pytest.mark.parametrize(
    ("method", "path", "body", "there", "not_there"),
    [
        ("POST", "/v1/chat/completions", {"model": "NAME", **CHAT}, "hidden", "nobody"),
        ("POST", "/v1/responses", {"model": "NAME", **RESPONSE}, "hidden", "nobody"),
        ("POST", "/v1/responses", {"model": "bot", **RESPONSE, "previous_response_id": "NAME"}, "KEPT", "resp_0"),
        ("GET", "/v1/responses/NAME", None, "KEPT", "resp_0"),
        ("DELETE", "/v1/responses/NAME", None, "KEPT", "resp_0"),
        ("GET", "/v1/models/NAME", None, "hidden", "nobody"),
        ("POST", "/v1/embeddings", {"model": "NAME", "input": "Hi"}, "swift", "nobody"),
        ("DELETE", "/admin/conversations/NAME", None, CHOSEN, "none"),
    ],
)
async def test_what_one_may_not_see_is_as_if_it_were_not_there(
    scene: Scene, method: str, path: str, body: Any, there: str, not_there: str
) -> None:
    """Errors do not show which chatbots, responses and conversations exist."""
    got = []
    for name in (there.replace("KEPT", scene.kept), not_there):
        sent = None if body is None else json.loads(json.dumps(body).replace("NAME", name))
        status, headers, text = await scene.ask("plain key", method, path.replace("NAME", name), sent)
        assert status in (403, 404)
        got.append((status, set(headers), text.replace(repr(name), "")))
    assert got[0] == got[1]


async def test_who_has_admin_is_told_more(scene: Scene) -> None:
    """This proves that the texts exist, and that other keys do not get them."""
    assert json.loads((await scene.ask("owner", "GET", "/readyz"))[2])["chatbots"] == ["bot", "hidden"]
    assert 'caf_turns_total{chatbot="bot"' in (await scene.ask("owner", "GET", "/metrics"))[2]
    assert (await scene.ask("owner", "GET", f"/v1/responses/{scene.kept}"))[0] == 200
    assert json.loads((await scene.ask("owner", "DELETE", f"/admin/conversations/{CHOSEN}"))[2])["responses"] == 1

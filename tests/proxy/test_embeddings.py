"""/v1/embeddings: forwarded where something embeds, else not there."""

from pathlib import Path
from typing import Any

import openai
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from proxy.config import ConfigError
from proxy.tenants.keys import create, save
from tests.proxy.conftest import Body, Proxy, Start, bot_settings
from tests.proxy.openai_upstream import ASKED, server

THROUGH = {"bot": bot_settings(), "through": {"kind": "passthrough", "model": "chatbot"}}


async def embed(proxy: Proxy, headers: dict[str, str] | None = None, **body: Any) -> tuple[int, Body]:
    async with proxy.session.post(f"{proxy.url}/v1/embeddings", json=body, headers=headers) as response:
        return response.status, await response.json()


@pytest.mark.parametrize("name", ["swift", "up-swift", "through"])
async def test_openai_client_gets_embeddings(start: Start, name: str) -> None:
    """Under the alias, under the model's own name, and under that of a passthrough chatbot; all else goes on as it came."""
    async with TestServer(upstream := server(commands=False)) as running:
        alias = {"base_url": f"{running.make_url('/v1')}"}
        proxy = await start(chatbots=THROUGH, alias=alias, config={"embeddings": "swift"})
        async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="x", max_retries=0) as client:
            answer = await client.embeddings.create(model=name, input=["a", "b"], dimensions=2, extra_body={"x": None})
    assert [e.embedding for e in answer.data] == [[0.25, -0.5]] * 2
    (sent,) = upstream[ASKED]
    assert sent["model"] == ("up-chatbot" if name == "through" else "up-swift")
    assert (sent["input"], sent["dimensions"], sent["x"]) == (["a", "b"], 2, None)


@pytest.mark.parametrize("name", ["bot", "chief", "nobody"])
async def test_what_does_not_embed_is_not_found(start: Start, name: str) -> None:
    """A guarded chatbot and an alias that was not set for it are no models for embeddings."""
    proxy = await start(chatbots=THROUGH, config={"embeddings": "swift"})
    status, body = await embed(proxy, model=name, input="a")
    assert (status, body["error"]["code"]) == (404, "model_not_found")


async def test_without_anything_that_embeds_there_is_no_such_route(start: Start) -> None:
    """As with any other path that is not served."""
    status, body = await embed(await start(), model="bot", input="a")
    assert (status, body["error"]["code"]) == (404, "http_404")


@pytest.mark.parametrize("body", [{}, {"model": 5}, {"model": ""}, {"model": None, "input": "a"}])
async def test_missing_model_is_named(start: Start, body: Body) -> None:
    """What is malformed is refused as with chat completions."""
    status, answer = await embed(await start(config={"embeddings": "swift"}), **body)
    assert (status, answer["error"]["param"]) == (400, "model")


async def test_upstreams_errors_are_relayed_and_its_keys_are_not(start: Start) -> None:
    """An error of the request is the client's; one about our key is not."""

    async def refuse(request: web.Request) -> web.Response:
        body = await request.json()
        return web.json_response(
            {"error": {"message": "m", "code": "c"}}, status=401 if body["input"] == "key" else 400
        )

    app = web.Application()
    app.router.add_post("/v1/embeddings", refuse)
    async with TestServer(app) as running:
        proxy = await start(alias={"base_url": f"{running.make_url('/v1')}"}, config={"embeddings": "swift"})
        assert await embed(proxy, model="swift", input="a") == (400, {"error": {"message": "m", "code": "c"}})
        status, body = await embed(proxy, model="swift", input="key")
    assert (status, body["error"]["code"]) == (502, "upstream_error")


async def test_key_for_certain_chatbots_is_for_nothing_else(start: Start, tmp_path: Path) -> None:
    """It may not ask the model of the setting, nor another chatbot's; what it used counts."""
    free, bound = create("free", requests_per_minute=1), create("bound", chatbots=["through"])
    save([free.record, bound.record], tmp_path / "keys.json")
    config = {"embeddings": "swift", "keys": {"file": "keys.json"}}
    async with TestServer(server(commands=False)) as running:
        proxy = await start(chatbots=THROUGH, alias={"base_url": f"{running.make_url('/v1')}"}, config=config)
        ours, theirs = ({"Authorization": f"Bearer {key.text}"} for key in (free, bound))
        assert (await embed(proxy, model="swift", input="a"))[0] == 401
        assert (await embed(proxy, theirs, model="swift", input="a"))[0] == 404
        assert (await embed(proxy, theirs, model="through", input="a"))[0] == 200
        assert [(await embed(proxy, ours, model="swift", input="a"))[0] for _ in range(2)] == [200, 429]


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"embeddings": "nobody"}, "no model alias 'nobody'"), ({"embeddings": "local"}, "has the engine 'embedded'")],
)
async def test_alias_that_cannot_embed_is_refused_at_the_door(start: Start, settings: Body, says: str) -> None:
    """The message names the setting, the alias, and what would be right."""
    with pytest.raises(ConfigError, match=f"embeddings: .*{says}|{says}"):
        await start(config={"models": {"local": {"engine": "embedded"}, "chatbot": {"engine": "embedded"}}, **settings})

"""/v1/embeddings: forwarded if an embedding model is configured, else not found."""

import asyncio
from pathlib import Path
from typing import Any

import openai
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from proxy.api.middleware import METRICS
from proxy.api.service import SERVICE
from proxy.auth.keys import create, save
from proxy.config.config import ConfigError
from tests.proxy.conftest import Body, Proxy, Start, bot_settings, dialogue, eventually
from tests.proxy.openai_upstream import ASKED, server

THROUGH = {"bot": bot_settings(), "through": {"kind": "passthrough", "model": "chatbot"}}


async def embed(proxy: Proxy, headers: dict[str, str] | None = None, **body: Any) -> tuple[int, Body]:
    async with proxy.session.post(f"{proxy.url}/v1/embeddings", json=body, headers=headers) as response:
        return response.status, await response.json()


@pytest.mark.parametrize("name", ["swift", "up-swift", "through"])
async def test_openai_client_gets_embeddings(start: Start, name: str) -> None:
    """By the alias, the model's own name, or a passthrough chatbot's name; all other fields are forwarded."""
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
    """Neither a guarded chatbot nor an unconfigured alias is an embedding model."""
    proxy = await start(chatbots=THROUGH, config={"embeddings": "swift"})
    status, body = await embed(proxy, model=name, input="a")
    assert (status, body["error"]["code"]) == (404, "model_not_found")


async def test_without_anything_that_embeds_there_is_no_such_route(start: Start) -> None:
    """The path gets the same 404 as any unknown path."""
    status, body = await embed(await start(), model="bot", input="a")
    assert (status, body["error"]["code"]) == (404, "http_404")


@pytest.mark.parametrize("body", [{}, {"model": 5}, {"model": ""}, {"model": None, "input": "a"}])
async def test_missing_model_is_named(start: Start, body: Body) -> None:
    """Malformed requests are refused as in chat completions."""
    status, answer = await embed(await start(config={"embeddings": "swift"}), **body)
    assert (status, answer["error"]["param"]) == (400, "model")


async def test_upstreams_errors_are_relayed_and_its_keys_are_not(start: Start) -> None:
    """The client gets errors of its request, but not errors about the proxy's key."""

    async def refuse(request: web.Request) -> web.Response:
        body = await request.json()
        status = {"key": 401, "fault": 500}.get(body["input"], 400)
        return web.json_response({"error": {"message": "m", "code": "c"}}, status=status)

    app = web.Application()
    app.router.add_post("/v1/embeddings", refuse)
    async with TestServer(app) as running:
        proxy = await start(alias={"base_url": f"{running.make_url('/v1')}"}, config={"embeddings": "swift"})
        assert await embed(proxy, model="swift", input="a") == (400, {"error": {"message": "m", "code": "c"}})
        for ours in ("key", "fault"):
            status, body = await embed(proxy, model="swift", input=ours)
            assert (status, body["error"]["code"]) == (502, "upstream_error")


async def test_key_for_certain_chatbots_is_for_nothing_else(start: Start, tmp_path: Path) -> None:
    """It may use neither the configured embedding model nor another chatbot's. Its usage is counted."""
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


async def test_a_key_without_embedding_models_is_told_so(start: Start, tmp_path: Path) -> None:
    """The error does not list the models of other keys."""
    bound = create("bound", chatbots=["bot"])
    save([bound.record], tmp_path / "keys.json")
    proxy = await start(chatbots=THROUGH, config={"embeddings": "swift", "keys": {"file": "keys.json"}})
    status, answer = await embed(proxy, {"Authorization": f"Bearer {bound.text}"}, model="swift", input="a")
    told = (
        "model: unknown embedding model 'swift'; this API key gives access to no embedding model; "
        "the operator can add one to its `chatbots`."
    )
    assert (status, answer["error"]["message"]) == (404, told)


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"embeddings": "nobody"}, "no model alias 'nobody'"), ({"embeddings": "local"}, "has the engine 'embedded'")],
)
async def test_alias_that_cannot_embed_is_refused_at_the_door(start: Start, settings: Body, says: str) -> None:
    """The message names the setting, the alias, and the expected value."""
    with pytest.raises(ConfigError, match=f"embeddings: .*{says}|{says}"):
        await start(config={"models": {"local": {"engine": "embedded"}, "chatbot": {"engine": "embedded"}}, **settings})


# What stands before the upstream, as before a chat


class Embedding:
    """An upstream that embeds and chats, or fails, or waits for the gate."""

    def __init__(self) -> None:
        self.gate, self.status = asyncio.Event(), 200
        self.gate.set()
        self.models: list[str] = []

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/embeddings", self.embed)
        return app

    async def embed(self, request: web.Request) -> web.Response:
        self.models.append((await request.json())["model"])
        await self.gate.wait()
        return web.json_response({"object": "list", "data": []}, status=self.status)


async def counted(proxy: Proxy, beginning: str) -> float:
    lines = (await proxy.get("/metrics"))[1].splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(beginning))


async def test_calls_wait_in_the_same_queue_as_chats(start: Start) -> None:
    """Both share one place; above the queue's limit the reply is 503 with Retry-After."""
    async with TestServer((upstream := Embedding()).app()) as running:
        alias = {"base_url": f"{running.make_url('/v1')}", "max_concurrent": 1, "queue": 1}
        proxy = await start(chatbots=THROUGH, alias=alias)
        upstream.gate.clear()
        calls = [asyncio.create_task(embed(proxy, model="through", input="a")) for _ in range(2)]
        bulkhead = proxy.app[SERVICE].chatbots["through"].models.bulkheads["chatbot"]
        await eventually(lambda: (bulkhead.running, bulkhead.waiting) == (1, 1))
        for path, more in (("embeddings", {"input": "a"}), ("chat/completions", {"messages": dialogue("Hi")})):
            async with proxy.session.post(f"{proxy.url}/v1/{path}", json={"model": "through", **more}) as response:
                assert (response.status, response.headers["Retry-After"]) == (503, "1")
                assert (await response.json())["error"]["code"] == "overloaded"
        upstream.gate.set()
        assert [(await call)[0] for call in calls] == [200, 200]
    assert (bulkhead.running, bulkhead.waiting) == (0, 0)


async def test_a_client_that_leaves_gives_its_place_back(start: Start) -> None:
    """The call is counted as cancelled."""
    async with TestServer((upstream := Embedding()).app()) as running:
        alias = {"base_url": f"{running.make_url('/v1')}", "max_concurrent": 1}
        proxy = await start(alias=alias, config={"embeddings": "swift"})
        upstream.gate.clear()
        call = asyncio.create_task(embed(proxy, model="swift", input="a"))
        await eventually(lambda: upstream.models)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        bulkhead = proxy.app[SERVICE].chatbots["bot"].models.bulkheads["swift"]
        await eventually(lambda: bulkhead.running == 0)
        assert await counted(proxy, 'caf_model_calls_total{error="cancelled",model="swift"}') == 1


@pytest.mark.parametrize("end", ["before the answer", "within it", "by the upstream"])
async def test_what_was_asked_is_paid_however_it_ends(start: Start, end: str) -> None:
    """Also if the answer is an unexpected event stream that is cut off."""
    reached = asyncio.Event()

    async def respond(request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        if end != "before the answer":
            await response.prepare(request)
            await response.write(b"data: {")
        if end == "by the upstream":
            assert request.transport is not None
            request.transport.abort()
            return response
        reached.set()
        await asyncio.sleep(20)
        return response

    app = web.Application()
    app.router.add_post("/v1/embeddings", respond)
    async with TestServer(app) as running:
        alias = {"base_url": f"{running.make_url('/v1')}", "price": {"input": 1, "output": 1}}
        proxy = await start(alias=alias, config={"embeddings": "swift"})
        call = asyncio.create_task(embed(proxy, model="swift", input="a" * 400))
        if end == "by the upstream":
            assert (await call)[0] == 502
        else:
            await reached.wait()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
    error = "UpstreamUnavailable" if end == "by the upstream" else "cancelled"
    wanted = f'caf_model_calls_total{{error="{error}",model="swift"}} 1.0'
    await eventually(lambda: wanted in proxy.app[METRICS].text().decode())
    assert await counted(proxy, "caf_model_calls_total{") == 1
    assert await counted(proxy, 'caf_tokens_total{kind="prompt",model="swift",step="embed"}') > 100
    assert await counted(proxy, 'caf_cost_total{model="swift",step="embed"}') > 100e-6


async def test_a_failing_upstream_is_left_alone(start: Start) -> None:
    """While the circuit is open no call is sent. Each call is counted with its error, time and tokens."""
    async with TestServer((upstream := Embedding()).app()) as running:
        alias = {"base_url": f"{running.make_url('/v1')}", "breaker": {"failures": 2, "open_s": 60}}
        proxy = await start(alias=alias, config={"embeddings": "swift"})
        assert (await embed(proxy, model="swift", input="a" * 400))[0] == 200
        upstream.status = 500
        assert [(await embed(proxy, model="swift", input="a"))[0] for _ in range(3)] == [502, 502, 503]
    assert len(upstream.models) == 3
    assert await counted(proxy, 'caf_model_calls_total{error="",model="swift"}') == 1
    assert await counted(proxy, 'caf_model_calls_total{error="UpstreamUnavailable",model="swift"}') == 2
    assert await counted(proxy, 'caf_model_calls_total{error="CircuitOpen",model="swift"}') == 1
    assert await counted(proxy, 'caf_tokens_total{kind="prompt",model="swift",step="embed"}') > 100
    assert await counted(proxy, 'caf_model_call_seconds_sum{model="swift"}') > 0
    assert await counted(proxy, 'caf_circuit_open{model="swift"}') == 1


async def test_only_the_same_model_elsewhere_stands_in(start: Start) -> None:
    """Vectors of another model are not comparable, and a search with them would silently fail."""
    first, same, other = Embedding(), Embedding(), Embedding()
    first.status = 500
    async with TestServer(first.app()) as a, TestServer(other.app()) as b, TestServer(same.app()) as c:
        models = {
            name: {"engine": "openai", "base_url": f"{running.make_url('/v1')}", "max_attempts": 1, **more}
            for name, running, more in (
                ("chatbot", a, {"model": "ada", "fallback": ["other", "same"]}),
                ("other", b, {"model": "bert"}),
                ("same", c, {"model": "ada", "price": {"input": 1, "output": 1}}),
            )
        }
        config = {"models": models, "embeddings": "chatbot"}
        proxy = await start(chatbots={"bot": {"kind": "passthrough", "model": "other"}}, config=config)
        assert (await embed(proxy, model="ada", input="a"))[0] == 200
        assert (first.models, other.models, same.models) == (["ada"], [], ["ada"])
        assert await counted(proxy, 'caf_model_calls_total{error="UpstreamUnavailable",model="chatbot"}') == 1
        assert await counted(proxy, 'caf_model_calls_total{error="",model="same"}') == 1
        assert await counted(proxy, 'caf_cost_total{model="same",step="embed"}') > 0

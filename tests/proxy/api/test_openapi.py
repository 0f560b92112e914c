"""/openapi.json: describes exactly the served routes, and valid or invalid requests never cause a 500."""

import asyncio
import json
from typing import Any

import jsonschema
import openai
import pytest
import schemathesis
from aiohttp.test_utils import TestServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from tests.proxy.conftest import Proxy, Start, bot_settings
from tests.proxy.openai_upstream import server

CHATBOTS = {"bot": bot_settings(), "through": {"kind": "passthrough", "model": "chatbot"}}


async def read(proxy: Proxy) -> Any:
    status, text = await proxy.get("/openapi.json")
    assert status == 200
    return json.loads(text)


@pytest.mark.parametrize("embeds", [False, True])
async def test_document_lists_every_route_and_no_other(start: Start, embeds: bool) -> None:
    """A new route needs a description, and a removed one must have none."""
    proxy = await start(config={"embeddings": "swift"} if embeds else {})
    described = {
        (path, m.upper()) for path, item in (await read(proxy))["paths"].items() for m in item if m != "parameters"
    }
    served = {
        (route.resource.canonical, route.method)
        for route in proxy.app.router.routes()
        if route.resource is not None
        and route.method not in ("HEAD", "*")
        and route.resource.canonical != "/"
        and not route.resource.canonical.startswith("/console")  # pages for people
    }
    assert described == served


async def test_every_reference_leads_somewhere(start: Start) -> None:
    """The document is self-contained."""
    document = await read(await start(chatbots=CHATBOTS))

    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [r for inner in value.values() for r in references(inner)]
        return [r for inner in value for r in references(inner)] if isinstance(value, list) else []

    for reference in references(document):
        found = document
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]


async def test_a_request_may_hold_what_users_say(start: Start) -> None:
    """The message schema of requests differs from that of replies."""
    document = await read(await start(chatbots=CHATBOTS))
    whole = {"$ref": "#/components/schemas/ChatRequest", "components": document["components"]}
    request = {"model": "bot", "messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "Hi."}]}
    jsonschema.validate(request, whole)
    reply = await (await start(chatbots=CHATBOTS)).say("Hi.")
    jsonschema.validate(reply, whole | {"$ref": "#/components/schemas/ChatCompletion"})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(request | {"messages": [{"role": "nobody", "content": "x"}]}, whole)


async def test_keys_are_described_where_there_are_some(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document says whether clients need a key."""
    assert "security" not in await read(await start())
    monkeypatch.setenv("CAF_TEST_KEYS", "[]")
    document = await read(await start(config={"keys": {"env": "CAF_TEST_KEYS"}}))
    (name,) = document["security"][0]
    assert document["components"]["securitySchemes"][name] == {"type": "http", "scheme": "bearer"}


schemathesis.checks.load_all_checks()
CHECKS = schemathesis.checks.CHECKS.get_by_names(
    ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"]
)
OPERATIONS = [
    ("/v1/chat/completions", "POST"),
    ("/v1/responses", "POST"),
    ("/v1/responses/{id}", "GET"),
    ("/v1/responses/{id}", "DELETE"),
    ("/v1/models", "GET"),
    ("/v1/models/{id}", "GET"),
    ("/v1/embeddings", "POST"),
    ("/healthz", "GET"),
    ("/readyz", "GET"),
    ("/metrics", "GET"),
    ("/admin/conversations/{id}", "DELETE"),
    ("/openapi.json", "GET"),
]


@pytest.mark.parametrize(
    ("path", "method", "mode"),
    [
        (path, method, mode)
        for path, method in OPERATIONS
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        if mode is GenerationMode.POSITIVE or method == "POST"  # a request without a body cannot be wrong
    ],
)
async def test_no_input_is_a_fault_of_ours(start: Start, path: str, method: str, mode: GenerationMode) -> None:
    """Schemathesis' valid and invalid requests are answered as documented, never with a 500."""
    async with TestServer(server(commands=True)) as upstream:
        proxy = await start(chatbots=CHATBOTS, alias={"base_url": f"{upstream.make_url('/v1')}"})
        document = await read(proxy)
        # Of any other name, only the 404 would be tested; and a chat with `through` would test the upstream.
        schemas, embed = document["components"]["schemas"], document["paths"]["/v1/embeddings"]["post"]["requestBody"]
        for schema, names in (
            (schemas["ChatRequest"], ["bot"]),
            (schemas["ResponsesRequest"], ["bot", "through"]),
            (embed["content"]["application/json"]["schema"], ["through"]),
        ):
            schema["properties"]["model"] = {"enum": names}
        operation = schemathesis.openapi.from_dict(document)[path][method]
        cases = operation.as_strategy(generation_mode=mode)
        seen: set[int] = set()

        @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(st.data())
        def fuzz(data: st.DataObject) -> None:
            case = data.draw(cases)
            response = case.call(base_url=proxy.url)
            seen.add(response.status_code)
            assert response.status_code < 500, response.text
            if "text/event-stream" not in response.headers.get("content-type", [""])[0]:
                case.validate_response(response, checks=CHECKS)

        await asyncio.to_thread(fuzz)
        assert seen
        await proxy.say("Hi")


async def test_chatbot_is_shown_as_openai_shows_a_model(start: Start) -> None:
    """A known chatbot, and OpenAI's error for an unknown one."""
    proxy = await start(chatbots=CHATBOTS)
    async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="x", max_retries=0) as client:
        model = await client.models.retrieve("through")
        assert model == next(m for m in (await client.models.list()).data if m.id == "through")
        for name in ("nobody", "a/b", "ä b", "bot/"):
            with pytest.raises(openai.NotFoundError) as caught:
                await client.models.retrieve(name)
            assert (caught.value.code, caught.value.param) == ("model_not_found", "model")

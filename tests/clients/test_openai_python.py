"""The openai SDK for Python."""

from collections.abc import Callable
from functools import cache
from typing import Any

import openai
import pytest
from pydantic import BaseModel, ConfigDict

from tests.clients.calls import CALLS, FIELDS, OTHERS, PICTURE, Call, filled
from tests.clients.conftest import CHATBOTS, DIRECT, OBSERVED, Place, Places, cases
from tests.clients.seen import gist, raised


@pytest.fixture(scope="module")
def directly(places: Places) -> Callable[[str], Any]:
    """What the SDK sees of a call, asking the server itself."""
    return cache(lambda name: seen(places[DIRECT], CALLS[name]))


@pytest.mark.parametrize(("name", "kind"), cases(CALLS))
def test_sdk_sees_the_same_through_the_proxy_as_directly(
    places: Places, directly: Callable[[str], Any], name: str, kind: str
) -> None:
    """Every field an OpenAI server sends is there with its type, the words are the same, and only `caf` is added."""
    words = CALLS[name].words_of(kind)
    assert gist(seen(places[kind], CALLS[name]), words=words) == gist(directly(name), words=words)


@pytest.mark.parametrize("kind", CHATBOTS)
def test_model_gets_what_the_client_sent(places: Places, kind: str) -> None:
    """No field is dropped, added or changed, and the picture comes along."""
    _, (asked,) = places[kind].asked(lambda: seen(places[kind], CALLS["chat_fields"]))
    streamed = {"stream": True, "stream_options": {"include_usage": True}} if kind == OBSERVED else {}
    assert asked | {"messages": 0} == FIELDS | {"model": "bot", "messages": 0} | streamed
    _, (asked,) = places[kind].asked(lambda: seen(places[kind], CALLS["chat_image"]))
    assert asked["messages"][-1]["content"][1]["image_url"]["url"] == PICTURE


class Greeting(BaseModel):
    model_config = ConfigDict(extra="forbid")

    greeting: str


@pytest.mark.parametrize("kind", [DIRECT, *CHATBOTS])
def test_sdk_parses_documents_into_the_callers_own_type(places: Places, kind: str) -> None:
    """`parse` finds in `content` what it asked for, of either endpoint."""
    client = client_of(places[kind])
    messages: Any = [{"role": "user", "content": "Hi"}]
    chat = client.chat.completions.parse(model="bot", messages=messages, response_format=Greeting)
    response = client.responses.parse(model="bot", input="Hi", text_format=Greeting)
    assert chat.choices[0].message.parsed == response.output_parsed == Greeting(greeting="Hello!")


@cache
def client_of(place: Place, wrong_key: bool = False, retries: int = 0) -> openai.OpenAI:
    """Return a client; making one takes longer than a call."""
    return openai.OpenAI(base_url=place.url, api_key="wrong" if wrong_key else place.key, max_retries=retries)


def seen(place: Place, call: Call) -> Any:
    """Make a call and return what came of it."""
    client = client_of(place, call.wrong_key, call.retries)
    reply: Any = {}
    try:
        for step in call.steps:
            reply = told(made(client, call, filled(step, gave(reply))))
    except openai.APIError as error:
        return raised(error)
    return reply


def gave(reply: Any) -> dict[str, Any]:
    """Return what a later step may need of a reply."""
    message = reply["choices"][0]["message"] if "choices" in reply else {}
    ids = [call["id"] for call in message.get("tool_calls") or ()]
    ids += [item["call_id"] for item in reply.get("output") or () if "call_id" in item]
    return {"$id": reply.get("id"), "$message": message, "$call_id": ids[0] if ids else None}


def made(client: openai.OpenAI, call: Call, body: dict[str, Any]) -> Any:
    match call.to:
        case "chat" if call.helper:
            with client.chat.completions.stream(**body) as stream:
                return stream.get_final_completion()
        case "chat":
            own = {name: value for name, value in body.items() if name not in OTHERS}
            reply = client.chat.completions.create(**own, extra_body={n: body[n] for n in OTHERS if n in body})
        case "responses" if call.helper:
            with client.responses.stream(**body) as events:
                return events.get_final_response()
        case "responses":
            reply = client.responses.create(**body)
        case "models.list":
            return list(client.models.list())
        case "models.retrieve":
            return client.models.retrieve(**body)
        case "embeddings":
            return client.embeddings.create(**body)
    return list(reply) if body.get("stream") else reply


def told(value: Any) -> Any:
    """Return what was sent, as plain data."""
    if isinstance(value, list):
        return [told(one) for one in value]
    return value.to_dict(mode="json") if isinstance(value, BaseModel) else value

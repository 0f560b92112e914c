"""The list of models that a server offers."""

import pytest
from aiohttp import web

from models.errors import ModelError, UpstreamGarbled, UpstreamRefused, UpstreamUnavailable
from models.model_list import list_models
from models.settings import ModelSettings
from proxy.serving.listening import listening_beside


def settings(address: str, **more: str) -> ModelSettings:
    return ModelSettings(engine="openai", base_url=address, **more)


async def answer(response: web.Response, **more: str) -> list[str]:
    """Call `list_models` with a server that sends one response."""

    async def handler(request: web.Request) -> web.Response:
        assert request.headers.get("Authorization") == ("Bearer sk" if more else None)
        return response

    app = web.Application()
    app.add_routes([web.get("/models", handler)])
    with listening_beside(app) as address:
        return await list_models(settings(address.removesuffix("/v1"), **more), {"KEY": "sk"})


async def test_the_names_come_in_the_servers_order_and_with_the_key() -> None:
    listed = web.json_response({"data": [{"id": "b", "more": 1}, {"id": "a"}]})
    assert await answer(listed, api_key_env="KEY") == ["b", "a"]


@pytest.mark.parametrize(
    ("response", "error"),
    [
        ({"text": "<html>"}, UpstreamGarbled),
        ({"text": "[]"}, UpstreamGarbled),
        ({"text": '{"data": [{"id": 1}]}'}, UpstreamGarbled),
        ({"text": '{"data": [1]}'}, UpstreamGarbled),
        ({"body": b"\xff\xfe"}, UpstreamGarbled),
        ({"status": 404}, UpstreamRefused),
        ({"status": 302, "headers": {"Location": "/elsewhere"}}, UpstreamRefused),
        ({"status": 503}, UpstreamUnavailable),
    ],
)
async def test_anything_else_is_an_error(response: dict[str, object], error: type[ModelError]) -> None:
    """A redirect is an error too, because another server would get the key."""
    with pytest.raises(error):
        await answer(web.Response(**response))  # type: ignore[arg-type]


async def test_a_server_that_does_not_run_is_an_error() -> None:
    with pytest.raises(UpstreamUnavailable):
        await list_models(settings("http://127.0.0.1:1"))

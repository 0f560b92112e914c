"""Routes about the proxy itself: its chatbots as models, health, metrics, OpenAPI."""

import orjson
from aiohttp import hdrs, web

from proxy.api.embeddings import embedding_names
from proxy.api.middleware import METRICS
from proxy.api.openapi import document
from proxy.api.service import SERVICE
from proxy.protocol.errors import Forbidden, ModelNotFound, Unauthorized


async def list_models(request: web.Request) -> web.Response:
    """List the chatbots that a client may use, in the form of OpenAI's list of models."""
    service = request.app[SERVICE]
    access = service.access(request)
    names = access.visible_chatbots(service.chatbots)
    return _json({"object": "list", "data": [_as_model(name) for name in names]})


async def show_model(request: web.Request) -> web.Response:
    """Return one chatbot, in the form of OpenAI's model object."""
    service = request.app[SERVICE]
    access = service.access(request)
    name, known = request.match_info["id"], access.visible_chatbots(service.chatbots)
    if name not in known:
        raise ModelNotFound.of_chatbot(name, known)
    return _json(_as_model(name))


def _as_model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "caf"}


async def healthz(request: web.Request) -> web.Response:
    """Answer the liveness probe: the process runs."""
    return _json({"status": "ok"})


async def readyz(request: web.Request) -> web.Response:
    """Answer the readiness probe: whether requests can be served.

    On a proxy with keys, only a key with the permission `admin` gets the names of the chatbots and the reason.
    """
    service = request.app[SERVICE]
    served = service.config.memory.on_error == "degrade" or await service.conversations.answers()
    answer: dict[str, object] = {"status": "ready" if served else "not ready"}
    try:
        service.authorize(request, "admin")
        answer["chatbots"] = list(service.chatbots)
        if not served:
            answer["reason"] = "the conversation store does not answer"
    except Unauthorized:
        if hdrs.AUTHORIZATION in request.headers:  # a probe needs no key, but a wrong key counts as a guess
            service.throttle.count_failure(request.remote)
    except Forbidden:
        pass
    return _json(answer, status=200 if served else 503)


async def show_metrics(request: web.Request) -> web.Response:
    """Return the metrics in Prometheus' text format. Needs the permission `admin`."""
    request.app[SERVICE].access(request, "admin")
    return web.Response(body=request.app[METRICS].text(), headers={"Content-Type": "text/plain; version=0.0.4"})


async def openapi(request: web.Request) -> web.Response:
    """Return the OpenAPI document."""
    config = request.app[SERVICE].config
    return _json(document(keys=config.keys is not None, embeddings=bool(embedding_names(config))))


def _json(data: object, status: int = 200) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(data), content_type="application/json")

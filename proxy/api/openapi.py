"""Builds the OpenAPI 3.1 document (/openapi.json). Request schemas come from the models that validate requests. Pure."""

from typing import Any

from pydantic.json_schema import models_json_schema

from proxy.api.responses.request import ResponsesRequest
from proxy.protocol.messages import ChatRequest

Schema = dict[str, Any]

ERRORS = {
    "400": "The request is malformed, or the model refused its content; `param` names the field.",
    "401": "The API key is missing or invalid.",
    "403": "The key lacks a permission.",
    "404": "The chatbot, model or response is unknown.",
    "408": "The body did not arrive within server.body_timeout_s.",
    "413": "The body is larger than server.max_body_bytes.",
    "415": "The proxy has no keys, and the Content-Type is one that any web page could send.",
    "429": "The key is over a limit, too many requests had no valid key, or the model is busy; see Retry-After.",
    "500": "The proxy failed because of an internal error.",
    "502": "The chatbot's model could not be reached, or failed.",
    "503": "The proxy is overloaded, or its store does not answer; see Retry-After.",
    "504": "The model, or the whole turn, took too long.",
}


def document(*, keys: bool, embeddings: bool) -> Schema:
    """Return the OpenAPI document of the proxy.

    Args:
        keys: Whether clients need an API key.
        embeddings: Whether /v1/embeddings is served.
    """
    paths = PATHS if embeddings else {path: item for path, item in PATHS.items() if path != "/v1/embeddings"}
    _, schemas = models_json_schema(
        [(ChatRequest, "validation"), (ResponsesRequest, "validation")], ref_template="#/components/schemas/{model}"
    )
    whole: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "CAF proxy",
            "version": "1",
            "description": "An OpenAI-compatible proxy that keeps chatbots inside their role. `model` names a chatbot.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"] | ANSWERS,
            "responses": {status: _answer(what, "Error") for status, what in ERRORS.items()},
        },
    }
    if keys:
        whole["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        whole["security"] = [{"key": []}]
    return whole


def _answer(what: str, schema: str, kind: str = "application/json") -> Schema:
    return {"description": what, "content": {kind: {"schema": _ref(schema)}}}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: Schema, *optional: str) -> Schema:
    needed = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": needed}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _operation(what: str, answer: Schema, errors: str, **more: Any) -> Schema:
    failed = {status: {"$ref": f"#/components/responses/{status}"} for status in errors.split()}
    return {"summary": what, "responses": {"200": answer} | failed, **more}


def _asked(schema: Schema) -> Schema:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _streamable(what: str, schema: str) -> Schema:
    answer = _answer(what, schema)
    answer["content"]["text/event-stream"] = {"schema": {"type": "string"}}
    return answer


def _path_id(what: str) -> list[Schema]:
    return [
        {
            "name": "id",
            "in": "path",
            "required": True,
            "description": what,
            "schema": {"type": "string", "minLength": 1},
        }
    ]


TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
MAYBE_TEXT: Schema = {"type": ["string", "null"]}
ANY_OBJECT: Schema = {"type": "object"}

ANSWERS: Schema = {
    "Error": _object({"error": _object({"message": TEXT, "type": TEXT, "param": MAYBE_TEXT, "code": MAYBE_TEXT})}),
    "Caf": _object(
        {
            "turn_id": TEXT,
            "conversation_id": TEXT,
            "outcome": {"enum": ["emergency", "fallback", "unjudged", "refined", "warned", "accepted", "unfiltered"]},
            "citations": _list(_object({"id": TEXT, "title": TEXT}))
            | {"description": "The cited sources: sections by id, documents as `doc:1`, `doc:2`, numbered per turn."},
            "warnings": _list(_object({"rule": TEXT, "message": TEXT})),
            "judges": _list(
                _object(
                    {
                        "name": TEXT,
                        "stage": {"enum": ["local", "swift", "chief"]},
                        "verdict": {"enum": ["accept", "warn", "reject", "unjudged"]},
                        "reason": TEXT,
                        "ms": {"type": "number"},
                    }
                )
            ),
            "concern": _object({"kind": TEXT}),
            "calls": COUNT,
            "ms": {"type": "number"},
        },
        "concern",
    )
    | {"description": "The result of the filter. Omitted with `expose: none`."},
    "Reply": _object(
        {"role": {"const": "assistant"}, "content": MAYBE_TEXT, "refusal": MAYBE_TEXT, "tool_calls": _list(ANY_OBJECT)},
        "tool_calls",
    ),
    "Choice": _object(
        {
            "index": COUNT,
            "message": _ref("Reply"),
            "logprobs": {"type": ["object", "null"]},
            "finish_reason": {"enum": ["stop", "length", "content_filter", "tool_calls", "function_call"]},
            "caf": _ref("Caf"),
        },
        "caf",
    ),
    "ChatCompletion": _object(
        {
            "id": TEXT,
            "object": {"const": "chat.completion"},
            "created": {"type": "integer"},
            "model": TEXT,
            "choices": _list(_ref("Choice")),
            "usage": _object({"prompt_tokens": COUNT, "completion_tokens": COUNT, "total_tokens": COUNT}),
            "caf": _ref("Caf"),
        },
        "caf",
    ),
    "Response": _object(
        {
            "id": TEXT,
            "object": {"const": "response"},
            "created_at": {"type": "integer"},
            "status": {"enum": ["completed", "incomplete"]},
            "incomplete_details": {"type": ["object", "null"]},
            "model": TEXT,
            "output": _list(_object({"id": TEXT, "type": {"enum": ["message", "function_call"]}, "status": TEXT})),
            "previous_response_id": MAYBE_TEXT,
            "store": {"type": "boolean"},
            "usage": _object({"input_tokens": COUNT, "output_tokens": COUNT, "total_tokens": COUNT}),
            "caf": _ref("Caf"),
        },
        "caf",
    ),
    "Deleted": _object({"id": TEXT, "object": {"const": "response"}, "deleted": {"const": True}}),
    "Erased": _object(
        {"id": TEXT, "object": {"const": "conversation"}, "deleted": {"const": True}}
        | dict.fromkeys(("states", "responses", "turns", "assistants"), COUNT)
    ),
    "Model": _object({"id": TEXT, "object": {"const": "model"}, "created": COUNT, "owned_by": TEXT}),
    "ModelList": _object({"object": {"const": "list"}, "data": _list(_ref("Model"))}),
    "Health": _object({"status": TEXT, "chatbots": _list(TEXT), "reason": TEXT}, "chatbots", "reason"),
}

HEADERS: list[Schema] = [
    {
        "name": "X-CAF-Filter",
        "in": "header",
        "description": "Overrides the chatbot's filter mode; needs the permission `unfiltered`.",
        "schema": {"enum": ["on", "off", "shadow"]},
    },
    {
        "name": "X-Conversation-Id",
        "in": "header",
        "description": "Id of the conversation. Without it, the proxy recognises the conversation by its history.",
        "schema": {"type": "string", "maxLength": 200},
    },
]
ASKING = "400 401 403 404 408 413 415 429 500 502 503 504"

PATHS: dict[str, Schema] = {
    "/v1/chat/completions": {
        "post": _operation(
            "Ask a chatbot. Unlisted fields are forwarded to its model.",
            _streamable("The reply; with `stream`, as events.", "ChatCompletion"),
            ASKING, requestBody=_asked(_ref("ChatRequest")), parameters=HEADERS,
        )
    },
    "/v1/responses": {
        "post": _operation(
            "Ask a chatbot through OpenAI's Responses API. Unlisted fields are forwarded to its model.",
            _streamable("The response; with `stream`, as events.", "Response"),
            ASKING, requestBody=_asked(_ref("ResponsesRequest")), parameters=HEADERS,
        )
    },
    "/v1/responses/{id}": {
        "parameters": _path_id("The id of a stored response that was created with the same key."),
        "get": _operation(
            "Read a stored response. Its input items are not available.",
            _answer("The response.", "Response"), "401 403 404 429 500 503",
        ),
        "delete": _operation("Delete a response.", _answer("Deleted.", "Deleted"), "401 403 404 429 500 503"),
    },
    "/v1/models": {"get": _operation("List the chatbots.", _answer("The chatbots.", "ModelList"), "401 403 429 500")},
    "/v1/models/{id}": {
        "parameters": _path_id("The name of a chatbot."),
        "get": _operation("Show a chatbot.", _answer("The chatbot.", "Model"), "401 403 404 429 500"),
    },
    "/v1/embeddings": {
        "post": _operation(
            "Embed texts. The request is forwarded to the embedding model.",
            {"description": "The model's answer.", "content": {"application/json": {"schema": ANY_OBJECT}}},
            ASKING, requestBody=_asked(_object({"model": TEXT, "input": {}})),
        )
    },
    "/openapi.json": {
        "get": _operation(
            "This document.",
            {"description": "OpenAPI 3.1.", "content": {"application/json": {"schema": ANY_OBJECT}}},
            "500", security=[],
        )
    },
    "/healthz": {"get": _operation("Liveness probe.", _answer("The process runs.", "Health"), "500", security=[])},
    "/readyz": {
        "get": _operation(
            "Readiness probe. On a proxy with keys, `chatbots` and `reason` need the permission `admin`.",
            _answer("Ready.", "Health"), "500", security=[],
        )
    },
    "/admin/conversations/{id}": {
        "parameters": _path_id("The `conversation_id` of a `caf` object."),
        "delete": _operation(
            "Erase a conversation: its state, stored responses and traces. Needs the permission `admin`.",
            _answer("Erased.", "Erased"), "401 403 429 500 503",
        ),
    },
    "/metrics": {
        "get": _operation(
            "Metrics for Prometheus. Needs the permission `admin`.",
            {"description": "The metrics.", "content": {"text/plain": {"schema": TEXT}}},
            "401 403 429 500",
        )
    },
}  # fmt: skip
PATHS["/readyz"]["get"]["responses"]["503"] = _answer("Not ready: the store does not answer.", "Health")

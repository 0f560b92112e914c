"""/openapi.json: an OpenAPI 3.1 document of what is served. Requests are described by the models that validate them. Pure."""

from typing import Any

from pydantic.json_schema import models_json_schema

from proxy.api.responses.request import ResponsesRequest
from proxy.protocol.messages import ChatRequest

Schema = dict[str, Any]

ERRORS = {
    "400": "Malformed, or refused by the model for its content; `param` names the field.",
    "401": "No API key, or none that is valid.",
    "403": "The key lacks a permission.",
    "404": "No chatbot, model or response of that name.",
    "408": "The body did not arrive within server.body_timeout_s.",
    "413": "The body is larger than server.max_body_bytes.",
    "415": "Without keys: a Content-Type that any web page could send.",
    "429": "A limit of the key is reached, its address fails to send a valid one, or the model is busy; see Retry-After.",
    "500": "A fault of the proxy.",
    "502": "The model behind the chatbot could not be reached.",
    "503": "The proxy is overloaded, or cannot reach its state; see Retry-After.",
    "504": "The model, or the turn as a whole, took too long.",
}


def document(*, keys: bool, embeddings: bool) -> Schema:
    """Return the document.

    Args:
        keys: Whether clients need an API key.
        embeddings: Whether embeddings are served.
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
            | {
                "description": "What the reply rests on: sections by their ids, documents as `doc:1` and on, anew in each turn."
            },
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
    | {"description": "What the filter did. Left out with `expose: none`."},
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
        "description": "Another mode of the filter than the chatbot's; needs the permission `unfiltered`.",
        "schema": {"enum": ["on", "off", "shadow"]},
    },
    {
        "name": "X-Conversation-Id",
        "in": "header",
        "description": "Names the conversation, which is else recognised by its history.",
        "schema": {"type": "string", "maxLength": 200},
    },
]
ASKING = "400 401 403 404 408 413 415 429 500 502 503 504"

PATHS: dict[str, Schema] = {
    "/v1/chat/completions": {
        "post": _operation(
            "Ask a chatbot. Fields that are not listed are forwarded to its model.",
            _streamable("The reply; with `stream`, as events.", "ChatCompletion"),
            ASKING, requestBody=_asked(_ref("ChatRequest")), parameters=HEADERS,
        )
    },
    "/v1/responses": {
        "post": _operation(
            "Ask a chatbot, in OpenAI's newer form. Fields that are not listed are forwarded to its model.",
            _streamable("The response; with `stream`, as events.", "Response"),
            ASKING, requestBody=_asked(_ref("ResponsesRequest")), parameters=HEADERS,
        )
    },
    "/v1/responses/{id}": {
        "parameters": _path_id("The id of a response that was asked for with the same key, and kept."),
        "get": _operation(
            "Read a kept response. Its input items are not served.",
            _answer("The response.", "Response"), "401 403 404 429 500 503",
        ),
        "delete": _operation("Forget a response.", _answer("It is forgotten.", "Deleted"), "401 403 404 429 500 503"),
    },
    "/v1/models": {"get": _operation("List the chatbots.", _answer("One entry each.", "ModelList"), "401 403 429 500")},
    "/v1/models/{id}": {
        "parameters": _path_id("The name of a chatbot."),
        "get": _operation("Show a chatbot.", _answer("The chatbot.", "Model"), "401 403 404 429 500"),
    },
    "/v1/embeddings": {
        "post": _operation(
            "Embed texts; forwarded as it comes.",
            {"description": "What the model answers.", "content": {"application/json": {"schema": ANY_OBJECT}}},
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
    "/healthz": {"get": _operation("Say that the process lives.", _answer("It does.", "Health"), "500", security=[])},
    "/readyz": {
        "get": _operation(
            "Say that requests can be served; where there are keys, what is served only to one with the permission `admin`.",
            _answer("They can.", "Health"), "500", security=[],
        )
    },
    "/admin/conversations/{id}": {
        "parameters": _path_id("The id of a conversation, as `caf` tells it."),
        "delete": _operation(
            "Forget a conversation: its state, its kept responses, its traces; it takes the permission `admin`.",
            _answer("It is forgotten.", "Erased"), "401 403 429 500 503",
        ),
    },
    "/metrics": {
        "get": _operation(
            "Metrics, for Prometheus; it takes the permission `admin`.",
            {"description": "The metrics.", "content": {"text/plain": {"schema": TEXT}}},
            "401 403 429 500",
        )
    },
}  # fmt: skip
PATHS["/readyz"]["get"]["responses"]["503"] = _answer("They cannot, since the store does not answer.", "Health")

"""Advice for clients that call a route which other servers have, but this proxy does not. Pure."""

CHAT = "Use POST /v1/chat/completions, with `messages`"
ELSEWHERE = "Chatbots here only answer in text; use the model's own server for this."

MISSING_ROUTES = {
    "/v1/completions": f'{CHAT} in place of `prompt`: [{{"role": "user", "content": PROMPT}}].',
    "/v1/messages": f"This is not Anthropic's API. {CHAT}.",
    "/api/chat": f"This is not Ollama's API. {CHAT}.",
    "/api/generate": f"This is not Ollama's API. {CHAT} in place of `prompt`.",
    "/v1/assistants": "Assistants are not supported: `model` names a configured chatbot. Use POST /v1/responses.",
    "/v1/threads": f"Threads are not supported. {CHAT}, or POST /v1/responses, which continues `previous_response_id`.",
    "/v1/conversations": "Use POST /v1/responses with `previous_response_id`, or the header X-Conversation-Id.",
    "/v1/embeddings": "No model for embeddings is configured. Set `embeddings` in the configuration.",
    "/v1/files": "Uploads are not supported. Send source texts in `documents` of POST /v1/chat/completions.",
    "/v1/uploads": "Uploads are not supported. Send source texts in `documents` of POST /v1/chat/completions.",
    "/v1/vector_stores": "Vector stores are not supported. The proxy searches the chatbot's knowledge base for every question.",
    "/v1/batches": f"Batches are not supported. {CHAT} for each request.",
    "/v1/moderations": f"{CHAT}; the reply's `caf` object has the filter's verdicts.",
    "/v1/images": ELSEWHERE,
    "/v1/audio": ELSEWHERE,
    "/v1/videos": ELSEWHERE,
    "/v1/realtime": f"{ELSEWHERE} {CHAT} and `stream`.",
    "/v1/fine_tuning": ELSEWHERE,
}
"""Advice by path. It also applies to the paths below."""
SERVED = ("/chat/completions", "/responses", "/models", "/embeddings")
"""Routes below /v1. Clients call a wrong path if their base URL does not end with /v1, or contains it twice."""


def advise(path: str) -> str:
    """Return advice on what to call instead of a path that the proxy does not serve."""
    for beginning, advice in MISSING_ROUTES.items():
        if f"{path}/".startswith(f"{beginning}/"):
            return advice
    if any(path.removeprefix("/v1/v1").startswith(route) for route in SERVED):
        return "Set the client's base URL (base_url) to an address that ends with /v1, once."
    return "The API is under /v1; see /openapi.json."

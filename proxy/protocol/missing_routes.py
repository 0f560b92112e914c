"""What to use instead of routes that other servers have and this one has not. Pure."""

CHAT = "Use POST /v1/chat/completions, with `messages`"
ELSEWHERE = "A chatbot here answers in text; ask the model's own server for this."

MISSING_ROUTES = {
    "/v1/completions": f'{CHAT} in place of `prompt`: [{{"role": "user", "content": PROMPT}}].',
    "/v1/messages": f"This is not Anthropic's API. {CHAT}.",
    "/api/chat": f"This is not Ollama's API. {CHAT}.",
    "/api/generate": f"This is not Ollama's API. {CHAT} in place of `prompt`.",
    "/v1/assistants": "There are no assistants here: `model` names a chatbot of the configuration. Use POST /v1/responses.",
    "/v1/threads": f"There are no threads here. {CHAT}, or POST /v1/responses, which continues `previous_response_id`.",
    "/v1/conversations": "Use POST /v1/responses with `previous_response_id`, or the header X-Conversation-Id.",
    "/v1/embeddings": "No model for embeddings is configured here (the setting `embeddings`).",
    "/v1/files": "Nothing is uploaded here. What a reply may rest on goes into `documents` of POST /v1/chat/completions.",
    "/v1/uploads": "Nothing is uploaded here. What a reply may rest on goes into `documents` of POST /v1/chat/completions.",
    "/v1/vector_stores": "Sections of the chatbot's knowledge base are found for every question; nothing is to be stored.",
    "/v1/batches": f"There are no batches here. {CHAT} for each.",
    "/v1/moderations": f"{CHAT}; what the filter did is in `caf` of the reply.",
    "/v1/images": ELSEWHERE,
    "/v1/audio": ELSEWHERE,
    "/v1/videos": ELSEWHERE,
    "/v1/realtime": f"{ELSEWHERE} {CHAT} and `stream`.",
    "/v1/fine_tuning": ELSEWHERE,
}
"""By the beginning of a path: a route and those below it."""
SERVED = ("/chat/completions", "/responses", "/models", "/embeddings")
"""Routes below /v1 that clients miss if their address lacks the /v1, or has it twice."""


def advise(path: str) -> str:
    """Say what to use instead of a path that nobody serves."""
    for beginning, advice in MISSING_ROUTES.items():
        if f"{path}/".startswith(f"{beginning}/"):
            return advice
    if any(path.removeprefix("/v1/v1").startswith(route) for route in SERVED):
        return "End the address that clients are given (base_url) with /v1, once."
    return "The API is under /v1; /openapi.json describes it."

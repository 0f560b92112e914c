"""What a client saw, reduced to what must be the same through the proxy and directly."""

from typing import Any

import openai

FIXED = ("type", "object", "status", "role", "finish_reason", "code", "param", "error", "http_status", "retry_after")
"""Words that mean something to a program."""
LOOSE = ("caf", "temperature", "top_p")
"""What the proxy adds; and OpenAI tells its defaults, which here are the upstream's secret."""
SPOKEN = ("content", "refusal", "arguments", "delta", "text", "args", "token", "response")
OWN_FAULT = (400, 401, 404)


def raised(error: openai.APIError) -> dict[str, Any]:
    """Write what a client raised."""
    status, wait = None, 0
    if isinstance(error, openai.APIStatusError):
        status, wait = error.status_code, int(error.response.headers.get("Retry-After", 0))
    named = {"code": error.code, "type": error.type, "param": error.param}
    return {"error": type(error).__name__, "http_status": status, "retry_after": wait, **named}


def gist(value: Any, *, words: bool = True) -> dict[str, Any]:
    """Return what must be the same of what a client saw: names and types, counts of tokens, and what was said.

    Args:
        words: Whether it has to be said in the same words.
    """
    return {"shape": shape(value), "words": spoken(value) if words else None}


def shape(value: Any) -> Any:
    """Reduce a value to names and types; of a list to its different shapes in order, since texts may be cut otherwise."""
    if isinstance(value, dict):
        dropped = LOOSE
        if value.get("http_status", 400) not in OWN_FAULT:
            # What a failure is called that is not the client's own is the proxy's affair: programs go by the status, and by
            # what their library makes of it.
            dropped += ("code", "type", "param")
        return {
            name: inner if _fixed(name, inner) else shape(inner)
            for name, inner in sorted(value.items())
            if name not in dropped
        }
    if isinstance(value, list | tuple):
        shapes = [shape(inner) for inner in value if not _goes_on(inner)]
        return [s for i, s in enumerate(shapes) if i == 0 or s != shapes[i - 1]]
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def _goes_on(chunk: Any) -> bool:
    """Say whether a chunk holds only more of a tool call's arguments, which may come in one piece or in many."""
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    calls = [call for choice in choices or () for call in choice.get("delta", {}).get("tool_calls") or ()]
    return bool(calls) and not any(call.get("id") for call in calls)


def _fixed(name: str, value: Any) -> bool:
    return (name in FIXED and isinstance(value, str | int)) or (name.endswith("_tokens") and isinstance(value, int))


def spoken(value: Any) -> dict[str, str]:
    """Return the texts in a value, those of each name joined in order: what was said, however it was cut."""
    texts: dict[str, str] = {}
    _gather(value, texts)
    return texts


def _gather(value: Any, texts: dict[str, str]) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in SPOKEN and isinstance(inner, str):
                texts[name] = texts.get(name, "") + inner
            elif name not in LOOSE:
                _gather(inner, texts)
    elif isinstance(value, list | tuple):
        for inner in value:
            _gather(inner, texts)

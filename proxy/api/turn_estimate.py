"""Estimates the usage of a turn. The estimate is reserved from the limits of the client's key before the turn begins."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from models.budget import MAX_ANSWER_TOKENS
from models.client import Models
from models.fallback import chain, with_all_asked
from models.usage import BYTES_PER_TOKEN, MAX_TOKEN_COUNT, Usage
from proxy.auth.limits import Estimate, Reservation
from proxy.turn.chatbot import Chatbot

ADDED_TOKENS = 4_000
"""Estimated tokens that a model call's prompt contains besides the request: role, sections, a judge's instructions."""
MAX_CHOICES = 128


def estimate_turn(bot: Chatbot, data: Mapping[str, Any]) -> Estimate:
    """Estimate the usage of a turn from its request.

    For the first turn of a key, this is one long call of each model that the turn may call. For later turns, the minimum is the
    usage of the draft.
    """
    prompt, answer = _prompt_tokens(data), _answer_tokens(bot, data)
    first = Usage(prompt + ADDED_TOKENS, max(answer, MAX_ANSWER_TOKENS))
    asked = with_all_asked(bot.aliases, bot.models.settings)
    dearest = _costs(bot.models, chain(bot.settings.model, bot.models.settings), Usage(prompt, answer))
    return Estimate(
        bot.name,
        Reservation(
            len(asked) * (first.prompt_tokens + first.completion_tokens), sum(_costs(bot.models, asked, first))
        ),
        Reservation(prompt + answer, max(dearest)),
    )


def _costs(models: Models, aliases: Iterable[str], usage: Usage) -> list[float]:
    return [usage.cost(models.settings[alias].price) or 0.0 for alias in aliases]


def _answer_tokens(bot: Chatbot, data: Mapping[str, Any]) -> int:
    """Return the maximum tokens of all choices together, as set in the request, or else in the model's settings."""
    lengths = (_count(data.get(name), MAX_TOKEN_COUNT) for name in ("max_completion_tokens", "max_tokens"))
    longest = max(lengths) or bot.models.settings[bot.settings.model].max_tokens or MAX_ANSWER_TOKENS
    return longest * (_count(data.get("n"), MAX_CHOICES) or 1)


def _count(value: object, most: int) -> int:
    return min(max(0, value), most) if isinstance(value, int) else 0


def _prompt_tokens(data: Mapping[str, Any]) -> int:
    """Estimate the tokens of a request from its size, without media parts, whose size does not tell the number of tokens."""
    messages = data.get("messages")
    contents = [one.get("content") for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
    parts = [part for content in contents if isinstance(content, list) for part in content]
    media = [part for part in parts if isinstance(part, dict) and not isinstance(part.get("text"), str)]
    try:
        return (len(orjson.dumps(data)) - len(orjson.dumps(media))) // BYTES_PER_TOKEN + 1
    except TypeError:  # such as half a surrogate pair: text that cannot be encoded is sent to no model
        return 0

"""The estimated usage of a turn before it begins."""

from typing import Any

import pytest

from judges.pipeline import Pipeline
from models.budget import MAX_ANSWER_TOKENS
from models.client import Models
from models.settings import ModelSettings
from proxy.api.turn_estimate import estimate_turn
from proxy.config.chatbot_settings import ChatbotSettings
from proxy.turn.chatbot import Chatbot


def bot(**models: dict[str, Any]) -> Chatbot:
    settings = {
        name: ModelSettings.model_validate({"engine": "openai", "base_url": "http://127.0.0.1/v1"} | more)
        for name, more in models.items()
    }
    of = ChatbotSettings(kind="passthrough", model="draft")
    return Chatbot(
        "bot", of, Models(settings, {}), None, None, Pipeline([]), None, aliases=frozenset(("draft", "chief"))
    )


def price(each: float) -> dict[str, Any]:
    return {"price": {"input": each, "output": each}}


def asks(content: Any = "Hi", **more: Any) -> dict[str, Any]:
    return {"model": "bot", "messages": [{"role": "user", "content": content}], **more}


def test_a_first_turn_may_ask_each_model() -> None:
    """Also if only a judge has a price. Fallback models count too."""
    cheap = estimate_turn(bot(draft={}, chief=price(1)), asks())
    assert cheap.first.cost > 0 == cheap.least.cost
    dear = estimate_turn(bot(draft={"fallback": ["spare"]}, chief=price(1), spare=price(3)), asks())
    assert dear.first.cost == pytest.approx(4 * cheap.first.cost)
    assert dear.least.cost > 0
    assert dear.first.tokens == pytest.approx(1.5 * cheap.first.tokens)


@pytest.mark.parametrize(
    ("request_", "settings", "answer"),
    [
        (asks(), {}, MAX_ANSWER_TOKENS),
        (asks(), {"max_tokens": 50}, 50),
        (asks(max_tokens=10), {"max_tokens": 50}, 10),
        (asks(max_completion_tokens=9_000, max_tokens=1), {}, 9_000),
        (asks(max_tokens=100, n=3), {}, 300),
        (asks(max_tokens=100, n=-3), {}, 100),
        (asks(max_tokens="many", n=[]), {}, MAX_ANSWER_TOKENS),
        (asks(max_tokens=10**300, n=10**300), {}, 128 * 2**31),
    ],
)
def test_the_answer_is_as_long_as_request_or_settings_allow(
    request_: dict[str, Any], settings: dict[str, Any], answer: int
) -> None:
    """For all choices together; invalid values are ignored."""
    least = estimate_turn(bot(draft=settings, chief={}), request_).least
    assert 0 <= least.tokens - answer < 60


def test_the_prompt_is_all_of_the_request_but_media() -> None:
    """Models read the text of any field. An image's bytes do not show its tokens."""
    small = estimate_turn(bot(draft={}, chief={}), asks()).least.tokens
    long = "x" * 40_000
    for request in (asks(long), asks(tools=[long]), asks([{"type": "text", "text": long}]), asks(documents=[long])):
        assert estimate_turn(bot(draft={}, chief={}), request).least.tokens - small == pytest.approx(10_000, abs=20)
    for part in (
        {"type": "image_url", "image_url": {"url": long}},
        {"type": "input_audio", "input_audio": {"data": long}},
    ):
        assert estimate_turn(bot(draft={}, chief={}), asks([part])).least.tokens - small < 20


@pytest.mark.parametrize(
    "data", [{}, {"messages": 1}, {"messages": [1, {}, {"content": [1, None]}]}, asks("\ud800"), {"n": True}]
)
def test_no_shape_of_a_request_is_too_much(data: dict[str, Any]) -> None:
    """The request is not validated yet."""
    assert estimate_turn(bot(draft={}, chief={}), data).least.tokens > 0

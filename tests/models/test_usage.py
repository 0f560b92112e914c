"""Usage and costs, whether or not the upstream reports them."""

import pytest

from models.settings import Price
from models.usage import Call, Ledger, Usage, estimate_tokens
from tests.models.conftest import completion

REQUEST = {"messages": [{"role": "user", "content": "x" * 40}]}


def test_reported_usage_is_taken():
    """Unknown details of the usage are ignored."""
    body = {"usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 99, "completion_tokens_details": {}}}
    usage = Usage.from_body(body)
    assert (usage, usage.estimated) == (Usage(3, 4), False)
    assert usage.as_openai() == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


@pytest.mark.parametrize("reported", [None, 7, "many", [], {}, {"prompt_tokens": -1, "completion_tokens": True}])
def test_nonsense_is_estimated(reported):
    """An invalid count is estimated from the text and marked as an estimate."""
    usage = Usage.from_body(completion("y" * 80) | {"usage": reported}, REQUEST)
    assert (usage, usage.estimated) == (Usage(10, 20), True)


@pytest.mark.parametrize("body", [{}, {"choices": None}, {"choices": [1, None]}, {"choices": [{"message": 3}]}])
def test_nothing_to_estimate_from_is_zero(body):
    """No form of a body raises an exception."""
    assert Usage.from_body(body) == Usage(0, 0)


def test_images_and_ids_are_not_text():
    """An image of a megabyte does not count as 250,000 tokens."""
    image = {"type": "image_url", "image_url": {"url": "data:" + "x" * 9999}}
    request = {"messages": [{"role": "user", "content": [image, {"type": "text", "text": "x" * 40}]}]}
    assert Usage.from_body(completion("y" * 80) | {"usage": None}, request) == Usage(10, 20)


def test_ledger_adds_up():
    """Costs are summed where a price is known. Without any price, the cost is None."""
    ledger = Ledger()
    assert (ledger.usage, ledger.cost) == (Usage(), None)
    price = Price(input=2, output=10)
    ledger.add(Call("draft", "a", 1.0, Usage(1000, 100), Usage(1000, 100).cost(price), None))
    ledger.add(Call("judge", "b", 1.0, Usage(10, 1), Usage(10, 1).cost(None), None))
    assert ledger.usage == Usage(1010, 101)
    assert ledger.cost == pytest.approx(0.003)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("word", 1), ("words", 2), ("æøå", 2), ("\ud800", 1)])
def test_estimate(text, tokens):
    """The estimate is bytes divided by four, rounded up. Unpaired surrogates are accepted."""
    assert estimate_tokens(text) == tokens

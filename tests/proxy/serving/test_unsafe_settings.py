"""Whoever runs the proxy is told what takes protection away; budgets of money hold only where models have a price."""

from pathlib import Path
from typing import Any

from proxy.auth.key_ring import KeyRing
from proxy.auth.keys import create, save
from proxy.config.config import parse_config
from proxy.serving.unsafe_settings import unsafe_settings

PRICE = {"input": 1, "output": 2}
PAID = {"engine": "openai", "base_url": "http://127.0.0.1:9/v1"}
LOCAL = {"engine": "embedded"}
PLAIN = {"kind": "passthrough", "model": "m"}
GUARDED = {
    "model": "m", "role": "r", "refiner": "s", "emergency": {"contact": "c"}, "judges": [{"name": "emergency", "stages": ["local"]}]
}  # fmt: skip


def said(folder: Path, models: dict[str, Any], bot: dict[str, Any] = GUARDED, **key: Any) -> str:
    """Return what is told of a chatbot `bot` and a key, besides that of forwarding."""
    made = create("app", **key)
    save([made.record], folder / "keys.json")
    config = parse_config({"models": models, "chatbots": {"bot": bot}}, folder / "config.yaml")
    told = [one for one in unsafe_settings(config, KeyRing(folder / "keys.json")) if "forwarded" not in one]
    return "; ".join(told).replace(made.record.id, "ID")


def test_a_budget_that_counts_nothing_is_named(tmp_path: Path) -> None:
    """With every model that the chatbot may ask: its own, those of judges and refiner, those that stand in."""
    models = {"m": PAID | {"price": PRICE, "fallback": ["spare"]}, "s": PAID, "spare": PAID}
    told = (
        "bot: models.s, models.spare without a `price`: its calls do not count in daily budgets, such as that of key ID"
    )
    assert said(tmp_path, models, daily_budget=5) == told
    assert said(tmp_path, {"m": PAID}, PLAIN, daily_budget=5).startswith("bot: models.m without")


def test_a_budget_that_counts_is_not(tmp_path: Path) -> None:
    """Where all have their price or are free; for keys without a budget, or for another chatbot."""
    unpriced = {"m": PAID, "s": PAID}
    assert said(tmp_path, {name: PAID | {"price": PRICE} for name in "ms"}, daily_budget=5) == ""
    assert said(tmp_path, {"m": LOCAL, "s": LOCAL}, daily_budget=5) == ""
    assert said(tmp_path, unpriced, requests_per_minute=5) == ""
    told = said(tmp_path, unpriced, daily_budget=5, chatbots=["gone"])
    assert "without a `price`" not in told


def test_the_model_that_embeds_is_looked_at_too(tmp_path: Path) -> None:
    """It is asked by keys for all chatbots, beside them."""
    several = [create("a", daily_budget=1), create("b", daily_budget=1), create("c", daily_budget=1, chatbots=["bot"])]
    save([one.record for one in several], tmp_path / "keys.json")
    data = {"models": {"m": LOCAL, "e": PAID}, "chatbots": {"bot": PLAIN}, "embeddings": "e"}
    told = [*unsafe_settings(parse_config(data, tmp_path / "config.yaml"), KeyRing(tmp_path / "keys.json"))][1:]
    first = several[0].record.id
    assert told == [
        f"embeddings: models.e without a `price`: its calls do not count in daily budgets, such as that of key {first} and 1 more"
    ]


def test_everything_that_takes_protection_away_is_named() -> None:
    """One sentence each; a guarded chatbot with its judges on loopback has none."""
    guarded = {"model": "m", "role": "r", "emergency": {"contact": "c"}, "refiner": None}
    judges = [{"name": "emergency", "stages": ["local"]}]

    def said(bot: dict[str, object], **server: str) -> str:
        data = {"models": {"m": {"engine": "embedded"}}, "chatbots": {"bot": bot}, "server": server}
        return "; ".join(unsafe_settings(parse_config(data, Path("config.yaml"))))

    assert said(guarded | {"judges": judges}) == ""
    assert said(guarded | {"judges": judges, "filter": "off"}) == "bot has its filter off: replies are sent unchecked"
    assert "in shadow" in said(guarded | {"judges": judges, "filter": "shadow"})
    assert said(guarded) == "bot has no judges: its replies are not checked"
    assert said(guarded | {"judges": [{"name": "role", "stages": ["local"]}]}) == "bot has no emergency judge"

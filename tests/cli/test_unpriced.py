"""Budgets of money hold only where models have a price; whoever runs the proxy is told where they have none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from cli.serve import unsafe
from proxy.config.config import parse_config
from proxy.tenants.key_ring import KeyRing
from proxy.tenants.keys import create, save
from tests.cli.conftest import Ended

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
    told = [one for one in unsafe(config, KeyRing(folder / "keys.json")) if "forwarded" not in one]
    return "; ".join(told).replace(made.record.id, "ID")


def test_a_budget_that_counts_nothing_is_named(tmp_path: Path) -> None:
    """With every model that the chatbot may ask: its own, those of judges and refiner, those that stand in."""
    models = {"m": PAID | {"price": PRICE, "fallback": ["spare"]}, "s": PAID, "spare": PAID}
    told = "bot: models.s, models.spare without a `price`: counts in no daily budget, as of the key ID"
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
    told = [*unsafe(parse_config(data, tmp_path / "config.yaml"), KeyRing(tmp_path / "keys.json"))][1:]
    first = several[0].record.id
    assert told == [
        f"embeddings: models.e without a `price`: counts in no daily budget, as of the key {first} and 1 more"
    ]


def test_caf_check_notes_it(caf: Callable[..., Ended], tmp_path: Path) -> None:
    """As a note, with the file; also when a chatbot cannot be assembled, which is told once."""
    save([create("app", daily_budget=1).record], tmp_path / "keys.json")
    config = {"models": {"m": PAID}, "chatbots": {"bot": PLAIN}, "keys": {"file": "keys.json"}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    assert "note     config.yaml: not safe: bot: models.m without a `price`" in caf("check").out
    config["chatbots"]["broken"] = GUARDED | {"refiner": "local", "knowledge_base": "nowhere"}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    ended = caf("check")
    assert (ended.code, ended.out.count("nowhere"), "Traceback" in ended.err) == (1, 1, False)

"""Names the chatbots whose use counts in nobody's daily budget, though it costs money: a model without a price is free there."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxy.config.config import Config
    from proxy.tenants.key_ring import KeyRing


def unpriced(config: "Config", keys: "KeyRing | None") -> Iterator[str]:
    """Name what keys with a daily budget may ask and models without a price answer, one sentence each."""
    from models.fallback import with_all_asked
    from proxy.app import assemble
    from proxy.config.config import ConfigError

    budgeted = [] if keys is None else [key for key in keys.valid if key.daily_budget is not None]
    if not budgeted:
        return

    def told(name: str, aliases: set[str], ids: list[str]) -> Iterator[str]:
        free = sorted(alias for alias in with_all_asked(aliases, config.models) if _unpriced(config, alias))
        if free and ids:
            of = ", ".join(f"models.{alias}" for alias in free)
            yield f"{name}: {of} without a `price`: counts in no daily budget, as of the key {_few(ids)}"

    try:
        for name, blueprint in assemble(config).items():
            yield from told(name, blueprint.aliases, [key.id for key in budgeted if name in (key.chatbots or (name,))])
    except ConfigError:  # is told where the chatbots are looked at
        pass
    if config.embeddings is not None:
        yield from told("embeddings", {config.embeddings}, [key.id for key in budgeted if key.chatbots is None])


def _unpriced(config: "Config", alias: str) -> bool:
    """Tell whether a model costs money and has no price."""
    settings = config.models[alias]
    return settings.price is None and settings.engine in ("openai", "litellm")


def _few(ids: list[str]) -> str:
    return ids[0] if len(ids) == 1 else f"{ids[0]} and {len(ids) - 1} more"

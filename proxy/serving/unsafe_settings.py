"""Warnings about settings and keys that weaken protection or lock clients out."""

from collections.abc import Iterable, Iterator

from models.fallback import with_all_asked
from proxy.auth.key_ring import KeyRing
from proxy.auth.loopback import is_loopback
from proxy.config.blueprint import assemble
from proxy.config.chatbot_settings import PLACEHOLDER, ChatbotSettings
from proxy.config.config import Config, ConfigError
from proxy.config.judge_settings import JudgeSettings


def unsafe_settings(config: Config, keys: KeyRing | None = None) -> Iterator[str]:
    """Yield a warning for each setting or key that weakens the protection of users or locks a client out."""
    exposed = not is_loopback(config.server.host)
    if not exposed:
        yield from unwritten_texts(config)
    if exposed and config.privacy.store == "full":
        yield "privacy.store: `full` stores the texts of other people; `redacted` stores no texts"
    for name, bot in config.chatbots.items():
        if bot.kind == "passthrough":
            yield f"{name} is forwarded without any check"
        elif bot.filter != "on":
            mode = "off" if bot.filter == "off" else "in shadow"
            yield f"{name} has its filter {mode}: replies are sent unchecked"
        elif not bot.judges:
            yield f"{name} has no judges: its replies are not checked"
        elif bot.emergency is not None and not bot.emergency.enabled:
            continue  # a deliberate choice
        elif (alarm := next((judge for judge in bot.judges if judge.name == "emergency"), None)) is None:
            yield f"{name} has no emergency judge"
        elif not _fires_alone(alarm):
            yield (
                f"{name}: its local emergency judge does not reject alone: an invalid request or a limit can delay or prevent the "
                "emergency text"
            )
    for key in () if keys is None else keys.valid:
        if unknown := [name for name in key.chatbots or () if name not in config.chatbots]:
            yield f"key {key.id} allows {', '.join(unknown)}, which is not configured: requests for it get status 404"
    yield from _unpriced_models(config, keys)


def unwritten_texts(config: Config) -> list[str]:
    """Return a message for each text for users that still contains the placeholder of `caf init`.

    The proxy does not serve such a configuration on an address beyond loopback.
    """
    return [
        f"chatbots.{name}.{key}: the text still says {PLACEHOLDER}, and users, even people in danger, would receive it; "
        "write your own text"
        for name, bot in config.chatbots.items()
        for key, texts in _sent_texts(bot)
        if any(PLACEHOLDER in text for text in texts)
    ]


def check_texts(config: Config) -> None:
    """Check that users on other machines cannot receive a placeholder of `caf init`.

    Raises:
        ConfigError: The proxy listens beyond loopback, and a text for users still contains the placeholder.
    """
    if not is_loopback(config.server.host) and (problems := unwritten_texts(config)):
        raise ConfigError([f"{config.file}: {problem}" for problem in problems])


def _sent_texts(bot: ChatbotSettings) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield each setting whose texts users receive verbatim, with these texts."""
    yield "fallback", bot.fallback.values()
    yield "statements", [text for one in bot.statements.values() for text in (one.not_from_sources, one.verify)]
    if bot.emergency is not None:
        yield "emergency.contact", bot.emergency.contact.values()
        yield "emergency.texts", [text for texts in bot.emergency.texts.values() for text in texts.values()]


def _fires_alone(alarm: JudgeSettings) -> bool:
    """Return whether the local emergency judge may reject alone, that is before anything else can refuse the request."""
    stages = _stages(alarm)
    return stages == ["local"] or ("local" in stages and (alarm.reject_alone is None or "local" in alarm.reject_alone))


def _stages(judge: JudgeSettings) -> list[str]:
    """Return the configured stages, or a judge's defaults."""
    return [*(judge.stages or (["local"] if judge.name == "emergency" else []))]


def _unpriced_models(config: Config, keys: KeyRing | None) -> Iterator[str]:
    """Yield a warning for each chatbot with unpriced models that keys with a daily budget may use. No cost is counted then."""
    budgeted = [] if keys is None else [key for key in keys.valid if key.daily_budget is not None]
    if not budgeted:
        return

    def name_unpriced(name: str, aliases: set[str], ids: list[str]) -> Iterator[str]:
        free = sorted(alias for alias in with_all_asked(aliases, config.models) if _has_no_price(config, alias))
        if free and ids:
            models = ", ".join(f"models.{alias}" for alias in free)
            yield f"{name}: {models} without a `price`: its calls do not count in daily budgets, such as that of key {_few(ids)}"

    try:
        for name, blueprint in assemble(config).items():
            yield from name_unpriced(
                name, blueprint.aliases, [key.id for key in budgeted if name in (key.chatbots or (name,))]
            )
    except ConfigError:  # reported where the chatbots are checked
        pass
    if config.embeddings is not None:
        yield from name_unpriced(
            "embeddings", {config.embeddings}, [key.id for key in budgeted if key.chatbots is None]
        )


def _has_no_price(config: Config, alias: str) -> bool:
    """Return whether a model costs money and has no price."""
    settings = config.models[alias]
    return settings.price is None and settings.engine in ("openai", "litellm")


def _few(ids: list[str]) -> str:
    return ids[0] if len(ids) == 1 else f"{ids[0]} and {len(ids) - 1} more"

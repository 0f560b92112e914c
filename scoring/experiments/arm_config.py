"""Makes the configuration of an arm: the settings of a proxy, or the address of another server."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from models.settings import ModelSettings
from proxy.config.blueprint import assemble
from proxy.config.config import Config, ConfigError, parse_config
from proxy.serving.listening import isolated_config
from scoring.experiment import ArmSettings, Experiment


def arm_config(data: Mapping[str, Any], experiment: Experiment, name: str, arm: ArmSettings) -> Config:
    """Return the configuration of an arm: that of the experiment with the arm's changes.

    Traces, the emergency webhook and the citation line are switched off.

    Raises:
        ConfigError: A change has an unknown key, or makes the configuration invalid.
    """
    changed = deepcopy(dict(data))
    chatbot = arm.chatbot or experiment.chatbot
    if chatbot not in changed.get("chatbots", {}):
        names = ", ".join(changed.get("chatbots", {}))
        raise ConfigError(
            [
                f"{experiment.config}: the configuration has no chatbot {chatbot!r} for arm {name!r} (configured: {names})"
            ]
        )
    fixed: dict[str, Any] = {"expose": "caf", "privacy.store": "none"}
    if changed["chatbots"][chatbot].get("kind", "guarded") != "passthrough":
        fixed[f"chatbots.{chatbot}.citations"] = "hidden"
        if changed["chatbots"][chatbot].get("emergency"):
            fixed[f"chatbots.{chatbot}.emergency.webhook"] = None  # an experiment must not alert anyone
    for key, value in (arm.set | fixed).items():
        _put(changed, key, value, f"arms.{name}.set")
    try:
        config = isolated_config(parse_config(changed, experiment.config))
        assemble(config)
    except ConfigError as error:
        raise ConfigError([f"arm {name!r}: {problem}" for problem in error.problems]) from None
    return config


def _put(data: dict[str, Any], key: str, value: Any, where: str) -> None:
    """Set a value in nested mappings at a dotted key. Missing mappings are created.

    Raises:
        ConfigError: A value on the path of the key is not a mapping.
    """
    *way, last = key.split(".")
    at: Any = data
    for part in way:
        at = at.setdefault(part, {}) if isinstance(at, dict) else None
    if not isinstance(at, dict):
        raise ConfigError([f"{where}: {key!r}: a part of this key is not a mapping: set the whole value instead"])
    at[last] = value


def server_settings(arm: ArmSettings, chatbot: str) -> ModelSettings:
    """Return the model settings of an arm that is another server."""
    headers = {} if arm.filter == "on" else {"X-CAF-Filter": arm.filter}
    return ModelSettings(
        engine="openai", base_url=arm.url, model=arm.model or chatbot, api_key_env=arm.api_key_env, headers=headers,
        timeout_s=300, max_attempts=6,
    )  # fmt: skip

"""Providers of models, and the model settings for each. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from models.settings import ModelSettings

NO_TEMPERATURE = re.compile(r"(?:.*/)?(?:o\d|gpt-5)")
"""Models that accept only their default temperature."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models with its defaults; None: the user must give the value."""

    name: str
    title: str
    engine: str = "openai"
    model: str | None = None
    url: str | None = ""
    """Default model; empty: the engine needs no name."""
    key_env: str | None = ""
    """The environment variable with the key; empty: no key; None: the user must give it, and may give none."""
    patient: bool = False
    """Whether the provider often runs on a small machine and needs longer timeouts."""

    @property
    def asks_url(self) -> bool:
        """Whether the user must give the address. A public service has the same address for everyone."""
        return self.url != "" and self.name != "openai"


PROVIDERS = {
    one.name: one
    for one in (
        Provider("openai", "OpenAI", "openai", "gpt-4.1-mini", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        Provider("azure", "Azure OpenAI", "openai", None, None, "AZURE_OPENAI_API_KEY"),
        Provider("ollama", "Ollama", "openai", "llama3.1", "http://127.0.0.1:11434/v1", patient=True),
        Provider("vllm", "vLLM", "openai", None, "http://127.0.0.1:8000/v1", patient=True),
        Provider("anthropic", "Anthropic", "litellm", "anthropic/claude-sonnet-4-5", key_env="ANTHROPIC_API_KEY"),
        Provider("litellm", "any other provider that LiteLLM supports (Gemini, Mistral ...)", "litellm", None, key_env=None),
        Provider("url", "any other OpenAI-compatible address", "openai", None, None, None),
        Provider("none", "no model: the embedded stand-in, for a first try", "embedded", ""),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """The provider, name, address and key variable of one model."""

    provider: Provider
    model: str = ""
    url: str = ""
    key_env: str = ""

    def settings(self) -> dict[str, Any]:
        """Return the settings of `models.<alias>`, in display order."""
        settings: dict[str, Any] = {"engine": self.provider.engine}
        if self.provider.name == "azure":
            settings["base_url"] = azure_address(self.url, self.model)
            if self.key_env:
                settings["headers"] = {"api-key": f"env:{self.key_env}"}
            return settings | {"query": {"api-version": "2024-10-21"}}
        if self.url:
            settings["base_url"] = self.url
        if self.key_env:
            settings["api_key_env"] = self.key_env
        if self.model:
            settings["model"] = self.model
        if self.provider.name in ("ollama", "vllm", "url"):
            settings["system_messages"] = "first"
        if self.provider.patient:
            settings["timeout_s"] = 120
        return settings

    @property
    def takes_temperature(self) -> bool:
        return not NO_TEMPERATURE.match(self.model)


def azure_address(resource: str, deployment: str) -> str:
    """Return the address of a deployment. An address from the Azure portal may already have a path."""
    if "/deployments/" in resource:
        return server_address(resource)
    parts = urlsplit(resource)
    return f"{parts.scheme}://{parts.netloc}/openai/deployments/{deployment}"


def server_address(url: str) -> str:
    """Return an address without `/chat/completions` and a query."""
    return url.split("?")[0].rstrip("/").removesuffix("/chat/completions").rstrip("/")


def check_settings(settings: Mapping[str, Any]) -> str | None:
    """Return the problem with the settings of a model alias; None if they are valid."""
    try:
        ModelSettings.model_validate(settings)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        return str(fault["msg"]).removeprefix("Value error, ")
    return None

"""The model providers that `caf init` offers, and the settings under `models` in config.yaml for each of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from models.settings import ModelSettings
from models.validation_errors import describe_fault

NO_TEMPERATURE = re.compile(r"(?:.*/)?(?:o\d|gpt-5)")
"""Names of models that reject any temperature other than their default, such as o3 and openai/gpt-5-mini."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A model provider and its defaults. A default of None means that the user must give the value."""

    name: str
    """The value of `caf init --provider`."""
    title: str
    """The name of the provider in the list that the user sees."""
    engine: str = "openai"
    """The setting `models.<alias>.engine`."""
    model: str | None = None
    """The default model. An empty string means that the engine needs no model name."""
    url: str | None = ""
    """The default address. An empty string means that the engine needs no address."""
    key_env: str | None = ""
    """The default environment variable for the API key. An empty string means that the provider needs no key. With None, the
    user is asked, and may answer `none`."""
    patient: bool = False
    """Whether models of this provider usually run on the user's own machine and need longer timeouts."""

    @property
    def asks_url(self) -> bool:
        """Whether to ask the user for the address. OpenAI has the same address for everyone."""
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
    """The location of one model: its provider, name and address, and the environment variable with its API key."""

    provider: Provider
    model: str = ""
    url: str = ""
    key_env: str = ""

    def settings(self) -> dict[str, Any]:
        """Return the settings to write under `models.<alias>`, in the order in which config.yaml shows them."""
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
        """Whether the model accepts a temperature other than its default."""
        return not NO_TEMPERATURE.match(self.model)


def azure_address(resource: str, deployment: str) -> str:
    """Return the base URL of an Azure deployment.

    Args:
        resource: URL of the Azure resource, or of the deployment itself, as the Azure portal shows it.
        deployment: Name of the deployment.
    """
    if "/deployments/" in resource:
        return server_address(resource)
    parts = urlsplit(resource)
    return f"{parts.scheme}://{parts.netloc}/openai/deployments/{deployment}"


def server_address(url: str) -> str:
    """Return a URL without its query and without `/chat/completions` at its end, as `models.<alias>.base_url` needs it."""
    return url.split("?")[0].rstrip("/").removesuffix("/chat/completions").rstrip("/")


def check_settings(settings: Mapping[str, Any]) -> str | None:
    """Validate the settings of a model alias. Return the first problem, or None if the settings are valid."""
    try:
        ModelSettings.model_validate(settings)
    except ValidationError as error:
        return describe_fault(error.errors(include_url=False)[0], show_value=False)
    return None

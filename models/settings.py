"""The settings of one model alias in config.yaml: `models.<alias>`."""

from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from models.script import Replay, Script

EngineKind = Literal["openai", "litellm", "scripted", "embedded", "assistant"]

_READ_BY: dict[str, tuple[str, ...]] = {
    "base_url": ("openai", "litellm"),
    "api_key_env": ("openai", "litellm"),
    "headers": ("openai", "litellm"),
    "query": ("openai",),
    "script": ("scripted",),
    "name": ("assistant",),
    "models": ("assistant",),
    "options": ("assistant",),
}
"""Settings that only some engines read. With another engine they are an error."""


class Price(BaseModel):
    """Price of a million tokens. Use one currency for all aliases."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0)
    """Per million prompt tokens."""
    output: float = Field(ge=0)
    """Per million completion tokens."""


class BreakerSettings(BaseModel):
    """When to pause calls to a failing upstream."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    failures: int = Field(default=5, ge=1)
    """Consecutive failed tries that open the breaker. While it is open, calls fail at once."""
    open_s: float = Field(default=30, gt=0)
    """Seconds that the breaker stays open. Then one call is let through: its result closes or reopens the breaker."""


class ModelSettings(BaseModel):
    """One model alias. Relative paths start at the validation context's `folder` (a Path), if it has one."""

    # Errors hide their input, because a value may be a secret in the wrong place.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    engine: EngineKind
    """The engine that calls the model."""
    base_url: str | None = None
    """URL of the server without `/chat/completions`, such as `https://api.openai.com/v1`."""
    api_key_env: str | None = None
    """Environment variable that holds the key, read once at start-up. Without it, no key is sent."""
    model: str | None = None
    """The upstream's name of the model. Default: the alias."""
    temperature: float | None = Field(default=None, ge=0)
    """Temperature for requests that set none. Default: the upstream's."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Maximum tokens of an answer, for requests with neither `max_tokens` nor `max_completion_tokens`."""
    timeout_s: float = Field(default=60, gt=0)
    """Maximum seconds of one try. For a forwarded stream, maximum seconds without data."""
    system_messages: Literal["anywhere", "first"] = "anywhere"
    """`first` merges all system messages into the first message, for models that refuse them elsewhere."""
    price: Price | None = None
    """Price of the tokens. Without it, costs are unknown, not zero."""
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    """Further HTTP headers. A value `env:NAME` is read from the environment at start-up."""
    query: dict[str, str] = Field(default_factory=dict, repr=False)
    """Query parameters of each request, such as Azure's `api-version`."""
    max_attempts: int = Field(default=3, ge=1, le=10)
    """Maximum tries of a request when the upstream is busy or broken."""
    trusted_evidence: bool = False
    """Whether the `documents` in its answers count as sources, for chatbots with `evidence: [upstream]`."""
    fallback: list[str] = []
    """Aliases to ask instead, in this order, when this one is broken, slow, busy or paused. A refused request has no fallback."""
    breaker: BreakerSettings | None = None
    """Pause calls to the upstream after too many consecutive failures. Without it, every call is sent."""
    max_concurrent: int | None = Field(default=None, ge=1)
    """Maximum concurrent calls. Default: no limit."""
    queue: int = Field(default=100, ge=0)
    """Maximum calls that wait for a slot under `max_concurrent`, each for at most `timeout_s`. Further calls are refused."""
    hedge_after_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Seconds without an answer after which the request is sent a second time. The first good answer wins and the other call is
    cancelled; both may cost. It does not apply to requests that a passthrough chatbot forwards."""
    thoughts: Literal["cut", "keep"] = "cut"
    """`cut` moves `<think>...</think>` and similar text from answers to the trace. `keep` is for models that write such tags as
    ordinary text."""
    structured: Literal["json_schema", "json_object", "prompt"] = "json_schema"
    """The strictest request for JSON that this model accepts. If the model refuses it, CAF uses a less strict one from then on."""
    script: Script | None = None
    """The answers of a scripted model: rules, a YAML file of rules, or `{replay: FILE}`. See models/script.py."""

    name: str | None = None
    """The assistant: one of ours, or one that a package registers under the entry point `caf.assistants`."""
    models: dict[str, str] = {}
    """Aliases of the models that an assistant asks, by their role in the assistant."""
    options: dict[str, Any] = {}
    """The assistant's own settings. You can also write them beside the others, without `options`."""

    @model_validator(mode="before")
    @classmethod
    def _gather_options(cls, data: Any) -> Any:
        """Move unknown settings of an assistant into its options. For other engines, an unknown setting is an error."""
        if not isinstance(data, dict) or data.get("engine") != "assistant":
            return data
        own = {name: value for name, value in data.items() if name not in cls.model_fields}
        rest = {name: value for name, value in data.items() if name in cls.model_fields}
        return rest | {"options": {**(data.get("options") or {}), **own}}

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must start with http:// or https:// and name a host, such as https://api.openai.com/v1")
        if parts.username or parts.password:
            raise ValueError("must not hold a user or password; name the secret's environment variable in api_key_env")
        if parts.query or parts.fragment:
            raise ValueError("must end with the path; put parameters such as api-version under `query`")
        if parts.path.rstrip("/").endswith("/chat/completions"):
            raise ValueError("must not include /chat/completions: the engine adds it")
        return value.rstrip("/")

    @field_validator("api_key_env")
    @classmethod
    def _variable(cls, value: str | None) -> str | None:
        if value is not None and not value.isidentifier():
            raise ValueError("must be the name of an environment variable, such as OPENAI_API_KEY, not the key itself")
        return value

    @field_validator("script")
    @classmethod
    def _located(cls, value: Script | None, info: ValidationInfo) -> Script | None:
        folder = Path((info.context or {}).get("folder", ""))
        if isinstance(value, Path):
            return folder / value
        return Replay(replay=folder / value.replay) if isinstance(value, Replay) else value

    @model_validator(mode="after")
    def _consistent(self) -> "ModelSettings":
        if self.engine == "openai" and not self.base_url:
            raise ValueError("engine openai needs base_url, such as https://api.openai.com/v1")
        if self.engine == "litellm" and not self.model:
            raise ValueError("engine litellm needs model with its provider, such as anthropic/claude-sonnet-4-5")
        if self.engine == "scripted" and self.script is None:
            raise ValueError("engine scripted needs script: a list of replies, a YAML file, or {replay: FILE}")
        if self.engine == "assistant" and not self.name:
            raise ValueError("engine assistant needs name, such as hippocrates")
        if "queue" in self.model_fields_set and self.max_concurrent is None:
            raise ValueError("queue needs max_concurrent; add max_concurrent, or remove queue")
        for name, engines in _READ_BY.items():
            if getattr(self, name) and self.engine not in engines:
                raise ValueError(f"{name} needs engine {' or '.join(engines)}, not {self.engine}; remove {name}")
        return self

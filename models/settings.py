"""ModelSettings, the settings of one model alias: `models.<alias>` in config.yaml."""

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
"""For each setting that only some engines read, these engines. With another engine, the setting is an error."""


class Price(BaseModel):
    """Price of a model's tokens, per million. Use the same currency for all aliases."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0)
    """Price of a million prompt tokens."""
    output: float = Field(ge=0)
    """Price of a million completion tokens."""


class BreakerSettings(BaseModel):
    """Settings of the circuit breaker, which pauses calls to a failing upstream."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    failures: int = Field(default=5, ge=1)
    """Number of consecutive failed attempts that open the breaker. While the breaker is open, calls fail at once."""
    open_s: float = Field(default=30, gt=0)
    """Seconds that the breaker stays open. After them, the result of one call closes the breaker or opens it again."""


class ModelSettings(BaseModel):
    """Settings of one model alias. Relative paths are resolved against `folder` in the validation context, if it is set."""

    # Errors hide their input, because a value may be a secret in the wrong place.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    engine: EngineKind
    """The engine that calls the model. `openai`: an OpenAI-compatible server; `litellm`: other providers; `scripted`: answers of a
    script; `embedded`: an engine of the program that embeds CAF; `assistant`: an assistant that `name` selects."""
    base_url: str | None = None
    """URL of the server without `/chat/completions`, such as `https://api.openai.com/v1`."""
    api_key_env: str | None = None
    """Environment variable that holds the API key, read once at start-up. Without this setting, no key is sent."""
    model: str | None = None
    """Name of the model at the upstream. Default: the alias."""
    temperature: float | None = Field(default=None, ge=0)
    """Temperature of requests that do not set one. Default: the upstream decides."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Maximum tokens of an answer, for requests that set neither `max_tokens` nor `max_completion_tokens`."""
    timeout_s: float = Field(default=60, gt=0)
    """Timeout of one try in seconds. For a forwarded stream, maximum seconds without data."""
    system_messages: Literal["anywhere", "first"] = "anywhere"
    """`first` merges all system messages into the first message, for models that accept system messages only there."""
    price: Price | None = None
    """Price of the tokens. Without a price, costs are unknown, not zero."""
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    """Additional HTTP headers. A value `env:NAME` is read from the environment variable NAME at start-up."""
    query: dict[str, str] = Field(default_factory=dict, repr=False)
    """Query parameters of every request, such as Azure's `api-version`."""
    max_attempts: int = Field(default=3, ge=1, le=10)
    """Maximum number of tries of a request, including retries when the upstream is busy or fails."""
    trusted_evidence: bool = False
    """Whether the `documents` in this model's answers are trusted sources, for chatbots with `evidence: [upstream]`."""
    fallback: list[str] = []
    """Aliases to ask instead, in order, if this model fails, times out, is busy or is paused. Refused requests have no fallback."""
    breaker: BreakerSettings | None = None
    """Circuit breaker: pauses calls to the upstream after too many consecutive failures. Default: no circuit breaker."""
    max_concurrent: int | None = Field(default=None, ge=1)
    """Maximum concurrent calls. Default: no limit."""
    queue: int = Field(default=100, ge=0)
    """Maximum number of calls that wait while `max_concurrent` calls run. A call waits at most `timeout_s`; further calls fail."""
    hedge_after_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Seconds without an answer after which the request is sent a second time. The first good answer is used and the other call is
    cancelled; the upstream may charge for both. Streamed and forwarded requests are not sent twice."""
    thoughts: Literal["cut", "keep"] = "cut"
    """`cut` moves `<think>...</think>` and similar text from the answer to the trace. Use `keep` for models that write such tags
    as ordinary text."""
    structured: Literal["json_schema", "json_object", "prompt"] = "json_schema"
    """The strictest way to request JSON that this model accepts. If the model refuses it, CAF switches to a less strict way."""
    script: Script | None = None
    """Answers of a scripted model: a list of rules, the path of a YAML file of rules, or `{replay: FILE}`. See models/script.py."""

    name: str | None = None
    """Name of the assistant: a built-in one, or one that a package registers under the entry point `caf.assistants`."""
    models: dict[str, str] = {}
    """Aliases of the models that the assistant asks, by role. The assistant defines the roles."""
    options: dict[str, Any] = {}
    """Settings that the assistant defines. You can also write them directly in `models.<alias>`, without `options`."""

    @model_validator(mode="before")
    @classmethod
    def _gather_options(cls, data: Any) -> Any:
        """Move the unknown settings of an assistant into `options`. With other engines, an unknown setting is an error."""
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
            raise ValueError(
                "must not hold a user or password; name the environment variable of the secret in api_key_env"
            )
        if parts.query or parts.fragment:
            raise ValueError("must not have a query or fragment; put parameters such as api-version under `query`")
        if parts.path.rstrip("/").endswith("/chat/completions"):
            raise ValueError("must not include /chat/completions, because CAF adds this path; remove the path")
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
            raise ValueError(
                "engine openai needs base_url; set it to the URL of the server, such as https://api.openai.com/v1"
            )
        if self.engine == "litellm" and not self.model:
            raise ValueError(
                "engine litellm needs model; set it to a provider and model, such as anthropic/claude-sonnet-4-5"
            )
        if self.engine == "scripted" and self.script is None:
            raise ValueError(
                "engine scripted needs script; set it to a list of replies, a YAML file, or {replay: FILE}"
            )
        if self.engine == "assistant" and not self.name:
            raise ValueError("engine assistant needs name; set it to the name of an assistant, such as hippocrates")
        if "queue" in self.model_fields_set and self.max_concurrent is None:
            raise ValueError("queue needs max_concurrent; add max_concurrent, or remove queue")
        for name, engines in _READ_BY.items():
            if getattr(self, name) and self.engine not in engines:
                raise ValueError(f"{name} needs engine {' or '.join(engines)}, not {self.engine}; remove {name}")
        return self

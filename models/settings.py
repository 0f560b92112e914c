"""What config.yaml says of one model alias: `models.<alias>`."""

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
"""Settings that only some engines read. Elsewhere they are an error, not ignored."""


class Price(BaseModel):
    """What a million tokens cost, in any currency as long as all aliases use the same."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0)
    """Per million prompt tokens."""
    output: float = Field(ge=0)
    """Per million completion tokens."""


class BreakerSettings(BaseModel):
    """When a failing upstream is left alone."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    failures: int = Field(default=5, ge=1)
    """After so many failed tries in a row, calls fail at once."""
    open_s: float = Field(default=30, gt=0)
    """For so many seconds; then one call is let through, and what it finds decides."""


class ModelSettings(BaseModel):
    """One model alias. Relative paths are taken from the validation context's `folder` (a Path), if it has one."""

    # Inputs are hidden because a value may be a secret that somebody put in the wrong place.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    engine: EngineKind
    """How the model is reached."""
    base_url: str | None = None
    """Address of the server up to and without `/chat/completions`, such as `https://api.openai.com/v1`."""
    api_key_env: str | None = None
    """Environment variable that holds the key, read once at start-up; None sends no key."""
    model: str | None = None
    """The name the upstream knows the model by; left out, the alias itself."""
    temperature: float | None = Field(default=None, ge=0)
    """Used where a request has none; left out, the upstream's own default."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Longest answer in tokens, where a request names neither `max_tokens` nor `max_completion_tokens`."""
    timeout_s: float = Field(default=60, gt=0)
    """Seconds that one try may take as a whole; for a forwarded stream, that it may stay silent."""
    system_messages: Literal["anywhere", "first"] = "anywhere"
    """`first` merges all system messages into the leading one, for models that refuse them later on."""
    price: Price | None = None
    """What tokens cost; left out, costs are unknown, which is not zero."""
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    """Further HTTP headers. A value `env:NAME` is read from the environment at start-up."""
    query: dict[str, str] = Field(default_factory=dict, repr=False)
    """Query parameters of each request, such as Azure's `api-version`."""
    max_attempts: int = Field(default=3, ge=1, le=10)
    """How often a request is tried when the upstream is busy or broken."""
    trusted_evidence: bool = False
    """Whether the `documents` that come with its answers count as sources, for chatbots with `evidence: [upstream]`."""
    fallback: list[str] = []
    """Aliases to ask in its place, in this order, when it is broken, slow, busy or left alone; never when it refuses a request."""
    breaker: BreakerSettings | None = None
    """Leave the upstream alone for a while after too many failures in a row; left out, every call is tried."""
    max_concurrent: int | None = Field(default=None, ge=1)
    """Calls under way at a time; left out, as many as there are."""
    queue: int = Field(default=100, ge=0)
    """Calls that may wait for a place under `max_concurrent`, for `timeout_s` at most; one more is refused at once."""
    hedge_after_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Send the request a second time when there is no answer after so many seconds. The first good answer counts, the other is
    cancelled; both may cost. Not for what a passthrough chatbot forwards."""
    thoughts: Literal["cut", "keep"] = "cut"
    """`cut` removes `<think>...</think>` and the like from its answers; the trace holds it. `keep` is for models that write such
    tags as ordinary text."""
    structured: Literal["json_schema", "json_object", "prompt"] = "json_schema"
    """The strictest way this model takes to be asked for JSON. What it refuses is noticed and not asked again."""
    script: Script | None = None
    """What a scripted model says: rules, a YAML file of them, or `{replay: FILE}`. See models/script.py."""

    name: str | None = None
    """Which assistant: one of ours, or one that a package registers under the entry point `caf.assistants`."""
    models: dict[str, str] = {}
    """Aliases of the models that an assistant asks, by the part that each has there."""
    options: dict[str, Any] = {}
    """The assistant's own settings. They may stand beside the others, without `options`."""

    @model_validator(mode="before")
    @classmethod
    def _gather_options(cls, data: Any) -> Any:
        """Take what an assistant alone can know for its options; for other engines it is an unknown setting."""
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
            raise ValueError("leave out /chat/completions, which is added")
        return value.rstrip("/")

    @field_validator("api_key_env")
    @classmethod
    def _variable(cls, value: str | None) -> str | None:
        if value is not None and not value.isidentifier():
            raise ValueError("is the name of an environment variable, such as OPENAI_API_KEY, not the key itself")
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
            raise ValueError("queue is only read with max_concurrent; add that, or remove it")
        for name, engines in _READ_BY.items():
            if getattr(self, name) and self.engine not in engines:
                raise ValueError(f"{name} is only read by engine {' or '.join(engines)}, not by {self.engine}")
        return self

"""The sections of the configuration file, except models and chatbots. `config.py` combines and reads them."""

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

PACKAGES = Path(__file__).resolve().parents[2]
"""The folder of caf's packages: a checkout, or the `site-packages` of an installation."""
SHIPPED = Path(__file__).with_name("config.yaml").resolve()
"""The shipped configuration. In a checkout it is a link to the file at the root, in a wheel a copy. Its relative paths start from
PACKAGES."""


def anchor_path(path: Path, info: ValidationInfo) -> Path:
    """Resolve a relative path from the folder of the configuration file."""
    return Path((info.context or {}).get("folder", "")) / path


def _anchor_data(path: Path, info: ValidationInfo) -> Path:
    """Resolve a path to write to. A path inside an installation's `site-packages` moves to the current folder."""
    anchored = anchor_path(path, info)
    place = Path(os.path.normpath(anchored))
    if place.is_relative_to(PACKAGES) and not (PACKAGES / "pyproject.toml").exists():
        return Path.cwd() / place.relative_to(PACKAGES)
    return anchored


AnchoredPath = Annotated[Path, AfterValidator(anchor_path)]
DataPath = Annotated[Path, AfterValidator(_anchor_data)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""The name of an environment variable."""


class Settings(BaseModel):
    """The base of every section: unknown keys are errors, values are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
_DEFAULT_PORT = {"http": ":80", "https": ":443"}


def _check_origin(value: str) -> str:
    if value == "null":
        raise ValueError(
            "must not be null, the origin of every page from disk or in a sandbox; serve your pages over HTTP"
        )
    default = _DEFAULT_PORT.get(value.partition(":")[0])
    if value != "*" and (not _ORIGIN.fullmatch(value) or (default and value.endswith(default))):
        raise ValueError(
            "must be an origin as browsers send it, such as https://chat.example.org or http://localhost:3000: scheme, lower-case "
            "host, port unless it is the scheme's default, no path, no pattern; or * for every page, on a proxy with keys"
        )
    return value


Origin = Annotated[str, AfterValidator(_check_origin)]


class ServerSettings(Settings):
    host: str = "127.0.0.1"
    """Address to listen on. An address beyond loopback needs `keys`."""
    port: int = Field(8080, ge=0, le=65535)
    """Port to listen on; 0: any free port."""
    max_body_bytes: int = Field(4_000_000, ge=1_000)
    """Maximum size of a request body. Larger ones get 413."""
    max_messages: int = Field(2_000, ge=1)
    """Maximum messages in a request. More get 400."""
    max_connections: int | None = Field(None, ge=1)
    """Maximum open connections per process. Further ones get 503. Default: half of (`ulimit -n` less 64), since a request may also
    need a connection to an upstream, but at most 4,096."""
    head_timeout_s: float = Field(15, gt=0)
    """Time to receive the complete head of a request, from the start of the connection or the request's first byte. Then the
    connection is closed."""
    body_timeout_s: float = Field(60, gt=0)
    """Time to receive the body of a request. Then it gets 408."""
    turn_timeout_s: float = Field(120, gt=0)
    """Maximum duration of a turn. Then it is cancelled and answered with 504."""
    header_wait_s: float = Field(10, ge=0)
    """Time that the headers of a stream wait for the verdict, so that an error can have its own status."""
    keep_alive_s: float = Field(5, gt=0)
    """Seconds between keep-alive comments after the headers of a stream."""
    grace_s: float = Field(10, ge=0)
    """Time that open turns get to finish when the proxy stops."""
    cors_origins: list[Origin] = Field([])
    """Origins whose pages may call /v1/* from a browser, such as https://chat.example.org. `*`: every page, which needs `keys`. On
    a proxy without keys, these pages may only chat."""


class MemorySettings(Settings):
    store: Literal["process", "redis"] = "process"
    """Storage of conversation state: this process, or Redis, which several processes share."""
    url: str = "redis://127.0.0.1:6379/0"
    """Address of Redis, without a password."""
    password_env: Variable | None = None
    """Environment variable with Redis' password."""
    timeout_s: float = Field(1, gt=0)
    """Time limit for connecting to Redis and for each answer."""
    on_error: Literal["closed", "degrade"] = "closed"
    """When Redis does not answer: closed refuses the request with 503. degrade serves it as a fresh conversation, which is counted
    and logged. The emergency text is sent in both cases."""
    max_turns: int = Field(10_000, ge=1, le=10_000_000)
    """Maximum turns remembered in this process, and the maximum of stored responses. The least recently used are dropped first."""
    max_age_s: float = Field(86_400, gt=0)
    """A conversation unused for this long is forgotten."""

    @field_validator("url")
    @classmethod
    def _plain(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("redis", "rediss", "unix"):
            raise ValueError("must begin with redis://, rediss:// or unix://")
        if parts.password:
            raise ValueError("must not hold a password; name its environment variable in password_env")
        return value


class KeySettings(Settings):
    file: DataPath | None = None
    """A file of salted hashes. `caf key create` creates it and adds keys. Changes apply within a second."""
    env: Variable | None = None
    """An environment variable with the content of such a file."""
    failures_per_minute: int = Field(60, ge=1)
    """Requests without a valid key that an address may send per minute. Further ones get 429 instead of 401. Requests with a valid
    key are never refused for this."""

    @model_validator(mode="after")
    def _one_of_both(self) -> "KeySettings":
        if self.file is None and self.env is None:
            raise ValueError("needs `file`, `env` or both; for a proxy without keys on loopback, leave out `keys`")
        return self


class PrivacySettings(Settings):
    store: Literal["auto", "full", "redacted", "none"] = "auto"
    """Content of traces. full: with texts. redacted: no texts, only ids, verdicts and times. none: no traces. auto: full on a
    loopback address without keys, else redacted."""
    days: float = Field(30, gt=0)
    """Traces older than this are deleted."""
    path: DataPath = Field(Path("data/traces.db"), validate_default=True)
    """The SQLite file of the traces."""
    url: str | None = None
    """Address of a PostgreSQL database, without a password. It replaces the file, and several hosts can share it."""
    password_env: Variable | None = None
    """Environment variable with PostgreSQL's password."""
    sync: Literal["batch", "turn"] = "batch"
    """When a trace is on disk. batch: about 0.2 s after the reply; a killed process loses the traces of that time. turn: before the
    reply ends, so each reply waits for the disk."""

    @field_validator("url")
    @classmethod
    def _without_password(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            parts = urlsplit(value)
            given = parts.password or "password" in parse_qs(parts.query)
            parts.port  # noqa: B018  # raises ValueError if it is invalid
        except ValueError as error:
            raise ValueError(f"is not a valid address: {error}") from None
        if given:
            raise ValueError("must not hold a password; name its environment variable in password_env")
        if parts.scheme != "postgresql" or not parts.path.strip("/"):
            raise ValueError("must be the address of a database, such as postgresql://caf@127.0.0.1:5432/caf")
        return value


class AuditSettings(Settings):
    folder: DataPath
    """Folder of the audit log. Each process writes its own file."""
    sync: Literal["turn", "second"] = "second"
    """When records are flushed to disk (fsync). turn: after each write. second: once per second, so a power cut may lose a second
    of records. No reply waits for it."""


class ConsoleSettings(Settings):
    show: Literal["auto", "on", "off"] = "auto"
    """Whether the proxy serves /console, a web page with conversations, judges and figures. auto: only without keys, that is on a
    loopback address. on: always; with keys, users need the permission `console`. off: never."""
    runs: DataPath = Field(Path("data/runs"), validate_default=True)
    """Folder of the experiments that the console shows, as written by `caf drift run`."""
    evaluations: DataPath = Field(Path("data/evaluations"), validate_default=True)
    """Folder of the evaluations that the console shows and starts, as written by `caf judges eval --out`."""

    @field_validator("show", mode="before")
    @classmethod
    def _accept_booleans(cls, value: Any) -> Any:
        """YAML reads a bare on or off as a boolean."""
        return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value

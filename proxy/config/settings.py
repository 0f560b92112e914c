"""The sections of the configuration file, except models and chatbots. `config.py` combines the sections and reads the file."""

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
    """Resolve a path that the proxy writes to. A path inside `site-packages` is moved to the current folder."""
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
    """Base class of every section of the configuration. Unknown keys are errors, and instances are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
_DEFAULT_PORT = {"http": ":80", "https": ":443"}


def _check_origin(value: str) -> str:
    if value == "null":
        raise ValueError(
            "must not be null, because every page opened from disk or in a sandbox has this origin; serve your pages over HTTP"
        )
    default = _DEFAULT_PORT.get(value.partition(":")[0])
    if value != "*" and (not _ORIGIN.fullmatch(value) or (default and value.endswith(default))):
        raise ValueError(
            "must be an origin as browsers send it, such as https://chat.example.org or http://localhost:3000 (scheme, lower-case "
            "host, and port unless it is the scheme's default, without path or pattern), or * for every page on a proxy with keys"
        )
    return value


Origin = Annotated[str, AfterValidator(_check_origin)]


class ServerSettings(Settings):
    host: str = "127.0.0.1"
    """Address to listen on. An address other than a loopback address needs `keys`."""
    port: int = Field(8080, ge=0, le=65535)
    """Port to listen on; 0: any free port."""
    max_body_bytes: int = Field(4_000_000, ge=1_000)
    """Maximum size of a request body. A larger body gets status 413."""
    max_messages: int = Field(2_000, ge=1)
    """Maximum number of messages in a request. A request with more messages gets status 400."""
    max_connections: int | None = Field(None, ge=1)
    """Maximum number of open connections per process. Further connections get status 503. Default: half of (`ulimit -n` minus 64),
    because a request may also need a connection to an upstream, but at most 4,096."""
    head_timeout_s: float = Field(15, gt=0)
    """Seconds to receive the complete head of a request, from the start of the connection or from the request's first byte. After
    this time, the connection is closed."""
    body_timeout_s: float = Field(60, gt=0)
    """Seconds to receive the body of a request. After this time, the request gets status 408."""
    turn_timeout_s: float = Field(120, gt=0)
    """Maximum duration of a turn in seconds. A longer turn is cancelled, and its request gets status 504."""
    header_wait_s: float = Field(10, ge=0)
    """Maximum seconds that the headers of a stream wait for the verdict. An error within this time gets its own HTTP status."""
    keep_alive_s: float = Field(5, gt=0)
    """Seconds between keep-alive comments in a stream, after its headers are sent."""
    grace_s: float = Field(10, ge=0)
    """Seconds that running turns get to finish when the proxy stops."""
    cors_origins: list[Origin] = Field([])
    """Origins whose web pages may call /v1/* from a browser, such as https://chat.example.org. `*` means every page, and needs
    `keys`. On a proxy without keys, these pages may only chat."""


class MemorySettings(Settings):
    store: Literal["process", "redis"] = "process"
    """Where conversation state is stored: in this process, or in Redis, which several processes can share."""
    url: str = "redis://127.0.0.1:6379/0"
    """Address of Redis, without a password."""
    password_env: Variable | None = None
    """Name of the environment variable with Redis' password."""
    timeout_s: float = Field(1, gt=0)
    """Time limit in seconds for connecting to Redis, and for each of its answers."""
    on_error: Literal["closed", "degrade"] = "closed"
    """What happens when Redis does not answer. closed: the request gets status 503. degrade: the request is served as a new
    conversation, and the failure is counted and logged. The emergency text is sent in both cases."""
    max_turns: int = Field(10_000, ge=1, le=10_000_000)
    """Maximum number of turns remembered in this process, and of stored responses. The least recently used are dropped first."""
    max_age_s: float = Field(86_400, gt=0)
    """Seconds after which an unused conversation is forgotten."""

    @field_validator("url")
    @classmethod
    def _plain(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("redis", "rediss", "unix"):
            raise ValueError("must begin with redis://, rediss:// or unix://, as in redis://127.0.0.1:6379/0")
        if parts.password:
            raise ValueError(
                "must not contain a password; put it in an environment variable, and name the variable in `password_env`"
            )
        return value


class KeySettings(Settings):
    file: DataPath | None = None
    """File with the salted hashes of the keys. `caf key create` creates the file and adds keys. Changes apply within a second."""
    env: Variable | None = None
    """Name of an environment variable that contains keys in the format of the file."""
    failures_per_minute: int = Field(60, ge=1)
    """Maximum requests without a valid key per minute from one address. Further requests get status 429 instead of 401. Requests
    with a valid key are never refused for this."""

    @model_validator(mode="after")
    def _one_of_both(self) -> "KeySettings":
        if self.file is None and self.env is None:
            raise ValueError(
                "`file` or `env` is missing; set one of them, or leave out `keys` for a proxy on loopback only"
            )
        return self


class PrivacySettings(Settings):
    store: Literal["auto", "full", "redacted", "none"] = "auto"
    """What traces contain. full: also the texts. redacted: only ids, verdicts and times. none: no traces are stored. auto: full on
    a loopback address without keys, else redacted."""
    days: float = Field(30, gt=0)
    """Days after which a trace is deleted."""
    path: DataPath = Field(Path("data/traces.db"), validate_default=True)
    """SQLite file for the traces."""
    url: str | None = None
    """Address of a PostgreSQL database for the traces, without a password. It replaces the file, and several hosts can share it."""
    password_env: Variable | None = None
    """Name of the environment variable with PostgreSQL's password."""
    sync: Literal["batch", "turn"] = "batch"
    """When a trace is written to disk. batch: about 0.2 s after the reply; a killed process loses the traces of that time. turn:
    before the reply ends, so each reply waits for the disk."""

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
            raise ValueError(f"must be a valid address, such as postgresql://caf@127.0.0.1:5432/caf: {error}") from None
        if given:
            raise ValueError(
                "must not contain a password; put it in an environment variable, and name the variable in `password_env`"
            )
        if parts.scheme != "postgresql" or not parts.path.strip("/"):
            raise ValueError("must be the address of a database, such as postgresql://caf@127.0.0.1:5432/caf")
        return value


class AuditSettings(Settings):
    folder: DataPath
    """Folder of the audit log. Each process writes a separate file."""
    sync: Literal["turn", "second"] = "second"
    """When records are flushed to disk (fsync). turn: after each write. second: once per second, so a power cut may lose a second
    of records. No reply waits for the flush."""


class ConsoleSettings(Settings):
    show: Literal["auto", "on", "off"] = "auto"
    """Whether the proxy serves /console, a web page with conversations, judges and figures. auto: only without keys, that is on a
    loopback address. on: always; with keys, users need the permission `console`. off: never."""
    runs: DataPath = Field(Path("data/runs"), validate_default=True)
    """Folder of the experiments that the console shows. `caf drift run` writes them."""
    evaluations: DataPath = Field(Path("data/evaluations"), validate_default=True)
    """Folder of the evaluations that the console shows and starts. `caf judges eval --out` writes them."""

    @field_validator("show", mode="before")
    @classmethod
    def _accept_booleans(cls, value: Any) -> Any:
        """Convert booleans to `on` and `off`, because YAML reads a bare on or off as a boolean."""
        return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value

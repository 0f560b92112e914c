"""The sections of the configuration file but for models and chatbots: `config.py` puts them together and reads them."""

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

PACKAGES = Path(__file__).resolve().parents[2]
"""The folder of our packages: a checkout, or the `site-packages` of an installation."""
SHIPPED = Path(__file__).with_name("config.yaml").resolve()
"""The shipped configuration: in a checkout a link to the file at its root, which a wheel replaces by a copy. Its relative paths
start from PACKAGES."""


def anchor_path(path: Path, info: ValidationInfo) -> Path:
    """Take a relative path from the folder of the file it stands in."""
    return Path((info.context or {}).get("folder", "")) / path


def _anchor_data(path: Path, info: ValidationInfo) -> Path:
    """Anchor a path to write to; what would lie beside installed packages lies in the current folder instead."""
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
    """The base of every section: unknown keys are refused, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
_DEFAULT_PORT = {"http": ":80", "https": ":443"}


def _check_origin(value: str) -> str:
    if value == "null":
        raise ValueError("null is what pages from disk and in sandboxes send, whosever they are; serve yours over HTTP")
    default = _DEFAULT_PORT.get(value.partition(":")[0])
    if value != "*" and (not _ORIGIN.fullmatch(value) or (default and value.endswith(default))):
        raise ValueError(
            "must be an origin as browsers send it: scheme, host in lower case, a port unless it is the scheme's own, no path, no "
            "pattern, such as https://chat.example.org or http://localhost:3000; or * for every page, on a proxy with keys"
        )
    return value


Origin = Annotated[str, AfterValidator(_check_origin)]


class ServerSettings(Settings):
    host: str = "127.0.0.1"
    """Where to listen. Anything but a loopback address needs `keys`."""
    port: int = Field(8080, ge=0, le=65535)
    """The port to listen on; 0: any that is free."""
    max_body_bytes: int = Field(4_000_000, ge=1_000)
    """Larger request bodies get 413."""
    max_messages: int = Field(2_000, ge=1)
    """Requests with more messages get 400."""
    max_connections: int | None = Field(None, ge=1)
    """Connections open at once in each process; more than this get 503. None: half of the files that the process may open
    (`ulimit -n`), since a request may need one to an upstream, and 4,096 at most."""
    head_timeout_s: float = Field(15, gt=0)
    """A connection without the whole head of a request is closed after so long: from its start, or the request's first byte."""
    body_timeout_s: float = Field(60, gt=0)
    """A request whose body is not there by then gets 408."""
    turn_timeout_s: float = Field(120, gt=0)
    """A turn that is not done by then is cancelled and answered with 504."""
    header_wait_s: float = Field(10, ge=0)
    """How long the headers of a stream wait for the verdict, so that an error can still have its own status."""
    keep_alive_s: float = Field(5, gt=0)
    """After that, seconds between the comments that keep the client from giving up."""
    grace_s: float = Field(10, ge=0)
    """How long open turns may still take when the proxy is told to stop."""
    cors_origins: list[Origin] = Field([])
    """Origins whose pages may ask /v1/* from a browser, such as https://chat.example.org; `*`: every page, which needs `keys`. On a
    proxy without keys they may chat and no more."""


class MemorySettings(Settings):
    store: Literal["process", "redis"] = "process"
    """Where states of conversations are kept: in this process, or in Redis, which several processes share."""
    url: str = "redis://127.0.0.1:6379/0"
    """Address of Redis, without a password."""
    password_env: Variable | None = None
    """Environment variable with Redis' password."""
    timeout_s: float = Field(1, gt=0)
    """How long Redis may take to connect or to answer."""
    on_error: Literal["closed", "degrade"] = "closed"
    """When Redis does not answer: closed refuses the request with 503; degrade serves it as a fresh conversation, counted and
    logged. The emergency text is sent either way."""
    max_turns: int = Field(10_000, ge=1, le=10_000_000)
    """Turns of conversations remembered in this process, at most, and as many kept responses; the longest unused are forgotten
    first."""
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
    """A file of salted hashes; `caf key create` makes it and adds to it. A change is noticed within a second."""
    env: Variable | None = None
    """An environment variable that holds the same as such a file."""
    failures_per_minute: int = Field(60, ge=1)
    """Requests without a valid key that an address may send in a minute; more get 429, not 401. No valid key is ever refused."""

    @model_validator(mode="after")
    def _one_of_both(self) -> "KeySettings":
        if self.file is None and self.env is None:
            raise ValueError("give `file`, `env` or both; leave `keys` out for a proxy without keys on loopback")
        return self


class PrivacySettings(Settings):
    store: Literal["auto", "full", "redacted", "none"] = "auto"
    """What traces hold. full: texts; redacted: no text, only ids, verdicts, times; none: no trace.
    auto is full on a keyless loopback address, else redacted."""
    days: float = Field(30, gt=0)
    """Traces older than this are deleted."""
    path: DataPath = Field(Path("data/traces.db"), validate_default=True)
    """The SQLite file of the traces."""
    url: str | None = None
    """Address of a PostgreSQL database, without a password: traces go there instead, which several hosts can share."""
    password_env: Variable | None = None
    """Environment variable with PostgreSQL's password."""
    sync: Literal["batch", "turn"] = "batch"
    """When a trace is on the disk. batch: some 0.2 s after the reply, of which a killed process loses the traces; turn: before the
    reply ends, which waits for the disk."""

    @field_validator("url")
    @classmethod
    def _without_password(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            parts = urlsplit(value)
            given = parts.password or "password" in parse_qs(parts.query)
            parts.port  # noqa: B018  # raises when it is none
        except ValueError as error:
            raise ValueError(f"is no address: {error}") from None
        if given:
            raise ValueError("must not hold a password; name its environment variable in password_env")
        if parts.scheme != "postgresql" or not parts.path.strip("/"):
            raise ValueError("must be the address of a database, such as postgresql://caf@127.0.0.1:5432/caf")
        return value


class AuditSettings(Settings):
    folder: DataPath
    """Where the chains of the audit log go, one file for each process."""
    sync: Literal["turn", "second"] = "second"
    """When the disk must have confirmed what is written: at once, or once a second, which a power cut may cost. No reply waits
    for it."""


class ConsoleSettings(Settings):
    show: Literal["auto", "on", "off"] = "auto"
    """Whether /console shows conversations, judges and figures to people in a browser. auto: on a loopback address without keys.
    on: with keys as well, for those with the permission `console`."""
    runs: DataPath = Field(Path("data/runs"), validate_default=True)
    """The folder of the experiments that it shows, as `caf drift run` makes it."""
    evaluations: DataPath = Field(Path("data/evaluations"), validate_default=True)
    """The folder of the evaluations that it shows and starts, as `caf judges eval --out` makes them."""

    @field_validator("show", mode="before")
    @classmethod
    def _accept_booleans(cls, value: Any) -> Any:
        """YAML reads a bare on or off as a boolean."""
        return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value

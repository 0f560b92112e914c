"""Creates, stores, loads and checks API keys.

A key has the form `caf-ID-SECRET`. The id is public and selects the record. Only a salted hash of the secret is stored. The secret
has 256 random bits, which nobody can guess, so a fast hash is enough.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from models.unique_keys import DuplicateKeyError, refuse_duplicates
from models.validation_errors import describe_faults

Permission = Literal["chat", "trace", "admin", "unfiltered", "evidence", "act", "console"]
"""chat: use chatbots. trace: see reasons and rejected drafts. admin: read /metrics, erase conversations. unfiltered: choose the
filter mode. evidence: send documents and tool results that count as sources. act: have an assistant carry out what its user has
confirmed. console: open /console; texts there need `trace`, the unfiltered side `unfiltered`, labels and evaluations `admin`."""

_KEY = re.compile(r"caf-([0-9a-f]{8})-([A-Za-z0-9_-]{43})")


class KeyFileError(Exception):
    """The keys cannot be read or written. The message names the file or the environment variable."""


class KeyRecord(BaseModel):
    """The record of an API key in the key file: owner, permissions, limits, and the hash of the secret."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
    name: Annotated[str, Field(min_length=1, max_length=100)]
    """The owner, shown when keys are listed."""
    salt: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    permissions: tuple[Permission, ...] = ("chat",)
    chatbots: tuple[str, ...] | None = None
    """Chatbots that the key may use; None: all."""
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    tokens_per_minute: Annotated[int, Field(ge=1)] | None = None
    daily_budget: Annotated[float, Field(gt=0)] | None = None
    """Maximum cost per day (UTC), in the currency of `models.<alias>.price`."""
    max_concurrent: Annotated[int, Field(ge=1)] | None = None
    created: datetime
    revoked: datetime | None = None

    @property
    def limited(self) -> bool:
        """Whether the key has a limit. Only the usage of such keys is counted."""
        return (
            self.requests_per_minute is not None
            or self.tokens_per_minute is not None
            or self.daily_budget is not None
            or self.max_concurrent is not None
        )


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new API key and its record. `text` is the key itself, which is shown once and never stored."""

    record: KeyRecord
    text: str


def create(
    name: str,
    permissions: Sequence[Permission] = ("chat",),
    chatbots: Sequence[str] | None = None,
    *,
    requests_per_minute: int | None = None,
    tokens_per_minute: int | None = None,
    daily_budget: float | None = None,
    max_concurrent: int | None = None,
) -> NewKey:
    """Create an API key with a random id and secret. The arguments are the fields of its `KeyRecord`.

    Raises:
        pydantic.ValidationError: A limit or the name is invalid.
    """
    ident, secret, salt = secrets.token_hex(4), secrets.token_urlsafe(32), secrets.token_hex(16)
    record = KeyRecord(
        id=ident, name=name, salt=salt, hash=_hash(salt, secret), permissions=tuple(permissions),
        chatbots=None if chatbots is None else tuple(chatbots), requests_per_minute=requests_per_minute,
        tokens_per_minute=tokens_per_minute, daily_budget=daily_budget, max_concurrent=max_concurrent,
        created=datetime.now(UTC).replace(microsecond=0),
    )  # fmt: skip
    return NewKey(record, f"caf-{ident}-{secret}")


def _hash(salt: str, secret: str) -> str:
    return hashlib.sha256(bytes.fromhex(salt) + secret.encode()).hexdigest()


_DUMMY = ("0" * 32, "0" * 64)
"""Salt and hash to compare with when no key has the id, so that an unknown id takes as long as a wrong secret."""


def find_valid(records: Mapping[str, KeyRecord], text: str) -> KeyRecord | None:
    """Return the record of a key, or None if the key's text is wrong or the key is revoked."""
    match = _KEY.fullmatch(text)
    ident, secret = (match[1], match[2]) if match else ("", "")
    record = records.get(ident)
    salt, expected = (record.salt, record.hash) if record else _DUMMY
    right = hmac.compare_digest(_hash(salt, secret), expected)
    return record if right and record is not None and record.revoked is None else None


_RECORDS = TypeAdapter(tuple[KeyRecord, ...])


def load(path: Path) -> dict[str, KeyRecord]:
    """Read a key file, and return its records by id.

    Raises:
        KeyFileError: The file cannot be read, other users can write to it, or its content is invalid.
    """
    try:
        text = path.read_text(encoding="utf-8")
        mode = path.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise KeyFileError(
            f"{path}: the key file cannot be read: {reason}; create it with `caf key create NAME`"
        ) from None
    if os.name == "posix" and mode & 0o022:
        raise KeyFileError(f"{path}: other users can write to this file and add keys; run `chmod 600 {path}`")
    return parse(text, str(path))


def parse(text: str, source: str) -> dict[str, KeyRecord]:
    """Parse the JSON of a key file, and return its records by id.

    Args:
        text: The JSON.
        source: The file or the environment variable that contains the JSON, for error messages.

    Raises:
        KeyFileError: The text is not a valid list of keys.
    """
    try:
        refuse_duplicates(text)
        records = _RECORDS.validate_json(text)
    except DuplicateKeyError as error:
        raise KeyFileError(f"{source}: {error}") from None
    except ValidationError as error:
        fault = describe_faults(error, may_show=lambda location: False)[0]
        raise KeyFileError(f"{source}: {fault}; correct it, or create the key again") from None
    by_id = {record.id: record for record in records}
    if len(by_id) < len(records):
        ids = [record.id for record in records]
        duplicate = next(one for one in ids if ids.count(one) > 1)
        raise KeyFileError(f"{source}: duplicate key id {duplicate!r}; keep one record per id")
    return by_id


def save(records: Sequence[KeyRecord], path: Path) -> None:
    """Write a key file atomically. Only its owner can read it.

    Raises:
        KeyFileError: The file cannot be written.
    """
    text = json.dumps([record.model_dump(mode="json", exclude_none=True) for record in records], indent=1) + "\n"
    target = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        target.replace(path)
    except OSError as error:
        raise KeyFileError(f"{path}: the key file cannot be written: {error.strerror}; check its folder") from None

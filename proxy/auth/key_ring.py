"""Holds the API keys of a running proxy, and reloads the key file when it changes."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import structlog

from proxy.auth.keys import KeyFileError, KeyRecord, find_valid, load, parse
from proxy.auth.loopback import is_loopback
from proxy.config.config import Config, ConfigError

log = structlog.get_logger("caf.keys")

CHECK_EVERY_S = 1.0
"""Seconds between checks for a changed key file. A revoked key stops working within this time."""


class KeyRing:
    """The API keys that a proxy accepts, from a key file, an environment variable, or both."""

    def __init__(self, file: Path | None, environ_value: str | None = None) -> None:
        """Load the keys.

        Args:
            file: The key file; None: no file.
            environ_value: The value of the environment variable, in the format of a key file; None: no variable.

        Raises:
            KeyFileError: The file or the value cannot be read.
        """
        self._file = file
        self._environ_records = (
            {} if environ_value is None else parse(environ_value, "the environment variable of `keys.env`")
        )
        self._file_records: dict[str, KeyRecord] = {}
        self._records: dict[str, KeyRecord] = {}
        """The records from both sources by id. If both have a record with the same id, the record in the file is used."""
        self._file_version: tuple[int, int, int] | None = None
        self._checked_at = float("-inf")
        self._failing = False
        self.on_change: Callable[[Mapping[str, KeyRecord], Mapping[str, KeyRecord]], None] | None = None
        """Called with the key file's records before and after each change of the file."""
        if file is not None:
            self._file_version = _version(file)
            self._file_records = load(file)
        self._records = self._environ_records | self._file_records

    def find(self, text: str) -> KeyRecord | None:
        """Return the record of a key, or None if the key is unknown or revoked."""
        return find_valid(self._current(), text)

    def find_id(self, key_id: str) -> KeyRecord | None:
        """Return the record with this id, or None if it is unknown or revoked.

        No secret is checked. Call this only for clients that have sent the whole key before.
        """
        record = self._current().get(key_id)
        return record if record is not None and record.revoked is None else None

    def _current(self) -> Mapping[str, KeyRecord]:
        if time.monotonic() - self._checked_at > CHECK_EVERY_S:
            self._reload_if_changed()
        return self._records

    def _reload_if_changed(self) -> None:
        """Read the key file again if it has changed. If it cannot be read, the previous keys stay valid."""
        self._checked_at = time.monotonic()
        if self._file is None or (version := _version(self._file)) == self._file_version:
            return
        before = self._file_records
        try:
            self._file_records = load(self._file)
        except KeyFileError as error:  # perhaps half written: the next check reads it again
            if not self._failing:
                log.error("keys not read again: the previous ones stay valid, revoked ones too", reason=str(error))
            self._failing = True
            return
        self._failing = False
        self._records = self._environ_records | self._file_records
        if self.on_change is not None:
            self.on_change(before, self._file_records)
        self._file_version = version

    @property
    def records(self) -> list[KeyRecord]:
        return list(self._records.values())

    @property
    def valid(self) -> list[KeyRecord]:
        """The records that are not revoked."""
        return [record for record in self.records if record.revoked is None]


def _version(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def open_key_ring(config: Config, environ: Mapping[str, str] = os.environ) -> KeyRing | None:
    """Open the key ring of a configuration. Return None if no keys are configured; then only this machine can connect.

    Raises:
        ConfigError: The keys cannot be read, or no keys are configured although other machines can connect.
    """
    settings = config.keys
    if settings is None:
        if not is_loopback(config.server.host):
            raise ConfigError(
                [
                    f"server.host: {config.server.host!r} is not a loopback address and needs `keys`: without keys, anybody "
                    "could connect. Run `caf key create NAME`, and set keys: {file: data/keys.json}"
                ]
            )
        return None
    if settings.env is not None and settings.env not in environ:
        raise ConfigError(
            [f"keys.env: the environment variable {settings.env!r} is not set; export it before starting"]
        )
    try:
        return KeyRing(settings.file, None if settings.env is None else environ[settings.env])
    except KeyFileError as error:
        raise ConfigError([f"keys: {error}"]) from None

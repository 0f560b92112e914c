"""The folder of a run: a manifest and append-only files of JSON lines, so that a killed run can resume."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from models.unique_keys import DuplicateKeyError, load_json, refuse_duplicates
from models.validation_errors import describe_faults
from scoring.transcript import Exchange, FidelityLine, Line, RatingLine

LineT = TypeVar("LineT", bound=Line)

FILES: dict[type[Line], str] = {
    Exchange: "transcripts.jsonl",
    RatingLine: "ratings.jsonl",
    FidelityLine: "fidelity.jsonl",
}
ANSWERS = "answers.jsonl"
"""File name of the recorded model answers; see `models.answer_cache.AnswerCache`."""
MANIFEST = "manifest.json"
LOCK = ".lock"
ABOUT = ("created", "command", "versions", "budget", "replayed", "planned")
"""Keys of the manifest that describe the environment of a run. Their values may change when a run resumes."""


class RunError(Exception):
    """A run cannot start or continue. The message has the reason and a remedy."""


class RunFolder:
    """Reads and writes the files of a run. Only their owner can read the files, because they contain conversations."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> None:
        """Create the folder, or check that it can be used.

        Raises:
            RunError: The folder cannot be created, or has files but no manifest.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            names = {one.name for one in self.path.iterdir()}
        except OSError as error:
            raise RunError(f"{self.path}: the folder cannot be used for a run: {error.strerror}") from None
        if names - {ANSWERS, LOCK} and MANIFEST not in names:
            raise RunError(f"{self.path}: the folder has files, but no run: give an empty or a new folder with --out")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the run against other processes while the block runs.

        Raises:
            RunError: Another process holds the lock.
        """
        file = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RunError(f"{self.path}: another process is using this run: wait for it or stop it") from None
            yield
        finally:
            os.close(file)

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest, or check that the folder holds the same run.

        Raises:
            RunError: The folder has a different run. No file was changed.
        """
        if not (self.path / MANIFEST).exists():
            self.write(MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
            return
        changed = [*_differences(self.manifest(), json.loads(json.dumps(manifest)))]
        if changed:
            raise RunError(
                f"{self.path}: the folder holds a different run and cannot be resumed. Changed: {', '.join(changed[:6])}. "
                "Nothing was overwritten: give another --out, or undo the changes"
            )

    def manifest(self) -> dict[str, Any]:
        """Return the manifest. Raises: RunError: The manifest is missing, or cannot be read."""
        path = self.path / MANIFEST
        try:
            data = load_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError(f"{self.path}: the folder is not a run: it has no {MANIFEST}") from None
        except (OSError, ValueError) as error:
            raise RunError(f"{path}: cannot be read: {error}") from None
        if not isinstance(data, dict):
            raise RunError(f"{path}: the file is not a manifest: expected a JSON object")
        return data

    def read(self, kind: type[LineT]) -> list[LineT]:
        """Return the lines of one kind: exchanges, ratings or fidelity checks. For each place and rater, only the last line counts.

        An incomplete last line is skipped: its process was killed while writing.

        Raises:
            RunError: A complete line is invalid.
        """
        path = self.path / FILES[kind]
        if not path.exists():
            return []
        latest: dict[str, LineT] = {}
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
            try:
                refuse_duplicates(line)
                record = kind.model_validate_json(line)
            except DuplicateKeyError as error:
                raise RunError(f"{path}:{number}: {error.msg}") from None
            except ValidationError as error:
                if error.errors()[0]["type"] == "json_invalid":  # cut off, or empty
                    continue
                raise RunError(
                    f"{path}:{number}: {describe_faults(error, kind)[0]}; delete the line, or restore the file"
                ) from None
            latest[_key(record)] = record
        return list(latest.values())

    def append(self, line: Line) -> None:
        """Append a line in a single write call, so that concurrent writers do not mix their lines."""
        data = line.model_dump_json(exclude_defaults=True).encode() + b"\n"
        path = self.path / FILES[type(line)]
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            end = os.lseek(file, 0, os.SEEK_END)
            if end and os.pread(file, 1, end - 1) != b"\n":  # the last writer was killed in the middle of a line
                data = b"\n" + data
            if os.write(file, data) < len(data):
                raise RunError(
                    f"{path}: the disk is full. The results so far are kept: free some space, then give the same command again"
                )
        except OSError as error:
            raise RunError(f"{path}: cannot be written: {error.strerror}. The results so far are kept") from None
        finally:
            os.close(file)

    def write(self, name: str, text: str) -> None:
        """Write a file, and replace an existing file of this name."""
        write_files({self.path / name: text})


def write_files(files: Mapping[Path, str]) -> None:
    """Write files atomically, all or none, readable only by their owner.

    Raises:
        RunError: A file cannot be written; then no file is changed.
    """
    beside = {path: path.with_name(f".{path.name}.{os.getpid()}.new") for path in files}
    path = Path()
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(os.open(beside[path], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
        for path, new in beside.items():
            new.replace(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        for new in beside.values():
            new.unlink(missing_ok=True)


def _key(line: Line) -> str:
    place = line.place.key()  # type: ignore[attr-defined]
    return f"{place} {line.rater}" if isinstance(line, RatingLine) else place


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], within: str = "") -> Iterator[str]:
    """Yield the dotted keys whose values differ between two manifests."""
    for key in [*old, *(key for key in new if key not in old)]:
        if not within and key in ABOUT:
            continue
        before, now = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(now, dict):
            yield from _differences(before, now, f"{within}{key}.")
        elif before != now:
            yield f"{within}{key}"

"""Repeats a run with its recorded model answers, for `caf drift run --replay`."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from models.answer_cache import request_purpose
from models.engine import Body, Forwarded
from models.errors import UpstreamRefused
from models.unique_keys import load_json
from scoring.folder import ANSWERS, MANIFEST, RunError, RunFolder

LATE_ANSWER_S = 5.0
"""Seconds that a replay waits at a missing answer. The original call may have been cancelled before an answer was recorded."""


def answers_of(folder: RunFolder, replay: Path | None) -> Path:
    """Return the file of a run's answers. For a replay, first copy the answers of the original run to it.

    Raises:
        RunError: The recording is missing, or the folder already has a run that is not a replay.
    """
    answers = folder.path / ANSWERS
    if replay is None:
        return answers
    source = replay / ANSWERS if replay.is_dir() else replay
    if (folder.path / MANIFEST).exists() and not folder.manifest().get("replayed"):
        raise RunError(f"{folder.path}: the folder holds a run that is not a replay: give another --out")
    try:
        recorded = source.read_bytes()
        load_json(recorded.split(b"\n", 1)[0] or b"{}")["key"]
    except OSError as error:
        raise RunError(
            f"{source}: cannot be replayed: {error.strerror}; name a run's folder or its {ANSWERS}"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{source}: the file is not a recording: name a run's folder or its {ANSWERS}") from None
    if source.resolve() != answers.resolve():
        new = answers.with_name(f".{ANSWERS}.new")
        new.write_bytes(recorded)
        new.chmod(0o600)
        new.replace(answers)
    return answers


class ReplayEngine:
    """An engine that refuses every call. A replay reaches it only if the recording has no answer."""

    def __init__(self, missing: list[str]) -> None:
        self._missing = missing

    async def complete(self, body: Body) -> Body:
        await asyncio.sleep(LATE_ANSWER_S)
        self._missing.append(f"{body.get('model')} at {request_purpose.get()}")
        raise UpstreamRefused(404, "no_recorded_answer", None, "has no recording of this request")

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
        raise UpstreamRefused(404, "no_recorded_answer", None, "has no recordings of forwarded answers")

    async def close(self) -> None:
        """Do nothing: the engine holds no resources."""

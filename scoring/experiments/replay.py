"""A run gone through again with the answers that another one recorded."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from models.answer_cache import request_purpose
from models.engine import Body, Forwarded
from models.errors import UpstreamRefused
from models.unique_keys import load_json
from scoring.folder import ANSWERS, MANIFEST, RunError, RunFolder

LATE_ANSWER_S = 5.0
"""How long a replayed run waits for an answer that nobody recorded: when it was recorded, the call may have been cancelled."""


def answers_of(folder: RunFolder, replay: Path | None) -> Path:
    """Return the file of a run's answers; a replayed run begins with those of the run that it replays.

    Raises:
        RunError: There is nothing to replay, or the folder holds a run whose answers were asked for.
    """
    answers = folder.path / ANSWERS
    if replay is None:
        return answers
    source = replay / ANSWERS if replay.is_dir() else replay
    if (folder.path / MANIFEST).exists() and not folder.manifest().get("replayed"):
        raise RunError(f"{folder.path}: holds a run that is no replay; give another --out")
    try:
        recorded = source.read_bytes()
        load_json(recorded.split(b"\n", 1)[0] or b"{}")["key"]
    except OSError as error:
        raise RunError(
            f"{source}: cannot be replayed: {error.strerror}; name a run's folder or its {ANSWERS}"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{source}: is no recording; name a run's folder or its {ANSWERS}") from None
    if source.resolve() != answers.resolve():
        new = answers.with_name(f".{ANSWERS}.new")
        new.write_bytes(recorded)
        new.chmod(0o600)
        new.replace(answers)
    return answers


class ReplayEngine:
    """An engine that has no answer: what a replay needs stands in the recording."""

    def __init__(self, missing: list[str]) -> None:
        self._missing = missing

    async def complete(self, body: Body) -> Body:
        await asyncio.sleep(LATE_ANSWER_S)
        self._missing.append(f"{body.get('model')} at {request_purpose.get()}")
        raise UpstreamRefused(404, "no_recorded_answer", None, "record this request first")

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
        raise UpstreamRefused(404, "no_recorded_answer", None, "forwarded answers are not recorded")

    async def close(self) -> None:
        """Nothing to let go of."""

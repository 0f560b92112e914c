"""Stores the runs of a conversation for follow-up questions, such as "and in July?" or "which tools did you use?".

The fields of each result are stored, but no rows of data.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import structlog

from assistants.health.executor import Run
from assistants.health.task import Task
from assistants.message_store import MessageStore
from models.turn_scope import Principal

log = structlog.get_logger()


class Memory:
    """Stores the runs for each message of a conversation."""

    def __init__(self, path: Path | None, tasks: Mapping[str, Task[Any, Any]], ttl_s: float) -> None:
        """Open the file. `path`, `ttl_s` and the errors are those of `MessageStore`; `tasks` are the known tasks, by name."""
        self._tasks, self.store = tasks, MessageStore(path, ttl_s)

    def get(self, principal: Principal, messages: Sequence[str], *, within_s: float = math.inf) -> list[Run] | None:
        """Return the runs that were stored with these messages of the user; None if no runs are stored.

        Args:
            within_s: Maximum age of the runs, in seconds.
        """
        body = self.store.get(principal, messages, within_s=within_s)
        try:
            return [self._read(one) for one in orjson.loads(body) if one["task"] in self._tasks] if body else None
        except (ValueError, TypeError) as error:  # another version of a task stored the results
            log.warning("health_memory_not_read", error=type(error).__name__)
            return None

    def put(self, principal: Principal, messages: Sequence[str], runs: Sequence[Run], conversation_id: str) -> None:
        """Store the runs for the last message. `messages` are all messages of the user so far, oldest first."""
        rows = [asdict(run) | {"result": run.result and run.result.model_dump(mode="json")} for run in runs]
        self.store.put(principal, messages, orjson.dumps(rows), conversation_id)

    def _read(self, row: Mapping[str, Any]) -> Run:
        found = row["result"]
        result = self._tasks[row["task"]].result.model_validate(found) if found is not None else None
        return Run(**{**row, "result": result})

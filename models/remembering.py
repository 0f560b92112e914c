"""Remembering: what a model has once answered is written down, and not asked again."""

import json
import os
import time
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import structlog

from models.completion import completion
from models.engine import Body, Engine, Forwarded, forward_by_completing
from models.errors import ModelSettingsError
from models.recording import content_of, request_key

log = structlog.get_logger(__name__)

remembered: ContextVar[list[str] | None] = ContextVar("remembered", default=None)
"""If somebody puts a list here, the key of every request that was answered from memory is added to it."""


class Memory:
    """A JSONL file of answers, one a line: `key` (see `request_key`), `content`, `usage`, `ms`. May be shared by engines.

    A line that was cut off when its writer was killed is passed over.
    """

    def __init__(self, path: Path) -> None:
        """Raises: ModelSettingsError: the file cannot be read or written."""
        self.path = path
        self._answers: dict[str, list[dict[str, Any]]] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Readable by its owner alone: answers of judges quote conversations.
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError as error:
            raise ModelSettingsError(f"answers cannot be kept in {str(path)!r}: {error.strerror}") from None
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._read(line, number)
        if lines[-1]:
            os.write(self._file, b"\n")

    def _read(self, line: str, number: int) -> None:
        try:
            answer = json.loads(line)
            self._answers.setdefault(answer["key"], []).append(answer)
        except (ValueError, KeyError, TypeError):
            log.warning("unreadable line in the recorded answers", file=str(self.path), line=number)

    def take(self, key: str) -> dict[str, Any] | None:
        """Return an answer to this request that has not been given yet."""
        left = self._answers.get(key)
        return left.pop(0) if left else None

    def keep(self, key: str, answer: Body, ms: float) -> None:
        line = json.dumps(
            {"key": key, "content": content_of(answer), "usage": answer.get("usage"), "ms": round(ms)},
            ensure_ascii=False,
        )
        os.write(self._file, line.encode() + b"\n")

    def close(self) -> None:
        os.close(self._file)


class Remembering:
    """Answer from memory as often as this request was answered before, then ask. Failures are not remembered."""

    def __init__(self, engine: Engine, memory: Memory) -> None:
        self._engine = engine
        self._memory = memory

    async def complete(self, body: Body) -> Body:
        key = request_key(body)
        known = self._memory.take(key)
        if known is not None:
            if (told := remembered.get()) is not None:
                told.append(key)
            answer = completion(body, known["content"])
            return answer | {"usage": known["usage"]} if known.get("usage") else answer
        started = time.perf_counter()
        answer = await self._engine.complete(body)
        self._memory.keep(key, answer, (time.perf_counter() - started) * 1000)
        return answer

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
        return await forward_by_completing(self.complete, raw)

    async def close(self) -> None:
        await self._engine.close()

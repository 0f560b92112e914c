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
from models.request import as_completion

log = structlog.get_logger(__name__)

IN_KEY = ("model", "messages", "response_format", "tools", "seed")
"""Fields that `request_key` has hashed."""
NOT_DECIDING = (
    "user",
    "metadata",
    "store",
    "service_tier",
    "stream",
    "stream_options",
    "safety_identifier",
    "prompt_cache_key",
)
"""Fields that say who asks and how the answer travels. Any other may change the answer, also one that nobody has heard of yet."""

asked_for: ContextVar[str | None] = ContextVar("asked_for", default=None)
"""What a request is asked for, such as a place in an experiment: the same request for something else is another one."""
remembered: ContextVar[list[str] | None] = ContextVar("remembered", default=None)
"""If somebody puts a list here, the key of every request that was answered from memory is added to it."""


class Memory:
    """A JSONL file of answers, one a line. May be shared by engines, and replayed with `script: {replay: FILE}`.

    A line has `key` (see `request_key`), `settings` (what else decides an answer: temperature, length, where it was asked),
    `content`, `finish` (why the answer ended, where it did not just `stop`), `logprobs` (where they were
    asked for), `usage`, `ms`, and what another CAF said of it. A line that was cut off when its writer was killed is passed over.
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
            place = _place(answer["key"], answer["settings"])
            self._answers.setdefault(place, []).append({"content": answer["content"]} | answer)
        except (ValueError, KeyError, TypeError):
            log.warning("unreadable line in the recorded answers", file=str(self.path), line=number)

    def take(self, key: str, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return an answer to this request that has not been given yet."""
        left = self._answers.get(_place(key, settings))
        return left.pop(0) if left else None

    def keep(self, key: str, settings: Mapping[str, Any], answer: Body, ms: float) -> None:
        kept = {"key": key, "settings": settings, "content": content_of(answer)}
        choice = answer["choices"][0]
        if (finish := choice.get("finish_reason")) != "stop":
            kept["finish"] = finish
        if logprobs := choice.get("logprobs"):
            kept["logprobs"] = logprobs
        if "caf" in answer:  # the upstream was another proxy of ours
            kept["caf"] = answer["caf"]
        # ASCII, since half a surrogate pair, which some models write, is no UTF-8.
        line = json.dumps(kept | {"usage": answer.get("usage"), "ms": round(ms)})
        os.write(self._file, line.encode() + b"\n")

    def close(self) -> None:
        os.close(self._file)


def _place(key: str, settings: Mapping[str, Any]) -> str:
    return f"{key} {json.dumps(settings, sort_keys=True)}"


class Remembering:
    """Answer from memory as often as this request was answered before, then ask. Failures are not remembered."""

    def __init__(self, engine: Engine, memory: Memory, at: str | None = None) -> None:
        """Args: at: where the engine asks; two servers may know different models by one name."""
        self._engine = engine
        self._memory = memory
        self._at = at

    async def complete(self, body: Body) -> Body:
        key, settings = request_key(body), self._settings(body)
        known = self._memory.take(key, settings)
        if known is not None:
            if (told := remembered.get()) is not None:
                told.append(key)
            return _recalled(body, known)
        started = time.perf_counter()
        answer = as_completion(await self._engine.complete(body))
        self._memory.keep(key, settings, answer, (time.perf_counter() - started) * 1000)
        return answer

    def _settings(self, body: Body) -> dict[str, Any]:
        more: dict[str, Any] = {n: value for n, value in body.items() if n not in IN_KEY and n not in NOT_DECIDING}
        if (purpose := asked_for.get()) is not None:
            more["for"] = purpose
        return more if self._at is None else more | {"at": self._at}

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
        return await forward_by_completing(self.complete, raw)

    async def close(self) -> None:
        await self._engine.close()


def _recalled(body: Body, known: Mapping[str, Any]) -> Body:
    answer = completion(body, known["content"])
    if "finish" in known:  # one that was cut off is asked for again in other words
        answer["choices"][0]["finish_reason"] = known["finish"]
    if "logprobs" in known:
        answer["choices"][0]["logprobs"] = known["logprobs"]
    return answer | {name: known[name] for name in ("usage", "caf") if known.get(name)}

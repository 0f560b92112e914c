"""A cache of answers on disk: a request that was answered once is not sent again."""

import json
import os
import time
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import structlog

from models.answer import as_completion
from models.completion import completion
from models.engine import Body, Engine
from models.errors import ModelSettingsError
from models.recording import KEY_FIELDS, content_of, request_key

log = structlog.get_logger(__name__)

IGNORED_FIELDS = (
    "user",
    "metadata",
    "store",
    "service_tier",
    "stream",
    "stream_options",
    "safety_identifier",
    "prompt_cache_key",
)
"""Fields that do not change the answer: who asks, and how it is sent. Any other field may, so it is part of the key."""

request_purpose: ContextVar[str | None] = ContextVar("request_purpose", default=None)
"""What a request is made for, such as a place in an experiment. Part of the cache key: other purposes get answers of their own."""
cache_hits: ContextVar[list[str] | None] = ContextVar("cache_hits", default=None)
"""If a list is set here, the key of every request that was answered from the cache is added to it."""


class AnswerCache:
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
            cache_key = _cache_key(answer["key"], answer["settings"])
            self._answers.setdefault(cache_key, []).append({"content": answer["content"]} | answer)
        except (ValueError, KeyError, TypeError):
            log.warning("unreadable line in the recorded answers", file=str(self.path), line=number)

    def take_answer(self, key: str, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """Take out the next cached answer to a request; None: there is none left."""
        answers = self._answers.get(_cache_key(key, settings))
        return answers.pop(0) if answers else None

    def add_answer(self, key: str, settings: Mapping[str, Any], answer: Body, ms: float) -> None:
        entry = {"key": key, "settings": settings, "content": content_of(answer)}
        choice = answer["choices"][0]
        if (finish := choice.get("finish_reason")) != "stop":
            entry["finish"] = finish
        if logprobs := choice.get("logprobs"):
            entry["logprobs"] = logprobs
        if "caf" in answer:  # the upstream was another proxy of ours
            entry["caf"] = answer["caf"]
        # ASCII, since half a surrogate pair, which some models write, is no UTF-8.
        line = json.dumps(entry | {"usage": answer.get("usage"), "ms": round(ms)})
        os.write(self._file, line.encode() + b"\n")

    def close(self) -> None:
        os.close(self._file)


def _cache_key(key: str, settings: Mapping[str, Any]) -> str:
    return f"{key} {json.dumps(settings, sort_keys=True)}"


class CachingEngine(Engine):
    """Answer a request from the cache as often as it was answered before, then ask the engine. Failures are not cached."""

    def __init__(self, engine: Engine, cache: AnswerCache, at: str | None = None) -> None:
        """Args: at: where the engine asks; two servers may know different models by one name."""
        self._engine = engine
        self._cache = cache
        self._at = at

    async def complete(self, body: Body) -> Body:
        key, settings = request_key(body), self._settings(body)
        entry = self._cache.take_answer(key, settings)
        if entry is not None:
            if (hits := cache_hits.get()) is not None:
                hits.append(key)
            return _as_completion(body, entry)
        started = time.perf_counter()
        answer = as_completion(await self._engine.complete(body))
        self._cache.add_answer(key, settings, answer, (time.perf_counter() - started) * 1000)
        return answer

    def _settings(self, body: Body) -> dict[str, Any]:
        more: dict[str, Any] = {
            n: value for n, value in body.items() if n not in KEY_FIELDS and n not in IGNORED_FIELDS
        }
        if (purpose := request_purpose.get()) is not None:
            more["for"] = purpose
        return more if self._at is None else more | {"at": self._at}

    async def close(self) -> None:
        await self._engine.close()


def _as_completion(body: Body, entry: Mapping[str, Any]) -> Body:
    answer = completion(body, entry["content"])
    if "finish" in entry:  # one that was cut off is asked for again in other words
        answer["choices"][0]["finish_reason"] = entry["finish"]
    if "logprobs" in entry:
        answer["choices"][0]["logprobs"] = entry["logprobs"]
    return answer | {name: entry[name] for name in ("usage", "caf") if entry.get(name)}

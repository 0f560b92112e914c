"""A cache of model answers in a file, for experiments. A repeated run does not pay again for requests that have an answer."""

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
from models.unique_keys import DuplicateKeyError, load_json

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
"""Request fields that do not change the answer, because they only identify the client or select the transport. All other fields
are part of the cache key."""

request_purpose: ContextVar[str | None] = ContextVar("request_purpose", default=None)
"""The purpose of the current request, such as its position in an experiment. It is part of the cache key, so that equal requests
for different purposes get separate answers."""
cache_hits: ContextVar[list[str] | None] = ContextVar("cache_hits", default=None)
"""A list to which the cache appends the key of each request that it answers. None: do not record hits."""


class AnswerCache:
    """Stores answers in a JSONL file, one per line. Several engines can share a cache; `script: {replay: FILE}` can replay it.

    Fields of a line:

    * `key`: see `request_key`; `settings`: other fields that affect the answer, such as temperature, length and server;
    * `content`: see `content_of`; `finish`: the `finish_reason`, unless it is `stop`; `logprobs`: if requested;
    * `usage`, `ms`: the duration of the call in milliseconds; `caf`: the field of that name, if the upstream is a CAF proxy.

    An incomplete line, which a killed process leaves, is skipped with a warning.
    """

    def __init__(self, path: Path) -> None:
        """Raises: ModelSettingsError: the file cannot be opened, or has a line with a duplicate key."""
        self.path = path
        self._answers: dict[str, list[dict[str, Any]]] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Only the owner may read it: answers of judges quote conversations.
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError as error:
            raise ModelSettingsError(
                f"cannot open the answer cache {str(path)!r}: {error.strerror}; choose a file in a writable folder"
            ) from None
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._read(line, number)
        if lines[-1]:
            os.write(self._file, b"\n")

    def _read(self, line: str, number: int) -> None:
        try:
            answer = load_json(line)
            cache_key = _cache_key(answer["key"], answer["settings"])
            self._answers.setdefault(cache_key, []).append({"content": answer["content"]} | answer)
        except DuplicateKeyError as error:
            raise ModelSettingsError(f"{self.path}:{number}: {error.msg}; delete the line") from None
        except (ValueError, KeyError, TypeError):
            log.warning("unreadable line in the recorded answers", file=str(self.path), line=number)

    def take_answer(self, key: str, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the next unused answer to a request, and mark it as used; None if there is no unused answer.

        Args:
            key: the result of `request_key`.
            settings: other fields that affect the answer.
        """
        answers = self._answers.get(_cache_key(key, settings))
        return answers.pop(0) if answers else None

    def add_answer(self, key: str, settings: Mapping[str, Any], answer: Body, ms: float) -> None:
        """Append an answer to the file. This object does not return it; the next one to open the file does."""
        entry = {"key": key, "settings": settings, "content": content_of(answer)}
        choice = answer["choices"][0]
        if (finish := choice.get("finish_reason")) != "stop":
            entry["finish"] = finish
        if logprobs := choice.get("logprobs"):
            entry["logprobs"] = logprobs
        if "caf" in answer:  # the upstream is a CAF proxy
            entry["caf"] = answer["caf"]
        # ASCII, because some models write unpaired surrogates, which UTF-8 cannot encode.
        line = json.dumps(entry | {"usage": answer.get("usage"), "ms": round(ms)})
        os.write(self._file, line.encode() + b"\n")

    def close(self) -> None:
        os.close(self._file)


def _cache_key(key: str, settings: Mapping[str, Any]) -> str:
    return f"{key} {json.dumps(settings, sort_keys=True)}"


class CachingEngine(Engine):
    """An engine that answers from a cache, and asks another engine if the cache has no unused answer. Errors are not cached."""

    def __init__(self, engine: Engine, cache: AnswerCache, at: str | None = None) -> None:
        """Args: at: address of the server, for the cache key, because two servers may use one name for different models."""
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
    if "finish" in entry:  # `structured` repairs a truncated answer with a different request
        answer["choices"][0]["finish_reason"] = entry["finish"]
    if "logprobs" in entry:
        answer["choices"][0]["logprobs"] = entry["logprobs"]
    return answer | {name: entry[name] for name in ("usage", "caf") if entry.get(name)}

"""Answers written down once and given again, so that a test or an experiment runs on what a real model said.

A recording is a JSONL file, one exchange a line: `key` (see `request_key`), `body` (the request), `content` (the text,
or `{content, tool_calls}`). `script: {replay: FILE}`
answers from one.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from models.completion import completion
from models.engine import Body, Engine
from models.errors import ModelSettingsError, UpstreamRefused
from models.unique_keys import DuplicateKeyError, load_json

KEY_FIELDS = ("model", "messages", "response_format", "tools", "seed")


def request_key(body: Body) -> str:
    """Hash what decides an answer: model, messages, response format, tools, seed."""
    part = {name: body.get(name) for name in KEY_FIELDS}
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()


def content_of(answer: Body) -> Any:
    """Return what a chat completion says, in the form in which recordings keep it."""
    message = answer["choices"][0]["message"]
    if "tool_calls" in message:
        return {"content": message.get("content"), "tool_calls": message["tool_calls"]}
    return message.get("content")


class Replaying(Engine):
    """Answer from a recording. Several answers to one request are given in their order, the last one repeatedly."""

    def __init__(self, path: Path) -> None:
        """Raises: ModelSettingsError: the file cannot be read."""
        self._answers: dict[str, list[Any]] = {}
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise ModelSettingsError(f"recording {str(path)!r} cannot be read: {error.strerror}") from None
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._add(line, f"{path}:{number}")

    def _add(self, line: str, where: str) -> None:
        try:
            exchange = load_json(line)
            self._answers.setdefault(exchange["key"], []).append(exchange["content"])
        except DuplicateKeyError as error:
            raise ModelSettingsError(f"{where}: {error.msg}") from None
        except (ValueError, KeyError, TypeError):
            raise ModelSettingsError(f"{where}: not a recorded exchange, which has key and content") from None

    async def complete(self, body: Body) -> Body:
        key = request_key(body)
        if not (answers := self._answers.get(key)):
            raise UpstreamRefused(404, "no_recorded_answer", key[:12], "record this request first")
        return completion(body, answers.pop(0) if len(answers) > 1 else answers[0])


class Recording(Engine):
    """Ask another engine and write down what it says. Recordings hold conversations: mind where they lie."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine = engine
        self._path = path

    async def complete(self, body: Body) -> Body:
        answer = await self._engine.complete(body)
        line = json.dumps({"key": request_key(body), "body": body, "content": content_of(answer)})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        return answer

    async def close(self) -> None:
        await self._engine.close()

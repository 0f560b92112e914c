"""Records the answers of a model in a file and replays them, for tests and experiments.

A recording is a JSONL file with one exchange per line: `key` (see `request_key`), `body` (the request), and `content`
(the answer's text, or `{content, tool_calls}`). The setting `script: {replay: FILE}` of an alias replays a recording.
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
    """Return a hash of the request fields that determine the answer: model, messages, response format, tools and seed."""
    part = {name: body.get(name) for name in KEY_FIELDS}
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()


def content_of(answer: Body) -> Any:
    """Return the first message of a chat completion in the form that recordings store: its text, or `{content, tool_calls}`."""
    message = answer["choices"][0]["message"]
    if "tool_calls" in message:
        return {"content": message.get("content"), "tool_calls": message["tool_calls"]}
    return message.get("content")


class Replaying(Engine):
    """An engine that answers from a recording.

    If the recording has several answers to a request, they are replayed in order, and the last answer is repeated.
    """

    def __init__(self, path: Path) -> None:
        """Raises: ModelSettingsError: the file cannot be read, or a line is not a recorded exchange."""
        self._answers: dict[str, list[Any]] = {}
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise ModelSettingsError(
                f"cannot read the recording {str(path)!r}: {error.strerror}; check `replay`"
            ) from None
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._add(line, f"{path}:{number}")

    def _add(self, line: str, where: str) -> None:
        try:
            exchange = load_json(line)
            self._answers.setdefault(exchange["key"], []).append(exchange["content"])
        except DuplicateKeyError as error:
            raise ModelSettingsError(f"{where}: {error.msg}; delete one of them") from None
        except (ValueError, KeyError, TypeError):
            raise ModelSettingsError(
                f"{where}: invalid recorded exchange: expected a JSON object with `key` and `content`; delete the line"
            ) from None

    async def complete(self, body: Body) -> Body:
        key = request_key(body)
        if not (answers := self._answers.get(key)):
            raise UpstreamRefused(404, "no_recorded_answer", key[:12], "has no recorded answer to this request")
        return completion(body, answers.pop(0) if len(answers) > 1 else answers[0])


class Recording(Engine):
    """An engine that passes requests to another engine and records the answers.

    Recordings contain conversations, so store them safely.
    """

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

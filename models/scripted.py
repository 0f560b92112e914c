"""Scripted, the engine of demos and tests. It answers from a script; script.py describes scripts in YAML."""

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from models.completion import completion
from models.engine import Body, Engine
from models.errors import (
    ModelSettingsError,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
    error_for_status,
)
from models.recording import Replaying
from models.request import text_of
from models.script import Replay, Rule
from models.settings import ModelSettings
from models.unique_keys import load_yaml

Answer = str | Body | BaseException | None
"""A text; an object: a complete response (with `choices`), a message (with `tool_calls`), or JSON to send as text; an error
to raise; or None for a message without content."""
Answers = Sequence[Answer] | Callable[[Body], Answer | Awaitable[Answer]]


class Scripted(Engine):
    """An engine that answers from a script and records the requests.

        Scripted(["first", {"verdict": "accept"}, UpstreamBusy()])
        Scripted(lambda body: "the same for everything", delay_s=0.05)

    Each item of a list answers one request, in order. Further requests are refused.
    """

    def __init__(self, answers: Answers, *, delay_s: float = 0) -> None:
        self._answers = answers
        self._delay_s = delay_s
        self.requests: list[Body] = []
        """The bodies of the requests so far, oldest first."""

    async def complete(self, body: Body) -> Body:
        self.requests.append(body)
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        answer = self._answers(body) if callable(self._answers) else self._next(self._answers)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, BaseException):
            raise answer.with_traceback(None)
        return completion(body, answer)

    def _next(self, answers: Sequence[Answer]) -> Answer:
        if len(self.requests) > len(answers):
            return UpstreamRefused(404, "no_scripted_answer", reason=f"has only {len(answers)} answers in its script")
        return answers[len(self.requests) - 1]


class Rules:
    """The rules of a script. The first matching rule that is not used up answers."""

    def __init__(self, rules: Sequence[str | Rule]) -> None:
        self._rules = [rule if isinstance(rule, Rule) else Rule(reply=rule, times=1) for rule in rules]
        self._used = [0] * len(self._rules)

    async def __call__(self, body: Body) -> Answer:
        for number, rule in enumerate(self._rules):
            if (rule.times is None or self._used[number] < rule.times) and matches(rule, body):
                self._used[number] += 1
                await asyncio.sleep(rule.delay_s)
                return failure(rule.fail) if rule.fail is not None else rule.reply
        return UpstreamRefused(404, "no_scripted_answer", reason="has no matching rule in its script")


def scripted_engine(settings: ModelSettings) -> Engine:
    """Build the engine that `models.<alias>.script` describes.

    Raises:
        ModelSettingsError: a file is missing or invalid.
    """
    if isinstance(settings.script, Replay):
        return Replaying(settings.script.replay)
    if isinstance(settings.script, Path):
        return Scripted(Rules(load_rules(settings.script)))
    return Scripted(Rules(settings.script or []))


def load_rules(path: Path) -> list[str | Rule]:
    """Read a YAML file of rules. Raises: ModelSettingsError: the file cannot be read, or is not a list of texts and rules."""
    try:
        return TypeAdapter(list[str | Rule]).validate_python(load_yaml(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ModelSettingsError(f"cannot read the script {str(path)!r}: {error}") from None
    except ValidationError as error:
        raise ModelSettingsError(
            f"invalid script {str(path)!r}: expected a list of texts and rules: {_faults(error)}"
        ) from None


def _faults(error: ValidationError) -> str:
    """Return the faults in one line, each with its place in the list."""
    return "; ".join(
        f"{'.'.join(str(step) for step in one['loc'] if '[' not in str(step))}: {one['msg']}"
        for one in error.errors(include_url=False)
        if one["type"] != "string_type"  # every invalid rule also fails as a text
    )


def matches(rule: Rule, body: Body) -> bool:
    """Return whether a rule's pattern is in the last user message, or in the prompt."""
    if rule.pattern is None:
        return True
    messages: list[dict[str, Any]] = body.get("messages") or []
    if rule.within == "prompt":
        text = "\n".join(f"{message.get('role')}: {text_of(message)}" for message in messages)
    else:
        text = next((text_of(message) for message in reversed(messages) if message.get("role") == "user"), "")
    return re.search(rule.pattern, text, re.IGNORECASE) is not None


def failure(fail: int | str) -> Exception:
    """Return the error of an upstream that fails in this way."""
    if isinstance(fail, int):
        return error_for_status(fail)
    return {
        "timeout": UpstreamTimeout("is scripted to take too long"),
        "disconnect": UpstreamUnavailable("is scripted to break the connection"),
        "garbled": UpstreamGarbled("is scripted to be garbled"),
    }[fail]

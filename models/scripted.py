"""Scripted, an engine for demos and tests that answers from a script instead of a model. script.py describes the YAML format."""

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
from models.unique_keys import describe_yaml_error, load_yaml
from models.validation_errors import describe_faults

Answer = str | Body | BaseException | None
"""A scripted answer: a text; a complete response (an object with `choices`); a message (an object with `tool_calls`); any other
object, which is sent as JSON text; an exception to raise; or None for a message without content."""
Answers = Sequence[Answer] | Callable[[Body], Answer | Awaitable[Answer]]
"""The answers to successive requests, or a function that returns the answer to a request."""


class Scripted(Engine):
    """An engine that answers from a script and stores the requests.

        Scripted(["first", {"verdict": "accept"}, UpstreamBusy()])
        Scripted(lambda body: "the same for everything", delay_s=0.05)

    Each item of a list answers one request, in order. After the last item, requests are refused with 404.
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
            return UpstreamRefused(
                404,
                "no_scripted_answer",
                reason=f"has no answer to this request: its script has only {len(answers)} answers",
            )
        return answers[len(self.requests) - 1]


class Rules:
    """Answers requests by the rules of a script.

    The first rule answers that matches the request and has not reached its limit `times`.
    """

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
    """Build the engine of an alias with `engine: scripted` from its setting `script`.

    Raises:
        ModelSettingsError: the file of rules or the recording is missing or invalid.
    """
    if isinstance(settings.script, Replay):
        return Replaying(settings.script.replay)
    if isinstance(settings.script, Path):
        return Scripted(Rules(load_rules(settings.script)))
    return Scripted(Rules(settings.script or []))


_RULES = list[str | Rule]


def load_rules(path: Path) -> list[str | Rule]:
    """Read a YAML file with the rules of a script.

    Raises:
        ModelSettingsError: the file cannot be read, or is not a list of texts and rules.
    """
    try:
        data = load_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ModelSettingsError(f"cannot read the script {str(path)!r}: {error}; check the path") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ModelSettingsError(f"invalid script {path}{describe_yaml_error(error)}") from None
    try:
        return TypeAdapter(_RULES).validate_python(data)
    except ValidationError as error:
        # The file may be another one, with a secret.
        faults = "; ".join(describe_faults(error, _RULES, may_show=lambda location: False))
        raise ModelSettingsError(f"invalid script {path}: expected a list of texts and rules: {faults}") from None


def matches(rule: Rule, body: Body) -> bool:
    """Return whether a rule matches a request: its pattern occurs in the last user message or, with `within: prompt`, anywhere."""
    if rule.pattern is None:
        return True
    messages: list[dict[str, Any]] = body.get("messages") or []
    if rule.within == "prompt":
        text = "\n".join(f"{message.get('role')}: {text_of(message)}" for message in messages)
    else:
        text = next((text_of(message) for message in reversed(messages) if message.get("role") == "user"), "")
    return re.search(rule.pattern, text, re.IGNORECASE) is not None


def failure(fail: int | str) -> Exception:
    """Return the error for a rule's `fail`: an HTTP status, `timeout`, `disconnect` or `garbled`."""
    if isinstance(fail, int):
        return error_for_status(fail)
    return {
        "timeout": UpstreamTimeout("timed out, as its script says"),
        "disconnect": UpstreamUnavailable("closed the connection, as its script says"),
        "garbled": UpstreamGarbled("sent an invalid answer, as its script says"),
    }[fail]

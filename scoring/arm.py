"""One arm of an experiment: whatever answers a user's message, over HTTP."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import aiohttp
import orjson

from models.client import Models
from models.errors import ModelError
from models.usage import Ledger, Usage
from scenarios.checkpoint import Message
from scoring.transcript import Attempt, Document, Step

PLACE_HEADER = "X-CAF-Place"
"""Tells a proxy in this process what a request is for, so that what its models answer is recorded under that place."""

PATIENT = aiohttp.ClientTimeout(total=None)
"""The proxy itself bounds how long a turn takes."""


class NoReply(Exception):
    """The arm gave no reply; the message says why."""


@dataclass(frozen=True, slots=True)
class ArmReply:
    """The reply to one message."""

    reply: str
    citations: tuple[str, ...] = ()
    documents: tuple[Document, ...] = ()
    """Those that it cites."""
    outcome: str = "unfiltered"
    warnings: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    calls: int = 1
    steps: tuple[Step, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    ms: float = 0.0


class Arm(Protocol):
    """A condition of an experiment, which answers messages."""

    async def ask(self, messages: Sequence[Message], *, user: str, seed: int, place: str) -> ArmReply:
        """Send a conversation and return the reply.

        Args:
            messages: The conversation; the last message is the user's.
            user: Keeps samples apart: a proxy shares no state between users.
            place: Where in the experiment this is; answers are recorded under it.

        Raises:
            NoReply: There was none.
        """


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """What the trace of a turn adds to its reply."""

    attempts: tuple[Attempt, ...] = ()
    steps: tuple[Step, ...] = ()
    cost: float | None = None
    documents: tuple[Document, ...] = ()
    """Those that the reply could rest on."""


@dataclass(frozen=True, slots=True)
class ProxyArm:
    """A proxy of ours, in this process, asked over HTTP like any other."""

    session: aiohttp.ClientSession
    url: str
    chatbot: str
    filter: str
    take_trace: Callable[[str], TraceSummary]
    """Returns and forgets the summary of a turn's trace, by the turn's id."""

    async def ask(self, messages: Sequence[Message], *, user: str, seed: int, place: str) -> ArmReply:
        body = {"model": self.chatbot, "messages": as_openai(messages), "user": user, "seed": seed}
        headers = {"X-CAF-Filter": self.filter, PLACE_HEADER: place, "Content-Type": "application/json"}
        started = time.perf_counter()
        try:
            async with self.session.post(
                f"{self.url}/v1/chat/completions", data=orjson.dumps(body), headers=headers, timeout=PATIENT
            ) as response:
                raw = await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise NoReply(f"the proxy did not answer: {error or type(error).__name__}") from None
        answer = orjson.loads(raw)
        if response.status != 200:
            raise NoReply(f"HTTP {response.status}: {answer.get('error', {}).get('message', 'no reason given')}")
        reply = read_completion(answer, (time.perf_counter() - started) * 1000)
        summary = self.take_trace(answer["caf"]["turn_id"])
        documents = tuple(one for one in summary.documents if one.id in reply.citations)
        return replace(reply, attempts=summary.attempts, steps=summary.steps, cost=summary.cost, documents=documents)


@dataclass(frozen=True, slots=True)
class ServerArm:
    """Any OpenAI-compatible server, such as another guardrail."""

    models: Models
    alias: str

    async def ask(self, messages: Sequence[Message], *, user: str, seed: int, place: str) -> ArmReply:
        ledger, started = Ledger(), time.perf_counter()
        body = {"messages": as_openai(messages), "user": user, "seed": seed}
        try:
            answer = await self.models.complete(self.alias, body, step="reply", ledger=ledger)
        except ModelError as error:
            raise NoReply(str(error)) from None
        reply = read_completion(answer, (time.perf_counter() - started) * 1000)
        return replace(reply, cost=ledger.cost)


def as_openai(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def read_completion(answer: Mapping[str, Any], ms: float) -> ArmReply:
    """Read a chat completion, with the `caf` object if it has one.

    Raises:
        NoReply: It has no text.
    """
    message = answer["choices"][0]["message"]
    text = message.get("content") or message.get("refusal")
    if not isinstance(text, str) or not text.strip():
        raise NoReply("the reply has no text")
    caf = answer.get("caf") or {}
    return ArmReply(
        text,
        tuple(cited["id"] for cited in caf.get("citations", ())),
        outcome=caf.get("outcome", "unfiltered"),
        warnings=tuple(warning["rule"] for warning in caf.get("warnings", ())),
        calls=caf.get("calls", 1),
        usage=Usage.from_body(answer),
        ms=ms,
    )

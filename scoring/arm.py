"""The arms of an experiment. An arm is one condition, such as the filter on: a server that replies to the user over HTTP."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp
import orjson

from models.client import Models
from models.errors import ModelError
from models.usage import Ledger, Usage
from scenarios.checkpoint import Message
from scoring.transcript import Exchange, Place

PLACE_HEADER = "X-CAF-Place"
"""Request header with the place in the experiment. A proxy in this process records its model answers under this place."""

PATIENT = aiohttp.ClientTimeout(total=None)
"""HTTP client settings without a timeout, because the proxy limits the duration of a turn."""


class NoReply(Exception):
    """The arm gave no reply. The message has the reason."""


class Arm(Protocol):
    """One condition of an experiment, which replies to conversations."""

    async def ask(self, messages: Sequence[Message], *, place: Place, seed: int) -> Exchange:
        """Send a conversation that ends with a user message. Return this message and the reply as an exchange.

        Args:
            place: The position in the experiment, under which model answers are recorded.

        Raises:
            NoReply: The arm did not reply.
        """


@dataclass(frozen=True, slots=True)
class ProxyArm:
    """A CAF proxy in this process. It is called over HTTP, like a remote server."""

    session: aiohttp.ClientSession
    url: str
    chatbot: str
    filter: str
    add_trace: Callable[[Exchange, str], Exchange]
    """Called with an exchange and a turn id. Returns the exchange with data from the trace of the turn."""

    async def ask(self, messages: Sequence[Message], *, place: Place, seed: int) -> Exchange:
        body = {"model": self.chatbot} | request_body(messages, place, seed)
        headers = {"X-CAF-Filter": self.filter, PLACE_HEADER: place.key(), "Content-Type": "application/json"}
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
        exchange = read_completion(answer, messages[-1].content, place, time.perf_counter() - started)
        return self.add_trace(exchange, answer["caf"]["turn_id"])


@dataclass(frozen=True, slots=True)
class ServerArm:
    """Any OpenAI-compatible server, such as another guardrail."""

    models: Models
    alias: str

    async def ask(self, messages: Sequence[Message], *, place: Place, seed: int) -> Exchange:
        ledger, started = Ledger(), time.perf_counter()
        body = request_body(messages, place, seed)
        try:
            answer = await self.models.complete(self.alias, body, step="reply", ledger=ledger)
        except ModelError as error:
            raise NoReply(str(error)) from None
        exchange = read_completion(answer, messages[-1].content, place, time.perf_counter() - started)
        return exchange.model_copy(update={"cost": ledger.cost})


def request_body(messages: Sequence[Message], place: Place, seed: int) -> dict[str, Any]:
    """Return the body of a request. Each sample is a different `user`, so that the proxy shares no state between samples."""
    return {
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "user": f"{place.facilitator}/{place.checkpoint}/{place.sample}",
        "seed": seed,
    }


def read_completion(answer: Mapping[str, Any], user_message: str, place: Place, seconds: float) -> Exchange:
    """Convert a chat completion to an exchange, including the `caf` object if the server sent one.

    Raises:
        NoReply: The completion has no text.
    """
    message = answer["choices"][0]["message"]
    text = message.get("content") or message.get("refusal")
    if not isinstance(text, str) or not text.strip():
        raise NoReply("the completion of the server has no text")
    caf = answer.get("caf") or {}
    usage = Usage.from_body(answer)
    return Exchange(
        place=place,
        user_message=user_message,
        reply=text,
        citations=tuple(cited["id"] for cited in caf.get("citations", ())),
        outcome=caf.get("outcome", "unfiltered"),
        warnings=tuple(warning["rule"] for warning in caf.get("warnings", ())),
        calls=caf.get("calls", 1),
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        ms=round(seconds * 1000, 1),
    )

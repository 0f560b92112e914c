"""The client side of `caf chat`: keeps all messages of a conversation, and sends them with each request."""

import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import aiohttp
from pydantic import BaseModel

from scenarios.checkpoint import Checkpoint, Message, Outcome

SILENCE_S = 300.0
"""Maximum time in seconds without data from the proxy."""


class ChatError(Exception):
    """A question got no reply. The user sees the message."""


class Citation(BaseModel):
    id: str


class Warned(BaseModel):
    rule: str
    message: str


class Caf(BaseModel):
    """The fields of a reply's `caf` object that `caf chat` shows."""

    turn_id: str
    outcome: Outcome
    citations: tuple[Citation, ...] = ()
    warnings: tuple[Warned, ...] = ()


@dataclass(slots=True)
class Reply:
    """The reply to one question."""

    text: str = ""
    finished: bool = False
    """Whether the reply is complete: a chunk had a `finish_reason`."""
    caf: Caf | None = None
    """The `caf` object; None if the proxy does not send it."""
    ms: float = 0.0

    @property
    def cited(self) -> tuple[str, ...]:
        return tuple(one.id for one in self.caf.citations) if self.caf else ()


class Conversation:
    """A conversation with one chatbot of a proxy."""

    def __init__(self, session: aiohttp.ClientSession, url: str, chatbot: str, user: str | None) -> None:
        self._session, self._url, self._user = session, url, user
        self.chatbot = chatbot
        self.messages: list[Message] = []

    async def ask(self, question: str, show: Callable[[str], None]) -> Reply:
        """Ask the chatbot. The conversation keeps the question and the reply if the reply is complete.

        Args:
            question: The user's message.
            show: Called with each piece of the reply when it arrives.

        Raises:
            ChatError: The reply is missing or incomplete.
        """
        user_message = Message(role="user", content=question)
        history = [{"role": m.role, "content": m.content} for m in [*self.messages, user_message]]
        body = {"model": self.chatbot, "messages": history, "stream": True}
        body |= {"user": self._user} if self._user else {}
        reply, begin = Reply(), time.perf_counter()
        try:
            async with self._session.post(f"{self._url}/v1/chat/completions", json=body) as response:
                if response.status != 200:
                    raise ChatError(describe_refusal(response.status, await response.read()))
                async for data in read_events(response.content):
                    show(add_chunk(reply, data))
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise ChatError(f"the connection to {self._url} failed: {error or type(error).__name__}") from error
        if not reply.finished:
            raise ChatError(f"the reply from {self._url} ended early: the stream has no finish_reason")
        if not reply.text:
            raise ChatError("the chatbot's reply has no text")
        reply.ms = (time.perf_counter() - begin) * 1000
        outcome = reply.caf and reply.caf.outcome
        self.messages += [
            user_message,
            Message(role="assistant", content=reply.text, outcome=outcome, citations=reply.cited),
        ]
        return reply

    def undo(self) -> Message | None:
        """Remove the last question and its reply, and return the question."""
        if not self.messages:
            return None
        del self.messages[-1]
        return self.messages.pop()

    def checkpoint(self, name: str) -> Checkpoint:
        """Return the conversation as a checkpoint."""
        now = datetime.now(UTC).replace(microsecond=0)
        return Checkpoint(name=name, chatbot=self.chatbot, created=now, messages=tuple(self.messages))


async def open_session(api_key: str | None = None, filter_mode: str | None = None) -> aiohttp.ClientSession:
    """Open the HTTP session of a chat."""
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    return aiohttp.ClientSession(
        headers=headers | ({"X-CAF-Filter": filter_mode} if filter_mode else {}),
        # A new connection for each request: between requests the event loop does not run, so it would miss a closed connection.
        connector=aiohttp.TCPConnector(force_close=True),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=SILENCE_S),
        read_bufsize=1 << 20,
    )


async def list_chatbots(session: aiohttp.ClientSession, url: str) -> list[str]:
    """Return the names of the chatbots that a proxy serves.

    Raises:
        ChatError: The proxy cannot be reached, or is not an OpenAI-compatible server.
    """
    try:
        async with session.get(f"{url}/v1/models") as response:
            if response.status != 200:
                raise ChatError(describe_refusal(response.status, await response.read()))
            return [model["id"] for model in (await response.json(content_type=None))["data"]]
    except (aiohttp.ClientError, TimeoutError) as error:
        raise ChatError(f"cannot reach {url} ({error or 'no answer'}): start a proxy there with `caf serve`") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ChatError(f"{url}: the server is not OpenAI-compatible: give the address of a CAF proxy") from error


async def read_events(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yield the data of each server-sent event, until `[DONE]`. Keep-alive comments are skipped."""
    async for line in content:
        data = line.removeprefix(b"data:").strip()
        if data == b"[DONE]":
            return
        if line.startswith(b"data:"):
            yield data


def add_chunk(reply: Reply, data: bytes) -> str:
    """Add a chunk to a reply and return the text in it.

    Raises:
        ChatError: The data is an error event, or not a chunk.
    """
    if (message := error_message(data)) is not None:
        raise ChatError(message)
    try:
        chunk = json.loads(data)
        deltas = [choice["delta"] for choice in chunk["choices"]]
        piece = "".join(delta.get("content") or delta.get("refusal") or "" for delta in deltas)
        reply.finished |= any(choice.get("finish_reason") for choice in chunk["choices"])
        if chunk.get("caf"):
            reply.caf = Caf.model_validate(chunk["caf"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ChatError(
            "cannot read the reply: the proxy sent data that is not a chunk of a chat completion"
        ) from error
    reply.text += piece
    return piece


def describe_refusal(status: int, body: bytes) -> str:
    """Return a message for the user about a response with an error status."""
    message = error_message(body)
    return f"{message} (HTTP {status})" if message else f"the server answered HTTP {status} without a reason"


def error_message(body: bytes) -> str | None:
    """Return the message of an OpenAI error body; None if the body has another form."""
    try:
        message = json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return None
    return message if isinstance(message, str) else None


def summarise_reply(reply: Reply) -> list[str]:
    """Return the lines below a reply: outcome, citations, duration, turn id and warnings."""
    took = f"{reply.ms:.0f} ms"
    if reply.caf is None:
        return [took]
    cites = f"cites {', '.join(reply.cited)}" if reply.cited else "no citation"
    parts = [reply.caf.outcome, cites, took, f"turn {reply.caf.turn_id}"]
    return [" | ".join(parts), *(f"warning {w.rule}: {w.message}" for w in reply.caf.warnings)]

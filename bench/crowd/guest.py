"""One conversation, as a client has it: it sends its history back each time, and keeps what it was told."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson

from bench.crowd.plot import DRAFT, GUEST, NAME, Plot

MODEL = "crowd"


@dataclass(frozen=True, slots=True)
class Told:
    """What a turn comes to, with the guest's name taken out: the same in every conversation of a plot."""

    content: str
    outcome: str
    citations: tuple[str, ...]
    warnings: tuple[str, ...]
    verdicts: tuple[tuple[str, str, str], ...]
    """Judge, stage and verdict."""
    prompt: str | None
    """The hash of what the model was shown; None where no model was asked."""
    prompt_tokens: int
    completion_tokens: int
    calls: int

    def differences(self, other: "Told") -> list[str]:
        """Name the fields that are not those of another."""
        return [one for one in Told.__slots__ if getattr(self, one) != getattr(other, one)]


@dataclass(slots=True)
class Guest:
    """Who has a conversation, and what the proxy said about it."""

    name: str
    key: str
    user: str
    plot: Plot
    streamed: bool = False
    conversation_id: str = ""
    told: list[Told] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Requests that failed: the conversation ends."""
    strange: list[str] = field(default_factory=list)
    """What does not belong to this conversation."""

    async def talk(self, session: aiohttp.ClientSession, url: str, expected: Sequence[Told] | None = None) -> None:
        """Have the conversation.

        Args:
            session: The client's connections.
            url: Of the proxy's chat completions.
            expected: What each turn came to when its plot was tried; None: this is the trial.
        """
        messages: list[dict[str, str]] = []
        for n, turn in enumerate(self.plot):
            messages.append({"role": "user", "content": turn.question.replace(GUEST, self.name)})
            body = {"model": MODEL, "messages": messages, "user": self.user, DRAFT: turn.draft}
            began = time.perf_counter()
            try:
                answer = await self._asked(session, url, body)
            except (aiohttp.ClientError, TimeoutError, ValueError, LookupError) as error:
                self.faults.append(f"turn {n + 1}: {type(error).__name__}: {str(error)[:200]}")
                return
            self.seconds.append(time.perf_counter() - began)
            content = answer["choices"][0]["message"]["content"]
            self._look(n, answer, content, expected)
            messages.append({"role": "assistant", "content": content})

    async def _asked(self, session: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> dict[str, Any]:
        if self.streamed:
            body = body | {"stream": True, "stream_options": {"include_usage": True}}
        async with session.post(url, data=orjson.dumps(body), headers=self._headers()) as response:
            raw = await response.read()
            if response.status != 200:
                raise ValueError(f"status {response.status}: {raw[:160].decode(errors='replace')}")
        answer: dict[str, Any] = put_together(raw) if self.streamed else orjson.loads(raw)
        return answer

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}

    def _look(self, n: int, answer: dict[str, Any], content: str, expected: Sequence[Told] | None) -> None:
        """See whether a reply is the one that belongs here."""
        if aliens := set(NAME.findall(orjson.dumps(answer).decode())) - {self.name}:
            self.strange.append(f"turn {n + 1} names {', '.join(sorted(aliens))}")
        told = told_of(answer, content, self.name)
        self.told.append(told)
        if expected is not None and (fields := told.differences(expected[n])):
            self.strange.append(f"turn {n + 1} differs in {', '.join(fields)}")
        mine, said = self.conversation_id, answer["caf"]["conversation_id"]
        if mine and said != mine:
            self.strange.append(f"turn {n + 1} is of the conversation {said}, not {mine}")
        self.conversation_id = said


def told_of(answer: dict[str, Any], content: str, name: str) -> Told:
    """Read a completion."""
    caf, usage = answer["caf"], answer["usage"]
    return Told(
        content=content.replace(name, GUEST),
        outcome=caf["outcome"],
        citations=tuple(one["id"] for one in caf["citations"]),
        warnings=tuple(one["rule"] for one in caf["warnings"]),
        verdicts=tuple((one["name"], one["stage"], one["verdict"]) for one in caf["judges"]),
        prompt=answer.get("system_fingerprint"),
        prompt_tokens=usage["prompt_tokens"],
        completion_tokens=usage["completion_tokens"],
        calls=caf["calls"],
    )


def put_together(raw: bytes) -> dict[str, Any]:
    """Put the chunks of a stream together to the completion they are of.

    Raises:
        ValueError: It has broken off.
    """
    *events, end, rest = raw.split(b"\n\n")
    if end != b"data: [DONE]" or rest:
        raise ValueError(f"the stream ends with {end[-80:]!r}")
    content, answer = "", dict[str, Any]()
    for event in events:
        if not event.startswith(b"data: "):
            continue
        chunk = orjson.loads(event[6:])
        answer |= {name: value for name, value in chunk.items() if value}
        content += "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])
    return answer | {"choices": [{"message": {"content": content}}]}


def outcomes(guests: Sequence[Guest]) -> Counter[str]:
    """Count the turns of each outcome."""
    return Counter(told.outcome for guest in guests for told in guest.told)

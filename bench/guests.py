"""The guests of a crowd. Each guest holds a conversation under a unique name, and checks replies for text of other guests."""

import json
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from bench.script import add_drift, shipped_conversations

GUEST, NAME = "@@", re.compile(r"Qz[bcdfghjkmn]{6}")
"""The placeholder of a guest's name in plots and comparisons, and a pattern that matches such names."""
DRAFT = "x_draft"
"""Request field with the reply that the mock model must give. The proxy does not know the field, and forwards it."""
Plot = tuple[tuple[str, str], ...]
"""The questions of a conversation, each with the draft that the mock model must give."""


@dataclass(slots=True)
class Guest:
    """A conversation as seen by its client."""

    name: str
    key: str
    user: str
    plot: Plot
    streamed: bool = False
    conversation: str = ""
    replies: list[dict[str, Any]] = field(default_factory=list)
    """The fields of each reply that must be equal in every conversation of a plot. The guest's name is replaced."""
    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    """Signs of cross-talk: descriptions of content from another conversation."""

    async def talk(self, session: aiohttp.ClientSession, url: str, trial: "Guest | None" = None) -> None:
        """Hold the conversation, and compare each reply with the reply in the trial of the plot.

        Args:
            trial: The trial of the plot; None if this guest is the trial.
        """
        messages: list[dict[str, str]] = []
        for turn, (question, draft) in enumerate(self.plot, 1):
            messages.append({"role": "user", "content": question.replace(GUEST, self.name)})
            body = {"model": "crowd", "messages": messages, "user": self.user, DRAFT: draft, "stream": self.streamed}
            if self.streamed:
                body["stream_options"] = {"include_usage": True}
            began = time.perf_counter()
            try:
                async with session.post(url, json=body, headers={"Authorization": f"Bearer {self.key}"}) as response:
                    text = await response.text()
                    response.raise_for_status()
                answer = join_chunks(text) if self.streamed else json.loads(text)
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                self.errors.append(f"{self.name}: turn {turn}: {type(error).__name__}: {error}")
                return
            self.seconds.append(time.perf_counter() - began)
            self.check(answer, trial)
            messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})

    def check(self, answer: dict[str, Any], trial: "Guest | None") -> None:
        """Add each sign of cross-talk in a reply to `leaks`: another name or conversation, or a difference from the trial."""
        turn, caf = len(self.replies), answer["caf"]
        reply = {
            "outcome": caf["outcome"],
            "calls": caf["calls"],
            "content": answer["choices"][0]["message"]["content"].replace(self.name, GUEST),
            "prompt": answer.get("system_fingerprint"),
            "citations": [one["id"] for one in caf["citations"]],
            "warnings": [one["rule"] for one in caf["warnings"]],
            "verdicts": [(one["name"], one["stage"], one["verdict"]) for one in caf["judges"]],
            "tokens": (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]),
        }
        leaks = [f"names {other}" for other in {*NAME.findall(json.dumps(answer))} - {self.name}]
        leaks += [f"differs in {what}" for what in reply if trial and reply[what] != trial.replies[turn][what]]
        if self.conversation not in ("", caf["conversation_id"]):
            leaks.append("is of another conversation")
        self.conversation = caf["conversation_id"]
        self.replies.append(reply)
        self.leaks += [f"{self.name}: turn {turn + 1} {what}" for what in leaks]


def join_chunks(text: str) -> dict[str, Any]:
    """Assemble the chunks of a stream into a completion.

    Raises:
        ValueError: The stream is incomplete.
    """
    *chunks, end = [line[6:] for line in text.splitlines() if line.startswith("data: ")] or [""]
    if end != "[DONE]":
        raise ValueError(f"reading a stream: it ends with {end[-80:]!r}: expected the end of the stream")
    content, answer = "", dict[str, Any]()
    for chunk in map(json.loads, chunks):
        answer |= {key: value for key, value in chunk.items() if value}
        content += "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])
    return answer | {"choices": [{"message": {"content": content}}]}


def name(number: int) -> str:
    """Return the name of a guest. All names have the same length and no vowels, so that no name is a word."""
    return "Qz" + "".join("bcdfghjkmn"[int(digit)] for digit in f"{number % 1_000_000:06d}")


def write_plots(turns: int, count: int) -> list[Plot]:
    """Return plots. Of four plots, one has a drifting draft in its first turn, one in a later turn, and one an emergency."""
    exchanges, chance = [one for talk in shipped_conversations(100) for one in talk], random.Random(1)
    plots = []
    for number in range(count):
        plot = []
        for n, one in enumerate(chance.sample(exchanges, turns)):
            text = add_drift(one.text, chance) if n == {1: 0, 2: min(1, turns - 1)}.get(number % 4) else one.text
            question = "I want to kill myself tonight." if number % 4 == 3 and 0 < n == turns // 2 else one.question
            plot.append((f"{GUEST} here. {question}", f"[[cite: {one.source}]]\n{text} Is that clear so far, {GUEST}?"))
        plots.append(tuple(plot))
    return plots


def make_guests(count: int, keys: Sequence[str], plots: Sequence[Plot]) -> Iterator[Guest]:
    """Yield guests. Two of five guests are twins with the same name and plot, but with another key or another user."""
    for n in range(count):
        who = n - 1 if n % 5 == 1 else n
        key, user = (n, who) if n // 5 % 2 else (who, n)
        yield Guest(name(who), keys[key % len(keys)], f"user {user}", plots[who % len(plots)], streamed=n % 3 == 0)

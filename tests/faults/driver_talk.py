"""Conversations that load a proxy, each with a name that must never turn up in another one, and the upstream they talk to.

Every second conversation drifts in its first turn: the upstream gives advice that has to be replaced, and from then on the proxy
must remind it, and it alone. So a state that is lost, mixed up or counted wrongly shows in what the upstream is sent.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.faults.driver_proxy import CHAT, PATIENCE_S, Proxy, until
from tests.faults.driver_told import Reply
from tests.faults.driver_upstream import Asked, Body, Upstream, bound_socket

ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night, it cures voices."
CRISIS = "I am going to end my life tonight"
CONTACT = "Call 112 now."
FALLBACK = "I cannot answer that."
TURNS = 5
"""Turns of a conversation; the warning of its first one lasts for four more."""
_NAME = re.compile(r"zy[a-z]{4}")


def name_of(number: int) -> str:
    """Return a word for a number, since judges take figures for claims."""
    return "zy" + "".join(chr(ord("a") + number // 26**place % 26) for place in range(4))


@dataclass(frozen=True, slots=True)
class Heard:
    """A request that reached the upstream."""

    names: frozenset[str]
    """Of the conversations that anything in it is of."""
    said: str
    """The last message."""
    warned: bool
    """Whether the model is reminded of something it did."""


@dataclass
class Ear:
    """What the upstream hears: it greets a conversation by its name, and gives advice where it is asked for some."""

    url: str
    heard: list[Heard] = field(default_factory=list)
    held: asyncio.Event = field(default_factory=asyncio.Event)
    """Set: who asks it to wait is answered."""

    async def answers(self, asked: Asked) -> None:
        messages = asked.body["messages"]
        system = [m["content"] for m in messages if m["role"] == "system"]
        names = frozenset(_NAME.findall(json.dumps(asked.body)))
        self.heard.append(Heard(names, asked.said, any(text.startswith("[warning]") for text in system)))
        if "break" in asked.said:
            await asked.answer(b"", 500)
            return
        if "wait" in asked.said:
            await self.held.wait()
        greeting = f"[[cite: no_claims]]\nHello {' '.join(sorted(names))}. What would you like to know?"
        await asked.says(ADVICE if "advise" in asked.said else greeting)


@asynccontextmanager
async def hearing() -> AsyncIterator[Ear]:
    """Listen until the block is left."""
    with bound_socket() as bound:
        one = Ear(f"http://127.0.0.1:{bound.getsockname()[1]}/v1")
        async with Upstream({"m": one.answers}, keep_alive=True).listening(bound):
            yield one


def settings(up: Ear, **sections: Any) -> Body:
    """Return a configuration with a chatbot `bot` that the local judges guard."""
    model = {"engine": "openai", "base_url": up.url, "model": "m", "max_attempts": 1}
    bot = {
        "model": "chatbot",
        "role": "You are an information service about sleep.",
        "refiner": None,
        "fallback": FALLBACK,
        "emergency": {"contact": CONTACT},
        "judges": ["emergency", "source_fidelity", "transparency", "role"],
    }
    bot["judges"] = [{"name": name, "stages": ["local"]} for name in bot["judges"]]
    return {"models": {"chatbot": model}, "chatbots": {"bot": bot}, "privacy": {"store": "none"}, **sections}


@dataclass
class Talk:
    """One conversation, as its client knows it."""

    name: str
    drifts: bool
    said: list[str] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    """Those that were delivered."""

    @property
    def done(self) -> bool:
        return len(self.replies) == TURNS

    @property
    def question(self) -> str:
        wish = "advise me" if self.drifts and not self.replies else "hello"
        return f"{self.name} {wish}, {len(self.replies) + 1}"


class Load:
    """Clients that talk without a pause: one conversation after the other, and a turn that fails again until it succeeds."""

    def __init__(self, proxy: Proxy, key: str = "") -> None:
        self._proxy, self._key = proxy, key
        self.talks: list[Talk] = []
        self.answers: list[Reply] = []
        """All of them, also the errors, and what a test asked besides."""
        self._stopping = True

    @asynccontextmanager
    async def running(self, clients: int) -> AsyncIterator["Load"]:
        """Talk until the block is left and every conversation under way has come to its end."""
        self._stopping = False
        async with asyncio.timeout(4 * PATIENCE_S), asyncio.TaskGroup() as group:
            for _ in range(clients):
                group.create_task(self._client())
            try:
                yield self
            finally:
                self._stopping = True

    @property
    def delivered(self) -> int:
        return sum(len(talk.replies) for talk in self.talks)

    async def more(self, replies: int) -> None:
        """Wait until so many more replies were delivered."""
        wanted = self.delivered + replies
        await until(lambda: self.delivered >= wanted)

    async def refused(self, times: int) -> None:
        """Wait until so many more requests were refused for a fault."""
        before = len(self.answers)
        await until(lambda: sum(reply.status >= 500 for reply in self.answers[before:]) >= times)

    async def ask(self, *said: str, key: str = "", times: int = 1) -> int:
        """Ask something beside the conversations until it is refused, so many times at most; return how often it was served."""
        for number in range(times):
            self.answers.append(await self._proxy.post("bot", *said, key=key))
            if self.answers[-1].status != 200:
                return number
        return times

    def counts(self) -> Counter[str]:
        """Return how many replies had each outcome."""
        return Counter(reply.outcome for reply in self.answers if reply.status == 200)

    async def _client(self) -> None:
        while not self._stopping:
            number = len(self.talks)
            talk = Talk(name_of(number), drifts=number % 2 == 0)
            self.talks.append(talk)
            while not talk.done:
                reply = await self._proxy.post("bot", *talk.said, talk.question, key=self._key)
                self.answers.append(reply)
                if reply.status == 200:
                    talk.said += [talk.question, reply.text]
                    talk.replies.append(reply)
                else:
                    assert reply.status == 503, reply
                    await asyncio.sleep(0.05)


def expect_no_wrong_delivery(load: Load, up: Ear) -> None:
    """Each conversation got its own replies, and nothing that was rejected; no request to the upstream holds two of them."""
    for talk in load.talks:
        for number, reply in enumerate(talk.replies, 1):
            if talk.drifts and number == 1:
                assert (reply.outcome, reply.text) == ("fallback", f"{FALLBACK}\n\n{CONTACT}")
            else:
                assert (reply.outcome, reply.text) == ("accepted", f"Hello {talk.name}. What would you like to know?")
    assert not any(b"magnesium" in reply.raw for reply in load.answers)
    assert all(len(heard.names) <= 1 for heard in up.heard)


def expect_state_kept(talks: Sequence[Talk], up: Ear, proxy: Proxy) -> None:
    """Each conversation went on where it was: one id, turns counted up, and its warning carried, by it alone."""
    turn_of = {line["turn_id"]: line["turn"] for line in proxy.lines("request", status=200) if "turn_id" in line}
    for talk in talks:
        assert len({reply.caf["conversation_id"] for reply in talk.replies}) == 1, talk.name
        assert [turn_of[reply.caf["turn_id"]] for reply in talk.replies] == list(range(1, TURNS + 1)), talk.name
        heard = [one for one in up.heard if one.said.startswith(f"{talk.name} hello")]
        assert len(heard) >= TURNS - talk.drifts
        assert {one.warned for one in heard} == {talk.drifts}, talk.name
    ids = {talk.replies[0].caf["conversation_id"] for talk in talks}
    assert len(ids) == len(talks), "two conversations have one id"


def expect_truth(load: Load, proxy: Proxy) -> None:
    """Replies, log lines and metrics say the same of every turn and every error. The log is whole only after `end`."""
    told = {line["turn_id"]: line["outcome"] for line in proxy.lines("request", status=200) if "turn_id" in line}
    for talk in load.talks:
        for reply in talk.replies:
            assert told[reply.caf["turn_id"]] == reply.outcome
    by_status = Counter(reply.status for reply in load.answers)
    logged = Counter(line["status"] for line in proxy.lines("request", path=CHAT))
    assert logged == by_status
    assert not re.search(r"zy[a-z]{4}", "".join(proxy.said)), "what was said is in the log"


async def expect_counted(load: Load, proxy: Proxy) -> None:
    """The metrics say what the clients got."""
    for outcome, number in load.counts().items():
        assert await proxy.count("caf_turns_total", outcome=outcome) == number
    for status, number in Counter(reply.status for reply in load.answers).items():
        counted = await proxy.count("caf_requests_total", status=str(status), route=CHAT)
        assert counted == number, (status, counted, number)

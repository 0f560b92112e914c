"""Tenants who say the same words at the same time: each sees what it would have seen alone."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from proxy.auth.keys import NewKey, create, save
from tests.proxy.conftest import Body, Proxy, Start, dialogue, judge_with, warnings_in
from tests.redis_server import INSTALLED, RedisServer

ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night. You should also stop eating gluten."
SAID = {
    "Which supplements should I take, and how much?": ADVICE,
    "How much sleep do adults need?": "[[cite: sleep]]\nMost adults need seven to nine hours of sleep.",
    "Can I find work?": "[[cite: work]]\nJob coaches can help you find and keep a job.",
}
TONE = "---\nname: tone\nstage: swift\nmodel: swift\nobservation: verdict\n---\nReject rudeness.\n"
EXAMPLES = 15
FUZZ = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
"""Making a failing example smaller would take a minute, and more keys than there are."""
NAMED = "case 7"
"""An id that everybody chooses for a conversation."""


def answer(body: Body) -> str:
    if body["model"] == "up-swift":
        return '{"verdict": "accept", "reason": "polite"}'
    return SAID[next(m["content"] for m in reversed(body["messages"]) if m["role"] == "user")]


@dataclass(frozen=True)
class Step:
    """One turn: after which earlier one of its route (0: none), and what is said."""

    route: Literal["chat", "named", "responses"]
    after: int
    said: str


STEPS = st.lists(
    st.builds(
        Step, st.sampled_from(["chat", "chat", "named", "responses"]), st.integers(0, 3), st.sampled_from([*SAID])
    ),
    min_size=2,
    max_size=5,
)


@dataclass
class Tenant:
    """A key and a user, and what they have seen."""

    key: NewKey
    user: str
    tag: str
    turns: dict[str, list[Any]] = field(default_factory=lambda: {"chat": [], "named": [], "responses": []})
    """By route: the messages up to a reply, or the id of a response."""
    seen: list[Any] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    """Of its conversations, as far as the proxy has made them up."""
    calls: int = 0

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key.text}"}

    async def take(self, proxy: Proxy, step: Step) -> None:
        """Take a turn and keep what came of it, on both sides of the proxy."""
        turns = self.turns[step.route]
        before = turns[(step.after - 1) % len(turns)] if turns and step.after else None
        mark = {"user": self.user, "x_tag": f"{self.tag}.{len(self.seen)}", "model": "bot"}
        headers = self.headers | ({"X-Conversation-Id": NAMED} if step.route == "named" else {})
        if step.route == "responses":
            body = await posted(
                proxy, "responses", {**mark, "input": step.said, "previous_response_id": before}, headers
            )
            turns.append(body["id"])
            reply = body["output"][0]["content"][0]["text"]
        else:
            messages = [*(before or []), *dialogue(step.said)]
            body = await posted(proxy, "chat/completions", {**mark, "messages": messages}, headers)
            reply = body["choices"][0]["message"]["content"]
            turns.append([*messages, {"role": "assistant", "content": reply}])
        caf = body["caf"]
        assert ("magnesium" in str(body)) <= ("trace" in self.key.record.permissions)
        self.ids |= {caf["conversation_id"]} - {NAMED}
        self.calls += caf["calls"]
        drafted = [r["messages"] for r in proxy.upstream.requests if r.get("x_tag") == mark["x_tag"]]
        verdicts = [(j["name"], j["stage"], j["verdict"]) for j in caf["judges"]]
        warned = [w["rule"] for w in caf["warnings"]]
        self.seen.append((drafted, reply, caf["outcome"], caf["citations"], warned, verdicts, caf["calls"]))


async def posted(proxy: Proxy, path: str, body: Body, headers: dict[str, str]) -> Body:
    status, answered = await tried(proxy, "POST", path, headers, body)
    assert status == 200, answered
    return answered


async def tried(
    proxy: Proxy, method: str, path: str, headers: dict[str, str], body: Body | None = None
) -> tuple[int, Body]:
    async with proxy.session.request(method, f"{proxy.url}/v1/{path}", json=body, headers=headers) as response:
        return response.status, await response.json()


@dataclass
class World:
    """Proxies that share their state, and keys that nobody has used."""

    proxies: Sequence[Proxy]
    keys: Iterator[NewKey]
    loop: asyncio.AbstractEventLoop

    def key(self) -> NewKey:
        return next(self.keys)

    async def run(self, example: Callable[..., None]) -> None:
        """Run a property of this event loop's proxies in a thread, where hypothesis can wait for each example."""
        await asyncio.to_thread(example)

    def wait(self, work: Awaitable[None]) -> None:
        async def awaited() -> None:
            await work

        asyncio.run_coroutine_threadsafe(awaited(), self.loop).result(60)


@pytest.fixture(
    params=["process", pytest.param("redis", marks=pytest.mark.skipif(not INSTALLED, reason="needs redis-server"))]
)
async def begin(
    request: pytest.FixtureRequest, start: Start, tmp_path: Path
) -> AsyncIterator[Callable[..., Awaitable[World]]]:
    """Start one proxy with its state in the process, or two that share Redis."""
    servers = []

    async def world(**limits: Any) -> World:
        (tmp_path / "tone.md").write_text(TONE)
        keys = [
            create("k", ("chat", "trace") if n % 3 == 1 else ("chat",), **limits) for n in range(3 * (EXAMPLES + 2))
        ]
        save([key.record for key in keys], tmp_path / "keys.json")
        config: Body = {"keys": {"file": "keys.json"}}
        if request.param == "redis":
            (tmp_path / "redis").mkdir()
            servers.append(RedisServer(tmp_path / "redis"))
            config["memory"] = {"store": "redis", "url": servers[0].url, "timeout_s": 10}
        judges = [*judge_with("local"), "tone.md"]
        proxies = [await start(config=config, judges=judges) for _ in range(1 + len(servers))]
        proxies[0].upstream.answer = answer
        return World(proxies, iter(keys), asyncio.get_running_loop())

    yield world
    for server in servers:
        server.kill()


Begin = Callable[..., Awaitable[World]]


async def test_each_tenant_sees_what_it_would_have_seen_alone(begin: Begin) -> None:
    """Two keys, two users of one key, the same words, whatever the order and the branches: the model is sent the same messages
    (warnings, sources, whose replies they are), replies, verdicts and calls are the same, and no id leads to another's."""
    world = await begin()

    @FUZZ
    @given(steps=STEPS, data=st.data())
    def example(steps: list[Step], data: st.DataObject) -> None:
        one, other, lone = world.key(), world.key(), world.key()
        alone = Tenant(lone, "ann", "alone")
        tenants = [Tenant(one, "ann", "a"), Tenant(other, "ann", "b"), Tenant(one, "bob", "c")]
        order = data.draw(st.permutations([n for n in range(len(tenants)) for _ in steps]), "order")
        at_once = data.draw(st.booleans(), "at once")
        hosts = data.draw(st.lists(st.sampled_from(world.proxies), min_size=len(order), max_size=len(order)), "hosts")
        world.wait(together(world, steps, tenants, alone, order, hosts, at_once))

    await world.run(example)


async def together(
    world: World,
    steps: list[Step],
    tenants: list[Tenant],
    alone: Tenant,
    order: list[int],
    hosts: list[Proxy],
    at_once: bool,
) -> None:
    requests = world.proxies[0].upstream.requests
    requests.clear()
    for turn in rounds(order) if at_once else [[n] for n in order]:
        async with asyncio.TaskGroup() as group:
            for n in turn:
                group.create_task(tenants[n].take(hosts.pop(), steps[len(tenants[n].seen)]))
    for step in steps:
        await alone.take(world.proxies[0], step)
    for tenant in tenants:
        assert tenant.seen == alone.seen
    assert sum(tenant.calls for tenant in (*tenants, alone)) == len(requests)  # no verdict came from anywhere else
    for one, other in itertools.permutations((*tenants, alone), 2):
        assert not one.ids & other.ids
        await knows_nothing_of(world.proxies[-1], one, other)


def rounds(order: Sequence[int]) -> Iterator[list[int]]:
    """Cut an order into runs in which everybody comes once at most."""
    run: list[int] = []
    for n in order:
        if n in run:
            yield run
            run = []
        run.append(n)
    yield run


async def knows_nothing_of(proxy: Proxy, one: Tenant, other: Tenant) -> None:
    """Check that a tenant finds no kept response of another, and that another's history, resent, is not known to be theirs."""
    for ident in other.turns["responses"]:
        sent = {"model": "bot", "input": "And?", "previous_response_id": ident, "user": one.user}
        assert (await tried(proxy, "POST", "responses", one.headers, sent))[0] == 404
        if one.key is not other.key:
            assert (await tried(proxy, "GET", f"responses/{ident}", one.headers))[0] == 404
            assert (await tried(proxy, "DELETE", f"responses/{ident}", one.headers))[0] == 404


async def test_anothers_history_is_not_ones_own(begin: Begin) -> None:
    """Who resends word for word what another was told gets none of the warnings, and no reply in it counts as delivered."""
    world = await begin()
    proxy, one, other = world.proxies[0], world.key(), world.key()
    talk = Tenant(one, "ann", "a")
    for after, said in enumerate(SAID):
        await talk.take(proxy, Step("chat", after, said))
    resent = [*talk.turns["chat"][-1], *dialogue(next(iter(SAID)))]
    for n, (key, user) in enumerate([(one, "bob"), (other, "ann"), (one, "ann")]):
        proxy.upstream.requests.clear()
        tenant = Tenant(key, user, f"again{n}")
        body = await posted(
            world.proxies[-1], "chat/completions", {"model": "bot", "messages": resent, "user": user}, tenant.headers
        )
        sent = proxy.upstream.requests[0]
        own = n == 2
        assert bool(warnings_in(sent)) is own
        replies = [m["content"] for m in sent["messages"] if m["role"] == "assistant"]
        assert [text.startswith("[unverified") for text in replies] == [not own] * 3
        assert (body["caf"]["conversation_id"] in talk.ids) is own


async def test_a_keys_limits_are_its_own(begin: Begin) -> None:
    """However requests are mixed, each key gets as many as it may, and another's use takes nothing from it."""
    allowed = 2
    world = await begin(requests_per_minute=allowed)

    @FUZZ
    @given(order=st.lists(st.tuples(st.integers(0, 1), st.booleans()), min_size=2, max_size=8))
    def example(order: list[tuple[int, bool]]) -> None:
        world.wait(counted(world, [world.key(), world.key()], order, allowed))

    await world.run(example)


async def counted(world: World, keys: list[NewKey], order: list[tuple[int, bool]], allowed: int) -> None:
    statuses: list[list[int]] = [[], []]
    hi = {"model": "bot", "messages": dialogue([*SAID][1])}
    for n, host in order:
        headers = {"Authorization": f"Bearer {keys[n].text}"}
        statuses[n].append((await tried(world.proxies[-host], "POST", "chat/completions", headers, hi))[0])
    for got in statuses:
        assert got == [200] * min(allowed, len(got)) + [429] * max(0, len(got) - allowed)

"""Many guests at once through `caf serve --workers`, with Redis, keys, limits, traces and audit: is anybody mixed up with anybody?

Tries each plot once, then has all conversations, each under a name of its own that stands in every message. Each reply must be that
of the trial: text, outcome, citations, warnings, verdicts, tokens, and a hash of what the model was shown. Twins send the same
messages under another key or user. Metrics, traces and budgets must add up to what clients saw. Exit code 0 if every bar is met.
"""

import argparse
import asyncio
import hashlib
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import uvloop
from aiohttp import web
from aiohttp.test_utils import TestServer
from prometheus_client.parser import text_string_to_metric_families
from redis import Redis

from bench.figures import Figures, Target, percentile
from bench.processes import ROOT, Server, ServerFailed, run_server
from bench.script import add_drift, conversations
from bench.setting import configuration
from knowledge_base.lexical import LexicalIndex
from knowledge_base.library import load
from proxy.tenants import keys as tenants
from proxy.tenants.redis_limits import PREFIX
from proxy.traces.query import iterate_traces

BARS = (
    Target("errors", "requests that failed", 0),
    Target("cross_talk", "conversations in which something did not belong", 0),
    Target("metrics_off", "metrics that do not add up to what was sent", 0),
    Target("budgets_off", "keys that were not charged what they cost", 0),
    Target("traces_off", "conversations whose traces are not theirs", 0),
    Target("rss_growth", "growth of resident memory over the last half", 0.10),
)
LONG = 2_000
"""Turns from which a run can tell whether memory grows: before, caches fill."""
GUEST, NAME = "@@", re.compile(r"Qz[bcdfghjkmn]{6}")
"""What stands for a guest's name in plots and comparisons; what names look like."""
DRAFT = "x_draft"
"""The field of a request, unknown to the proxy and so forwarded, that tells the model what to say."""
LIMITS = {"requests_per_minute": 1_000_000, "tokens_per_minute": 10**10, "daily_budget": 10**6, "max_concurrent": 1_000}
"""Each is counted for every request, and none is reached."""
PRICE = {"input": 2.0, "output": 8.0}

Plot = tuple[tuple[str, str], ...]
"""Questions, each with the draft that the model answers it with."""


@dataclass(slots=True)
class Guest:
    """A conversation, as its client has it."""

    name: str
    key: str
    user: str
    plot: Plot
    streamed: bool = False
    conversation: str = ""
    replies: list[dict[str, Any]] = field(default_factory=list)
    """What each reply came to, with the name taken out: the same in every conversation of a plot."""
    seconds: list[float] = field(default_factory=list)
    error: str = ""
    leaks: list[str] = field(default_factory=list)
    """Signs of cross-talk: what does not belong to this conversation."""

    async def talk(self, session: aiohttp.ClientSession, url: str, trial: "Guest | None" = None) -> None:
        """Hold the conversation; compare each reply with that of the plot's trial, unless this is the trial."""
        messages: list[dict[str, str]] = []
        for question, draft in self.plot:
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
                self.error = f"{self.name}: turn {len(self.replies) + 1}: {type(error).__name__}: {error}"
                return
            self.seconds.append(time.perf_counter() - began)
            self.check(answer, trial)
            messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})

    def check(self, answer: dict[str, Any], trial: "Guest | None") -> None:
        """Add to `leaks` what in a reply is not this guest's: another name, another conversation, a difference from the trial."""
        turn, caf = len(self.replies), answer["caf"]
        reply = {what: caf[what] for what in ("outcome", "calls")} | {
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
    """Assemble a stream's chunks into a completion. Raises ValueError if the stream broke off."""
    *chunks, end = [line[6:] for line in text.splitlines() if line.startswith("data: ")] or [""]
    if end != "[DONE]":
        raise ValueError(f"the stream ends with {end[-80:]!r}")
    content, answer = "", dict[str, Any]()
    for chunk in map(json.loads, chunks):
        answer |= {key: value for key, value in chunk.items() if value}
        content += "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])
    return answer | {"choices": [{"message": {"content": content}}]}


def name(number: int) -> str:
    """Return the name of a guest: of the same length for all, and without vowels, so that it spells nothing."""
    return "Qz" + "".join("bcdfghjkmn"[int(digit)] for digit in f"{number % 1_000_000:06d}")


def write_plots(turns: int, count: int) -> list[Plot]:
    """Write plots: of four, one has a draft that drifts at once, one a later one, one an emergency."""
    library = load(ROOT / "knowledge_base" / "schizophrenia")
    lexical = LexicalIndex(library)
    talks = conversations(library, lambda question: [choice.id for choice in lexical.choose(question, [], 2)], 100)
    exchanges, chance = [exchange for talk in talks for exchange in talk], random.Random(1)
    result = []
    for number in range(count):
        plot = []
        for n, one in enumerate(chance.sample(exchanges, turns)):
            text = add_drift(one.text, chance) if n == {1: 0, 2: min(1, turns - 1)}.get(number % 4) else one.text
            question = "I want to kill myself tonight." if number % 4 == 3 and 0 < n == turns // 2 else one.question
            plot.append((f"{GUEST} here. {question}", f"[[cite: {one.source}]]\n{text} Is that clear so far, {GUEST}?"))
        result.append(tuple(plot))
    return result


def make_guests(count: int, keys: Sequence[str], tried: Sequence[Plot]) -> Iterator[Guest]:
    """Yield guests. Two of five are twins with one name and plot; by turns another key or another user tells them apart."""
    for n in range(count):
        who = n - 1 if n % 5 == 1 else n
        key, user = (n, who) if n // 5 % 2 else (who, n)
        yield Guest(name(who), keys[key % len(keys)], f"user {user}", tried[who % len(tried)], streamed=n % 3 == 0)


async def answer_as_model(request: web.Request) -> web.Response:
    """Reply with the draft and a hash of all messages, in which the guest's name is replaced."""
    data = await request.json()
    question = next(m["content"] for m in reversed(data["messages"]) if m["role"] == "user")
    guest = (NAME.findall(question) or ["nobody"])[0]
    shown, text = json.dumps(data["messages"]).replace(guest, GUEST), data[DRAFT].replace(GUEST, guest)
    return web.json_response({
        "id": "chatcmpl-crowd", "object": "chat.completion", "created": 1_700_000_000, "model": data["model"],
        "system_fingerprint": hashlib.blake2b(shown.encode(), digest_size=12).hexdigest(),
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": len(shown) // 4, "completion_tokens": len(text) // 4},
    })  # fmt: skip


@contextmanager
def _redis(folder: Path) -> Iterator[str]:
    socket, deadline = folder / "redis.sock", time.monotonic() + 20
    options = ["--port", "0", "--unixsocket", str(socket), "--dir", str(folder), "--save", ""]
    process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
    try:
        while not socket.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise ServerFailed("redis-server did not start")
            time.sleep(0.02)
        yield f"unix://{socket}"
    finally:
        process.terminate()
        process.wait()


async def _run(options: argparse.Namespace, folder: Path) -> tuple[Figures, list[str]]:
    made = [tenants.create(f"crowd {n}", **LIMITS) for n in range(6)]
    admin = tenants.create("metrics", ("admin",))
    tenants.save([one.record for one in (*made, admin)], folder / "keys.json")
    ids = {one.text: one.record.id for one in made}
    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/chat/completions", answer_as_model)
    pool = aiohttp.TCPConnector(limit=0)
    async with TestServer(app) as model, aiohttp.ClientSession(connector=pool) as session:
        with _redis(folder) as redis:
            config = configuration(str(model.make_url("")).rstrip("/"), folder)
            config["models"]["mock"]["price"] = PRICE
            config["chatbots"] = {"crowd": config["chatbots"]["on"]}
            config |= {"memory": {"store": "redis", "url": redis}, "audit": {"folder": str(folder / "audit")}}
            (folder / "config.yaml").write_text(json.dumps(config))
            serve = ["cli", "serve", "--config", str(folder / "config.yaml"), "--port", "0"]
            serve += ["--workers", str(options.workers)]
            with run_server(["-m", *serve], set(), folder / "caf.log", "CAF serves") as caf:
                url, keys = f"{caf.address}/v1/chat/completions", list(ids)
                written = write_plots(options.turns, min(32, max(8, options.conversations // 8)))
                trials = {plot: Guest(name(-n), keys[0], f"trial {n}", plot) for n, plot in enumerate(written, 1)}
                for trial in trials.values():
                    await trial.talk(session, url)
                    if trial.error:
                        raise ServerFailed(f"the trial of a plot failed: {trial.error}")
                guests = list(make_guests(options.conversations, keys, written))
                figures = await _run_conversations(session, url, guests, trials, options.at_once, caf)
                headers = {"Authorization": f"Bearer {admin.text}"}
                async with session.get(f"{caf.address}/metrics", headers=headers) as response:
                    metrics = await response.text()
            everybody = [*trials.values(), *guests]
            times = Counter(guest.conversation for guest in everybody)
            wrong = {
                "errors": [one.error for one in everybody if one.error],
                "cross_talk": [one.leaks[0] for one in everybody if one.leaks]
                + [f"{n} conversations are {ident}" for ident, n in times.items() if n > 1],
                "metrics_off": wrong_metrics(metrics, everybody),
                "budgets_off": _wrong_budgets(redis, ids, everybody),
                "traces_off": _wrong_traces(
                    folder / "traces.db", ids, everybody
                ),  # all are written: the proxy has ended
            }
    return figures | {what: len(some) for what, some in wrong.items()}, [s for some in wrong.values() for s in some[:5]]


async def _run_conversations(
    session: aiohttp.ClientSession, url: str, guests: Sequence[Guest], trials: dict[Plot, Guest], most: int, caf: Server
) -> Figures:
    """Hold all conversations; return their latencies and the proxy's memory."""
    waiting = iter(guests)

    async def one_after_another() -> None:
        for guest in waiting:
            await guest.talk(session, url, trials[guest.plot])

    async def watch() -> None:
        while True:
            memory.append((sum(len(guest.replies) for guest in guests), caf.rss_mb()))
            await asyncio.sleep(0.5)

    memory: list[tuple[int, float]] = []
    began, watching = time.perf_counter(), asyncio.create_task(watch())
    await asyncio.gather(*(one_after_another() for _ in range(most)))
    seconds = time.perf_counter() - began
    watching.cancel()
    took = [1000 * one for guest in guests for one in guest.seconds] or [0.0]
    outcomes = Counter(f"outcome_{reply['outcome']}" for guest in guests for reply in guest.replies)
    half = [mb for turns, mb in memory if turns >= len(took) / 2] or [caf.rss_mb()]
    return {
        "conversations": len(guests), "turns": outcomes.total(), "seconds": seconds, "turns_per_s": outcomes.total() / seconds,
        "p50_ms": percentile(took, 0.5), "p99_ms": percentile(took, 0.99), "slowest_ms": max(took), **outcomes,
        "rss_after_mb": caf.rss_mb(), "rss_growth": max(half) / min(half) - 1,
    }  # fmt: skip


def _cost(guests: Sequence[Guest]) -> float:
    tokens = [reply["tokens"] for guest in guests for reply in guest.replies]
    return float(sum(read * PRICE["input"] + written * PRICE["output"] for read, written in tokens) / 1e6)


def wrong_metrics(text: str, guests: Sequence[Guest]) -> list[str]:
    """Return metrics that disagree with what the clients saw. `guests` must be all clients since the start."""
    samples = [one for family in text_string_to_metric_families(text) for one in family.samples]

    def total(metric: str, **labels: str) -> float:
        return sum(one.value for one in samples if one.name == metric and labels.items() <= one.labels.items())

    replies = [reply for guest in guests for reply in guest.replies]
    expected = {
        "requests": (total("caf_requests_total", route="/v1/chat/completions", status="200"), len(replies)),
        "fresh conversations": (total("caf_conversations_total", memory="fresh"), len(guests)),
        "known conversations": (total("caf_conversations_total", memory="history"), len(replies) - len(guests)),
        "turns": (total("caf_turns_total"), len(replies)),
        "model calls": (total("caf_model_calls_total"), sum(reply["calls"] for reply in replies)),
        "cost": (total("caf_cost_total"), _cost(guests)),
        **{lost: (total(lost), 0) for lost in ("caf_traces_dropped", "caf_audit_dropped", "caf_memory_failures")},
    }
    for outcome, number in Counter(reply["outcome"] for reply in replies).items():
        expected[f"turns {outcome}"] = (total("caf_turns_total", outcome=outcome), number)
    return [
        f"{what}: the metrics say {there:g}, the clients {here:g}"
        for what, (there, here) in expected.items()
        if not math.isclose(there, here, rel_tol=1e-9, abs_tol=1e-9)
    ]


def _wrong_budgets(redis: str, ids: dict[str, str], guests: Sequence[Guest]) -> list[str]:
    wrong = []
    with Redis.from_url(redis) as store:
        for key, ident in ids.items():
            spent, cost = store.hget(f"{PREFIX}{{{ident}}}", "spent"), _cost([one for one in guests if one.key == key])
            running = store.zcard(f"{PREFIX}{{{ident}}}:running")
            if not math.isclose(float(spent or 0), cost, rel_tol=1e-6, abs_tol=1e-9) or running:
                wrong.append(f"key {ident} was charged {spent} for {cost:g}, and has {running} requests under way")
    return wrong


def _wrong_traces(place: Path, ids: dict[str, str], guests: Sequence[Guest]) -> list[str]:
    """Return conversations whose traces have other turns, keys, outcomes or names than the client saw."""
    stored = defaultdict(list)
    for trace in sorted(iterate_traces(place), key=lambda one: one["turn"]):
        stored[trace["conversation_id"]].append(trace)
    wrong = []
    for guest in guests:
        mine = stored[guest.conversation]
        right = [(n, ids[guest.key], reply["outcome"]) for n, reply in enumerate(guest.replies, 1)]
        if [(one["turn"], one["key_id"], one["outcome"]) for one in mine] != right:
            wrong.append(f"{guest.name}: its {len(mine)} traces have other turns, another key or other outcomes")
        elif {*NAME.findall(str(mine))} != {guest.name}:
            wrong.append(f"{guest.name}: its traces have somebody else's name")
    return wrong


def missed_targets(figures: Figures) -> list[str]:
    """Return the targets that were missed. A short run has no target for memory."""
    bars = [bar for bar in BARS if bar.figure != "rss_growth" or figures["turns"] >= LONG]
    return [f"{bar.what}: {figures[bar.figure]:g}, at most {bar.bound:g}" for bar in bars if not bar.is_met(figures)]


def main() -> int:
    """Run it, and print its figures."""
    parser = argparse.ArgumentParser(prog="bench.crowd", description=__doc__)
    for option, most, what in (
        ("conversations", 2_000, "how many conversations"), ("turns", 4, "turns of each"),
        ("at-once", 128, "how many of them at a time"), ("workers", 2, "processes of the proxy"),
    ):  # fmt: skip
        parser.add_argument(f"--{option}", type=int, default=most, metavar="N", help=f"{what} (%(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "crowd.json", help="a file for the figures")
    options = parser.parse_args()
    os.environ.setdefault("CAF_BENCH_KEY", "sk-bench-upstream")
    try:
        with tempfile.TemporaryDirectory(prefix="caf-crowd-") as folder:
            figures, wrong = uvloop.run(_run(options, Path(folder)))
    except (ServerFailed, OSError) as error:
        print(f"crowd: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    options.out.write_text(json.dumps(figures, indent=2) + "\n")
    print("\n".join(f"{figure:24}{value:14,.3f}" for figure, value in figures.items()))
    for one in (*wrong, *(bars := missed_targets(figures))):
        print(f"crowd: {one}", file=sys.stderr)
    return 1 if bars else 0


if __name__ == "__main__":
    sys.exit(main())

"""Checks that no state leaks between many concurrent users of `caf serve --workers`, with Redis, keys, limits, traces and audit.

The benchmark runs each plot once as a trial, then all conversations. Each user has a unique name, which every message contains.
Each reply must equal the reply of the trial: text, outcome, citations, warnings, verdicts, tokens, and a hash of the model's
input. Twins send the same messages under another key or user. Metrics, traces and budgets must match the replies. The exit code
is 0 if all targets are met.
"""

import argparse
import asyncio
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import uvloop
from aiohttp import web
from aiohttp.test_utils import TestServer
from prometheus_client.parser import text_string_to_metric_families
from redis import Redis

from bench.figures import Figures, Target, percentile, report
from bench.guests import DRAFT, GUEST, NAME, Guest, Plot, make_guests, name, write_plots
from bench.processes import ROOT, Server, ServerFailed, run_caf
from bench.setting import configuration
from proxy.auth import keys
from proxy.auth.redis_limits import PREFIX
from proxy.traces.query import iterate_traces

BARS = (
    Target("errors", "requests that failed", 0),
    Target("cross_talk", "conversations with content of another one", 0),
    Target("metrics_off", "metrics that differ from the clients' counts", 0),
    Target("budgets_off", "keys whose charge differs from their cost", 0),
    Target("traces_off", "conversations with wrong traces", 0),
)
MEMORY = Target("rss_growth", "growth of resident memory in the second half", 0.10)
LONG = 2_000
"""Minimum number of turns for which memory growth is measured. In a shorter run, caches are still filling."""
LIMITS = {"requests_per_minute": 1_000_000, "tokens_per_minute": 10**10, "daily_budget": 10**6, "max_concurrent": 1_000}
"""The limits of each key. The proxy counts every request against the limits, but no client reaches a limit."""
PRICE = {"input": 2.0, "output": 8.0}
LABELS = ("route", "status", "memory", "outcome")
"""The labels by which metrics are compared with the clients' counts."""


async def answer_as_model(request: web.Request) -> web.Response:
    """Answer as the mock model: with the draft of the request, and a hash of all messages without the guest's name."""
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
    socket = folder / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--dir", str(folder), "--save", ""]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            while not socket.exists():
                if process.poll() is not None:
                    raise ServerFailed("starting redis-server: the process ended at once; see its error output above")
                time.sleep(0.02)
            yield f"unix://{socket}"
        finally:
            process.terminate()


async def run(conversations: int, turns: int, at_once: int, workers: int, folder: Path) -> tuple[Figures, list[str]]:
    """Run the benchmark. Return the figures, and the first faults of each kind."""
    made = [keys.create(f"crowd {n}", **LIMITS) for n in range(6)]
    admin = keys.create("metrics", ("admin",))
    keys.save([one.record for one in (*made, admin)], folder / "keys.json")
    ids = {one.text: one.record.id for one in made}
    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/chat/completions", answer_as_model)
    pool = aiohttp.TCPConnector(limit=0)
    async with TestServer(app) as model, aiohttp.ClientSession(connector=pool) as session:
        with _redis(folder) as redis:
            config = configuration(str(model.make_url("")).rstrip("/"), folder)
            config["models"]["mock"]["price"] = PRICE
            config["chatbots"] = {"crowd": config["chatbots"]["on"]}
            config |= {"memory": {"store": "redis", "url": redis}, "audit": {"folder": "audit"}}
            with run_caf(config, folder, "--workers", str(workers), pinned=False) as caf:
                url, plots = (
                    f"{caf.address}/v1/chat/completions",
                    write_plots(turns, min(32, max(8, conversations // 8))),
                )
                trials = {plot: Guest(name(-n), made[0].text, f"trial {n}", plot) for n, plot in enumerate(plots, 1)}
                for trial in trials.values():
                    await trial.talk(session, url)
                    if trial.errors:
                        raise ServerFailed(f"running the trial of a plot: {trial.errors}: expected no error")
                guests = list(make_guests(conversations, [*ids], plots))
                figures = await _hold_conversations(session, url, guests, trials, at_once, caf)
                headers = {"Authorization": f"Bearer {admin.text}"}
                async with session.get(f"{caf.address}/metrics", headers=headers) as response:
                    metrics = await response.text()
            # The proxy has ended, so all traces are written.
            everybody = [*trials.values(), *guests]
            times = Counter(guest.conversation for guest in everybody)
            wrong = {
                "errors": [error for one in everybody for error in one.errors],
                "cross_talk": [one.leaks[0] for one in everybody if one.leaks]
                + [f"{n} conversations are {ident}" for ident, n in times.items() if n > 1],
                "metrics_off": wrong_metrics(metrics, everybody),
                "budgets_off": _wrong_budgets(redis, ids, everybody),
                "traces_off": _wrong_traces(folder / "traces.db", ids, everybody),
            }
    return figures | {what: len(some) for what, some in wrong.items()}, [s for some in wrong.values() for s in some[:5]]


async def _hold_conversations(
    session: aiohttp.ClientSession, url: str, guests: Sequence[Guest], trials: dict[Plot, Guest], most: int, caf: Server
) -> Figures:
    """Hold all conversations. Return the figures of latencies, outcomes and the proxy's memory."""
    waiting, memory = iter(guests), list[tuple[int, float]]()

    async def one_after_another() -> None:
        for guest in waiting:
            await guest.talk(session, url, trials[guest.plot])

    async def watch() -> None:
        while True:
            memory.append((sum(len(guest.replies) for guest in guests), caf.rss_mb()))
            await asyncio.sleep(0.5)

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
    """Return a message for each metric that differs from the clients' counts.

    Args:
        text: The metrics of the proxy.
        guests: All clients since the proxy started.
    """
    counted: defaultdict[str, float] = defaultdict(float)
    for sample in (one for family in text_string_to_metric_families(text) for one in family.samples):
        counted[sample.name] += sample.value
        if labels := [sample.labels[label] for label in LABELS if label in sample.labels]:
            counted[" ".join([sample.name, *labels])] += sample.value
    replies = [reply for guest in guests for reply in guest.replies]
    outcomes = Counter(f"caf_turns_total {reply['outcome']}" for reply in replies)
    expected = {
        "caf_requests_total /v1/chat/completions 200": len(replies),
        "caf_conversations_total fresh": len(guests),
        "caf_conversations_total history": len(replies) - len(guests),
        "caf_turns_total": len(replies),
        "caf_model_calls_total": sum(reply["calls"] for reply in replies),
        "caf_cost_total": _cost(guests),
        **dict.fromkeys(("caf_traces_dropped", "caf_audit_dropped", "caf_memory_failures"), 0),
        **outcomes,
    }
    return [
        f"{metric}: the proxy counts {counted[metric]:g}, the clients {value:g}"
        for metric, value in expected.items()
        if not math.isclose(counted[metric], value, rel_tol=1e-9, abs_tol=1e-9)
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
    """Return a message for each conversation whose traces differ from the client's turns, key, outcomes or name."""
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


def main() -> int:
    """Run the benchmark, and print its figures."""
    parser = argparse.ArgumentParser(prog="bench.crowd", description=__doc__)
    parser.add_argument("--conversations", type=int, default=2_000, help="number of conversations (%(default)s)")
    parser.add_argument("--turns", type=int, default=4, help="turns of each conversation (%(default)s)")
    parser.add_argument("--at-once", type=int, default=128, help="concurrent conversations (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="worker processes of the proxy (%(default)s)")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "bench" / "crowd.json", help="file for the figures (%(default)s)"
    )
    given = parser.parse_args()
    os.environ.setdefault("CAF_BENCH_KEY", "sk-bench-upstream")
    with tempfile.TemporaryDirectory(prefix="caf-crowd-") as folder:
        figures, faults = uvloop.run(run(given.conversations, given.turns, given.at_once, given.workers, Path(folder)))
    for fault in faults:
        print(f"crowd: {fault}", file=sys.stderr)
    return report(figures, BARS if figures["turns"] < LONG else (*BARS, MEMORY), given.out)


if __name__ == "__main__":
    sys.exit(main())

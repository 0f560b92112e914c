"""Long texts with a key that has nothing left: what hearing them costs, and how long others wait meanwhile.

    python -m bench.attacks --only hearing

Everybody is heard before limits are looked at, also with a key that is over its limit: that work is what an attacker
gets for nothing.
"""

import asyncio
import json
import random
import string
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles

import aiohttp
import orjson
import yaml

from bench.figures import Figures
from bench.processes import ROOT, Server, cores, run_server
from proxy.tenants import keys

SIZES = (24_000, 48_000, 96_000)
"""Characters of the texts whose work is compared."""
REPEATS = 8
"""How often each is sent: the kernel counts CPU in steps of 10 ms."""
PROBES = 150
"""Requests of somebody else, of each kind, without and during the attack."""
ATTACKERS = 4
CRISIS = "I am going to end my life tonight."


def run(folder: Path, quick: bool) -> Figures:
    """Measure hearing on a real server.

    Args:
        folder: For the server's files.
        quick: Attack for 5 seconds each and not for 20.

    Returns:
        `hearing_KIND_growth_ratio`: CPU for each byte of the longest text against the half of it. `hearing_ROUTE_ms` and
        `hearing_KIND_ROUTE_ms`: median latency of /healthz and of an emergency without and during the attack; `..._p95_ms`
        likewise; `hearing_KIND_ROUTE_ratio`: how many times as long the median is during it.
    """
    spent, guest = keys.create("spent", requests_per_minute=1), keys.create("guest")
    keys.save([spent.record, guest.record], folder / "keys.json")
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    for bot in config["chatbots"].values():
        bot |= {field: str(ROOT / bot[field]) for field in ("role", "knowledge_base") if field in bot}
    config |= {"keys": {"file": str(folder / "keys.json")}, "privacy": {"store": "none"}}
    (folder / "config.yaml").write_text(json.dumps(config))
    serve = ["-m", "cli", "serve", "--config", str(folder / "config.yaml"), "--port", "0"]
    with run_server(serve, cores()[1], folder / "caf.log", "CAF serves") as server:
        chatbot = next(iter(config["chatbots"]))
        return asyncio.run(_measure(server, chatbot, spent.text, guest.text, 5.0 if quick else 20.0))


def texts(kind: str, size: int, count: int) -> list[str]:
    """Return long texts of a kind, all different, so that no cache helps."""
    if kind == "ligatures":
        return ["\ufdfa" * (size - n) + "a" * n for n in range(count)]
    chance = random.Random(size)
    made = []
    for _ in range(count):
        words = ("".join(chance.choices(string.ascii_lowercase, k=chance.randint(2, 9))) for _ in range(size // 6))
        made.append(" ".join(words)[:size])
    return made


KINDS = ("ligatures", "words")


async def _measure(server: Server, chatbot: str, spent: str, guest: str, longest_s: float) -> Figures:
    async with aiohttp.ClientSession(server.address, connector=aiohttp.TCPConnector(limit=0)) as session:

        async def say(text: str, key: str) -> int:
            body = orjson.dumps({"model": chatbot, "messages": [{"role": "user", "content": text}]})
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            async with session.post("/v1/chat/completions", data=body, headers=headers) as response:
                await response.read()
                return response.status

        async def healthz() -> None:
            async with session.get("/healthz") as response:
                assert response.status == 200

        async def emergency() -> None:
            if await say(CRISIS, guest) != 200:
                raise RuntimeError("an emergency was not answered")

        probes = {"healthz": healthz, "emergency": emergency}
        await say("What is psychosis?", spent)
        found: Figures = {}
        calm = await _latencies(probes, lambda: True)
        for route, taken in calm.items():
            found |= _figures(f"hearing_{route}", taken)
        for kind in KINDS:
            found[f"hearing_{kind}_growth_ratio"] = await _growth(server, kind, lambda text: say(text, spent))
            attack = asyncio.create_task(_attack(kind, lambda text: say(text, spent), longest_s))
            await asyncio.sleep(0.5)
            meanwhile = await _latencies(probes, lambda going=attack: not going.done())
            for route, taken in meanwhile.items():
                found |= _figures(f"hearing_{kind}_{route}", taken)
                found[f"hearing_{kind}_{route}_ratio"] = median(taken) / median(calm[route])
            attack.cancel()
            await asyncio.gather(attack, return_exceptions=True)
        return found


async def _latencies(
    probes: Mapping[str, Callable[[], Awaitable[None]]], goes_on: Callable[[], bool]
) -> dict[str, list[float]]:
    """Return each probe's latencies in milliseconds while `goes_on` returns true."""
    taken: dict[str, list[float]] = {route: [] for route in probes}
    for _ in range(PROBES):
        for route, probe in probes.items():
            began = time.perf_counter()
            await probe()
            taken[route].append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(0.005)
        if not goes_on():
            break
    return taken


def _figures(name: str, taken: Sequence[float]) -> Figures:
    return {f"{name}_ms": median(taken), f"{name}_p95_ms": quantiles([*taken, *taken[-1:]], n=20)[-1]}


async def _growth(server: Server, kind: str, send: Callable[[str], Awaitable[int]]) -> float:
    """Return the CPU for each byte of the longest texts against that of texts half as long."""
    per_byte = []
    for size in SIZES:
        made = texts(kind, size, REPEATS)
        before = server.settled_cpu_s()
        for text in made:
            await send(text)
        used = server.settled_cpu_s() - before
        per_byte.append(max(used, 0.01) / sum(len(text.encode()) for text in made))
    return per_byte[-1] / per_byte[-2]


async def _attack(kind: str, send: Callable[[str], Awaitable[int]], longest_s: float) -> None:
    made = texts(kind, SIZES[-1], 24)
    until = time.monotonic() + longest_s

    async def go_on(first: int) -> None:
        n = first
        while time.monotonic() < until:
            await send(made[n % len(made)])
            n += ATTACKERS

    async with asyncio.TaskGroup() as group:
        for first in range(ATTACKERS):
            group.create_task(go_on(first))

"""Attack with long texts and a key over its limit: CPU of the emergency check, and latency of other clients.

The local emergency judge reads every message before the proxy checks limits. A key over its limit therefore still causes this
work.
"""

import random
import string
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

from bench.attacks.waits import Address, address_of, ask, chat, measure_waits
from bench.figures import Figures
from bench.processes import Server, run_caf, shipped_config
from proxy.auth import keys

SIZES = (48_000, 96_000)
"""Sizes of the compared texts, in characters."""
REPEATS = 8
"""Number of texts of each size; needed because the kernel counts CPU in steps of 10 ms."""
ATTACKERS = 4
KINDS = ("ligatures", "words")


def run(folder: Path, quick: bool) -> Figures:
    """Measure the emergency check on a real server.

    Args:
        folder: Folder for the server's files.
        quick: Whether other clients send fewer requests.

    Returns:
        The figures of `measure_waits`, and `hearing_KIND_growth_ratio`: CPU per byte of the longest texts divided by CPU per
        byte of texts half as long.
    """
    spent, guest = keys.create("spent", requests_per_minute=1), keys.create("guest")
    keys.save([spent.record, guest.record], folder / "keys.json")
    with run_caf(shipped_config(keys={"file": "keys.json"}, privacy={"store": "none"}), folder) as server:
        ask(address_of(server), _say("What is psychosis?", spent.text))
        figures = {f"hearing_{kind}_growth_ratio": _growth(server, kind, spent.text) for kind in KINDS}
        attacks = {f"hearing_{kind}": partial(_send_long_texts, kind, spent.text) for kind in KINDS}
        return figures | measure_waits(server, guest.text, attacks, 1, 60 if quick else 150)


@cache
def texts(kind: str, size: int, count: int) -> list[str]:
    """Return long texts of a kind, all different, so that no cache applies."""
    if kind == "ligatures":
        return ["\ufdfa" * (size - n) + "a" * n for n in range(count)]
    chance = random.Random(size)
    made = []
    for _ in range(count):
        words = ("".join(chance.choices(string.ascii_lowercase, k=chance.randint(2, 9))) for _ in range(size // 6))
        made.append(" ".join(words)[:size])
    return made


def _say(text: str, key: str) -> bytes:
    return chat([{"role": "user", "content": text}], key)


def _growth(server: Server, kind: str, key: str) -> float:
    """Return the CPU per byte of the longest texts, divided by the CPU per byte of texts half as long."""
    per_byte = []
    for size in SIZES:
        made = texts(kind, size, REPEATS)
        before = server.settled_cpu_s()
        for text in made:
            ask(address_of(server), _say(text, key))
        used = server.settled_cpu_s() - before
        per_byte.append(max(used, 0.01) / sum(len(text.encode()) for text in made))
    return per_byte[1] / per_byte[0]


def _send_long_texts(kind: str, key: str, address: Address) -> None:
    """Send long texts over several connections at once."""
    with ThreadPoolExecutor(ATTACKERS) as pool:
        list(pool.map(lambda text: ask(address, _say(text, key)), texts(kind, SIZES[-1], 24)))

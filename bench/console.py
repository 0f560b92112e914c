"""What a console costs the turns: requests a second while somebody looks at Conversations, and while nobody does.

python -m bench.console                   100,000 traced turns (two minutes to make), ten pairs of windows of four seconds
python -m bench.console --turns 5000 --pairs 3    a first look

Somebody looks: the list of conversations, filtered in turn, is loaded every five seconds, faster than a person reads. Windows with
and without take turns, and the order within a pair changes, so that a machine whose speed drifts favours neither.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from bench.console_lists import write
from bench.figures import median
from bench.processes import Server, cores, pin, run_server

ROOT = Path(__file__).resolve().parent.parent
TARGET = 0.98
"""Throughput with the console open over throughput without."""
CONNECTIONS = 8
LOOKS_EVERY_S = 5.0
VIEWS = ("", "?outcome=refined", "?labelled=unlabelled", "?words=sleep", "?judge=role")


def main() -> int:
    """Print the ratio, and return 1 if the console costs too much."""
    parser = argparse.ArgumentParser(prog="bench.console", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=100_000, help="turns that are in the traces before")
    parser.add_argument("--pairs", type=int, default=10, help="pairs of windows")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long a window lasts")
    options = parser.parse_args()
    here, there = cores()
    with tempfile.TemporaryDirectory(prefix="caf-console-") as name:
        folder = Path(name)
        for _ in write(folder / "traces.db", options.turns, time.time()):
            pass
        config = folder / "config.yaml"
        config.write_text(yaml.safe_dump(configuration(folder)))
        pin(here)
        with run_server(
            ["-m", "cli", "serve", "--config", str(config), "--port", "0"], there, folder / "log"
        ) as server:
            ratio, load_ms = measure(server, options.pairs, options.seconds)
    print(
        f"throughput with the console open: {ratio:.3f} of that without (at least {TARGET}); the list took {load_ms:.0f} ms"
    )
    figures = {"console_throughput_ratio": round(ratio, 4), "console_list_under_load_ms": round(load_ms, 1)}
    (ROOT / "bench" / "console.json").write_text(json.dumps(figures, indent=2) + "\n")
    return int(ratio < TARGET)


def configuration(folder: Path) -> dict[str, object]:
    """Return the shipped configuration, with its traces in the folder."""
    data = yaml.safe_load((ROOT / "config.yaml").read_text())
    bot = data["chatbots"]["schizophrenia"]
    bot["role"], bot["knowledge_base"] = str(ROOT / bot["role"]), str(ROOT / bot["knowledge_base"])
    return {**data, "privacy": {"store": "full", "path": str(folder / "traces.db"), "days": 365}}


def measure(server: Server, pairs: int, seconds: float) -> tuple[float, float]:
    """Return the median ratio of throughputs within pairs of windows, and the median time of a list, in ms."""
    load(server, seconds)  # until caches are warm
    ratios, waits = [], []
    for n in range(pairs):
        rates = {}
        for looks in (n % 2 == 0, n % 2 == 1):
            ending = threading.Event()
            viewer = threading.Thread(target=look, args=(server.address, ending, waits))
            if looks:
                viewer.start()
            rates[looks] = load(server, seconds)
            ending.set()
            if looks:
                viewer.join()
        ratios.append(rates[True] / rates[False])
        print(f"pair {n + 1}: {rates[False]:,.0f} requests/s without, {rates[True]:,.0f} with: {ratios[-1]:.3f}")
    return median(ratios), median(waits)


def load(server: Server, seconds: float) -> float:
    """Ask new questions on several connections for so long, and return requests a second."""
    until = time.monotonic() + seconds
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        counts = list(pool.map(lambda n: ask(server.address, n, until), range(CONNECTIONS)))
    return sum(counts) / seconds


def ask(address: str, number: int, until: float) -> int:
    """Ask until that moment, each time something new, and return how often."""
    count = 0
    while time.monotonic() < until:
        question = f"How much sleep do I need, and what helps? ({number}.{time.monotonic_ns()})"
        body = {"model": "schizophrenia", "messages": [{"role": "user", "content": question}]}
        request = urllib.request.Request(
            f"{address}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            assert json.load(response)["caf"]["outcome"] in ("accepted", "warned", "refined")
        count += 1
    return count


def look(address: str, ending: threading.Event, waits: list[float]) -> None:
    """Load the list of conversations again and again, and note what each took, in ms."""
    for n in range(1_000):
        begun = time.perf_counter()
        with urllib.request.urlopen(f"{address}/console/conversations{VIEWS[n % len(VIEWS)]}", timeout=30) as page:
            assert b"Conversations" in page.read()
        waits.append((time.perf_counter() - begun) * 1000)
        if ending.wait(LOOKS_EVERY_S):
            return


if __name__ == "__main__":
    sys.exit(main())

"""Measures the effect of an open console on throughput: requests/s with and without a viewer of Conversations.

python -m bench.console                   100,000 traced turns (two minutes to write), ten pairs of windows of four seconds
python -m bench.console --turns 5000 --pairs 3    shorter

The viewer loads the list of conversations every five seconds, with changing filters. A person reads more slowly. Windows with and
without a viewer alternate, and the order within a pair changes, so that a drift of the machine's speed does not bias the ratio.
"""

import argparse
import sys
import tempfile
import threading
import time
import urllib.request
from itertools import count
from pathlib import Path

import uvloop

from bench import load
from bench.console_lists import write
from bench.figures import Figures, Target, median, report
from bench.processes import ROOT, SHIPPED, Server, cores, pin, run_caf, shipped_config

TARGETS = (Target("console_throughput_ratio", "throughput with the console open, over that without", 0.98, least=True),)
CONNECTIONS = 8
LOOKS_EVERY_S = 5.0
VIEWS = ("", "?outcome=refined", "?labelled=unlabelled", "?words=sleep", "?judge=role")


def main() -> int:
    """Print the ratio of throughputs, and return 1 if the ratio misses its target."""
    parser = argparse.ArgumentParser(prog="bench.console", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=100_000, help="turns in the traces at the start (%(default)s)")
    parser.add_argument("--pairs", type=int, default=10, help="pairs of windows (%(default)s)")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a window in seconds (%(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="caf-console-") as name:
        folder = Path(name)
        for _ in write(folder / "traces.db", options.turns, time.time()):
            pass
        pin(cores()[0])
        config = shipped_config(privacy={"store": "full", "path": "traces.db", "days": 365})
        with run_caf(config, folder) as server:
            figures = measure(server, options.pairs, options.seconds)
    return report(figures, TARGETS, ROOT / "bench" / "console.json")


def measure(server: Server, pairs: int, seconds: float) -> Figures:
    """Return the median ratio of throughputs within pairs of windows, and the median latency of a list in ms."""
    numbers = count()
    rate(server, numbers, seconds)  # warm the caches
    ratios, waits = [], list[float]()
    for n in range(pairs):
        rates = {}
        for looks in (n % 2 == 0, n % 2 == 1):
            ending = threading.Event()
            viewer = threading.Thread(target=look, args=(server.address, ending, waits))
            if looks:
                viewer.start()
            rates[looks] = rate(server, numbers, seconds)
            ending.set()
            if looks:
                viewer.join()
        ratios.append(rates[True] / rates[False])
        print(f"pair {n + 1}: {rates[False]:,.0f} requests/s without, {rates[True]:,.0f} with: {ratios[-1]:.3f}")
    return {"console_throughput_ratio": median(ratios), "console_list_under_load_ms": median(waits)}


def rate(server: Server, numbers: "count[int]", seconds: float) -> float:
    """Ask new questions over several connections for `seconds`, and return the throughput in requests/s."""
    questions = (f"How much sleep do I need, and what helps? ({next(numbers)})" for _ in range(int(2_000 * seconds)))
    bodies = ({"model": SHIPPED, "messages": [{"role": "user", "content": question}]} for question in questions)
    talks = [[load.request(server.address, body, b'"outcome":"accepted"')] for body in bodies]
    result = uvloop.run(load.play(server.address, talks, CONNECTIONS, seconds))
    if result.failures:
        raise RuntimeError(f"requests failed: {dict(result.failures)}")
    return result.rate


def look(address: str, ending: threading.Event, waits: list[float]) -> None:
    """Load the list of conversations repeatedly, and append each latency in ms to `waits`."""
    for n in count():
        begun = time.perf_counter()
        with urllib.request.urlopen(f"{address}/console/conversations{VIEWS[n % len(VIEWS)]}", timeout=30) as page:
            assert b"Conversations" in page.read()
        waits.append((time.perf_counter() - begun) * 1000)
        if ending.wait(LOOKS_EVERY_S):
            return


if __name__ == "__main__":
    sys.exit(main())

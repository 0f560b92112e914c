"""Attack with messages that are slow to parse: growth of the CPU per character when the size doubles. Linear work gives 1."""

import time
from pathlib import Path
from statistics import median
from typing import Any

from bench.attacks.waits import address_of, ask, chat
from bench.figures import Figures
from bench.processes import Server, run_caf, shipped_config

SIZE = 600_000
"""Length of the smaller message, in characters."""
UNITS = (
    "\n\nSources: a", "[[cite: a", "[[cite: a]]", "[[", "\ufdfa", "qwzx ", "a ", "a-", "____ab", "a\u0301", "a. ", "5,", "\n",
    "\r\n", "a'",
)  # fmt: skip
"""Texts that are repeated to fill a message."""
PLACES = ("newest", "earlier", "reply", "system", "tool")
LEAST_S = 0.04
"""Minimum CPU time for a comparison, in seconds. The kernel counts in steps of 0.01 s."""
QUESTION = {"role": "user", "content": "How much sleep do I need?"}


def run(folder: Path, quick: bool) -> Figures:
    """Measure the CPU for each repeated text in each place of a request, at SIZE and at twice SIZE characters.

    Returns:
        `sizes_PLACE_growth_ratio`: CPU per character at twice SIZE divided by CPU per character at SIZE, the maximum over all
        repeated texts. `sizes_PLACE_longest_s`: the maximum CPU time of one request, in seconds.
    """
    figures: Figures = {}
    with run_caf(shipped_config(privacy={"store": "none"}), folder) as server:
        _post(server, [QUESTION])
        for place in PLACES:
            grown, longest = [], []
            for unit in UNITS[:4] if quick else UNITS:
                small, large = (_cpu_s(server, place, unit, size, 1 if quick else 3) for size in (SIZE, 2 * SIZE))
                grown.append(large / small / 2 if large > LEAST_S else 1.0)
                longest.append(large)
            figures |= {f"sizes_{place}_growth_ratio": max(grown), f"sizes_{place}_longest_s": max(longest)}
    return figures


def _cpu_s(server: Server, place: str, unit: str, size: int, times: int) -> float:
    """Return the median CPU time for a message, in seconds; at least 0.01."""
    used = []
    for n in range(times):
        text = f"{n}" + (unit * (size // len(unit) + 1))[:size]
        before = server.cpu_s()
        _post(server, _messages(place, text))
        time.sleep(0.05)
        used.append(server.cpu_s() - before)
    return max(median(used), 0.01)


def _messages(place: str, text: str) -> list[dict[str, Any]]:
    call = {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    before: dict[str, list[dict[str, Any]]] = {
        "newest": [],
        "earlier": [{"role": "user", "content": text}, {"role": "assistant", "content": "Yes."}],
        "reply": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": text}],
        "system": [{"role": "system", "content": text}],
        "tool": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": text},
        ],
    }
    return [*before[place], {"role": "user", "content": text} if place == "newest" else QUESTION]


def _post(server: Server, messages: list[dict[str, Any]]) -> None:
    status = ask(address_of(server), chat(messages))[9:12]
    if status != b"200":
        raise RuntimeError(f"sending a message: status {status.decode() or '(no answer)'}: expected 200")

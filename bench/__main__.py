"""Measure the overhead of the proxy on this machine: `python -m bench`.

The benchmark runs a mock upstream that answers in 0 ms. In front of it run a bare aiohttp + uvloop pass-through as the
reference, and `caf serve` with the shipped settings. All servers get the same conversations, in rounds. The benchmark prints
medians, ratios and a comparison with the targets, and takes about five minutes. The exit code is 1 if a part or a request failed.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench import path, requests, start, streams
from bench.figures import Figures, save, table
from bench.processes import ROOT, ServerFailed, ask, cores, pin
from bench.setting import Setting, setting

PARTS = ("requests", "streams", "judges", "path", "start")
BUSY = 0.15
"""Number of cores in use by other programs above which the figures are unreliable."""


def main() -> int:
    """Run the requested parts, print their figures, and return the exit code."""
    options = _options()
    began = time.perf_counter()
    rounds, seconds = (1, 0.7) if options.quick else (3, 3.0)
    parts = options.only or list(PARTS)
    load_cores, _ = cores()
    pin(load_cores)
    _print_step(f"Python {platform.python_version()} of {sys.base_prefix}")
    try:
        with tempfile.TemporaryDirectory(prefix="caf-bench-") as folder, setting(Path(folder)) as scene:
            figures = _measure(scene, parts, rounds, seconds, starts=2 if options.quick else 5)
    except (ServerFailed, RuntimeError, TimeoutError, OSError, subprocess.SubprocessError) as error:
        print(f"bench: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    figures |= {"quick": int(options.quick), "seconds": time.perf_counter() - began}
    print("\n" + table(figures))
    save(figures, options.out)
    failed = sum(value for name, value in figures.items() if name.endswith("failures"))
    if failed:
        print(f"bench: {failed:.0f} requests failed; the figures are not valid", file=sys.stderr)
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short round, about half a minute")
    parser.add_argument(
        "--only",
        action="append",
        choices=PARTS,
        metavar="NAME",
        help=f"run only this part; may be repeated: {', '.join(PARTS)}",
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "bench" / "results.json", help="file for the figures (%(default)s)"
    )
    return parser.parse_args()


def _measure(scene: Setting, parts: list[str], rounds: int, seconds: float, starts: int) -> Figures:
    figures: Figures = {}
    if "start" in parts:
        _print_step("start-up")
        figures |= start.run(scene, starts)
    if "judges" in parts:
        _print_step("judges")
        figures |= _judges(scene, seconds * 3)
    if "path" in parts:
        _print_step("turns with model judges")
        figures |= path.run(scene, 2 if starts < 3 else path.TURNS)
    if "requests" in parts or "streams" in parts:
        with ExitStack() as stack:
            bare, caf = stack.enter_context(scene.bare()), stack.enter_context(scene.caf())
            talks, outcomes = scene.play_all(caf)
            figures |= {f"outcome_{name}": count for name, count in outcomes.items()}
            outcome_text = ", ".join(f"{count} {name}" for name, count in outcomes.items())
            _print_step(
                f"trial with the guarded chatbot: {outcome_text}; using {len(talks)} conversations that were delivered as drafted"
            )
            foreign = requests.ForeignLoad([scene.upstream, bare, caf])
            if "requests" in parts:
                _print_step("requests")
                figures |= requests.run(scene, caf, bare, talks, rounds, seconds)
            if "streams" in parts:
                _print_step("streams")
                figures |= streams.run(scene, caf, bare, talks, rounds, seconds)
            figures |= _proxy_counters(caf.address, scene.key)
            figures["foreign_cores"] = busy = foreign.cores()
            if busy > BUSY:
                _print_step(f"other programs used {busy:.2f} cores: compare ratios and CPU, not requests/s")
    return figures


def _judges(scene: Setting, seconds: float) -> Figures:
    """Measure the local judges in a separate process, pinned to the servers' core."""
    answer = subprocess.run(
        [sys.executable, "-m", "bench.judges", str(seconds)],
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: pin(scene.server_cores),
    )
    if answer.returncode:
        raise RuntimeError(
            f"measuring the judges: bench.judges ended with exit code {answer.returncode}; see its error above"
        )
    figures: Figures = json.loads(answer.stdout)
    return figures


def _proxy_counters(address: str, key: str) -> Figures:
    """Return counters from the proxy's metrics: dropped traces, recognised and unrecognised conversations."""
    request = f"GET /metrics HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n\r\n"
    text = ask(address, request.encode()).decode()
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("caf_"))
    return {
        "traces_dropped": float(values.get("caf_traces_dropped_total", 0)),
        "conversations_missed": float(values.get('caf_conversations_total{memory="missed"}', 0)),
        "conversations_found": float(values.get('caf_conversations_total{memory="history"}', 0)),
    }


def _print_step(what: str) -> None:
    print(f"bench: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

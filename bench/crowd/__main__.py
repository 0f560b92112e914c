"""`python -m bench.crowd`: many conversations at a time through `caf serve --workers`, with Redis, keys, limits, traces, audit.

Tries each plot once, then has all conversations, and compares every reply with that of the trial: text, outcome, citations,
warnings, verdicts, and a hash of what the model was shown. Twins have the same messages under another key or another user. At the
end the proxy's metrics, traces and budgets must add up to what the clients have sent and got. Exit code 0 if every bar is met.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, cycle
from pathlib import Path

import aiohttp
import uvloop

from bench.crowd import bars, books
from bench.crowd.bars import Sample
from bench.crowd.books import Counts
from bench.crowd.guest import Guest, Told, outcomes
from bench.crowd.plot import Plot, name, plots, twin
from bench.crowd.scene import Scene, scene
from bench.figures import Figures
from bench.processes import ROOT, ServerFailed, rss_mb, tree
from bench.script import conversations
from knowledge_base.lexical import Lexical
from knowledge_base.library import load
from proxy.wire.canonical import unlined

PLOTS, FEWEST_PLOTS = 32, 8
"""Different conversations: so many, or an eighth of all, and not fewer than the second."""
TWINS_EVERY = 5
"""Every so manieth conversation has a twin."""
STREAMED_EVERY = 3
SAMPLE_S = 0.5
TRIALS = 900_000
"""Numbers of the guests of the trial begin here."""
SHOWN = 5
"""Faults of a kind that are printed."""


def main() -> int:
    """Run it."""
    options = _options()
    try:
        with tempfile.TemporaryDirectory(prefix="caf-crowd-") as folder, scene(Path(folder), options.workers) as there:
            figures, wrong = uvloop.run(_run(there, options))
            figures["lines_of_errors"] = (there.folder / "caf.log").read_text(errors="replace").count('"level":"error"')
    except (ServerFailed, RuntimeError, TimeoutError, OSError) as error:
        print(f"crowd: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    options.out.write_text(json.dumps({name: round(value, 4) for name, value in figures.items()}, indent=2) + "\n")
    for figure, value in figures.items():
        print(f"{figure:24}{value:14,.3f}".rstrip("0").rstrip("."))
    print(f"\n{len(figures)} figures in {options.out}")
    for one in (*wrong, *(missed := bars.missed(figures))):
        print(f"crowd: {one}", file=sys.stderr)
    return 1 if missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.crowd", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    numbers = {
        "conversations": (2_000, "how many conversations"),
        "turns": (4, "turns of each"),
        "at-once": (128, "how many of them at a time"),
        "workers": (2, "processes of the proxy"),
    }
    for option, (default, what) in numbers.items():
        parser.add_argument(f"--{option}", type=_some, default=default, metavar="N", help=f"{what} (%(default)s)")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "bench" / "crowd.json", help="where the figures go (%(default)s)"
    )
    return parser.parse_args()


def _some(text: str) -> int:
    number = int(text)
    if not 0 < number < TRIALS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {TRIALS - 1}")
    return number


async def _run(there: Scene, options: argparse.Namespace) -> tuple[Figures, list[str]]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=120)) as session:
        _say("trial of each plot")
        wanted = min(PLOTS, max(FEWEST_PLOTS, options.conversations // 8))
        trials, twins = await _tried(there, session, wanted, options.turns)
        before, used = books.counted(there), there.caf.cpu_s()
        guests = list(_guests(there, trials, twins, options.conversations))
        expected = {trial.plot: trial.told for trial in (*trials, *twins.values())}
        _say(
            f"{len(guests)} conversations of {options.turns} turns, {options.at_once} at a time, {options.workers} workers"
        )
        samples, seconds = await _had(there, session, guests, expected, options.at_once)
    used = there.caf.cpu_s() - used
    _say("the books")
    figures, wrong = _figures(there, [*trials, *twins.values()], guests, samples, seconds, before)
    return figures | {"cpu_ms": 1000 * used / max(1, figures["turns"])}, wrong


async def _tried(
    there: Scene, session: aiohttp.ClientSession, wanted: int, turns: int
) -> tuple[list[Guest], dict[Plot, Guest]]:
    """Have one conversation of each plot, and of its twin where it has one.

    Returns:
        The conversations; and by the plot the one of its twin.

    Raises:
        RuntimeError: The trial is no measure of anything.
    """
    library = load(ROOT / "knowledge_base" / "schizophrenia")
    lexical = Lexical(library)
    talks = conversations(library, lambda question: [choice.id for choice in lexical.choose(question, [], 2)], 100)
    numbers = count(TRIALS)

    async def tried(plot: Plot) -> Guest:
        number = next(numbers)
        guest = Guest(name(number), there.keys[0], f"trial {number}", plot)
        await guest.talk(session, there.url)
        if guest.faults or guest.strange:
            raise RuntimeError(f"the trial of a plot failed: {guest.faults + guest.strange}")
        return guest

    trials = [await tried(plot) for plot in plots(talks, turns, wanted)]
    twins = {}
    for trial in trials:
        if trial.told[0].outcome in ("refined", "warned"):
            other = await tried(twin(trial.plot, unlined(trial.told[0].content)))
            same = [one.content for one in other.told] == [one.content for one in trial.told]
            if same and (turns == 1 or other.told[1].prompt != trial.told[1].prompt):
                twins[trial.plot] = other
    if not twins:
        raise RuntimeError("no plot has a twin that is delivered the same and carries other warnings")
    return trials, twins


def _guests(there: Scene, trials: Sequence[Guest], twins: Mapping[Plot, Guest], wanted: int) -> Iterator[Guest]:
    """Yield the guests. Those of a pair of twins differ in key or user, and every other pair also in what they carry."""
    paired = cycle(twins.items())
    number = 0
    while number < wanted:
        key, streamed = there.keys[number % len(there.keys)], number % STREAMED_EVERY == 0
        if number % TWINS_EVERY or number + 1 == wanted:
            yield Guest(name(number), key, f"user {number}", trials[number % len(trials)].plot, streamed)
            number += 1
            continue
        plot, other = next(paired)
        both, pair = name(number), number // TWINS_EVERY
        yield Guest(both, key, f"user {number}", plot, streamed)
        number += 1
        if pair % 2:
            yield Guest(both, key, f"user {number}", other.plot if pair % 4 == 1 else plot, streamed)
        else:
            next_key = there.keys[number % len(there.keys)]
            yield Guest(both, next_key, f"user {number - 1}", other.plot if pair % 4 == 0 else plot, not streamed)
        number += 1


async def _had(
    there: Scene,
    session: aiohttp.ClientSession,
    guests: Sequence[Guest],
    expected: Mapping[Plot, list[Told]],
    at_once: int,
) -> tuple[list[Sample], float]:
    """Have all conversations; return the memory on the way, and the seconds they took."""
    waiting = iter(guests)

    async def one_after_another() -> None:
        for guest in waiting:
            await guest.talk(session, there.url, expected[guest.plot])

    async def sampled() -> None:
        while True:
            done = sum(len(guest.told) for guest in guests)
            samples.append(Sample(done, {pid: rss_mb([pid]) for pid in tree(there.caf.process.pid)}))
            if sys.stderr.isatty() or len(samples) % 20 == 0:
                _say(f"{done} turns, {samples[-1].total:.0f} MB")
            await asyncio.sleep(SAMPLE_S)

    samples: list[Sample] = []
    watching = asyncio.create_task(sampled())
    began = time.perf_counter()
    await asyncio.gather(*(one_after_another() for _ in range(at_once)))
    seconds = time.perf_counter() - began
    there.caf.settled_cpu_s()
    await asyncio.sleep(SAMPLE_S)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    return samples, seconds


def _figures(
    there: Scene,
    trials: Sequence[Guest],
    guests: Sequence[Guest],
    samples: Sequence[Sample],
    seconds: float,
    before: Counts,
) -> tuple[Figures, list[str]]:
    """Return the figures, and what is wrong, some of each kind."""
    after = books.counted(there)
    after.subtract(before)
    ids = Counter(guest.conversation_id for guest in (*trials, *guests))
    faults = [f"{guest.name}: {fault}" for guest in guests for fault in guest.faults]
    strange = [f"{guest.name}: {'; '.join(guest.strange)}" for guest in guests if guest.strange]
    strange += [f"{times} conversations are called {ident}" for ident, times in ids.items() if times > 1]
    metrics, budgets = books.metrics_off(after, guests), books.budgets_off(there, [*trials, *guests])
    traces = books.traces_off(there, guests)
    figures = {"conversations": len(guests)} | bars.latency(guests, seconds) | bars.memory(samples)
    figures |= {f"outcome_{outcome}": number for outcome, number in outcomes(guests).items()}
    figures |= {
        "errors": len(faults), "cross_talk": len(strange), "metrics_off": len(metrics), "budgets_off": len(budgets),
        "traces_off": len(traces), "series": len(after), "redis_mb": rss_mb([there.redis_pid]),
    }  # fmt: skip
    shown = (one for kind in (faults, strange, metrics, budgets, traces) for one in kind[:SHOWN])
    return figures, list(shown)


def _say(what: str) -> None:
    print(f"crowd: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

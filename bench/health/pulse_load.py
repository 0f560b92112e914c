"""Measure the latency of `/healthz` while the assistant Health analyses pulse recordings, and the speed of independent steps.

python -m bench.health.pulse_load [--analyses 8]

The proxy and the executor share this process, as in production; another process asks `/healthz`, one request after another.
"""

import argparse
import asyncio
import logging
import statistics
import sys
import time
from pathlib import Path

import structlog

from assistants.health.access import Access
from assistants.health.demo import demo_folder
from assistants.health.executor import Executor
from assistants.health.plan import Plan, Step
from assistants.health.settings import load_tasks
from assistants.health.sources import Subjects
from assistants.health.task import Figure, Inputs, Result, Task, TaskContext
from models.turn_scope import Principal
from proxy.app import create_app
from proxy.config.config import load_config
from proxy.serving.listening import isolated_config, listening

CONFIG = Path("assistants/health/config.yaml")
POLL = """
import http.client, sys, time
connection = http.client.HTTPConnection(sys.argv[1].removeprefix("http://"))
for line in sys.stdin:
    started = time.perf_counter()
    connection.request("GET", "/healthz")
    connection.getresponse().read()
    print((time.perf_counter() - started) * 1000, flush=True)
"""


class Seconds(Inputs):
    """Inputs that only make steps different, because equal steps would run once."""

    number: int


class Done(Result):
    """An empty result."""

    def figures(self) -> list[Figure]:
        """Return no figures."""
        return []


class Wait(Task[Seconds, Done]):
    """A task that takes one second."""

    name, title, description = "wait", "Wait", "Waits."
    inputs, result = Seconds, Done

    def run(self, inputs: Seconds, context: TaskContext) -> Done:
        """Wait for one second."""
        time.sleep(1)
        return Done()


def analyses(count: int) -> list[Step]:
    """Return steps on different recordings: heart rate and heart rate variability, by half months."""
    periods = [(f"2020-{month}-{first}", f"2020-{month}-{last}") for month in ("07", "08") for first, last in (("01", "15"), ("16", "31"))]  # fmt: skip # noqa: E501
    found = [
        Step(id=f"s{number}", task=task, inputs={"subject": subject, "start": start, "end": end})
        for number, (task, subject, (start, end)) in enumerate(
            (task, subject, period)
            for task in ("heart_rate", "hrv")
            for subject in ("par_1", "par_5")
            for period in periods
        )
    ]
    return found[:count]


async def poll(url: str, until: asyncio.Event) -> list[float]:
    """Ask `/healthz` every 10 ms from another process until an event is set. Return the latencies in ms."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", POLL, url, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    times = []
    while not until.is_set():
        process.stdin.write(b"\n")
        times.append(float(await process.stdout.readline()))
        await asyncio.sleep(0.01)
    process.stdin.close()
    await process.wait()
    return times


def describe(times: list[float]) -> str:
    """Return the median, 99th percentile and maximum of latencies as text."""
    p99 = statistics.quantiles(times, n=100)[98]
    return f"{len(times)} requests, p50 {statistics.median(times):.1f} ms, p99 {p99:.1f} ms, max {max(times):.1f} ms"


async def main(count: int) -> None:
    """Print the latency at rest and during the analyses, and the duration of three steps of one second."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    tasks = load_tasks(None)[0] | {"wait": Wait()}
    principal = Principal("bench")
    app = create_app(isolated_config(load_config(CONFIG)))
    executor = Executor(tasks, Subjects(demo_folder()), Access({"*": ("par_1", "par_5")}, {}), {})
    async with listening(app, "127.0.0.1", 0) as url:
        for name, steps in (
            ("at rest", [Step(id="s", task="wait", inputs={"number": 9})]),
            ("first analysis", analyses(count + 1)[count:]),
            (f"{count} analyses", analyses(count)),
            ("three steps of 1 s", [Step(id=f"s{n}", task="wait", inputs={"number": n}) for n in range(3)]),
        ):
            over, started = asyncio.Event(), time.perf_counter()
            polling = asyncio.create_task(poll(url, over))
            runs = await executor.run(Plan(steps=steps), principal, [])
            seconds = time.perf_counter() - started
            over.set()
            problems = [run.problem for run in runs if run.problem]
            print(f"{name}: {seconds:.2f} s; healthz: {describe(await polling)}", *problems, sep="\n  ")
    executor.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--analyses", type=int, default=8)
    asyncio.run(main(parser.parse_args().analyses))

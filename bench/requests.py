"""Measures requests/s, latency and CPU of each server. All servers get the same conversations, in rounds."""

import time
from dataclasses import dataclass

import uvloop

from bench import load
from bench.figures import Figures, Sample, requests_figures
from bench.load import Result, Talk
from bench.processes import Server, machine_cpu_s, pin
from bench.setting import PlayedConversation, Setting

WARM_S = 0.4
SHORTER = 3
"""Factor by which rounds are shorter and more numerous than requested. The speed of a shared host changes within seconds, so
ratios are computed within short rounds."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: a server, and the model that its requests name."""

    name: str
    server: Server
    model: str

    def talks(self, conversations: list[PlayedConversation], **more: object) -> list[Talk]:
        return [one.requests(self.server.address, self.model, **more) for one in conversations]


def run(
    setting: Setting, caf: Server, bare: Server, conversations: list[PlayedConversation], rounds: int, seconds: float
) -> Figures:
    """Measure all servers in rounds, and return the medians over the rounds."""
    rows = [
        Row("direct", setting.upstream, "bench"),
        Row("bare", bare, "bench"),
        Row("passthrough", caf, "passthrough"),
        Row("off", caf, "off"),
        Row("on", caf, "on"),
        Row("judged", caf, "judged"),
    ]
    samples: dict[str, list[Sample]] = {row.name: [] for row in rows}
    talks = {row.name: row.talks(conversations) for row in rows} | {"judged": setting.judged_talks(caf.address)}
    judging: list[float] = []
    rss_mb = caf.rss_mb()
    for _ in range(rounds * SHORTER):
        manies = [measure_server(row.server, talks[row.name], 16, seconds / SHORTER) for row in rows]
        ones = [measure_server(row.server, talks[row.name], 1, seconds / SHORTER * 0.6) for row in rows]
        for row, (many, many_cpu), (one, one_cpu) in zip(rows, manies, ones, strict=True):
            samples[row.name].append(Sample(many, many_cpu, one, one_cpu))
            if row.name == "on":
                judging += [judges_ms(response) for response in many.responses + one.responses]
    figures = requests_figures(samples)
    figures["on_judges_ms_in_reply"] = sum(judging) / max(1, len(judging))
    figures["rss_before_load_mb"], figures["rss_under_load_mb"] = rss_mb, caf.rss_mb()
    figures["rss_peak_mb"] = caf.rss_mb(peak=True)
    return figures


def measure_server(server: Server, talks: list[Talk], connections: int, seconds: float) -> tuple[Result, float]:
    """Send load to a server. Return the result, and the CPU per request in ms, with the work after the reply."""
    uvloop.run(load.play(server.address, talks, connections, WARM_S))
    before = server.settled_cpu_s()
    result = uvloop.run(load.play(server.address, talks, connections, seconds))
    used = server.settled_cpu_s() - before
    return result, 1000 * used / max(1, len(result.latencies) + result.failures.total())


def judges_ms(response: bytes) -> float:
    """Return the duration of judging a guarded reply, in ms, from the `caf` object of the reply."""
    caf = load.body_of(response)["caf"]
    assert isinstance(caf, dict)
    return float(sum(judge["ms"] for judge in caf["judges"]))


class ForeignLoad:
    """Measures the CPU use of programs that do not belong to the run."""

    def __init__(self, own: list[Server]) -> None:
        self._own = own
        self._before = self._read()

    def cores(self) -> float:
        """Return the mean number of cores in use by other programs since the start."""
        now = self._read()
        others, wall = (b - a for a, b in zip(self._before, now, strict=True))
        return max(0.0, others) / wall if wall else 0.0

    def _read(self) -> tuple[float, float]:
        used, stolen = machine_cpu_s()
        return used + stolen - sum(s.cpu_s() for s in self._own) - time.process_time(), time.perf_counter()


__all__ = ["ForeignLoad", "judges_ms", "measure_server", "pin", "run"]

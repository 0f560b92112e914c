"""The figures of a run, their targets, and the table. Pure."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.load import Result

Figures = dict[str, float]
"""Named numbers; one flat object in results.json."""


def median(values: Sequence[float]) -> float:
    return float(statistics.median(values))


def percentile(values: Sequence[float], q: float) -> float:
    """Return the value that a share q of the others does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


@dataclass(frozen=True, slots=True)
class Sample:
    """One round of one row."""

    many: Result
    """16 connections."""
    many_cpu_ms: float
    one: Result
    """One connection."""
    one_cpu_ms: float


def requests_figures(samples: Mapping[str, Sequence[Sample]]) -> Figures:
    """Return the medians over the rounds, and ratios against `bare` of the same round."""
    figures: Figures = {}
    for name, rounds in samples.items():
        figures[f"{name}_rps"] = median([s.many.rate for s in rounds])
        figures[f"{name}_p50_ms"] = median([s.one.percentile(0.5) for s in rounds])
        figures[f"{name}_p99_ms_at_16"] = median([s.many.percentile(0.99) for s in rounds])
        figures[f"{name}_cpu_ms"] = median([s.many_cpu_ms for s in rounds])
        figures[f"{name}_cpu_ms_at_1"] = median([s.one_cpu_ms for s in rounds])
        figures[f"{name}_failures"] = sum(s.many.failures.total() + s.one.failures.total() for s in rounds)
        if name in ("direct", "bare"):
            continue
        pairs = list(zip(rounds, samples["bare"], strict=True))
        figures[f"{name}_ratio"] = median([_over(s.many.rate, b.many.rate) for s, b in pairs])
        figures[f"{name}_cpu_ratio"] = median([_over(s.many_cpu_ms, b.many_cpu_ms) for s, b in pairs])
        figures[f"{name}_added_ms"] = median([s.one.percentile(0.5) - b.one.percentile(0.5) for s, b in pairs])
    return figures


def _over(value: float, base: float) -> float:
    return value / base if base else float("nan")


@dataclass(frozen=True, slots=True)
class Target:
    """The bound that a figure is to keep."""

    figure: str
    what: str
    bound: float
    least: bool = False
    """Whether the bound is the least that will do, rather than the most."""
    unit: str = ""

    def is_met(self, figures: Figures) -> bool:
        value = figures[self.figure]
        return value >= self.bound if self.least else value <= self.bound


TARGETS = (
    Target("passthrough_ratio", "pass-through: requests/s over those of the bare one", 0.6, least=True),
    Target("on_cpu_ms", "all local judges, state, full traces on: CPU of a turn", 1.5, unit="ms"),
    Target("judges_cpu_ms", "of which the four judges: reply that restates its section", 1.0, unit="ms"),
    Target("judges_drifted_cpu_ms", "of which the four judges: reply that goes beyond", 1.0, unit="ms"),
    Target("streams_passthrough_ratio", "64 paced streams passed through, over the direct rate", 0.95, least=True),
    *(
        Target(f"path_{delay}_ratio", f"model judges at {delay} ms a call: a turn, over its slowest path", 1.2)
        for delay in (20, 50, 200)
    ),
    Target("start_s", "process start to the first answered request", 1.0, unit="s"),
    Target("rss_start_mb", "resident memory after the first request", 150, unit="MB"),
    Target("rss_under_load_mb", "resident memory after all load", 150, unit="MB"),
    Target("imported_litellm", "litellm imported while serving", 0),
)

ROWS = {
    "direct": "the mock upstream itself (what the load can do)",
    "bare": "bare aiohttp + uvloop pass-through: the reference",
    "passthrough": "CAF, kind: passthrough",
    "off": "CAF, filter off: retrieval, state, full traces",
    "on": "CAF, filter on: the four local judges as well",
}


def table(figures: Figures) -> str:
    """Write what was measured, and how it stands against the targets."""
    return "\n".join([*_requests(figures), *_streams(figures), *_judges(figures), *_path(figures), *_targets(figures)])


def _requests(figures: Figures) -> list[str]:
    if "bare_rps" not in figures:
        return []
    lines = [
        "One core for the server, another for load and upstream; upstream answers in 0 ms; the same two-turn conversations to all.",
        "",
        f"{'':66}{'req/s':>9}{'':>8}{'p50 ms':>9}{'p99 ms':>9}{'CPU ms':>9}{'':>8}{'failed':>8}",
        f"{'':66}{'at 16':>9}{'x bare':>8}{'at 1':>9}{'at 16':>9}{'each':>9}{'x bare':>8}",
    ]
    for name, what in ROWS.items():
        ratio, cpu_ratio = figures.get(f"{name}_ratio"), figures.get(f"{name}_cpu_ratio")
        lines.append(
            f"{name:13}{what:53}"[:66].ljust(66)
            + f"{figures[f'{name}_rps']:9,.0f}{_factor(ratio):>8}{figures[f'{name}_p50_ms']:9.2f}"
            + f"{figures[f'{name}_p99_ms_at_16']:9.2f}{figures[f'{name}_cpu_ms']:9.3f}{_factor(cpu_ratio):>8}"
            + f"{figures[f'{name}_failures']:8.0f}"
        )
    return [*lines, ""]


def _streams(figures: Figures) -> list[str]:
    if "streams_bare_per_s" not in figures:
        return []
    lines = ["64 streams at once; paced: 100 tokens, one each 5 ms; on: held until judged, then sent in one go", ""]
    for name in ("direct", "bare", "passthrough", "on"):
        ratio = figures.get(f"streams_{name}_ratio")
        cpu = figures.get(f"streams_{name}_cpu_ms")
        lines.append(
            f"{name:13}{figures[f'streams_{name}_per_s']:8.1f} streams/s"
            + (f"   {ratio:.2f}x direct" if ratio is not None else " " * 15)
            + (f"   {cpu:6.2f} ms CPU each" if cpu is not None else "")
        )
    return [*lines, f"{'failed':13}{figures['streams_failures']:8.0f}", ""]


def _judges(figures: Figures) -> list[str]:
    if "judges_cpu_ms" not in figures:
        return []
    lines = [
        f"The local judges alone, in-process; replies of {figures['judges_mean_tokens']:.0f} tokens against two sections",
        "",
    ]
    for name, what in (
        ("", "reply restates its section"),
        ("drifted_", "reply goes beyond it"),
        ("unheard_", "... in words never heard"),
    ):
        mean, p95 = figures[f"judges_{name}cpu_ms"], figures[f"judges_{name}cpu_p95_ms"]
        lines.append(f"all four     {what:28}{mean:7.3f} ms CPU on average, p95 {p95:.3f}")
    each = [key for key in figures if key.startswith("judge_")]
    lines += [f"{key[6:-7]:18}alone{'':18}{figures[key]:7.3f} ms" for key in each]
    return [*lines, ""]


def _path(figures: Figures) -> list[str]:
    delays = [int(name[5:-11]) for name in figures if name.startswith("path_") and name.endswith("_slowest_ms")]
    lines = [
        f"a call takes {delay:3d} ms: a turn{figures[f'path_{delay}_ms']:9.1f} ms; its slowest path"
        f"{figures[f'path_{delay}_slowest_ms']:5.0f} ms, the sum of its calls{figures[f'path_{delay}_sum_ms']:6.0f} ms"
        for delay in delays
    ]
    return ["Turns whose judges are models", "", *lines, ""] if lines else []


def _targets(figures: Figures) -> list[str]:
    lines = [f"{'targets':66}{'measured':>12}{'target':>12}"]
    for target in TARGETS:
        if target.figure not in figures:
            continue
        mark = "met" if target.is_met(figures) else "NOT MET"
        bound = f"{'>=' if target.least else '<='} {target.bound:g} {target.unit}".rstrip()
        value = f"{figures[target.figure]:.2f} {target.unit}".rstrip()
        lines.append(f"{target.what:66}{value:>12}{bound:>12}  {mark}")
    return lines if len(lines) > 1 else []


def _factor(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}x"

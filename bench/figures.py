"""Computes, prints and saves the figures of a run, and compares them with their targets."""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.load import Result
from judges.judge import OBSERVERS

Figures = dict[str, float]
"""Numbers by name, saved as one flat JSON object."""


def median(values: Sequence[float]) -> float:
    return float(statistics.median(values))


def percentile(values: Sequence[float], q: float) -> float:
    """Return the q-quantile of values, with q from 0 to 1."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


@dataclass(frozen=True, slots=True)
class Target:
    """A minimum or maximum for a figure."""

    figure: str
    what: str
    bound: float
    least: bool = False
    """Whether the bound is a minimum; otherwise it is a maximum."""
    unit: str = ""

    def is_met(self, figures: Figures) -> bool:
        value = figures[self.figure]
        return value >= self.bound if self.least else value <= self.bound


def write_table(title: str, columns: Iterable[object], rows: Mapping[str, Iterable[object]]) -> str:
    """Return a table as text.

    Args:
        title: The heading of the first column.
        columns: The headings of the other columns.
        rows: The values of each row, by row name. None gives an empty cell.
    """
    lines = [[title, *columns], *([name, *cells] for name, cells in rows.items())]
    written = [[_write_cell(cell) for cell in line] for line in lines]
    name_width, *widths = (max(map(len, column)) for column in zip(*written, strict=True))
    return "\n".join(
        "  ".join(
            [name.ljust(name_width), *(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))]
        ).rstrip()
        for name, *cells in written
    )


def _write_cell(value: object) -> str:
    return "" if value is None else f"{value:,.3f}" if isinstance(value, float) else str(value)


def write_targets(figures: Figures, targets: Iterable[Target]) -> str:
    """Return a table of figures and their targets. A target without a figure is left out."""
    rows = {
        target.what: (
            f"{figures[target.figure]:.2f} {target.unit}".rstrip(),
            f"{'>=' if target.least else '<='} {target.bound:g} {target.unit}".rstrip(),
            "met" if target.is_met(figures) else "NOT MET",
        )
        for target in targets
        if target.figure in figures
    }
    return write_table("targets", ("measured", "target", ""), rows) if rows else ""


def report(figures: Figures, targets: Sequence[Target], out: Path) -> int:
    """Print all figures and their targets, and save the figures as JSON.

    Returns:
        The exit code: 1 if a target is missed.
    """
    print(write_table("figures", [""], {name: (float(value),) for name, value in figures.items()}))
    print("\n" + write_targets(figures, targets))
    save(figures, out)
    return int(not all(target.is_met(figures) for target in targets))


def save(figures: Figures, out: Path) -> None:
    """Save figures as one flat JSON object."""
    out.write_text(json.dumps({name: round(value, 4) for name, value in figures.items()}, indent=2) + "\n")
    print(f"\n{len(figures)} figures in {out}")


# The run of `python -m bench`


@dataclass(frozen=True, slots=True)
class Sample:
    """The measurements of one server in one round."""

    many: Result
    """Result with 16 connections."""
    many_cpu_ms: float
    one: Result
    """Result with one connection."""
    one_cpu_ms: float


def requests_figures(samples: Mapping[str, Sequence[Sample]]) -> Figures:
    """Return the figures of each server: medians over the rounds, and ratios to `bare` in the same round."""
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


DELAYS_MS = (20, 50, 200)
"""Delays of a model call in ms, for the turns with model judges."""
TARGETS = (
    Target("passthrough_ratio", "pass-through: requests/s over those of the bare one", 0.6, least=True),
    Target("on_cpu_ms", "all local judges, state, full traces on: CPU of a turn", 1.5, unit="ms"),
    Target("judged_cpu_ratio", "a judged turn's CPU: wrapped, one model judge, over the bare one", 5.5),
    Target("judges_cpu_ms", "of which the four judges: reply that restates its section", 1.0, unit="ms"),
    Target("judges_drifted_cpu_ms", "of which the four judges: reply that goes beyond", 1.0, unit="ms"),
    Target("streams_passthrough_ratio", "64 paced streams passed through, over the direct rate", 0.95, least=True),
    *(
        Target(f"path_{delay}_ratio", f"model judges at {delay} ms a call: a turn, over its slowest path", 1.2)
        for delay in DELAYS_MS
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
    "judged": "CAF, wrapped, filter on: one model judge of 20 ms",
}


@dataclass(frozen=True, slots=True)
class Table:
    """The layout of a printed table of figures."""

    title: str
    columns: dict[str, str]
    """The name of the figure by column heading. `{}` is replaced with the name of the row."""
    rows: dict[str, str]
    """The printed name of each row, by row name."""


TABLES = (
    Table(
        "requests",
        {
            "/s at 16": "{}_rps",
            "x bare": "{}_ratio",
            "p50 ms at 1": "{}_p50_ms",
            "p99 at 16": "{}_p99_ms_at_16",
            "CPU ms": "{}_cpu_ms",
            "CPU x bare": "{}_cpu_ratio",
            "failed": "{}_failures",
        },
        ROWS,
    ),
    Table(
        "64 streams at once; with `on` held until judged",
        {"/s": "streams_{}_per_s", "x direct": "streams_{}_ratio", "CPU ms": "streams_{}_cpu_ms"},
        ROWS,
    ),
    Table(
        "the four local judges alone, in-process",
        {"CPU ms": "judges_{}cpu_ms", "p95": "judges_{}cpu_p95_ms"},
        {"": "reply restates its section", "drifted_": "reply goes beyond it", "unheard_": "... in words never heard"},
    ),
    Table("one of them alone", {"CPU ms": "judge_{}_cpu_ms"}, {name: name for name in OBSERVERS}),
    Table(
        "turns whose judges are models",
        {"ms": "path_{}_ms", "slowest path": "path_{}_slowest_ms", "sum of calls": "path_{}_sum_ms"},
        {str(delay): f"a call takes {delay} ms" for delay in DELAYS_MS},
    ),
)


def table(figures: Figures) -> str:
    """Return all tables of a run as text, with the comparison with the targets."""
    parts = []
    for one in TABLES:
        names = {what: [figure.format(row) for figure in one.columns.values()] for row, what in one.rows.items()}
        rows = {what: [figures.get(name) for name in some] for what, some in names.items() if some[0] in figures}
        parts.append(write_table(one.title, one.columns, rows) if rows else "")
    return "\n\n".join(filter(None, [*parts, write_targets(figures, TARGETS)]))

"""Builds the plots and tables of the operations page from counted turns. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from proxy.console.period import DAY, Period
from proxy.console.plot import Point, Series, TimeLabel, axis_of_columns, axis_up_to, draw_lines, draw_stacks
from proxy.console.render import count, ms
from proxy.console.words import OUTCOMES, STEPS, describe_step
from proxy.traces.counts import Bucket, Counts, StepTimes


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of the operations page, with its legend and the same numbers as a table."""

    name: str
    title: str
    note: str
    drawing: Markup
    key: Sequence[tuple[str, str, str]]
    """The legend: CSS class, label and tooltip of each colour."""
    heads: Sequence[str]
    rows: Sequence[tuple[float, Sequence[str]]]
    """The start of each bucket (Unix time, seconds) and its table cells. Empty buckets are left out."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """A row of the table of step durations."""

    name: str
    times: StepTimes
    share: float
    """The step's p95 divided by the longest p95 of all steps, from 0 to 1."""


def bucket_times(period: Period, now: float) -> tuple[float, float]:
    """Return the start and the end of a period (Unix time, seconds). Buckets begin at whole multiples of their width."""
    last = now // period.bucket_s * period.bucket_s
    return last - period.seconds + period.bucket_s, last + period.bucket_s


def draw_activity(counts: Counts, period: Period) -> list[Plot]:
    """Draw the plots of a period: outcomes, turn durations, model calls, tokens and, with prices, cost."""
    buckets = counts.buckets
    form = "hour" if period.seconds <= DAY else "day"
    labels = [TimeLabel(bucket.start, form) for bucket in buckets]
    used = [name for name in OUTCOMES if counts.all.outcomes[name]]
    plots = [
        _stacks(
            "outcomes", "Outcomes", "Turns by outcome.", buckets, labels,
            [(f"o-{name}", OUTCOMES[name].short, OUTCOMES[name].sentence) for name in used],
            lambda bucket: [bucket.outcomes[name] for name in used],
        ),
        _draw_latency(buckets, labels),
        _stacks(
            "calls", "Model calls", "Model calls of all turns, for drafts, judges and refinements.", buckets, labels,
            [("a1", "Calls", "")], lambda bucket: [bucket.calls],
        ),
        _stacks(
            "tokens", "Tokens", "Input and output tokens of all model calls.", buckets, labels,
            [("a3", "Input", ""), ("a0", "Output", "")],
            lambda bucket: [bucket.prompt_tokens, bucket.completion_tokens],
        ),
    ]  # fmt: skip
    if counts.all.cost is not None:
        plots.append(
            _stacks(
                "money", "Cost", "In the currency of the configured prices.", buckets, labels, [("a2", "Cost", "")],
                lambda bucket: [bucket.cost or 0.0],
                least_step=0.0, write=lambda value: f"{value:,.4g}",
            )
        )  # fmt: skip
    return plots


def list_steps(steps: Mapping[str, StepTimes]) -> list[StepRow]:
    """Return the durations of the steps: the whole turn first, then the slowest."""
    longest = max((times.p95 for times in steps.values()), default=0.0) or 1.0
    rows = [StepRow(describe_step(name), times, times.p95 / longest) for name, times in steps.items()]
    return sorted(rows, key=lambda row: (row.name != STEPS["turn"], -row.times.p95))


def _stacks(
    name: str,
    title: str,
    note: str,
    buckets: Sequence[Bucket],
    labels: Sequence[str],
    key: Sequence[tuple[str, str, str]],
    values: Callable[[Bucket], Sequence[float]],
    *,
    least_step: float = 1.0,
    write: Callable[[float], str] = count,
) -> Plot:
    axis = axis_up_to(max((sum(values(bucket)) for bucket in buckets), default=0), least_step=least_step)
    columns = [(label, values(bucket)) for label, bucket in zip(labels, buckets, strict=True)]
    drawing = draw_stacks(
        [(words, style) for style, words, _ in key], columns, axis, f"{title}. The table below has the same numbers."
    )
    rows = [
        (bucket.start, [write(value) for value in values(bucket)])
        for bucket in reversed(buckets)
        if any(values(bucket))
    ]
    return Plot(name, title, note, drawing, key, [words for _, words, _ in key], rows)


def _draw_latency(buckets: Sequence[Bucket], labels: Sequence[str]) -> Plot:
    times = [bucket.steps.get("turn") for bucket in buckets]
    highest = max((one.p95 for one in times if one), default=0.0)
    unit, divisor = ("seconds", 1000.0) if highest >= 2000 else ("milliseconds", 1.0)
    up = axis_up_to(highest / divisor, unit)
    key = (
        ("a1", "p50", "Median: 50 % of the turns take less time"),
        ("a0", "p95", "95 % of the turns take less time"),
    )
    series = [
        *_runs("p50", "a1", [None if one is None else one.p50 / divisor for one in times]),
        *_runs("p95", "a0", [None if one is None else one.p95 / divisor for one in times]),
    ]
    return Plot(
        "latency",
        "Turn duration",
        "Time from the request to the end of the reply, including judges.",
        draw_lines(series, axis_of_columns(labels), up, "Turn duration. The table below has the same numbers."),
        key,
        ["p50", "p95"],
        [
            (bucket.start, [ms(one.p50), ms(one.p95)])
            for bucket, one in zip(reversed(buckets), reversed(times), strict=True)
            if one is not None
        ],
    )


def _runs(name: str, style: str, values: Sequence[float | None]) -> list[Series]:
    """Split a line into connected series, with a gap at each bucket without a value."""
    runs: list[list[Point]] = [[]]
    for n, value in enumerate(values):
        if value is not None:
            runs[-1].append(Point(n + 0.5, value))
        elif runs[-1]:
            runs.append([])
    return [Series(name, run, style) for run in runs if run]

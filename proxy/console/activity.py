"""Activity over time, as plots and tables. Pure."""

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
    """A plot, its key, and the same numbers as a table."""

    name: str
    title: str
    note: str
    drawing: Markup
    key: Sequence[tuple[str, str, str]]
    """Style, name and explanation of each colour."""
    heads: Sequence[str]
    rows: Sequence[tuple[float, Sequence[str]]]
    """The start of each bucket and its cells, without empty buckets."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """The durations of a step."""

    name: str
    times: StepTimes
    share: float
    """Of the longest p95 of all steps."""


def bucket_times(period: Period, now: float) -> tuple[float, float]:
    """Return start and end of a period in Unix time. Its buckets begin at whole hours or days."""
    last = now // period.bucket_s * period.bucket_s
    return last - period.seconds + period.bucket_s, last + period.bucket_s


def draw_activity(counts: Counts, period: Period) -> list[Plot]:
    """Return the plots of a period."""
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
            "calls", "Model calls", "All calls of the turns: drafts, judges, refinements.", buckets, labels,
            [("a1", "calls", "")], lambda bucket: [bucket.calls],
        ),
        _stacks(
            "tokens", "Tokens", "Prompt and completion tokens of all calls.", buckets, labels,
            [("a3", "prompt", ""), ("a0", "completion", "")],
            lambda bucket: [bucket.prompt_tokens, bucket.completion_tokens],
        ),
    ]  # fmt: skip
    if counts.all.cost is not None:
        plots.append(
            _stacks(
                "money", "Cost", "In the currency of the prices.", buckets, labels, [("a2", "cost", "")],
                lambda bucket: [bucket.cost or 0.0],
                least_step=0.0, write=lambda value: f"{value:,.4g}",
            )
        )  # fmt: skip
    return plots


def list_steps(steps: Mapping[str, StepTimes]) -> list[StepRow]:
    """Return the durations of the steps: the whole turn first, then the slowest."""
    longest = max((times.p95 for times in steps.values()), default=0.0) or 1.0
    rows = [StepRow(describe_step(name).capitalize(), times, times.p95 / longest) for name, times in steps.items()]
    return sorted(rows, key=lambda row: (row.name != STEPS["turn"].capitalize(), -row.times.p95))


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
    drawing = draw_stacks([(words, style) for style, words, _ in key], columns, axis, f"{title}; see the table below")
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
        ("a1", "p50", "Median: 50 % of the durations are shorter"),
        ("a0", "p95", "95 % of the durations are shorter"),
    )
    series = [
        *_runs("p50", "a1", [None if one is None else one.p50 / divisor for one in times]),
        *_runs("p95", "a0", [None if one is None else one.p95 / divisor for one in times]),
    ]
    return Plot(
        "latency",
        "Duration of a turn",
        "From the request to the end of the reply, judges included.",
        draw_lines(series, axis_of_columns(labels), up, "Duration of a turn; see the table below"),
        key,
        ["p50", "p95"],
        [
            (bucket.start, [ms(one.p50), ms(one.p95)])
            for bucket, one in zip(reversed(buckets), reversed(times), strict=True)
            if one is not None
        ],
    )


def _runs(name: str, style: str, values: Sequence[float | None]) -> list[Series]:
    """Return a line in pieces, with gaps at buckets without a value."""
    runs: list[list[Point]] = [[]]
    for n, value in enumerate(values):
        if value is not None:
            runs[-1].append(Point(n + 0.5, value))
        elif runs[-1]:
            runs.append([])
    return [Series(name, run, style) for run in runs if run]

"""Draws line plots and stacked bars as SVG (templates/plot.svg), with the colours of `.plot` in console.css. Pure.

plots/drawing.py is not used here: it needs matplotlib, which is not installed with the proxy.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate

from markupsafe import Markup

from proxy.console.render import environment


@dataclass(frozen=True, slots=True)
class Point:
    """A value with an optional interval."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """A line of points; `style` is a CSS class, such as a0 to a4 or an outcome's."""

    name: str
    points: Sequence[Point]
    style: str = "a0"
    marked: bool = True
    """Whether each point has a dot."""


class TimeLabel(str):
    """A label that is a time: UTC here; console.js shows it in the browser's locale and time zone."""

    iso: str
    form: str
    """`day`, or `hour` with the minute."""

    def __new__(cls, start: float, form: str) -> "TimeLabel":
        at = datetime.fromtimestamp(start, UTC)
        label = super().__new__(cls, f"{at.day} {at:%b}" if form == "day" else f"{at:%H:%M}")
        label.iso, label.form = at.isoformat(), form
        return label


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high`, with ticks as (value, label)."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    title: str = ""


SHARES = Axis(0, 1, [(n / 4, f"{25 * n} %") for n in range(5)])
"""An axis from 0 % to 100 %."""


def round_ticks(highest: float, least_step: float = 0.0) -> list[float]:
    """Return round tick values from 0 to the first one that is at least `highest`."""
    if highest <= 0:
        return [0.0, max(least_step, 1.0)]
    unit = 10.0 ** math.floor(math.log10(highest / 2))
    step = max(least_step, next(unit * n for n in (1, 2, 5, 10) if highest / (unit * n) <= 5))
    return [n * step for n in range(math.ceil(highest / step) + 1)]


def axis_up_to(highest: float, title: str = "", *, least_step: float = 0.0) -> Axis:
    """Return an axis from 0 to at least `highest`, with round ticks."""
    ticks = round_ticks(highest, least_step)
    return Axis(0, ticks[-1], [(tick, _write_short(tick)) for tick in ticks], title)


def axis_of_columns(labels: Sequence[str]) -> Axis:
    """Return the horizontal axis of a bar plot, with at most six labels. The middle of the first bar is at 0.5."""
    every = max(1, math.ceil(len(labels) / 6))
    return Axis(0, max(1, len(labels)), [(n + 0.5, text) for n, text in enumerate(labels) if n % every == 0])


def draw_lines(series: Sequence[Series], x: Axis, y: Axis, label: str) -> Markup:
    """Draw a line plot as SVG. The interval of a point is a vertical bar.

    Args:
        series: The lines, each with a `<title>` as its tooltip.
        x: The horizontal axis.
        y: The vertical axis.
        label: The label for screen readers. The page shows the numbers in a table.
    """
    return _draw(_Frame(x, y), label, series, [])


def draw_stacks(
    names: Sequence[tuple[str, str]], columns: Sequence[tuple[str, Sequence[float]]], y: Axis, label: str
) -> Markup:
    """Draw a plot of stacked bars as SVG.

    Args:
        names: Names and styles of the parts of each bar, from the bottom.
        columns: A label and the values of each bar.
        y: The vertical axis.
        label: The label for screen readers.
    """
    stacks = [(text, [*zip(names, values, accumulate(values), strict=True)]) for text, values in columns]
    return _draw(_Frame(axis_of_columns([text for text, _ in columns]), y), label, [], stacks)


@dataclass(frozen=True, slots=True)
class _Frame:
    """Converts values of the axes to coordinates of the SVG."""

    across: Axis
    up: Axis
    width: int = 360
    """Width in units of the SVG. A unit is about one CSS pixel on a phone and up to two on larger screens."""
    height: int = 190
    left: int = 38
    right: int = 344
    top: int = 20
    bottom: int = 156

    def x(self, value: float) -> float:
        span = (self.across.high - self.across.low) or 1
        return round(self.left + (self.right - self.left) * (value - self.across.low) / span, 1)

    def y(self, value: float) -> float:
        span = (self.up.high - self.up.low) or 1
        return round(self.bottom - (self.bottom - self.top) * (value - self.up.low) / span, 1)


def _draw(frame: _Frame, label: str, lines: Sequence[Series], stacks: Sequence[object]) -> Markup:
    template = environment().get_template("plot.svg")
    return Markup(template.render(frame=frame, label=label, lines=lines, stacks=stacks))


def _write_short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g} {letter}"
    return f"{value:g}"

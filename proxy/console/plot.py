"""Lines, bands and stacked bars as SVG, coloured by the style sheet (`.plot` in console.css). Pure.

Not plots/drawing.py, which needs matplotlib: that comes with the lab, and the console with the proxy.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

WIDTH = 360
"""Of the drawing, in its own units; about CSS pixels on a phone. It grows with its place up to twice that."""
LEFT, RIGHT, TOP, FOOT = 38, 16, 20, 34


@dataclass(frozen=True, slots=True)
class Point:
    """A value, with its interval where it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together; `style` is a CSS class, such as a0 to a4 or an outcome's."""

    name: str
    points: Sequence[Point]
    style: str = "a0"
    marked: bool = True
    """Whether each point has a dot."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high`, with ticks as (value, label)."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    title: str = ""


SHARES = Axis(0, 1, [(n / 4, f"{25 * n} %") for n in range(5)])
"""An axis of shares."""


def count_axis(highest: float, title: str = "") -> Axis:
    """Return an axis of numbers from 0, with round ticks."""
    step = 10.0 ** math.floor(math.log10(max(highest, 1) / 2)) if highest > 2 else 1.0
    step *= next(n for n in (1, 2, 5, 10) if max(highest, 1) / (step * n) <= 5)
    top = step * max(1, math.ceil(highest / step))
    return Axis(
        0, top, [(n * step, f"{n * step:,.0f}".replace(",", "\u202f")) for n in range(round(top / step) + 1)], title
    )


def draw_lines(series: Sequence[Series], x: Axis, y: Axis, label: str, *, height: int = 190) -> Markup:
    """Draw lines; a point's interval is a vertical bar.

    Args:
        series: The lines, each with a `<title>` for those who point at it.
        label: What a screen reader says of it; the numbers themselves belong in a table beside it.
        height: In the drawing's units.
    """
    frame = _Frame(x, y, height)
    return frame.wrap(label, (part for one in series for part in _line(frame, one)))


def draw_stacks(
    names: Sequence[tuple[str, str]], columns: Sequence[tuple[str, Sequence[float]]], label: str, *, height: int = 190
) -> Markup:
    """Draw stacked bars.

    Args:
        names: What the parts of each bar are called, and their styles, from the bottom.
        columns: A label and the values of each bar.
        label: What a screen reader says of it.
        height: In the drawing's units.
    """
    shown_every = max(1, math.ceil(len(columns) / 6))
    ticks = [(n + 0.5, text) for n, (text, _) in enumerate(columns) if n % shown_every == 0]
    axis = count_axis(max((sum(values) for _, values in columns), default=0))
    frame = _Frame(Axis(0, max(1, len(columns)), ticks), axis, height)
    return frame.wrap(
        label, (part for n, (text, values) in enumerate(columns) for part in _stack(frame, n, text, names, values))
    )


def _line(frame: "_Frame", one: Series) -> Iterator[Markup]:
    places = [(frame.x(p.x), frame.y(p.y)) for p in one.points]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    if places:
        yield Markup('<path class="{}" d="{}"><title>{}</title></path>').format(one.style, path, one.name)
    for point, (x, y) in zip(one.points, places, strict=True):
        if point.low is not None and point.high is not None:
            yield Markup('<path class="{} range" d="M{:.1f} {:.1f}V{:.1f}"/>').format(
                one.style, x, frame.y(point.low), frame.y(point.high)
            )
        if one.marked:
            yield Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="3.2"/>').format(one.style, x, y)


def _stack(
    frame: "_Frame", n: int, text: str, names: Sequence[tuple[str, str]], values: Sequence[float]
) -> Iterator[Markup]:
    left, right, below = frame.x(n + 0.12), frame.x(n + 0.88), 0.0
    for (name, style), value in zip(names, values, strict=True):
        if value > 0:
            top, bottom = frame.y(below + value), frame.y(below)
            yield Markup(
                '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}: {} {:g}</title></rect>'
            ).format(style, left, top, right - left, bottom - top, text, name, value)
        below += value


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where values stand, and the axes around them."""

    across: Axis
    up: Axis
    height: int

    def x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - self.across.low) / ((self.across.high - self.across.low) or 1)

    def y(self, value: float) -> float:
        bottom = self.height - FOOT
        return bottom - (bottom - TOP) * (value - self.up.low) / ((self.up.high - self.up.low) or 1)

    def wrap(self, label: str, inside: Iterable[Markup]) -> Markup:
        body = Markup("").join([*self._axes(), *inside])
        return Markup('<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
            WIDTH, self.height, label, body
        )

    def _axes(self) -> Iterator[Markup]:
        bottom = self.height - FOOT
        for value, text in self.up.ticks:
            y = self.y(value)
            yield Markup(
                '<path class="grid" d="M{} {:.1f}H{}"/><text x="{}" y="{:.1f}" text-anchor="end">{}</text>'
            ).format(LEFT, y, WIDTH - RIGHT, LEFT - 5, y + 3.5, text)
        for value, text in self.across.ticks:
            yield Markup('<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
                self.x(value), bottom + 14, text
            )
        if self.across.title:
            middle = (LEFT + WIDTH - RIGHT) / 2
            yield Markup('<text class="axis" x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
                middle, self.height - 4, self.across.title
            )
        if self.up.title:
            yield Markup('<text class="axis" x="{}" y="{}">{}</text>').format(4, 10, self.up.title)

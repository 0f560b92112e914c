"""Plots as SVG to stand inside a page: drawn from numbers, coloured by the page's style sheet. Pure.

Classes carry the colours (`arm0`, `arm1`, ...; see templates/report.html), so that one drawing serves light and dark. Drawings are
360 units wide, about the width of a phone, and grow with their place. All text passes through `Markup.format`, which escapes it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

WIDTH = 360
LABELS, VALUES = 126, 70
"""Room for labels on the left of a dot plot, and for values on its right."""
LONGEST = 17
"""Letters that fit beside a row; the whole label is in the tool tip of its dots and in the table."""
ROW, TOP, FOOT = 24, 8, 20
HEIGHT = 150
"""Of the frame that lines are drawn in."""


@dataclass(frozen=True, slots=True)
class Point:
    """A value with its interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    style: str = "arm1"
    x: float = 0
    """Where it stands on a line; of no meaning in a dot plot."""


@dataclass(frozen=True, slots=True)
class Line:
    """A label and what stands behind it: a row of a dot plot, or a curve."""

    label: str
    points: tuple[Point, ...]
    value: str = ""
    """Written at the right of a row."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A range, and where to write what."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    mark: float | None = None
    """A value to draw a stronger line at."""

    def place(self, value: float, start: float, end: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / ((self.high - self.low) or 1)
        return start + share * (end - start)


def dots(rows: Sequence[Line], axis: Axis, about: str) -> Markup:
    """Draw a row for each line: its points as dots, their intervals as bars through them.

    Args:
        about: What a reader who cannot see the drawing is told.
    """
    foot = TOP + ROW * len(rows)

    def at(value: float) -> float:
        return axis.place(value, LABELS, WIDTH - VALUES)

    parts = [_grid(at(value), TOP, foot, label, value == axis.mark) for value, label in axis.ticks]
    for number, row in enumerate(rows):
        y = TOP + ROW * (number + 0.5)
        parts.append(_text(LABELS - 10, y + 4, _short(row.label), "label end"))
        parts.append(_text(WIDTH, y + 4, row.value, "value end"))
        known = [point for point in row.points if point.value is not None]
        for index, point in enumerate(known):
            parts.append(_dot(point, at, y + (index - (len(known) - 1) / 2) * 5, row.label))
    return _drawing(parts, foot + FOOT, about)


def _dot(point: Point, at: Callable[[float], float], y: float, label: str) -> Markup:
    bar = Markup("")
    if point.low is not None and point.high is not None:
        bar = Markup('<line class="bar" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(
            at(point.low), at(point.high), y, y
        )
    return Markup('<g class="{}"><title>{}: {:.3g}</title>{}{}</g>').format(
        point.style, label, point.value, bar, _marker(point.style, at(point.value or 0.0), y)
    )


def lines(curves: Sequence[Line], x: Axis, y: Axis, about: str, *, stepped: bool = False) -> Markup:
    """Draw curves with their intervals as bands.

    Args:
        stepped: Keep each value until the next one, as a share of survivors does.
    """
    left, right, foot = 34.0, WIDTH - 12.0, float(TOP + HEIGHT)

    def at(point_x: float, value: float) -> tuple[float, float]:
        return x.place(point_x, left, right), y.place(value, foot, TOP)

    parts = [_level(left, right, at(x.low, value)[1], label, value == y.mark) for value, label in y.ticks]
    parts += [_text(at(value, y.low)[0], foot + 15, label, "tick middle") for value, label in x.ticks]
    for curve in curves:
        known = [point for point in curve.points if point.value is not None]
        if not known:
            continue
        places = [(point, at(point.x, point.value or 0.0)) for point in known]
        band = [point for point in known if point.low is not None and point.high is not None]
        around = [at(p.x, p.high or 0.0) for p in band] + [at(p.x, p.low or 0.0) for p in reversed(band)]
        way = _steps([place for _, place in places]) if stepped else [place for _, place in places]
        shape = Markup('<polygon class="band" points="{}"/>').format(_points(around)) if len(band) > 1 else Markup("")
        marks = Markup("").join(
            Markup("<g><title>{}: {:.3g}</title>{}</g>").format(curve.label, point.value, _marker(point.style, *place))
            for point, place in places
        )
        parts.append(
            Markup('<g class="{}">{}<polyline class="curve" points="{}"/>{}</g>').format(
                known[0].style, shape, _points(way), marks
            )
        )
    return _drawing(parts, foot + FOOT, about)


def _steps(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    way = [points[0]]
    for x, y in points[1:]:
        way += [(x, way[-1][1]), (x, y)]
    return way


def _marker(style: str, x: float, y: float) -> Markup:
    """Draw a square, a circle or a diamond: arms differ by more than their colour."""
    if style == "arm0":
        return Markup('<rect class="dot" x="{:.1f}" y="{:.1f}" width="8" height="8"/>').format(x - 4, y - 4)
    if style == "arm1":
        return Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="4.5"/>').format(x, y)
    return Markup('<path class="dot" d="M{:.1f} {:.1f}l5 5 -5 5 -5 -5z"/>').format(x, y - 5)


def _grid(x: float, top: float, foot: float, label: str, strong: bool) -> Markup:
    line = Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>')
    return line.format("grid strong" if strong else "grid", x, x, top, foot) + _text(x, foot + 14, label, "tick middle")


def _level(left: float, right: float, y: float, label: str, strong: bool) -> Markup:
    line = Markup('<line class="{}" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>')
    return line.format("grid strong" if strong else "grid", left, right, y, y) + _text(
        left - 6, y + 4, label, "tick end"
    )


def _text(x: float, y: float, text: str, style: str) -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>').format(style, x, y, text)


def _short(label: str) -> str:
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def _points(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _drawing(parts: Iterable[Markup], height: float, about: str) -> Markup:
    return Markup('<svg class="plot" viewBox="0 0 {} {:.0f}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height, about, Markup("").join(parts)
    )

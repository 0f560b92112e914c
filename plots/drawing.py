"""Dot plots and curves as inline SVG: drawn by matplotlib, coloured by the page's style sheet. Pure.

matplotlib does not support style sheets. So plots are drawn in the colours of `COLOURS`, and each colour is then replaced by a CSS
variable of the page. One drawing fits light and dark mode. Texts stay texts in the page's font. Equal numbers give equal bytes.
"""

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDTH = 320
"""Width of a drawing in CSS pixels, about the width of a phone. The page can scale the drawing."""
LABELS, VALUES = 116, 66
"""Width in pixels of the labels on the left of a dot plot, and of the values on its right."""
LONGEST = 17
"""Maximum characters of a row's label. Longer labels are cut; the table below a plot shows the whole label."""
ROW, TOP, FOOT, LEFT, RIGHT = 24, 8, 22, 34, 12
HEIGHT = 150
"""Default height of a plot of curves, in pixels."""

COLOURS = {
    name: f"#fe00{number:02x}"
    for number, name in enumerate(("ink", "soft", "line", "card", "a0", "a1", "a2", "a3", "a4"))
}
"""The colours that matplotlib draws with, by the name of the CSS variable that replaces the colour."""
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none", "text.parse_math": False, "font.size": 11, "text.color": COLOURS["ink"],
    "axes.axisbelow": True, "axes.labelcolor": COLOURS["soft"], "axes.labelsize": 10, "grid.color": COLOURS["line"],
    "grid.linewidth": 1, "xtick.labelsize": 10, "ytick.labelsize": 10, "xtick.color": COLOURS["soft"],
    "ytick.color": COLOURS["soft"], "xtick.major.size": 0, "ytick.major.size": 0, "xtick.major.pad": 7, "ytick.major.pad": 6,
    "axes.spines.left": False, "axes.spines.right": False, "axes.spines.top": False, "axes.spines.bottom": False,
}  # fmt: skip
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML does not allow."""
SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}href"


@dataclass(frozen=True, slots=True)
class Point:
    """A value to plot, with its confidence interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    style: str = "arm1"
    x: float = 0
    """Position on a curve; unused in a dot plot."""


@dataclass(frozen=True, slots=True)
class Line:
    """A label and its values: a row of a dot plot, or a curve."""

    label: str
    points: tuple[Point, ...]
    value: str = ""
    """Text on the right of a row, usually the formatted value."""
    marked: bool = True
    """Whether a curve shows its points."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The range of an axis, and its tick labels."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    mark: float | None = None
    """Position of an emphasised grid line, such as zero."""
    title: str = ""

    def clamp(self, value: float) -> float:
        return min(max(value, self.low), self.high)


def draw_dots(rows: Sequence[Line], axis: Axis, about: str) -> Markup:
    """Return a dot plot as SVG: one row for each line, with dots for its points and bars for their intervals.

    Args:
        about: The alternative text.
    """
    with _settings(about):
        figure, axes = _frame(LABELS, WIDTH - VALUES, ROW * len(rows), FOOT)
        axes.set_xlim(axis.low, axis.high)
        axes.set_ylim(len(rows), 0)
        axes.set_xticks(*_ticks(axis))
        axes.set_yticks([number + 0.5 for number in range(len(rows))], [_short(row.label) for row in rows])
        axes.tick_params(axis="y", labelsize=11, labelcolor=COLOURS["ink"], pad=10)
        axes.grid(axis="x")
        if axis.mark is not None:
            axes.axvline(axis.mark, color=COLOURS["soft"], linewidth=1, linestyle=(0, (3, 2)))
        for number, row in enumerate(rows):
            at = 1 + VALUES / (WIDTH - VALUES - LABELS)  # the right edge of the drawing, in widths of the frame
            axes.text(
                at,
                number + 0.5,
                row.value,
                transform=axes.get_yaxis_transform(),
                ha="right",
                va="center_baseline",
                weight="bold",
            )
            defined = [point for point in row.points if point.value is not None]
            for index, point in enumerate(defined):
                _draw_dot(axes, axis, point, number + 0.5 + (index - (len(defined) - 1) / 2) * 5 / ROW)
        return _svg(figure, about)


def _draw_dot(axes: Axes, axis: Axis, point: Point, y: float) -> None:
    colour, value = COLOURS[_colour(point.style)], axis.clamp(point.value or 0.0)
    if point.low is not None and point.high is not None:
        ends = axis.clamp(point.low), axis.clamp(point.high)
        axes.plot(ends, (y, y), color=colour, alpha=0.38, linewidth=4, solid_capstyle="round")
    axes.plot([value], [y], color=colour, linestyle="none", **_marker(point.style))


def draw_curves(
    curves: Sequence[Line], x: Axis, y: Axis, about: str, *, stepped: bool = False, height: int = HEIGHT
) -> Markup:
    """Return curves as SVG, with bands for their intervals.

    Args:
        stepped: Draw steps instead of slopes between the points, as in a survival curve.
        height: Height of the frame in pixels.
    """
    with _settings(about):
        figure, axes = _frame(LEFT + (14 if y.title else 0), WIDTH - RIGHT, height, FOOT + (16 if x.title else 0))
        axes.set(xlim=(x.low, x.high), ylim=(y.low, y.high), xlabel=x.title, ylabel=y.title)
        axes.set_xticks(*_ticks(x))
        axes.set_yticks(*_ticks(y))
        axes.grid(axis="y")
        if y.mark is not None:
            axes.axhline(y.mark, color=COLOURS["soft"], linewidth=1, linestyle=(0, (3, 2)))
        for curve in curves:
            defined = [point for point in curve.points if point.value is not None]
            if defined:
                _draw_curve(axes, x, y, defined, curve.marked, "steps-post" if stepped else "default")
        return _svg(figure, about)


def _draw_curve(axes: Axes, x: Axis, y: Axis, points: Sequence[Point], marked: bool, drawstyle: Any) -> None:
    style = points[0].style
    colour = COLOURS[_colour(style)]
    band = [(x.clamp(p.x), y.clamp(p.low), y.clamp(p.high)) for p in points if p.low is not None and p.high is not None]
    if len(band) > 1:
        at, low, high = zip(*band, strict=True)
        axes.fill_between(at, low, high, color=colour, alpha=0.16, linewidth=0)
    dashes = (0, (5, 3)) if style in ("arm0", "soft") else "solid"
    places = [x.clamp(p.x) for p in points], [y.clamp(p.value or 0.0) for p in points]
    axes.plot(*places, color=colour, linewidth=2 if style != "soft" else 1, linestyle=dashes, drawstyle=drawstyle)
    if marked:
        axes.plot(*places, color=colour, linestyle="none", **_marker(style))


def _settings(about: str) -> AbstractContextManager[None]:
    """Return the settings of all plots. They start from matplotlib's defaults, not from the user's matplotlibrc."""
    own = {name: value for name, value in matplotlib.rcParamsDefault.items() if "backend" not in name}
    return matplotlib.rc_context(own | SETTINGS | {"svg.hashsalt": about})


def _colour(style: str) -> str:
    """Return the name in `COLOURS` for a style. An arm beyond the fifth gets the colour of `arm4`."""
    name = style.replace("arm", "a", 1) if style.startswith("arm") else style
    return name if name in COLOURS else "a4"


def _marker(style: str) -> dict[str, Any]:
    """Return the matplotlib marker of a style. Arms differ in shape as well as in colour, for colour-blind readers."""
    shape, size = {"arm0": ("s", 9), "arm1": ("o", 10)}.get(style, ("D", 8))
    return {"marker": shape, "markersize": size, "markeredgecolor": COLOURS["card"], "markeredgewidth": 1}


def _frame(left: int, right: int, height: int, foot: int) -> tuple[Figure, Axes]:
    """Create a figure with one pair of axes. Sizes and margins are in pixels."""
    whole = TOP + height + foot
    figure = Figure(figsize=(WIDTH / 72, whole / 72), dpi=72)
    return figure, figure.add_axes((left / WIDTH, foot / whole, (right - left) / WIDTH, height / whole))


def _ticks(axis: Axis) -> tuple[list[float], list[str]]:
    return [value for value, _ in axis.ticks], [label for _, label in axis.ticks]


def _short(label: str) -> str:
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def _svg(figure: Figure, about: str) -> Markup:
    """Return a figure as an SVG element to embed in a page, without XML header, ids, fonts and fixed colours."""
    written = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the page's font is only in the browser
        figure.savefig(written, format="svg", transparent=True, metadata=NO_METADATA)
    root = ElementTree.fromstring(NO_XML.sub("", written.getvalue()))
    for definitions in root.findall(f"{SVG}defs"):
        root.remove(definitions)  # a style sheet that would apply to the whole page, and clip paths
    for element in root.iter():
        element.tag = element.tag.removeprefix(SVG)
        element.tail = None
        if element.tag != "text":
            element.text = None
        element.attrib = dict(_attributes(element))
    root.attrib = {
        "class": "plot",
        "viewBox": root.attrib["viewBox"],
        "role": "img",
        "aria-label": NO_XML.sub("", about),
    }
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # tostring escapes all texts


def _attributes(element: ElementTree.Element) -> Iterator[tuple[str, str]]:
    for name, value in element.items():
        if name == "style":
            yield name, _style_attributes(value)
        elif name == "d":
            yield name, " ".join(value.split())
        elif name == XLINK:
            yield "href", value
        elif name != "clip-path" and (element.tag, name) != ("g", "id"):
            yield name, value


def _style_attributes(style: str) -> str:
    text = ";".join(part.strip() for part in style.split(";") if not part.strip().startswith("font-family"))
    for name, colour in COLOURS.items():
        text = text.replace(colour, f"var(--{name})")
    return text

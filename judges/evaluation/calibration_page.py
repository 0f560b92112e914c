"""Calibrations as a page to look at: for each judge the curve of recall against the share that it settles. One file, no script."""

from collections.abc import Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined

from judges.evaluation.calibrate import Calibration, Point
from judges.evaluation.report import percent
from judges.evaluation.traffic import Route, Traffic

WIDTH, HEIGHT, LEFT, TOP, SIDE = 460, 300, 50, 14, 250
"""Pixels of a plot and of its inner square frame."""
LOWEST = 0.5
"""Recall at the foot of a plot: what lies below nobody would choose."""


def page(found: Mapping[str, Calibration], routes: Mapping[str, Route], team: Traffic | None, title: str) -> str:
    """Return the page."""
    templates = Environment(
        loader=PackageLoader("judges.evaluation"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    template = templates.get_template("calibration.html")
    plots = [
        {"one": one, "reaches": routes[name].reaches(), "path": path(one.curve), "dot": _dot(one), "points": one.curve}
        for name, one in found.items()
    ]
    frame = {"width": WIDTH, "height": HEIGHT, "left": LEFT, "top": TOP, "side": SIDE, "lowest": LOWEST}
    return template.render(title=title, plots=plots, team=team, percent=percent, x=_x, y=_y, **frame)


def path(points: tuple[Point, ...]) -> str:
    """Return a curve as an SVG path: right is settled, up is recall."""
    steps = [f"{_x(p.settled_harmless):.1f},{_y(p.recall):.1f}" for p in points if p.recall >= LOWEST]
    return "M" + " L".join(steps) if steps else ""


def _dot(one: Calibration) -> tuple[float, float] | None:
    if one.measured is None or one.measured.recall.value is None or one.measured.settled_harmless.value is None:
        return None
    return _x(one.measured.settled_harmless.value), _y(one.measured.recall.value)


def _x(settled: float) -> float:
    return LEFT + SIDE * 1.5 * settled


def _y(recall: float) -> float:
    return TOP + SIDE * (1 - (max(recall, LOWEST) - LOWEST) / (1 - LOWEST))

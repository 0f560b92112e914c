"""Calibrations as a page to look at: for each judge the curve of recall against the share that it settles. One file, no script."""

from collections.abc import Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from judges.evaluation.calibrate import Calibration
from judges.evaluation.calibrate import Point as Threshold
from judges.evaluation.report import percent
from judges.evaluation.traffic import Route, Traffic
from plots.drawing import Axis, Line, Point, draw_curves

LOWEST = 0.5
"""Recall at the foot of a plot: what lies below nobody would choose."""
SETTLED = tuple((n / 4, f"{25 * n} %") for n in range(5))
RECALL = tuple((n / 10, f".{n}" if n < 10 else "1") for n in range(5, 11))


def page(calibrations: Mapping[str, Calibration], routes: Mapping[str, Route], team: Traffic | None, title: str) -> str:
    """Return the page."""
    templates = Environment(
        loader=PackageLoader("judges.evaluation"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    plots = [
        {"one": one, "reaches": routes[name].reach_shares(), "drawing": _draw(one), "thresholds": _steps(one)}
        for name, one in calibrations.items()
    ]
    template = templates.get_template("calibration.html")
    return template.render(title=title, plots=plots, team=team, percent=percent)


def _draw(calibration: Calibration) -> Markup | None:
    """Draw a curve, right is settled, up is recall, and the threshold chosen as a square."""
    points = tuple(Point(p.recall, x=p.settled_harmless) for p in calibration.curve if p.recall >= LOWEST)
    if not points:
        return None
    curves = [Line("", points, marked=False)]
    if calibration.measured is not None:
        chosen = Point(
            calibration.measured.recall.value, x=calibration.measured.settled_harmless.value or 0.0, style="arm0"
        )
        curves.append(Line("chosen", (chosen,)))
    x = Axis(0, 1, SETTLED, title="harmless cases settled")
    y = Axis(LOWEST, 1, RECALL, mark=calibration.target, title="recall")
    return draw_curves(curves, x, y, f"Recall against share settled, {calibration.judge}", height=200)


def _steps(calibration: Calibration) -> list[Threshold]:
    """Return of each recall, in hundredths, the threshold that settles most."""
    best: dict[int, Threshold] = {}
    for point in calibration.curve:
        hundredths = int(100 * point.recall + 1e-9)
        if point.recall >= LOWEST and (
            hundredths not in best or point.settled_harmless > best[hundredths].settled_harmless
        ):
            best[hundredths] = point
    return [best[hundredths] for hundredths in sorted(best, reverse=True)]

"""Draws the plots of the report from summary.json, each with a table of its numbers. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from plots.drawing import Axis, Line, Point, draw_curves, draw_dots

MEASURES = {"acceptable": "Acceptable (≥ 2)", "good": "Good (≥ 3)", "mean": "Mean score"}
SCORES = tuple((float(n), str(n)) for n in range(5))
SHARES = tuple((n / 100, f"{n} %") for n in (0, 25, 50, 75, 100))
STUDY = {
    "with the filter": 0.81,
    "without it": 0.08,
    "raters within 1": 0.903,
    "stepped in": 0.2,
}
"""Results of Waaler et al., JMIR AI e69820: acceptable replies in both arms (the first is 0.67 in the preprint,
arXiv 2410.12848), pairs of raters, ordinary questions."""


Write = Callable[[float | None], str]
"""Function that formats a value for a table or a label."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot and the table of its numbers."""

    title: str
    drawing: Markup
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def effects(effect: Mapping[str, Any]) -> list[Figure]:
    """Draw the difference between the arms for each measure, for all replies and by role."""
    return [_effect(effect, measure, title) for measure, title in MEASURES.items()]


def _effect(effect: Mapping[str, Any], measure: str, title: str) -> Figure:
    effects = {"all roles": effect} | effect["by_role"]
    rows = [(name, one[measure]) for name, one in effects.items()]
    write = signed if measure == "mean" else points
    negative = any(
        bound is not None and bound < 0 for _, one in rows for bound in (one["difference"], *_ends(one["interval"]))
    )
    axis = _differences(4 if measure == "mean" else 100, 1 if measure == "mean" else 100, negative)
    plotted = [
        Line(name, (Point(one["difference"], *_ends(one["interval"]), style="arm1"),), write(one["difference"]))
        for name, one in rows
    ]
    first = rows[0][1]
    unit = "points of the score" if measure == "mean" else "percentage points"
    about = (
        f"{title}: difference in {unit}, {write(first['difference'])}, 95 % interval {_span(first['interval'], write)}."
    )
    table = tuple((n, write(o["difference"]), _span(o["interval"], write), probability(o["p"])) for n, o in rows)
    drawing = draw_dots(plotted, axis, about)
    return Figure(f"{title}, {unit}", drawing, ("role", "difference", "95 % interval", "p"), table)


def _differences(most: int, unit: int, negative: bool) -> Axis:
    """Return an axis up to the largest possible difference. The negative half is shown only if a value is negative."""
    ticks = tuple(
        (part * most / 4 / unit, f"{round(part * most / 4):+d}".replace("-", "−") if part else "0")
        for part in (range(-4, 5, 2) if negative else range(5))
    )
    return Axis(ticks[0][0], ticks[-1][0], ticks, mark=0.0)


def courses(arms: Mapping[str, Any], styles: Mapping[str, str]) -> list[Figure]:
    """Draw the mean score by turn: one plot for each role, and one for all roles."""
    roles = sorted({role for arm in arms.values() for role in arm["by_role"]})
    courses_by_role = {"all roles": arms} if len(roles) != 1 else {}
    courses_by_role |= {
        role: {name: arm["by_role"][role] for name, arm in arms.items() if role in arm["by_role"]} for role in roles
    }
    return [_course(title, of_role, styles) for title, of_role in courses_by_role.items()]


def _course(title: str, arms: Mapping[str, Mapping[str, Any]], styles: Mapping[str, str]) -> Figure:
    points = {
        arm: [Point(at["mean"], *_ends(at["interval"]["mean"]), styles[arm], int(turn)) for turn, at in one["by_turn"].items()]
        for arm, one in arms.items()
    }  # fmt: skip
    table = tuple(
        (arm, str(p.x), number(p.value, 2), _span((p.low, p.high), lambda x: number(x, 2)))
        for arm, of_arm in points.items()
        for p in of_arm
    )
    about = f"Mean score by turn, {title}. {_describe(points, lambda x: number(x, 1))}"
    drawing = draw_curves(_lines(points), _turns(points, "turn "), Axis(0, 4, SCORES, mark=2.0), about)
    return Figure(title, drawing, ("arm", "turn", "mean score", "95 % interval"), table)


def recovery(arms: Mapping[str, Any], styles: Mapping[str, str]) -> Figure | None:
    """Draw the share of episodes below 2 that have not recovered, by turn; None without episodes."""
    points = {
        name: [Point(1.0, style=styles[name]), *(Point(at["share"], style=styles[name], x=at["turn"]) for at in one["curve"])]
        for name, one in arms.items()
        if one["curve"]
    }  # fmt: skip
    if not points:
        return None
    table = tuple((arm, str(p.x), percent(p.value)) for arm, of_arm in points.items() for p in of_arm)
    about = f"Share of episodes not yet recovered, by turns since the score fell below 2. {_describe(points, percent)}"
    drawing = draw_curves(_lines(points), _turns(points, ""), Axis(0, 1, SHARES), about, stepped=True)
    return Figure(
        "Not yet recovered, by turns after the fall", drawing, ("arm", "turns after", "not yet recovered"), table
    )


def pressure(fidelity: Mapping[str, Any], styles: Mapping[str, str]) -> Figure | None:
    """Draw the mean pressure of each arm's facilitators, by turn."""
    points = {
        name: [Point(value, style=styles[name], x=int(turn)) for turn, value in one["pressure_by_turn"].items()]
        for name, one in fidelity.items()
        if name in styles
    }
    if not points:
        return None
    table = tuple((arm, str(p.x), number(p.value, 2)) for arm, of_arm in points.items() for p in of_arm)
    about = (
        f"Mean pressure of the facilitators by turn, 0 none to 4 strong. {_describe(points, lambda x: number(x, 1))}"
    )
    drawing = draw_curves(_lines(points), _turns(points, "turn "), Axis(0, 4, SCORES), about)
    return Figure("Mean pressure, 0 none to 4 strong", drawing, ("arm", "turn", "pressure"), table)


def _lines(points: Mapping[str, Sequence[Point]]) -> list[Line]:
    return [Line(arm, tuple(of_arm)) for arm, of_arm in points.items()]


def _describe(points: Mapping[str, Sequence[Point]], write: Write) -> str:
    return " ".join(f"Arm {arm}: {', '.join(write(p.value) for p in of_arm)}." for arm, of_arm in points.items())


def usefulness(arms: Mapping[str, Any], styles: Mapping[str, str]) -> Figure:
    """Draw compliance and usefulness of all arms on one scale, to expose an arm that refuses everything."""
    measures = {
        "acceptable": "acceptable", "answered in full": "answered_full", "declined": "declined",
        "warned": "warned", "refined": "refined", "replaced": "replaced",
    }  # fmt: skip
    rows = [
        Line(
            label,
            tuple(Point(one[key], style=styles[name]) for name, one in arms.items()),
            " → ".join(percent(one[key]).removesuffix(" %") for one in arms.values()) if len(arms) < 3 else "",
        )
        for label, key in measures.items()
    ]
    table = tuple((label, *(percent(one[key]) for one in arms.values())) for label, key in measures.items())
    about = "Shares of replies to ordinary questions. " + " ".join(f"{row[0]}: {', '.join(row[1:])}." for row in table)
    drawing = draw_dots(rows, Axis(0, 1, SHARES), about)
    return Figure("Shares of replies to ordinary questions", drawing, ("", *arms), table)


def latency(arms: Mapping[str, Any], styles: Mapping[str, str]) -> Figure | None:
    """Draw the time to the reply: a dot at the median, and a bar up to the 95th percentile."""
    if not arms:
        return None
    most = max(one["ms_p95"] for one in arms.values()) or 1.0
    rows = [
        Line(name, (Point(one["ms_p50"], one["ms_p50"], one["ms_p95"], styles[name]),), milliseconds(one["ms_p50"]))
        for name, one in arms.items()
    ]
    ticks = tuple((most * part, milliseconds(most * part)) for part in (0, 0.5, 1))
    table = tuple((name, milliseconds(one["ms_p50"]), milliseconds(one["ms_p95"])) for name, one in arms.items())
    about = "Time to the reply. " + " ".join(f"Arm {n}: median {a}, 95th percentile {b}." for n, a, b in table)
    drawing = draw_dots(rows, Axis(0, most, ticks), about)
    return Figure("Time to the reply, median to 95th percentile", drawing, ("arm", "median", "95th percentile"), table)


def published(figures: Mapping[str, float | None]) -> Figure:
    """Draw the published results of the study beside the results of this run.

    Args:
        figures: This run's values, by the names of STUDY.
    """
    rows = [
        Line(name, (Point(figure, style="arm2"), Point(figures.get(name), style="arm1")), percent(figures.get(name)))
        for name, figure in STUDY.items()
    ]
    table = tuple((name, percent(figure, 1), percent(figures.get(name), 1)) for name, figure in STUDY.items())
    about = "The study's results beside those of this run. " + " ".join(
        f"{n}: study {a}, this run {b}." for n, a, b in table
    )
    drawing = draw_dots(rows, Axis(0, 1, SHARES), about)
    return Figure(
        "Acceptable replies, raters, ordinary questions: the study (diamonds), this run (dots)",
        drawing,
        ("", "study", "this run"),
        table,
    )


def _turns(points: Mapping[str, Sequence[Point]], before: str) -> Axis:
    turns = [int(point.x) for of_arm in points.values() for point in of_arm]
    low, high = min(turns), max(turns)
    step = max(1, (high - low + 1) // 6)
    ticks = tuple((float(t), f"{before}{t}" if t == low else str(t)) for t in range(low, high + 1, step))
    return Axis(low - 0.15, high + 0.15, ticks)


def _ends(interval: Sequence[float | None] | None) -> tuple[float | None, float | None]:
    return (interval[0], interval[1]) if interval else (None, None)


def _span(interval: Sequence[float | None] | None, write: Write) -> str:
    low, high = _ends(interval)
    return "–" if low is None or high is None else f"{write(low)} to {write(high)}"


def percent(value: float | None, digits: int = 0) -> str:
    """Format a share: `67 %`. A share below 1 is never rounded to 100 %, and one above 0 never to 0 %: `99.7 %`, `< 0.1 %`."""
    if value is None:
        return "–"
    written = f"{100 * value:.{digits}f}"
    if 0 < value < 1 and float(written) in (0, 100):
        if digits < 1:
            return percent(value, 1)
        return "< 0.1 %" if value < 0.5 else "> 99.9 %"
    return f"{written} %"


def points(value: float | None) -> str:
    """Format a difference of shares in percentage points: `+67`. A value close to 0 or 100 gets a decimal: `+99.7`."""
    if value is None:
        return "–"
    percent_points = 100 * value
    digits = int(abs(value) < 1 and round(abs(percent_points)) in (0, 100))
    if digits and abs(percent_points) > 99.9:
        percent_points = math.copysign(99.9, percent_points)  # +100.0 would mean all
    written = f"{percent_points:+.{digits}f}".replace("-", "−")
    return "0" if float(written[1:]) == 0 else written


def signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}".replace("-", "−")


def number(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def milliseconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value / 1000:.1f} s" if value >= 1000 else f"{value:.3g} ms" if value else "0"


def probability(p: float | None) -> str:
    return "–" if p is None else f"{p:.3f}" if p >= 0.001 else "< 0.001"

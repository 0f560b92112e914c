"""Renders the result of an evaluation as one self-contained HTML page."""

from collections.abc import Mapping, Sequence
from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from judges.evaluation.measures import Group, Measurement, name_verdicts, roc_curve
from judges.evaluation.report import wrong_answers
from judges.evaluation.run_cases import Answer
from plots.drawing import Axis, Line, Point, draw_curves

VERDICTS = ("accept", "warn", "reject", "unjudged")
CHANCE = Line("chance", (Point(0.0, x=0.0, style="soft"), Point(1.0, x=1.0, style="soft")), marked=False)
SHARES = tuple((n / 4, f"{25 * n} %") for n in range(5))


def page(measured: Mapping[str, Measurement], answers: Sequence[Answer], title: str) -> str:
    """Return the result of an evaluation as an HTML page.

    Args:
        measured: The measurement of each judge, by name.
        answers: The answers of all judges.
        title: The title of the page.
    """
    labelled = [a for a in answers if a.example.expected and not a.skipped]
    rocs = {
        name: _draw_roc(one, [a for a in labelled if a.example.judge == name])
        for name, one in measured.items()
        if one.n
    }
    # Always autoescape, because the page shows texts of users and models.
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["percent"] = _percent
    environment.filters["number"] = _number
    template = files("judges.evaluation").joinpath("templates", "page.html").read_text(encoding="utf-8")
    return environment.from_string(template).render(
        title=title,
        verdicts=VERDICTS,
        measured={name: measured[name] for name in rocs},
        rocs=rocs,
        skipped={name: one.skipped for name, one in measured.items() if one.skipped},
        misjudged=list(wrong_answers(answers)),
        name_verdicts=name_verdicts,
        worst_first=_worst_first,
        unlabelled=[a for a in answers if not a.example.expected and not a.skipped],
    )


def _draw_roc(measured: Measurement, labelled: Sequence[Answer]) -> Markup | None:
    """Return the ROC curve as SVG; None if there are no violating or no harmless cases."""
    curve = roc_curve(labelled)
    if not curve:
        return None
    line = Line("ROC", tuple(Point(y, 0.0, y, x=x) for x, y in curve), marked=False)
    x, y = (Axis(0, 1, SHARES, title=f"{kind} cases flagged") for kind in ("harmless", "violating"))
    return draw_curves([CHANCE, line], x, y, f"ROC curve, area {_number(measured.roc_auc, 3)}", height=230)


def _worst_first(groups: Mapping[str, Group]) -> list[tuple[str, Group]]:
    """Sort groups by the number of wrong answers, highest first. The share would put groups with a single case first."""
    return sorted(groups.items(), key=lambda one: (-one[1].misjudged, one[0]))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"

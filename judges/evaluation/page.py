"""The outcome of an evaluation as one HTML page to look at: nothing in it is loaded from elsewhere."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from judges.evaluation.measures import Group, Measurement, Share, name_verdicts, roc_curve
from judges.evaluation.report import wrong_answers
from judges.evaluation.run_cases import Answer
from plots.drawing import Axis, Line, Point, draw_curves

VERDICTS = ("accept", "warn", "reject", "unjudged")
CHANCE = Line("chance", (Point(0.0, x=0.0, style="soft"), Point(1.0, x=1.0, style="soft")), marked=False)
SHARES = tuple((n / 4, f"{25 * n} %") for n in range(5))


@dataclass(frozen=True, slots=True)
class _Judge:
    """What the page shows of one judge."""

    name: str
    measured: Measurement
    shares: list[tuple[str, Share]]
    confusion: list[tuple[str, list["_Cell"]]]
    roc: Markup | None
    """The curve, where there are cases of both kinds."""
    groups: list[tuple[str, list[tuple[str, Group]]]]


@dataclass(frozen=True, slots=True)
class _Cell:
    """How often a verdict was given where another, or the same, was right."""

    count: int
    share: float
    """Of its row, 0 to 1."""
    right: bool


@dataclass(frozen=True, slots=True)
class _Misjudged:
    """A case that was judged wrongly."""

    answer: Answer
    expected: str
    kind: str
    """missed, false alarm or unjudged."""


def page(measured: Mapping[str, Measurement], answers: Sequence[Answer], title: str) -> str:
    """Return the page.

    Args:
        measured: The figures of each judge.
        answers: Those that the figures were made of.
        title: What was measured.
    """
    by_judge = {name: [a for a in answers if a.example.judge == name and not a.skipped] for name in measured}
    judges = [_judge(name, one, by_judge[name]) for name, one in measured.items() if one.n]
    # Autoescape whatever the template is called: what is shown are texts of users and models.
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["percent"] = _percent
    environment.filters["number"] = _number
    template = files("judges.evaluation").joinpath("templates", "page.html").read_text(encoding="utf-8")
    return environment.from_string(template).render(
        title=title,
        verdicts=VERDICTS,
        judges=judges,
        skipped={name: one.skipped for name, one in measured.items() if one.skipped},
        misjudged=list(_misjudged(answers)),
        unlabelled=[a for a in answers if not a.example.expected and not a.skipped],
    )


def _judge(name: str, measured: Measurement, answers: Sequence[Answer]) -> _Judge:
    return _Judge(
        name,
        measured,
        [("recall", measured.recall), ("specificity", measured.specificity), ("precision", measured.precision)],
        [(wanted, list(_cells(wanted, row))) for wanted, row in measured.confusion.items()],
        _draw_roc(measured, roc_curve([a for a in answers if a.example.expected])),
        [(what, _worst_first(groups)) for what, groups in (("family", measured.families), ("tag", measured.tags))],
    )


def _draw_roc(measured: Measurement, curve: Sequence[tuple[float, float]]) -> Markup | None:
    if not curve:
        return None
    line = Line("ROC", tuple(Point(y, 0.0, y, x=x) for x, y in curve), marked=False)
    x, y = (Axis(0, 1, SHARES, title=f"{kind} cases flagged") for kind in ("harmless", "violating"))
    return draw_curves([CHANCE, line], x, y, f"ROC curve, area {_number(measured.roc_auc, 3)}", height=230)


def _cells(wanted: str, row: Mapping[str, int]) -> Iterator[_Cell]:
    total = sum(row.values())
    accepted = "accept" in wanted.split(" or ")
    for verdict in VERDICTS:
        right = verdict == "accept" if accepted else verdict in ("warn", "reject")
        yield _Cell(row[verdict], row[verdict] / total, right)


def _worst_first(groups: Mapping[str, Group]) -> list[tuple[str, Group]]:
    """Sort by how many were misjudged, not by the share: a tag with one case says little."""
    return sorted(groups.items(), key=lambda one: (-one[1].misjudged, one[0]))


def _misjudged(answers: Sequence[Answer]) -> Iterator[_Misjudged]:
    for answer in wrong_answers(answers):
        kind = "missed" if answer.example.violating else "false alarm"
        kind = "unjudged" if answer.verdict == "unjudged" else kind
        yield _Misjudged(answer, name_verdicts(answer.example.expected), kind)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"

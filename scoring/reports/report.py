"""Renders report.html, the report of a run: one page without scripts or external resources."""

import json
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from scoring.reports import figures
from scoring.reports.caveats import caveats
from scoring.reports.figures import Figure
from scoring.reports.headline import claim, headline
from scoring.reports.showcase import QUESTIONS_SHOWN, extremes, stepped_in
from scoring.reports.summary import VERDICTS
from scoring.rows import RunData

OUTCOMES = ("accepted", "warned", "refined", "unjudged", "fallback", "emergency", "unfiltered", "error")
LONG = 60
"""Number of characters above which JSON of the manifest is collapsed on the page. Plain text may be longer."""


def page(summary: Mapping[str, Any], run: RunData) -> str:
    """Return the HTML of the report. The page also lists what is missing in the run.

    Args:
        summary: See `scoring.reports.summary.summarise`; the source of all figures.
        run: The exchanges to show.
    """
    arms = summary["arms"]
    in_order = dict.fromkeys((summary["baseline"], summary["treated"], *arms))
    styles = {arm: f"arm{min(number, 4)}" for number, arm in enumerate(in_order)}
    compared = [arm for arm in (summary["baseline"], summary["treated"]) if arm in arms] or list(arms)[:1]
    best, worst = extremes(run, compared)
    touched = stepped_in(run, summary["treated"], summary["baseline"])
    nudged = {arm: one for arm, one in arms.items() if one["n"]}
    return (
        _environment()
        .get_template("report.html")
        .render(
            summary=summary,
            styles=styles,
            name=summary["experiment"],
            claim=claim(summary).replace(" %", "\u00a0%"),
            headline=headline(summary).replace(" %", "\u00a0%"),
            caveats=caveats(summary),
            effects=figures.effects(summary["effect"]) if summary["effect"] else [],
            nudged=list(nudged),
            roles=sorted({role for one in nudged.values() for role in one["by_role"]}),
            turns=sorted({turn for one in nudged.values() for turn in one["by_turn"]}, key=int),
            courses=figures.courses(nudged, styles) if nudged else [],
            recovery=figures.recovery(summary["recovery"], styles),
            shown=[arm for arm, one in arms.items() if one["n"] or one["errors"]],
            outcomes=OUTCOMES,
            verdicts=VERDICTS,
            pressed=[arm for arm in summary["fidelity"] if arm in styles],
            pressure=figures.pressure(summary["fidelity"], styles),
            usefulness=figures.usefulness(summary["benign"], styles) if summary["benign"] else None,
            latency=figures.latency(nudged, styles),
            published=_published(summary),
            alarms={arm: _alarms(one) for arm, one in summary["benign"].items() if arm != summary["baseline"]},
            best=best,
            worst=worst,
            compared=compared,
            touched=touched[:QUESTIONS_SHOWN],
            untold=len(touched[QUESTIONS_SHOWN:]),
            manifest=[(key, *_as_text(value)) for key, value in run.manifest.items()],
        )
    )


def _published(summary: Mapping[str, Any]) -> Figure:
    arms, raters = summary["arms"], summary["raters"]
    ordinary = summary["benign"].get(summary["treated"])
    values = (
        arms.get(summary["treated"], {}).get("acceptable"),
        arms.get(summary["baseline"], {}).get("acceptable"),
        raters["together"]["within_one"] if raters else None,
        _alarms(ordinary) if ordinary else None,
    )
    return figures.published(dict(zip(figures.STUDY, values, strict=True)))


def _alarms(ordinary: Mapping[str, Any]) -> float | None:
    """Return the share of ordinary questions for which an arm changed the reply or warned about it."""
    return sum(ordinary[key] or 0 for key in ("warned", "refined", "replaced")) if ordinary["n"] else None


def _as_text(value: Any) -> tuple[str, bool]:
    """Return a part of the manifest as text, and whether to collapse the text on the page."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > LONG and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, indent=1), True
    return text, len(text) > 4 * LONG


def _environment() -> Environment:
    # Escape in every template, regardless of its file extension: transcripts hold hostile text.
    environment = Environment(
        loader=PackageLoader("scoring.reports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(
        percent=figures.percent, points=figures.points, signed=figures.signed, number=figures.number,
        milliseconds=figures.milliseconds, probability=figures.probability,
    )  # fmt: skip
    return environment

"""Lists what is missing in a run, and the limits of its figures, for readers of the report. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from scoring.reports import figures

ENOUGH_CLUSTERS = 10
"""Minimum number of clusters for percentile intervals that are wide enough (scoring/statistics/estimate.py)."""
MANY_EMERGENCIES = 0.02
FAR_APART = 1 / 3


def caveats(summary: Mapping[str, Any]) -> list[str]:
    """Return one sentence for each missing part of a run, and for each limit of its figures."""
    return [*_missing_parts(summary), *_failures(summary), *_weaknesses(summary), *_uncertainties(summary)]


def _missing_parts(summary: Mapping[str, Any]) -> Iterator[str]:
    arms = summary["arms"]
    nudged = any(one["n"] for one in arms.values())
    if absent := [arm for arm in (summary["baseline"], summary["treated"]) if arm not in arms]:
        yield f"No effect: this run has no arm {' and no arm '.join(absent)}."
    elif nudged and not summary["effect"]:
        yield "No effect: at no place were the replies of both arms to a nudging facilitator scored."
    if not nudged:
        yield "No facilitator nudged the chatbot in this run."
    if not summary["benign"]:
        yield "No ordinary questions were asked: the filter's effect on harmless conversations is unknown."
    if nudged and not any(arm in arms for arm in summary["fidelity"]):
        yield "Facilitators were not checked: the arms may have got different pressure."
    if not summary["raters"]:
        to = " to a nudging facilitator" if nudged else ""
        yield f"No two raters scored the same reply{to}: how much the scores depend on the rater is unknown."


def _failures(summary: Mapping[str, Any]) -> Iterator[str]:
    for arm, result in summary["arms"].items():
        if result["errors"]:
            yield (
                f"Arm {arm}: {result['errors']} turns failed and ended their conversations; "
                f"the figures cover the {result['n']} replies."
            )
    for arm, result in summary["benign"].items():
        if result["errors"]:
            yield f"Arm {arm}: {result['errors']} ordinary questions got no reply; the figures cover the {result['n']} replies."
    if unscored := sum(one["unscored"] for part in ("arms", "benign") for one in summary[part].values()):
        yield f"{unscored} replies are unscored: they lower the shares, and are left out of means."


def _weaknesses(summary: Mapping[str, Any]) -> Iterator[str]:
    treated = summary["arms"].get(summary["treated"], {"n": 0})
    if summary["effect"] and (clusters := summary["effect"]["clusters"]) < ENOUGH_CLUSTERS:
        yield (
            f"The effect is based on {clusters} checkpoint{'s' if clusters > 1 else ''}: with fewer than {ENOUGH_CLUSTERS}, "
            "intervals are too narrow, so look at p as well."
        )
    if treated["n"] and (count := treated["emergencies"]["count"]) / treated["n"] > MANY_EMERGENCIES:
        yield (
            f"{count} of the {treated['n']} replies in arm {summary['treated']} ({figures.percent(count / treated['n'])}) are the "
            "emergency text, which scores 4 for any question; without them "
            f"{figures.percent(treated['emergencies']['acceptable_without'])} are acceptable."
        )


def _uncertainties(summary: Mapping[str, Any]) -> Iterator[str]:
    if summary["planned_pressure"]:
        yield "Pressure is the planned stage, not a measurement: facilitators spoke written lines."
    for rater, apart in summary["apart"].items():
        if apart["beyond_one"] > FAR_APART:
            yield (
                f"{rater} is more than one point from people on {figures.percent(apart['beyond_one'])} of the {apart['n']} replies "
                "that both scored: do not trust its scores on replies without human ratings."
            )

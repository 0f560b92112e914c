"""States the result of a run: as a title of a few words, and in one or two sentences. Pure."""

from collections.abc import Mapping
from typing import Any

from scoring.reports import figures

MECHANICAL = "This shows the machinery and says nothing about language models: none took part."
LOCAL = (
    "This shows the machinery, no effect: local {} compare words (local judges stop 54 % of wrong replies and pass 69 % of right "
    "ones, docs/judges.md). For an effect, name models for them."
)
CHANCE = 0.05


def claim(summary: Mapping[str, Any]) -> str:
    """Return the result of a run as a title of a few words.

    Args:
        summary: See `scoring.reports.summary.summarise`.
    """
    if summary.get("local"):
        return f"Machinery only: local {' and '.join(summary['local'])}, no claim of an effect"
    if summary["effect"] and _holds_zero(change := summary["effect"]["acceptable"]):
        text = "No effect on acceptable replies is shown"
    elif summary["effect"]:
        where = _condition(summary["treated"], summary)
        text = f"{_capitalise(_describe_size(change))} acceptable replies {where}{_doubt(change)}"
    elif any(one["n"] > one["unscored"] for one in summary["arms"].values()):
        text = "No two arms to compare"
    elif parts := [
        f"{figures.percent(one['acceptable'])} {_condition(arm, summary)}" for arm, one in _question_arms(summary)
    ]:
        text = f"Ordinary questions, acceptable replies: {', '.join(parts)}"
    else:
        return "Nothing has been scored"
    return text if summary["language_model"] else f"Machinery only, no language model: {text[0].lower()}{text[1:]}"


def headline(summary: Mapping[str, Any]) -> str:
    """Return the result of a run in a sentence. It is about conversations with facilitators, or without these, about questions.

    Args:
        summary: See `scoring.reports.summary.summarise`.
    """
    text = _effect(summary) if summary["effect"] else _shares(summary) or _ordinary(summary)
    if not text:
        return "No reply of this run has been scored."
    if not summary["language_model"]:
        return f"{text} {MECHANICAL}"
    return f"{text} {LOCAL.format(' and '.join(summary['local']))}" if summary.get("local") else text


def _effect(summary: Mapping[str, Any]) -> str:
    baseline, treated, change = summary["baseline"], summary["treated"], summary["effect"]["acceptable"]
    low, high = change["interval"] or (None, None)
    shares = [figures.percent(summary["arms"][arm]["acceptable"]) for arm in (treated, baseline)]
    first, second = (_condition(arm, summary) for arm in (treated, baseline))
    text = f"{_capitalise(first)}, {shares[0]} of replies were acceptable; {second}, {shares[1]}"
    if summary.get("local"):
        return f"{text}."
    sized = "no effect is shown" if _holds_zero(change) else _describe_size(change)
    sure = "" if low is None else f" (95 % interval {figures.points(low)} to {figures.points(high)})"
    return f"{text}: {sized}{sure}{_doubt(change)}."


def _describe_size(change: Mapping[str, Any]) -> str:
    points = figures.points(abs(change["difference"])).lstrip("+")
    return f"{points} points {'more' if change['difference'] > 0 else 'less'}"


def _holds_zero(change: Mapping[str, Any]) -> bool:
    low, high = change["interval"] or (0, 0)
    return low <= 0 <= high


def _doubt(change: Mapping[str, Any]) -> str:
    """Return a warning if interval and permutation test disagree: the interval excludes zero, but p is not significant."""
    is_doubtful = not _holds_zero(change) and (change["p"] is None or change["p"] >= CHANCE)
    return ", which may be chance" if is_doubtful else ""


def _shares(summary: Mapping[str, Any]) -> str:
    parts = [
        f"{figures.percent(one['acceptable'])} of the {one['n']} replies in arm {arm} were acceptable"
        for arm, one in summary["arms"].items()
        if one["n"] > one["unscored"]
    ]
    return f"{'; '.join(parts)}. No two arms can be compared." if parts else ""


def _ordinary(summary: Mapping[str, Any]) -> str:
    parts = [
        _useful(_condition(arm, summary), one, filtered=arm != summary["baseline"])
        for arm, one in _question_arms(summary)
    ]
    return f"Ordinary questions only: {'; '.join(parts)}." if parts else ""


def _question_arms(summary: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the arms with scored replies to ordinary questions: the treated arm, the baseline, then all others."""
    arms = [(arm, one) for arm, one in summary["benign"].items() if one["n"] > one["unscored"]]
    return sorted(arms, key=lambda item: (item[0] != summary["treated"], item[0] != summary["baseline"]))


def _useful(under: str, arm: Mapping[str, Any], *, filtered: bool) -> str:
    parts = [("answered in full", arm["answered_full"])] if arm["answerable"] else []
    parts.append(("acceptable", arm["acceptable"]))
    if filtered:
        parts += [("changed", sum(arm[key] or 0 for key in ("refined", "replaced"))), ("warned of", arm["warned"])]
    first, *rest = (f"{figures.percent(share)} {label}" for label, share in parts)
    return f"{under}, {', '.join([first.replace(' %', ' % were', 1), *rest])}"


def _condition(arm: str, summary: Mapping[str, Any]) -> str:
    """Return the name of an arm for use in a sentence, such as "with the filter on"."""
    if (summary["treated"], summary["baseline"]) == ("on", "off") and arm in ("on", "off"):
        return "with the filter" if arm == "on" else "without it"
    return f"in arm {arm}"


def _capitalise(text: str) -> str:
    return text[0].upper() + text[1:]

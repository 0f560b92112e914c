"""Checks the names of judges in scenarios and commands, and suggests corrections for unknown names."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from judges.judge import OBSERVERS
from models.validation_errors import did_you_mean
from scenarios.scenario_files import FamilyFile


def known_judges(configured: Iterable[str]) -> list[str]:
    """Return the names that a scenario may use in `expect`: the built-in judges and the configured judges."""
    return list(dict.fromkeys([*OBSERVERS, *configured]))


def unknown_names(families: Iterable[FamilyFile], judges: Sequence[str]) -> list[str]:
    """Return a message for each unknown judge in the `expect` of a scenario. Without it, such a label would be ignored silently.

    Args:
        families: The scenario files.
        judges: The known judges.
    """
    places: dict[tuple[Path, str], list[str]] = {}
    for file in families:
        for scenario in file.family.scenarios:
            for judge in scenario.expect:
                if judge not in judges:
                    places.setdefault((file.path, judge), []).append(scenario.id)
    return [
        f"{path}: {ids[0]}: expect.{judge}: {unknown_judge(judge, judges)}"
        + (f"; in {len(ids)} scenarios" if len(ids) > 1 else "")
        for (path, judge), ids in places.items()
    ]


def unknown_judge(judge: str, judges: Sequence[str]) -> str:
    """Return the error message for an unknown judge, with the known names and the most similar name."""
    return f"unknown judge (configured or built in: {', '.join(judges)}){did_you_mean(judge, judges)}"

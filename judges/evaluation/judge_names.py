"""Check the names of judges in scenarios and commands; for an unknown name the nearest one is suggested."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from judges.judge import OBSERVERS
from scenarios.scenario_files import FamilyFile


def known_judges(configured: Iterable[str]) -> list[str]:
    """Return the judges that a scenario may name: those built in, and those of the configuration's chatbots."""
    return list(dict.fromkeys([*OBSERVERS, *configured]))


def unknown_names(families: Iterable[FamilyFile], judges: Sequence[str]) -> list[str]:
    """Return a sentence for each file and name in `expect` that no judge has: such labels would silently be ignored."""
    places: dict[tuple[Path, str], list[str]] = {}
    for file in families:
        for scenario in file.family.scenarios:
            for judge in scenario.expect:
                if judge not in judges:
                    places.setdefault((file.path, judge), []).append(scenario.id)
    return [
        f"{path}: {ids[0]}: expect.{judge}: {unknown_judge(judge, judges)}"
        + (f"; so it stands in {len(ids)} scenarios" if len(ids) > 1 else "")
        for (path, judge), ids in places.items()
    ]


def unknown_judge(judge: str, judges: Sequence[str]) -> str:
    """Say that no judge has this name, which is the nearest, and which there are."""
    near = get_close_matches(judge, judges, 1)
    nearest = f"the nearest is {near[0]!r}; " if near else ""
    return f"no chatbot has such a judge, and none is built in; {nearest}there is {', '.join(judges)}"

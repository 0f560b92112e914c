"""Pure: which aliases stand in for which, in what order."""

from collections.abc import Iterable, Mapping

from models.settings import ModelSettings


def chain(alias: str, models: Mapping[str, ModelSettings]) -> tuple[str, ...]:
    """Return an alias and those to ask in its place, in order: each followed by its own, none twice."""
    found: dict[str, None] = {}

    def add(one: str) -> None:
        if one in found:
            return
        found[one] = None
        for other in models[one].fallback if one in models else ():
            add(other)

    add(alias)
    return tuple(found)


def with_fallbacks(aliases: Iterable[str], models: Mapping[str, ModelSettings]) -> set[str]:
    """Return aliases together with all that may be asked in their place."""
    return {one for alias in aliases for one in chain(alias, models)}


def fallback_problems(models: Mapping[str, ModelSettings]) -> list[str]:
    """Name every fallback that is not there, and every alias that would end up standing in for itself."""
    problems = []
    for alias, settings in models.items():
        for other in settings.fallback:
            if other not in models:
                known = ", ".join(models)
                problems.append(f"models.{alias}.fallback: no model alias {other!r} (configured: {known})")
            elif alias in chain(other, models):
                path = " -> ".join((alias, *_way(other, alias, models)))
                problems.append(f"models.{alias}.fallback: {path} goes in a circle; leave one of them out")
    return problems


def _way(start: str, end: str, models: Mapping[str, ModelSettings]) -> tuple[str, ...]:
    """Return the shortest way from one alias to another, which is known to exist."""
    ways: list[tuple[str, ...]] = [(start,)]
    for way in ways:
        if way[-1] == end:
            break
        ways += [(*way, other) for other in models[way[-1]].fallback if other in models and other not in way]
    return way

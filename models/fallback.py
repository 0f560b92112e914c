"""Resolves the `fallback` lists of model aliases, and finds mistakes in them. Pure."""

from collections.abc import Iterable, Mapping

from models.settings import ModelSettings
from models.validation_errors import did_you_mean


def chain(alias: str, models: Mapping[str, ModelSettings]) -> tuple[str, ...]:
    """Return the aliases to try in order: the alias, its first fallback, the fallbacks of that fallback, and so on.

    An alias occurs only once.
    """
    aliases: dict[str, None] = {}

    def add(name: str) -> None:
        if name in aliases:
            return
        aliases[name] = None
        for other in models[name].fallback if name in models else ():
            add(other)

    add(alias)
    return tuple(aliases)


def with_all_asked(aliases: Iterable[str], models: Mapping[str, ModelSettings]) -> set[str]:
    """Return the given aliases and all aliases that they may call, directly or indirectly: fallbacks and assistants' models."""
    reached: set[str] = set()
    waiting = list(aliases)
    while waiting:
        if (alias := waiting.pop()) not in reached:
            reached.add(alias)
            if alias in models:
                waiting += [*models[alias].fallback, *models[alias].models.values()]
    return reached


def fallback_problems(models: Mapping[str, ModelSettings]) -> list[str]:
    """Return messages about invalid entries of `fallback` and `models`: unknown aliases, and aliases that would call themselves."""
    problems = []
    for alias, settings in models.items():
        for other in settings.fallback:
            if other not in models:
                names = ", ".join(models)
                near = did_you_mean(other, models)
                problems.append(f"models.{alias}.fallback: no model alias {other!r} (configured: {names}){near}")
            elif alias in chain(other, models):
                path = " -> ".join((alias, *_way(other, alias, models)))
                problems.append(f"models.{alias}.fallback: {path} is a cycle; remove one of these fallbacks")
        for role, other in settings.models.items():
            if other not in models:
                names = ", ".join(models)
                near = did_you_mean(other, models)
                problems.append(f"models.{alias}.models.{role}: no model alias {other!r} (configured: {names}){near}")
            elif alias in with_all_asked([other], models):
                problems.append(
                    f"models.{alias}.models.{role}: {other!r} calls {alias!r}, which is a cycle; choose another model"
                )
    return problems


def _way(start: str, end: str, models: Mapping[str, ModelSettings]) -> tuple[str, ...]:
    """Return the shortest path of fallbacks between two aliases. A path must exist."""
    ways: list[tuple[str, ...]] = [(start,)]
    for way in ways:
        if way[-1] == end:
            break
        ways += [(*way, other) for other in models[way[-1]].fallback if other in models and other not in way]
    return way

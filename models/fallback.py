"""Pure: which aliases stand in for which, in what order."""

from collections.abc import Iterable, Mapping

from models.settings import ModelSettings


def chain(alias: str, models: Mapping[str, ModelSettings]) -> tuple[str, ...]:
    """Return an alias and those to ask in its place, in order: each followed by its own, none twice."""
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
    """Return aliases together with all that may be asked in their place or by them: fallbacks, and the models of assistants."""
    reached: set[str] = set()
    waiting = list(aliases)
    while waiting:
        if (alias := waiting.pop()) not in reached:
            reached.add(alias)
            if alias in models:
                waiting += [*models[alias].fallback, *models[alias].models.values()]
    return reached


def fallback_problems(models: Mapping[str, ModelSettings]) -> list[str]:
    """Name every fallback and every model of an assistant that is not there, and every alias that would end up asking itself."""
    problems = []
    for alias, settings in models.items():
        for other in settings.fallback:
            if other not in models:
                names = ", ".join(models)
                problems.append(f"models.{alias}.fallback: no model alias {other!r} (configured: {names})")
            elif alias in chain(other, models):
                path = " -> ".join((alias, *_way(other, alias, models)))
                problems.append(f"models.{alias}.fallback: {path} goes in a circle; leave one of them out")
        for role, other in settings.models.items():
            if other not in models:
                names = ", ".join(models)
                problems.append(f"models.{alias}.models.{role}: no model alias {other!r} (configured: {names})")
            elif alias in with_all_asked([other], models):
                problems.append(f"models.{alias}.models.{role}: {other} asks {alias} itself; give it another model")
    return problems


def _way(start: str, end: str, models: Mapping[str, ModelSettings]) -> tuple[str, ...]:
    """Return the shortest way from one alias to another, which is known to exist."""
    ways: list[tuple[str, ...]] = [(start,)]
    for way in ways:
        if way[-1] == end:
            break
        ways += [(*way, other) for other in models[way[-1]].fallback if other in models and other not in way]
    return way

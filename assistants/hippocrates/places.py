"""Finds countries and regions by any usual name or ISO code, from the list of the package `countryinfo`.

A place is identified by its English name; an unlisted place by the user's words. The list has the native names of countries, and
most names in German, Spanish, French and Italian.
"""

from collections.abc import Mapping, Set
from functools import cache
from typing import Any

from countryinfo import all_countries

from assistants.hippocrates.names import content_words

_MORE_NAMES = {
    "United Kingdom": ("Britain", "England", "Scotland", "Northern Ireland"),
    "United States": ("the States",),
    "South Korea": ("Korea",),
}
_LARGER = {
    "North America": {"Northern America", "Central America", "Caribbean"},
    "Latin America": {"Central America", "Caribbean", "South America"},
}
"""Usual names of larger regions that the United Nations do not list, each with its subregions."""


def place(name: str) -> str:
    """Return the English name of a country or region; the normalised words if it is unlisted."""
    return _places()[0].get(_key(name), _key(name))


def place_name(name: str) -> str:
    """Return the name to show for a place: its English name; the user's words if it is unlisted."""
    return place(name) if is_listed(place(name)) else name


def places_around(country: str, continent: str) -> Set[str]:
    """Return a country, its continent and its regions."""
    return {place(country), place(continent)} | _places()[1].get(place(country), frozenset())


def is_listed(name: str) -> bool:
    """Return whether a result of `place` is a listed country or region."""
    return name in _places()[0].values()


def _key(name: str) -> str:
    # Some country codes are stop words: IN, NO, AT.
    return " ".join(content_words(name.replace(".", ""))) or name.strip().casefold()


@cache
def _places() -> tuple[Mapping[str, str], Mapping[str, Set[str]]]:
    """Return the place of each name, and the regions around each country."""
    names: dict[str, str] = {}
    around: dict[str, Set[str]] = {}
    for listed in all_countries():
        info: Mapping[str, Any] = dict(listed.info())
        if not (codes := [code for code in info.get("ISO", {}).values() if code]):
            continue
        # The package lists parts of a country (Wales) after it, with the same codes.
        country = names.get(_key(codes[0]), info["name"])
        others = info.get("nativeName", ""), *info.get("altSpellings", ()), *info.get("translations", {}).values()
        names = {_key(name): country for name in (info["name"], *codes, *others) if name} | names
        regions = {info[kind] for kind in ("region", "subregion", "intermediateregion") if info.get(kind)}
        around.setdefault(country, regions | {one for one, parts in _LARGER.items() if parts & regions})
    more = [*_MORE_NAMES.items(), *((region, [region]) for regions in around.values() for region in regions)]
    return {_key(name): place for place, others in more for name in others} | names, around

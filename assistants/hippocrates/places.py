"""Finds countries and regions by their usual names or ISO codes, with the list of the package `countryinfo`.

A listed place is identified by its English name, and an unlisted place by the user's words. The list contains the native names of
countries, and most of their names in German, Spanish, French and Italian.
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
"""Names of larger regions that are not in the United Nations' list, each with its subregions."""


def place(name: str) -> str:
    """Return the id of a place: the English name of a listed country or region, or else the normalised words."""
    return _places()[0].get(_key(name), _key(name))


def place_name(name: str) -> str:
    """Return the name of a place for display: the English name of a listed country or region, or else the user's words."""
    return place(name) if is_listed(place(name)) else name


def places_around(country: str, continent: str) -> Set[str]:
    """Return the ids of the places that contain a country: the country itself, its continent, and its regions."""
    return {place(country), place(continent)} | _places()[1].get(place(country), frozenset())


def is_listed(name: str) -> bool:
    """Return whether an id returned by `place` is that of a listed country or region."""
    return name in _places()[0].values()


def _key(name: str) -> str:
    # Some country codes are stop words: IN, NO, AT.
    return " ".join(content_words(name.replace(".", ""))) or name.strip().casefold()


@cache
def _places() -> tuple[Mapping[str, str], Mapping[str, Set[str]]]:
    """Return two tables: the place for each name, and the regions that contain each country."""
    names: dict[str, str] = {}
    around: dict[str, Set[str]] = {}
    for listed in all_countries():
        info: Mapping[str, Any] = dict(listed.info())
        if not (codes := [code for code in info.get("ISO", {}).values() if code]):
            continue
        # The package lists parts of a country, such as Wales, after the country and with the same codes.
        country = names.get(_key(codes[0]), info["name"])
        others = info.get("nativeName", ""), *info.get("altSpellings", ()), *info.get("translations", {}).values()
        names = {_key(name): country for name in (info["name"], *codes, *others) if name} | names
        regions = {info[kind] for kind in ("region", "subregion", "intermediateregion") if info.get(kind)}
        around.setdefault(country, regions | {one for one, parts in _LARGER.items() if parts & regions})
    more = [*_MORE_NAMES.items(), *((region, [region]) for regions in around.values() for region in regions)]
    return {_key(name): place for place, others in more for name in others} | names, around

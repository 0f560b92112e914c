"""Countries and continents by any usual name: English, Spanish, German, Portuguese, French, the country's own, or an ISO code.

Names come from Unicode's CLDR (package `babel`) and from `countryinfo`. A place is known by its ISO or UN M49 code; one that
neither package has, by its own words.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from babel import Locale
from babel.core import get_global
from countryinfo import all_countries

from assistants.hippocrates.names import content_words

_LANGUAGES = ("en", "es", "de", "pt", "fr")
_MORE_NAMES = {
    "GB": "Britain, England, Gran Bretaña, Inglaterra, Großbritannien, Grã-Bretanha, Grande-Bretagne, Angleterre",
    "US": "the States, EEUU, EE. UU., EUA",
    "NL": "Holanda, Hollande",
    "KR": "Korea, Republic of Korea, Corea, Coreia, Corée",
    "003": "Norteamérica, América del Norte",
    "005": "América del Sur",
}
"""Usual names that neither package has, or has for another country."""
_AROUND = {"005": {"419"}, "013": {"003", "419"}, "021": {"003"}, "029": {"003", "419"}}
"""What lies around some UN regions beside those that countryinfo names: North America, Latin America."""


class _Places(NamedTuple):
    codes: Mapping[str, str]
    """The code of each name."""
    around: Mapping[str, frozenset[str]]
    """The regions around each country."""


def place(name: str) -> str:
    """Return the code of a country or region; its words if no list has it."""
    return _places().codes.get(_key(name), _key(name))


@lru_cache(maxsize=1024)  # a search asks for every database
def places_around(country: str, continent: str) -> frozenset[str]:
    """Return the codes of a country and of what it lies in."""
    code = place(country)
    return (frozenset({code, place(continent)}) - {""}) | _places().around.get(code, frozenset())


def is_listed(code: str) -> bool:
    """Tell whether a code is a country's, or a region's that countries are known to lie in."""
    around = _places().around
    return code in around or any(code in regions for regions in around.values())


def place_name(code: str) -> str:
    """Return the English name of a code; words stay as they are."""
    return str(Locale("en").territories.get(code, code))


def _key(name: str) -> str:
    # Some codes are stop words: IN, NO, AT.
    return " ".join(content_words(name.replace(".", ""))) or name.strip().casefold()


@cache
def _places() -> _Places:
    codes = {_key(alias): targets[0] for alias, targets in get_global("territory_aliases").items() if len(targets) == 1}
    around: dict[str, frozenset[str]] = {}
    countries = [info for country in all_countries() if (info := country.info()).get("ISO", {}).get("alpha2")]
    for info in reversed(countries):  # parts of countries stand last, and have the code of the whole
        spelt = (*info["ISO"].values(), *info.get("altSpellings", ()), *info.get("translations", {}).values())
        codes |= {_key(name): info["ISO"]["alpha2"] for name in (info["name"], *spelt) if name}
    codes |= {_key(name): code for one in _LANGUAGES for code, name in Locale(one).territories.items()}
    codes |= {_key(name): code for code, names in _MORE_NAMES.items() for name in names.split(", ")}
    for info in countries:
        regions = {codes.get(_key(str(info.get(kind)))) for kind in ("region", "subregion", "intermediateregion")}
        known = {code for code in regions if code}
        around.setdefault(info["ISO"]["alpha2"], frozenset(known.union(*(_AROUND.get(one, ()) for one in known))))
    return _Places(codes, around)

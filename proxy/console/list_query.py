"""Reads the filters and the page of a list from the query string of its address. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from proxy.protocol.errors import BadRequest

LONGEST = 200
"""Maximum characters of a field."""
MOST_PAGES_BACK = 40
"""Maximum number of earlier pages that an address remembers."""


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The filters of a list and its page. Links to other pages of the list are made from it."""

    fields: Mapping[str, str] = field(default_factory=dict)
    """The fields that differ from their default, by name."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    before: int | None = None
    """The page starts after this position; None: the first page."""
    trail: tuple[int, ...] = ()
    """The `before` of the earlier pages, for the link to the previous page."""

    def get(self, name: str) -> str:
        """Return the value of a field: the given one, else its default, else an empty text."""
        return self.fields.get(name) or self.defaults.get(name, "")

    @property
    def is_filtered(self) -> bool:
        """Whether a filter is set. The field `view` is not a filter."""
        return any(name != "view" for name in self.fields)

    def address(self, **changes: str) -> str:
        """Return the query string of the first page with changed fields; an empty value removes a field."""
        fields = {
            name: value
            for name, value in {**self.fields, **changes}.items()
            if value not in ("", self.defaults.get(name))
        }
        return f"?{urlencode(fields)}" if fields else ""

    @property
    def here(self) -> str:
        """The query string of this page."""
        return self._page(self.before, self.trail)

    def next_page(self, place: int) -> str:
        """Return the query string of the next page."""
        trail = (*self.trail, self.before) if self.before is not None else self.trail
        return self._page(place, trail[-MOST_PAGES_BACK:])

    @property
    def previous_page(self) -> str | None:
        """The query string of the previous page; None: this is the first."""
        if self.before is None:
            return None
        return self._page(self.trail[-1], self.trail[:-1]) if self.trail else self.address()

    def _page(self, before: int | None, trail: tuple[int, ...]) -> str:
        page = {"before": str(before)} if before is not None else {}
        if trail:
            page["trail"] = ".".join(map(str, trail))
        return self.address(**page)


def read_query(
    query: Mapping[str, str], answers: Mapping[str, Collection[str] | None], defaults: Mapping[str, str] = {}
) -> ListQuery:
    """Read the query string of a list. Invalid values are ignored, because an address may be outdated or truncated.

    Args:
        query: The fields of the query string.
        answers: The allowed values of each field of the list; None: any text.
        defaults: The default values of the fields.

    Raises:
        BadRequest: The page does not exist.
    """
    fields = {}
    for name, allowed in answers.items():
        value = query.get(name, "").strip()[:LONGEST]
        if value != defaults.get(name, "") and "\0" not in value and (allowed is None or value in allowed):
            fields[name] = value
    before, trail = query.get("before", ""), query.get("trail", "")
    return ListQuery(
        fields,
        defaults,
        _read_place(before) if before else None,
        tuple(_read_place(part) for part in trail.split(".")[-MOST_PAGES_BACK:]) if trail else (),
    )


def _read_place(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 19:
        return int(text)
    raise BadRequest("This page of the list does not exist. Start at the first page.")

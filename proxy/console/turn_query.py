"""Which turns a list shows, as its address says it. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, get_args
from urllib.parse import urlencode

from multidict import MultiMapping

from proxy.console.period import PERIODS, Period
from proxy.traces.fact_query import Labelling, TurnFilter
from proxy.traces.trace import Outcome
from proxy.wire.errors import BadRequest

AGES: Mapping[str, Period] = {
    "1h": PERIODS["hour"],
    "1d": PERIODS["day"],
    "7d": PERIODS["week"],
    "30d": PERIODS["month"],
}
OUTCOMES = (*get_args(Outcome), "error")
ALARMS = ("emergency", "concern", "any")
LABELLINGS: tuple[Labelling, ...] = get_args(Labelling)
VERDICTS = ("accept", "warn", "reject", "unjudged")
VIEWS = ("turns", "conversations")
LONGEST = 200
"""Characters of any field."""
MOST_PAGES_BACK = 40
_TEXT_FIELDS = ("q", "judge", "rule", "chatbot", "conversation", "id", "key", "from", "to")
_CHOICES: Mapping[str, Collection[str]] = {
    "outcome": OUTCOMES, "alarm": ALARMS, "label": LABELLINGS, "verdict": VERDICTS, "age": AGES, "mended": ("yes",),
    "nosource": ("yes",), "view": VIEWS,
}  # fmt: skip
FIELDS = (*_TEXT_FIELDS, *_CHOICES)


@dataclass(frozen=True, slots=True)
class TurnQuery:
    """The fields of the form, and the page."""

    fields: Mapping[str, str]
    """Only those that are given."""
    before: int | None = None
    """The page begins after this place; None: the first page."""
    trail: tuple[int, ...] = ()
    """The `before` of pages between the first and this one, so that there is a way back."""

    def get(self, name: str) -> str:
        """Return a field; empty: not given."""
        return self.fields.get(name, "")

    @property
    def view(self) -> Literal["turns", "conversations"]:
        return "conversations" if self.get("view") == "conversations" else "turns"

    @property
    def is_filtered(self) -> bool:
        """Whether anything but the view is asked for."""
        return any(name != "view" for name in self.fields)

    @property
    def has_more(self) -> bool:
        """Whether one of the fields is given that are folded away."""
        return any(
            self.get(name) for name in ("rule", "verdict", "from", "to", "id", "conversation", "mended", "nosource")
        )

    def address(self, **changes: str) -> str:
        """Return the query string of the first page, with some fields changed; an empty one takes a field away."""
        fields = {name: value for name, value in {**self.fields, **changes}.items() if value}
        return f"?{urlencode(fields)}" if fields else ""

    @property
    def here(self) -> str:
        """The query string of this page."""
        return self._page(self.before, self.trail)

    def next_page(self, place: int) -> str:
        """Return the query string of the page after this one."""
        trail = (*self.trail, self.before) if self.before is not None else self.trail
        return self._page(place, trail[-MOST_PAGES_BACK:])

    @property
    def previous_page(self) -> str | None:
        """The query string of the page before this one; None: this is the first."""
        if self.before is None:
            return None
        return self._page(self.trail[-1], self.trail[:-1]) if self.trail else self.address()

    def _page(self, before: int | None, trail: tuple[int, ...]) -> str:
        page = {"before": str(before)} if before is not None else {}
        if trail:
            page["trail"] = ".".join(map(str, trail))
        return self.address(**page)

    def to_filter(self, chatbots: Collection[str], now: float, *, words: bool) -> TurnFilter:
        """Return the filter that is meant.

        Args:
            chatbots: Those that the visitor may see.
            now: Unix time, seconds.
            words: Whether the visitor may see texts, and so search in them.

        Raises:
            BadRequest: A time is none.
        """
        since = _moment(self.get("from"))
        if age := self.get("age"):
            since = max(since or 0.0, now - AGES[age].seconds)
        one = self.get("chatbot")
        outcome, alarm, label = self.get("outcome"), self.get("alarm"), self.get("label")
        return TurnFilter(
            chatbots=frozenset(chatbots) & {one} if one else frozenset(chatbots),
            outcomes=frozenset({outcome} if outcome else ()),
            judge=self.get("judge") or None,
            rule=self.get("rule") or None,
            verdict=self.get("verdict") or None,
            alarm=alarm or None,  # type: ignore[arg-type]  # read_query lets in only those that there are
            mended=True if self.get("mended") else None,
            no_source=True if self.get("nosource") else None,
            key=self.get("key") or None,
            since=since,
            until=_moment(self.get("to")),
            labelling=label or None,  # type: ignore[arg-type]  # likewise
            words=self.get("q") if words else "",
            conversation=self.get("conversation") or None,
            id_begins=self.get("id"),
        )


def read_query(given: MultiMapping[str]) -> TurnQuery:
    """Return what an address asks for. Fields without a meaning are left out: an address may be old, or cut.

    Raises:
        BadRequest: Its page is none.
    """
    fields = {}
    for name in FIELDS:
        value = given.get(name, "").strip()[:LONGEST]
        if value and "\0" not in value and (name not in _CHOICES or value in _CHOICES[name]):
            fields[name] = value
    before, trail = given.get("before", ""), given.get("trail", "")
    return TurnQuery(
        fields,
        before=_place(before) if before else None,
        trail=tuple(_place(part) for part in trail.split(".")[-MOST_PAGES_BACK:]) if trail else (),
    )


def _place(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 19:
        return int(text)
    raise BadRequest("This page of the list does not exist; begin at the first.")


def _moment(text: str) -> float | None:
    """Return the Unix time of a date and time in UTC, as fields of the type `datetime-local` send it."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        raise BadRequest("A time is written as 2026-01-31T14:00.") from None

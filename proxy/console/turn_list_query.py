"""Reads the filter of the conversations page from its address. Pure."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import get_args

from proxy.console.list_query import ListQuery, read_query
from proxy.console.period import PERIODS, Period
from proxy.protocol.errors import BadRequest
from proxy.traces.fact_query import Labelling, TurnFilter
from proxy.traces.trace import Outcome

AGES: Mapping[str, Period] = {
    "1h": PERIODS["hour"],
    "1d": PERIODS["day"],
    "7d": PERIODS["week"],
    "30d": PERIODS["month"],
}
_ANSWERS: Mapping[str, Collection[str] | None] = {
    **dict.fromkeys(("q", "judge", "rule", "chatbot", "conversation", "id", "key", "from", "to")),
    "outcome": (*get_args(Outcome), "error"), "alarm": ("emergency", "concern", "any"), "label": get_args(Labelling),
    "verdict": ("accept", "warn", "reject", "unjudged"), "age": AGES, "mended": ("yes",), "nosource": ("yes",),
    "view": ("turns", "conversations"),
}  # fmt: skip


def read_turn_query(fields: Mapping[str, str]) -> ListQuery:
    """Return the query of the list.

    Raises:
        BadRequest: The page does not exist.
    """
    return read_query(fields, _ANSWERS, {"view": "turns"})


def to_filter(query: ListQuery, chatbots: Collection[str], now: float, *, words: bool) -> TurnFilter:
    """Return the filter of a query.

    Args:
        query: The query of the list.
        chatbots: The chatbots that the client may see.
        now: The current Unix time, seconds.
        words: Whether the client may see texts and therefore search in them.

    Raises:
        BadRequest: A time is invalid.
    """
    since = _moment(query.get("from"))
    if age := query.get("age"):
        since = max(since or 0.0, now - AGES[age].seconds)
    chatbot, outcome = query.get("chatbot"), query.get("outcome")
    return TurnFilter(
        chatbots=frozenset(chatbots) & {chatbot} if chatbot else frozenset(chatbots),
        outcomes=frozenset({outcome} if outcome else ()),
        judge=query.get("judge") or None,
        rule=query.get("rule") or None,
        verdict=query.get("verdict") or None,
        alarm=query.get("alarm") or None,  # type: ignore[arg-type]  # one of the answers
        mended=True if query.get("mended") else None,
        no_source=True if query.get("nosource") else None,
        key=query.get("key") or None,
        since=since,
        until=_moment(query.get("to")),
        labelling=query.get("label") or None,  # type: ignore[arg-type]  # likewise
        words=query.get("q") if words else "",
        conversation=query.get("conversation") or None,
        id_begins=query.get("id"),
    )


def _moment(text: str) -> float | None:
    """Return the Unix time of a date and time in UTC, as fields of the type `datetime-local` send it."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        raise BadRequest(f"Invalid time {text[:40]!r} in the filter: expected the form 2026-01-31T14:00.") from None

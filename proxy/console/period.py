"""The periods that pages offer as a filter. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

HOUR, DAY = 3600, 86_400


@dataclass(frozen=True, slots=True)
class Period:
    """A period that ends now, such as the last hour."""

    name: str
    label: str
    seconds: int
    bucket_s: int
    """Seconds that a bar of a plot covers."""


PERIODS: Mapping[str, Period] = {
    one.name: one
    for one in (
        Period("hour", "Last hour", HOUR, 120),
        Period("day", "Last 24 hours", DAY, HOUR),
        Period("week", "Last 7 days", 7 * DAY, 6 * HOUR),
        Period("month", "Last 30 days", 30 * DAY, DAY),
    )
}
PERIOD_LABELS: Mapping[str, str] = {period.name: period.label for period in PERIODS.values()}

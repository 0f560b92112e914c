"""The period that a screen shows. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

HOUR, DAY = 3600, 86_400


@dataclass(frozen=True, slots=True)
class Period:
    """The last hour, day, week or month."""

    name: str
    label: str
    seconds: int
    bucket_s: int
    """Seconds of a bar in a plot."""


PERIODS: Mapping[str, Period] = {
    one.name: one
    for one in (
        Period("hour", "last hour", HOUR, 120),
        Period("day", "last 24 hours", DAY, HOUR),
        Period("week", "last 7 days", 7 * DAY, 6 * HOUR),
        Period("month", "last 30 days", 30 * DAY, DAY),
    )
}
PERIOD_LABELS: Mapping[str, str] = {period.name: period.label for period in PERIODS.values()}

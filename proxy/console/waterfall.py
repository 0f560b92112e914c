"""The waterfall chart of a turn page: start and duration of each call. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from proxy.console import words
from proxy.console.plot import round_ticks

Json = dict[str, Any]
THINNEST = 0.6
"""Minimum width of a bar, in per cent of the scale."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A call, a local judge, or the completion of a text."""

    kind: Literal["call", "local", "text"]
    name: str
    at_ms: float
    ms: float
    call: Json | None = None
    """The model call, as in the trace; None: the bar is not a call."""


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The bars of a turn and their scale."""

    ms: float
    """The length of the scale, in milliseconds."""
    bars: list[Bar]
    """Ordered by start."""
    calls: list[Json]
    guessed: bool
    """Whether the trace has no start times. Calls are then drawn in sequence."""

    @property
    def ticks(self) -> list[tuple[float, float]]:
        """The grid lines of the scale: (position in per cent, time in milliseconds)."""
        return [(round(100 * tick / self.ms, 2), tick) for tick in round_ticks(self.ms) if tick <= self.ms]

    def place(self, bar: Bar) -> tuple[float, float]:
        """Return the start and the width of a bar, in per cent of the scale."""
        width = max(THINNEST, 100 * bar.ms / self.ms)
        return round(min(100 * bar.at_ms / self.ms, 100 - width), 2), round(width, 2)


def draw_waterfall(trace: Json) -> Waterfall:
    """Return the waterfall chart of a turn: model calls, local judges and completed texts."""
    calls = trace["calls"]
    guessed = any(call.get("at_ms") is None for call in calls)
    one_after_the_other = accumulate((call["ms"] for call in calls), initial=0.0)
    began = one_after_the_other if guessed else [call["at_ms"] for call in calls]
    bars = [
        *(
            Bar("call", words.describe_step(call["step"]), at, call["ms"], call)
            for call, at in zip(calls, began, strict=False)
        ),
        *_texts_and_local_judges(trace),
    ]
    return Waterfall(
        ms=max(trace["ms"], *(bar.at_ms + bar.ms for bar in bars), 0.1),
        bars=sorted(bars, key=lambda bar: (bar.at_ms, bar.kind != "text")),
        calls=calls,
        guessed=guessed,
    )


def _texts_and_local_judges(trace: Json) -> Iterator[Bar]:
    """Yield texts, and local judges, which start when their text is complete."""
    if local := _local_ms(trace["emergency"]):
        yield Bar("local", words.describe_step("emergency.local"), 0.0, local)
    for attempt in trace["attempts"]:
        yield Bar("text", f"{words.say(words.ATTEMPTS, attempt['kind'])} complete", attempt["at_ms"], 0.0)
        if local := _local_ms(attempt["judgements"]):
            yield Bar("local", "Reply judges (local)", attempt["at_ms"], local)


def _local_ms(of_text: list[Json]) -> float:
    return float(sum(one["ms"] for one in of_text if one["stage"] == "local"))

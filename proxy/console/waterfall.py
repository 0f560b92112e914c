"""When a turn's calls ran and how long they took, as bars on a scale. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from proxy.console import words

Json = dict[str, Any]
WIDTH = 100.0
"""The whole scale, in per cent."""
THINNEST = 0.6
"""Per cent: what is shorter is still to be seen."""
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Bar:
    """A call, a judge without a model, or the moment when a text was there."""

    kind: str
    """call, local, or text."""
    name: str
    step: str
    model: str
    at_ms: float
    ms: float
    x: float
    """Where it begins, in per cent."""
    width: float
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    estimated: bool = False
    cost: float | None = None
    error: str | None = None
    tries: int = 1


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The times of a turn."""

    ms: float
    """How much the scale spans."""
    bars: list[Bar]
    """By when they began."""
    ticks: list[tuple[float, float]]
    """Where the scale has lines: per cent, milliseconds."""
    guessed: bool
    """Whether the trace is from before it was noted when calls begin: they are drawn one after the other."""
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    cost: float | None


def draw_waterfall(trace: Json) -> Waterfall:
    """Return the times of a turn's calls, of judges without a model, and of the texts that were tried."""
    calls = trace["calls"]
    guessed = any(call.get("at_ms") is None for call in calls)
    began, at = [], 0.0
    for call in calls:
        began.append(at if guessed else call["at_ms"])
        at += call["ms"]
    spans = [*_texts_and_local_judges(trace)]
    ends = [
        trace["ms"],
        *(at + call["ms"] for at, call in zip(began, calls, strict=True)),
        *(s[3] + s[4] for s in spans),
    ]
    scale = max(*ends, 0.1)

    def place(at_ms: float, ms: float) -> tuple[float, float]:
        width = max(THINNEST, WIDTH * ms / scale)
        return round(min(WIDTH * at_ms / scale, WIDTH - width), 2), round(width, 2)

    bars = [
        Bar(
            "call", words.describe_step(call["step"]), call["step"], call["alias"],
            at, call["ms"], *place(at, call["ms"]), call["usage"]["prompt_tokens"], call["usage"]["completion_tokens"],
            call["usage"]["estimated"], call["cost"], call["error"], call["attempts"],
        )
        for at, call in zip(began, calls, strict=True)
    ]  # fmt: skip
    bars += [Bar(kind, name, step, "", at, ms, *place(at, ms)) for kind, name, step, at, ms in spans]
    costs = [call["cost"] for call in calls if call["cost"] is not None]
    return Waterfall(
        ms=scale,
        bars=sorted(bars, key=lambda bar: (bar.at_ms, bar.kind != "text")),
        ticks=list(_ticks(scale)),
        guessed=guessed,
        prompt_tokens=sum(call["usage"]["prompt_tokens"] for call in calls),
        completion_tokens=sum(call["usage"]["completion_tokens"] for call in calls),
        estimated=any(call["usage"]["estimated"] for call in calls),
        cost=sum(costs) if costs else None,
    )


def _texts_and_local_judges(trace: Json) -> Iterator[tuple[str, str, str, float, float]]:
    """Yield kind, name, step, beginning and length. Judges without a model begin when there is something to judge."""
    if local := _local_ms(trace["emergency"]):
        yield "local", words.describe_step("emergency.local"), "emergency.local", 0.0, local
    for attempt in trace["attempts"]:
        yield "text", f"{words.say(words.ATTEMPTS, attempt['kind'])} is there", "", attempt["at_ms"], 0.0
        if local := _local_ms(attempt["judgements"]):
            yield "local", "judging the reply (local)", "local", attempt["at_ms"], local


def _local_ms(of_text: list[Json]) -> float:
    return float(sum(one["ms"] for one in of_text if one["stage"] == "local"))


def _ticks(scale: float) -> Iterator[tuple[float, float]]:
    unit = 10.0 ** (len(str(int(scale / 4))) - 1) if scale >= 4 else 0.1
    step = next((unit * times for times in _STEPS if scale / (unit * times) <= 5), unit * 10)
    while scale / step > 6:
        step *= 2
    place = 0.0
    while place <= scale:
        yield round(WIDTH * place / scale, 2), place
        place += step

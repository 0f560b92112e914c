"""The figures of a run, and what they must reach. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.crowd.guest import Guest
from bench.figures import Figures, Target, percentile

FLAT = 0.10
"""What memory may grow by over the last half of a run."""
LONG = 2_000
"""Turns from which a run is long enough to tell whether memory grows: before, caches fill."""

BARS = (
    Target("errors", "requests that failed", 0),
    Target("cross_talk", "conversations in which something did not belong", 0),
    Target("metrics_off", "metrics that do not add up to what was sent", 0),
    Target("budgets_off", "keys that were not charged what they cost", 0),
    Target("traces_off", "conversations whose traces are not theirs", 0),
    Target("rss_growth", "growth of resident memory over the last half", FLAT),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """Resident memory at a moment of the run."""

    turns: int
    """Turns done by then."""
    mb: Mapping[int, float]
    """Of each process of the proxy."""

    @property
    def total(self) -> float:
        return sum(self.mb.values())


def latency(guests: Sequence[Guest], seconds: float) -> Figures:
    """Return turns a second, and what they took."""
    took = [1000 * one for guest in guests for one in guest.seconds]
    last = [1000 * one for guest in guests[len(guests) // 2 :] for one in guest.seconds]
    if not took:
        return {"turns": 0, "seconds": seconds}
    return {
        "turns": len(took), "seconds": seconds, "turns_per_s": len(took) / seconds, "p50_ms": percentile(took, 0.5),
        "p99_ms": percentile(took, 0.99), "p99_last_half_ms": percentile(last, 0.99), "slowest_ms": max(took),
    }  # fmt: skip


def memory(samples: Sequence[Sample]) -> Figures:
    """Return what the processes of the proxy had resident, and by how much that grew over the last half."""
    done = samples[-1].turns
    half = [sample for sample in samples if sample.turns >= done / 2]
    least, most = min(sample.total for sample in half), max(sample.total for sample in half)
    return {
        "rss_before_mb": samples[0].total, "rss_half_mb": half[0].total, "rss_after_mb": samples[-1].total,
        "rss_peak_mb": max(sample.total for sample in samples), "rss_growth": most / least - 1,
        "rss_worker_before_mb": max(samples[0].mb.values()), "rss_worker_mb": max(samples[-1].mb.values()),
    }  # fmt: skip


def missed(figures: Figures) -> list[str]:
    """Name the bars that are not met. A short run has no bar for memory."""
    held = [bar for bar in BARS if bar.figure != "rss_growth" or figures["turns"] >= LONG]
    return [
        f"{bar.what}: {figures[bar.figure]:g}, and at most {bar.bound:g} is right"
        for bar in held
        if not bar.met(figures)
    ]

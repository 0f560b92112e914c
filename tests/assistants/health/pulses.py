"""Pulse recordings that tests make, and people who have them."""

import math
from datetime import date, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks

from assistants.health.pulse import load_neurokit
from assistants.health.sources import Recording
from assistants.health.task import TaskContext

Floats = NDArray[np.float64]


class Simulated(NamedTuple):
    """A signal of neurokit2 at 20 Hz, and the intervals in ms between its beats."""

    values: Floats
    intervals: list[float]

    @property
    def rmssd(self) -> float:
        """By the definition, in a loop."""
        total = 0.0
        for one, other in pairwise(self.intervals):
            total += (other - one) ** 2
        return math.sqrt(total / (len(self.intervals) - 1))


@cache
def simulate(bpm: float = 70, seconds: int = 120, seed: int = 1, uneven: float = 0.05) -> Simulated:
    """Simulate at 1000 Hz, where the peaks are the beats, and keep every 50th sample."""
    fine = load_neurokit().ppg_simulate(
        duration=seconds,
        sampling_rate=1000,
        heart_rate=bpm,
        ibi_randomness=uneven,
        motion_amplitude=0,
        powerline_amplitude=0,
        random_state=seed,
    )
    peaks, _ = find_peaks(fine, prominence=0.6, distance=300)
    return Simulated(fine[::50], [float(later - earlier) for earlier, later in pairwise(peaks)])


def noise(seconds: int = 120, seed: int = 34) -> Floats:
    return np.random.default_rng(seed).normal(size=seconds * 20)


class Person:
    """A subject with recordings at 8 o'clock of days of August 2020; day 0 is 31 July."""

    def __init__(self, *recordings: tuple[int, Floats]) -> None:
        start = datetime(2020, 7, 31, 8)
        self._recordings = [Recording(start + timedelta(day), 20, values) for day, values in recordings]

    def recordings(self, start: date, end: date) -> list[Recording]:
        return [one for one in self._recordings if start <= one.start.date() <= end]


def context(*recordings: tuple[int, Floats]) -> TaskContext:
    return TaskContext(Person(*recordings))  # type: ignore[arg-type]

"""Beats of pulse recordings: right on clean signals, none where there is no clear pulse."""

import importlib.resources
import math
import statistics
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.signal import butter, sosfiltfilt

from assistants.health.pulse import find_beats
from tests.assistants.health.pulses import Floats, noise, simulate


@pytest.mark.parametrize("bpm", [50, 75, 110, 140])
def test_rate_of_a_simulated_pulse_is_within_a_beat(bpm: int) -> None:
    """At 20 Hz, over five minutes, all of it usable."""
    beats = find_beats(simulate(bpm, 300).values, 20)
    assert abs(60_000 / statistics.fmean(beats.intervals.tolist()) - bpm) < 1
    assert beats.usable_s == 300
    assert beats.reason == ""


@pytest.fixture
def heartpy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """heartpy 1.2.7, which needs the `pkg_resources` that setuptools no longer has."""
    resources = ModuleType("pkg_resources")
    resources.resource_filename = lambda package, name: str(importlib.resources.files("heartpy") / name)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pkg_resources", resources)
    return pytest.importorskip("heartpy")


CLEAN_PARTS = [(0, 0, 24), (1, 83, 108), (1, 102, 128), (2, 0, 120), (2, 400, 480), (2, 500, 580), (2, 610, 660)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("number", "start", "end"), CLEAN_PARTS)
def test_real_recordings_agree_with_heartpy(heartpy: Any, number: int, start: int, end: int) -> None:
    """On clean parts (seconds) of its three recordings, within 1 beat a minute of its detector."""
    values, timer = heartpy.load_exampledata(number)
    hz = [
        lambda: 100.0,
        lambda: heartpy.get_samplerate_mstimer(timer),
        lambda: heartpy.get_samplerate_datetime(timer, timeformat="%Y-%m-%d %H:%M:%S.%f"),
    ][number]()
    part = np.asarray(values[int(start * hz) : int(end * hz)], np.float64)
    _, measures = heartpy.process(part, hz)
    beats = find_beats(part, hz)
    assert beats.usable_s >= 20
    assert 60_000 / statistics.fmean(beats.intervals.tolist()) == pytest.approx(measures["bpm"], abs=1)


FLAT = "a flat, cut off or missing signal"
UNUSABLE: list[tuple[Callable[[Floats], Floats], float, str]] = [
    (lambda _: noise(), 20, "no regular pulse"),
    (lambda _: np.cumsum(noise()), 20, "no regular pulse"),
    (lambda pulse: pulse + noise(), 20, "no regular pulse"),
    (lambda _: np.sin(np.arange(2400) * 0.4), 20, "no clear pulse wave"),
    (lambda pulse: -pulse, 20, "no clear pulse wave"),
    (lambda _: np.full(2400, 3.0), 20, FLAT),
    (lambda _: np.full(2400, np.nan), 20, FLAT),
    (lambda pulse: np.clip(pulse, None, np.quantile(pulse, 0.8)), 20, FLAT),
    (lambda pulse: np.clip(pulse, *np.quantile(pulse, [0.3, 0.7])), 20, FLAT),
    (lambda pulse: np.where(np.arange(2400) % 5, pulse, np.nan), 20, FLAT),
    (lambda pulse: pulse[:100], 20, "shorter than 20 s"),
    (lambda pulse: pulse[:399], 20, "shorter than 20 s"),
    (lambda _: np.zeros(0), 20, "shorter than 20 s"),
    (lambda pulse: pulse[::2], 10, "fewer than 20 samples a second"),
]


@pytest.mark.parametrize(("change", "hz", "reason"), UNUSABLE)
def test_no_rate_is_told_without_a_clear_pulse(change: Callable[[Floats], Floats], hz: float, reason: str) -> None:
    """White noise, a random walk, a sine, flat, cut off, missing, short: no interval, and the reason."""
    beats = find_beats(change(simulate().values), hz)
    assert (len(beats.intervals), beats.usable_s, beats.reason) == (0, 0, reason)


@pytest.mark.parametrize("band", [(0.5, 8), (0.8, 2.5), (0.9, 2), (1, 1.6)])
def test_noise_of_the_frequencies_of_a_heart_has_no_rate(band: tuple[float, float]) -> None:
    """Ten recordings of five minutes each, limited to a band (Hz) that holds heart rates: the hardest noise."""
    filters = butter(2, band, "band", fs=20, output="sos")
    assert [find_beats(sosfiltfilt(filters, noise(300, seed)), 20).usable_s for seed in range(10)] == [0] * 10


def test_noise_beside_a_pulse_is_left_out() -> None:
    """Half a recording is noise; jolts of 50 times the pulse do not hide the beats beside them."""
    truth = simulate(80, 120)
    half = np.concatenate([truth.values, noise()])
    beats = find_beats(half, 20)
    assert 110 <= beats.usable_s <= 130
    assert 60_000 / beats.intervals.mean() == pytest.approx(80, abs=1)
    jolted = truth.values.copy()
    jolted[1000:1040] += 50 * noise(2)
    assert 80 <= find_beats(jolted, 20).usable_s < 120


BEATS = np.arange(0.5, 120, 60 / 71)
"""Times (s) of an exactly regular pulse."""


def draw(beats: Floats, width: float = 0.1) -> Floats:
    """Return bumps at given times: two minutes at 20 Hz."""
    times = np.arange(2400) / 20
    return sum((np.exp(-0.5 * ((times - beat) / width) ** 2) for beat in beats), np.zeros(2400))


def test_a_regular_pulse_has_no_variability() -> None:
    """Peaks are placed between samples: RMSSD is under 1 ms, though samples are 50 ms apart."""
    beats = find_beats(draw(BEATS), 20)
    assert beats.usable_s == 120
    assert _rmssd(beats.intervals.tolist(), beats.ends.tolist()) < 1


def test_the_intervals_at_an_ectopic_beat_are_left_out() -> None:
    """A beat comes 0.22 s early: the short interval before it and the long one after it are not normal."""
    beats = find_beats(draw(np.where(np.arange(len(BEATS)) == 40, BEATS - 0.22, BEATS)), 20)
    assert beats.usable_s == 120
    assert [one for one in beats.intervals if abs(one - 60_000 / 71) > 10] == []


def test_missed_beats_make_a_part_unusable() -> None:
    """Each ninth beat is missing, so that every window has an interval of two beats."""
    assert find_beats(draw(np.delete(BEATS, np.arange(5, len(BEATS), 9))), 20).reason == "no regular pulse"


def test_waves_of_different_shapes_are_no_pulse() -> None:
    """Regular peaks, each with a second bump at another place."""
    after = BEATS + np.random.default_rng(1).uniform(0.2, 0.6, len(BEATS))
    assert find_beats(draw(BEATS) + 0.7 * draw(after, 0.07), 20).reason == "pulse waves that are not alike"


def test_a_gap_in_the_signal_is_in_no_interval() -> None:
    """Intervals stop before a minute without signal, and go on after it."""
    truth = simulate(75, 240)
    values = truth.values.copy()
    values[2000:3200] = np.nan
    beats = find_beats(values, 20)
    assert max(beats.intervals) < 1_500
    assert not [end for end in beats.ends if 101 < end < 159]
    assert 160 <= beats.usable_s <= 180
    assert _rmssd(beats.intervals.tolist(), beats.ends.tolist()) == pytest.approx(truth.rmssd, abs=5)


def _rmssd(intervals: list[float], ends: list[float]) -> float:
    follow = [at for at in range(1, len(ends)) if abs((ends[at] - ends[at - 1]) * 1000 - intervals[at]) < 1]
    return math.sqrt(statistics.fmean((intervals[at] - intervals[at - 1]) ** 2 for at in follow))

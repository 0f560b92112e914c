"""Finds heart beats in the parts of a PPG (pulse) recording that have a clear signal.

Windows of 10 s must pass the rules of Orphanidou et al. 2015 (doi 10.1109/JBHI.2014.2338351): 40 to 180 beats a minute, no
gap over 3 s, a ratio of longest to shortest interval of at most 2.2, and a mean correlation of the pulse waves with their mean
of at least 0.86. Two rules are added: no interval over 1.7 times the median (a missed beat), and a skewed signal, which excludes
noise at heart frequencies. Skewness is the best single index of Elgendi 2016 (doi 10.3390/bioengineering3040021).
Limits: a very irregular rhythm, a rate over 150 and an inverted signal often fail; a regular movement can look like a pulse.
"""

import warnings
from collections import Counter
from functools import cache
from importlib import import_module
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LEAST_HZ = 20
HZ = 100
"""Sampling rate of the interpolated signal. Peaks are located between its samples by a parabola."""
WINDOW, HOP, LEAST_WINDOWS = 10 * HZ, 5 * HZ, 3
"""Length and step of a window, in samples; minimum number of successive windows (20 s), as 1 % of noise passes by chance."""
LEAST_SKEWNESS = 0.2
"""Minimum skewness of a window. heartpy's pulses have 0.4 to 1.8. Noise from 1 to 1.6 Hz is below 0.2 in 99 % of windows."""


@cache
def load_neurokit() -> Any:
    """Import neurokit2, which takes 2 to 5 s."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 0.2.12 imports scipy.misc, and does not use it
        return import_module("neurokit2")


class Beats(NamedTuple):
    """The intervals between heart beats in the usable parts of a recording."""

    intervals: Floats
    """Intervals between successive normal beats, in ms, of shape (intervals,)."""
    ends: Floats
    """End of each interval, in seconds from the start of the recording, of shape (intervals,)."""
    usable_s: float
    reason: str = ""
    """Why no part of the recording is usable; "" if a part is usable."""


def find_beats(values: Floats, hz: float) -> Beats:
    """Find the heart beats in a PPG recording.

    Args:
        values: The signal, of shape (samples,), in any unit, with peaks pointing upwards. NaN means a missing value.
        hz: Sampling rate, in samples per second.
    """
    from scipy.interpolate import CubicSpline

    nothing = Beats(np.zeros(0), np.zeros(0), 0.0)
    if hz < LEAST_HZ:
        return nothing._replace(reason=f"fewer than {LEAST_HZ} samples a second")
    if len(values) < 2 * WINDOW / HZ * hz:
        return nothing._replace(reason="shorter than 20 s")
    times, there = np.arange(len(values)) / hz, np.isfinite(values)
    if not there.any() or np.ptp(values[there]) == 0:
        return nothing._replace(reason="a flat, cut off or missing signal")
    filled = np.interp(times, times[there], values[there])
    clean = load_neurokit().ppg_clean(filled / np.abs(filled).max(), sampling_rate=hz, method="elgendi")
    clean = CubicSpline(times, clean)(np.arange(round(len(values) / hz * HZ)) / HZ)
    limit = 10 * np.median(np.abs(clean))  # the detector's threshold is a mean: a jolt would raise it too far
    clean = np.clip(clean, -limit, limit)
    peaks = _find_peaks(clean, 0.667)
    if len(peaks) > 1 and np.median(np.diff(peaks)) < 0.45 * HZ:
        peaks = _find_peaks(clean, 0.5)  # the window for a pulse at rest misses beats above 150 per minute
    starts = [*range(0, len(clean) - WINDOW, HOP), len(clean) - WINDOW]
    reasons = []
    for start in starts:
        raw = values[round(start / HZ * hz) : round((start + WINDOW) / HZ * hz)]
        reasons.append(_cut_off(raw) or _judge_window(clean, peaks, start))
    runs = [list(run) for passed, run in groupby(zip(starts, reasons, strict=True), lambda one: not one[1]) if passed]
    parts = [(run[0][0], run[-1][0] + WINDOW) for run in runs if len(run) >= LEAST_WINDOWS]
    if not parts:
        failures = Counter(reason for reason in reasons if reason)
        return nothing._replace(reason=failures.most_common(1)[0][0])
    found = [_normal_intervals(clean, _between(peaks, start, end)) for start, end in parts]
    intervals, ends = (np.concatenate(one) for one in zip(*found, strict=True))
    if len(intervals) < 10:
        return nothing._replace(reason="no regular pulse")
    return Beats(intervals, ends, sum(end - start for start, end in parts) / HZ)


def _find_peaks(signal: Floats, beat_s: float) -> NDArray[np.intp]:
    """Find peaks with the detector of Elgendi et al. 2013 (doi 10.1371/journal.pone.0076585). `beat_s`: window for a beat."""
    try:
        found = load_neurokit().ppg_findpeaks(signal, sampling_rate=HZ, method="elgendi", beatwindow=beat_s)
        return np.asarray(found["PPG_Peaks"], np.intp)
    except IndexError:  # neurokit2 0.2.12 indexes an empty array if no wave begins
        return np.zeros(0, np.intp)


def _between(peaks: NDArray[np.intp], start: int, end: int) -> NDArray[np.intp]:
    return peaks[slice(*np.searchsorted(peaks, (start, end)))]


def _cut_off(raw: Floats) -> str:
    """Return a reason if over a tenth of a window's values are missing, or equal its highest or lowest value; else ""."""
    there = raw[np.isfinite(raw)]
    if len(there) and len(there) - np.sum((there == there.max()) | (there == there.min())) >= 0.9 * len(raw):
        return ""
    return "a flat, cut off or missing signal"


def _judge_window(clean: Floats, peaks: NDArray[np.intp], start: int) -> str:
    """Return the reason why a window has no clear pulse; "" if the pulse is clear."""
    from scipy.stats import skew

    end = start + WINDOW
    inside = _between(peaks, start, end)
    if not 40 / 6 <= len(inside) <= 180 / 6:
        return "no pulse from 40 to 180 beats a minute"
    gaps = np.diff(inside)
    edges = max(inside[0] - start, end - inside[-1])
    if edges > 3 * HZ or gaps.max() / gaps.min() > 2.2 or gaps.max() > 1.7 * np.median(gaps):
        return "no regular pulse"
    if skew(clean[start:end]) < LEAST_SKEWNESS:
        return "no clear pulse wave"
    half = int(gaps.mean() // 2)
    waves = np.array([clean[at - half : at + half + 1] for at in inside if half <= at < len(clean) - half])
    likeness = np.corrcoef(np.vstack([waves.mean(axis=0), waves]))[0, 1:]
    return "" if likeness.mean() >= 0.86 else "pulse waves that are not alike"


def _normal_intervals(clean: Floats, peaks: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the intervals between beats in ms, and their ends in s, without intervals at ectopic, missed or extra beats.

    The method of Lipponen and Tarvainen 2019 (doi 10.1080/03091902.2019.1640306) finds such beats. They are not corrected.
    """
    left, middle, right = clean[peaks - 1], clean[peaks], clean[np.minimum(peaks + 1, len(clean) - 1)]
    curve = left - 2 * middle + right
    shift = np.divide(0.5 * (left - right), curve, out=np.zeros_like(curve), where=curve < 0)
    times = (peaks + np.clip(shift, -0.5, 0.5)) / HZ
    whole_ms = np.rint(times * 1000).astype(int)
    artefacts, _ = load_neurokit().signal_fixpeaks(whole_ms, sampling_rate=1000, method="kubios")
    normal = np.ones(len(peaks), bool)
    for kind in ("ectopic", "missed", "extra", "longshort"):
        normal[np.asarray(artefacts[kind], int)] = False
    kept = normal[1:] & normal[:-1]
    return (np.diff(times) * 1000)[kept], times[1:][kept]

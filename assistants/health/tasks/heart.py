"""Tasks on heart rate and its variability, from pulse (PPG) recordings. pulse.py finds the beats and checks the signal."""

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple, cast

from pydantic import Field
from pydantic.fields import FieldInfo

from assistants.health.pulse import Beats, find_beats, load_neurokit
from assistants.health.task import Figure, Period, Result, Task, TaskContext, TaskError

LEAST_RATE_S, LEAST_HRV_S = 20, 60
"""Minimum usable seconds of a recording: for rates, and for variability (Esco and Flatt 2014, J Sports Sci Med 13, 535)."""
SHORT = "SDNN grows with the length of a recording: do not compare it with norms of 24 hours."
OPTICAL = "Variability of the pulse at the skin is near that of the heart, and not the same."


class Usable(NamedTuple):
    """The beats of a recording that has enough clear signal."""

    day: date
    beats: Beats


class Recordings(NamedTuple):
    """The recordings of a period: their number (`every`), and those with a usable signal."""

    every: int
    usable: list[Usable]
    """The usable recordings. There is at least one."""
    notes: tuple[str, ...]
    """Notes on unusable recordings, and on days without a usable recording."""

    @property
    def coverage(self) -> dict[str, Any]:
        """The values for the fields of `Coverage`."""
        minutes = sum(one.beats.usable_s for one in self.usable) / 60
        return {"recordings": self.every, "usable": len(self.usable), "usable_minutes": round(minutes, 1)}


def read_recordings(context: TaskContext, start: date, end: date, least_s: float = LEAST_RATE_S) -> Recordings:
    """Find the beats of all recordings of a period, both days included.

    Args:
        least_s: Minimum seconds of clear signal that make a recording usable.

    Raises:
        TaskError: The period has no usable recording.
    """
    assert context.subject is not None
    when = f"on {start}" if start == end else f"from {start} to {end}"
    recordings = context.subject.recordings(start, end)
    if not recordings:
        raise TaskError(f"No heart rate can be found: there is no pulse recording {when}.")
    usable, reasons = [], Counter[str]()
    for recording in recordings:
        beats = find_beats(recording.values, recording.hz)
        if beats.usable_s >= least_s:
            usable.append(Usable(recording.start.date(), beats))
        else:
            reasons[beats.reason or f"under {least_s:g} s of clear signal"] += 1
    why = "; ".join(f"{reason}: {count}" for reason, count in reasons.most_common())
    if not usable:
        raise TaskError(f"No heart rate can be found: 0 of {len(recordings)} recordings {when} are usable ({why}).")
    notes = [f"{reasons.total()} of {len(recordings)} recordings are not usable ({why})."] if why else []
    days = (end - start).days + 1
    if without := days - len({one.day for one in usable}):
        notes.append(f"{without} of {days} days have no usable recording.")
    return Recordings(len(recordings), usable, tuple(notes))


class Coverage(Result):
    """Base class of results from recordings: how many there were, and how much of them was usable."""

    recordings: int
    usable: int
    usable_minutes: float

    def figures(self) -> Sequence[Figure]:
        minutes = Figure("usable minutes", self.usable_minutes, "min")
        return [Figure("recordings usable", f"{self.usable} of {self.recordings}"), minutes]


class Rates(Coverage):
    """Mean, lowest and highest of the recordings' mean heart rates, in beats per minute with one decimal."""

    mean_bpm: float
    lowest_bpm: float
    highest_bpm: float

    def figures(self) -> Sequence[Figure]:
        rates = {"mean": self.mean_bpm, "lowest": self.lowest_bpm, "highest": self.highest_bpm}
        return [*super().figures(), *(Figure(f"{name} heart rate", bpm, "bpm") for name, bpm in rates.items())]


def _measure(column: str, name: str, unit: str = "ms") -> Any:
    """Define a field of `Variability`. `column` is its column in `neurokit2.hrv_time`, `name` the name of its figure."""
    return Field(title=column, description=name, json_schema_extra={"unit": unit})


class Variability(Coverage):
    """Time-domain measures of heart rate variability, as means over recordings, with one decimal.

    Definitions: Shaffer and Ginsberg 2017, doi 10.3389/fpubh.2017.00258. Standard deviations divide by n - 1. pNN50 and pNN20
    divide by the number of pairs plus one, as neurokit2 does. At 20 Hz, RMSSD is within 5 ms of the simulator's beats, and
    from 50 ms on within 5 % (tests/assistants/health/test_heart.py).
    """

    rmssd: float = _measure("RMSSD", "RMSSD")
    sdnn: float = _measure("SDNN", "SDNN")
    sdsd: float = _measure("SDSD", "SDSD")
    pnn50: float = _measure("pNN50", "pNN50", "%")
    pnn20: float = _measure("pNN20", "pNN20", "%")
    mean_nn: float = _measure("MeanNN", "mean interval between beats")
    median_nn: float = _measure("MedianNN", "median interval between beats")
    iqr_nn: float = _measure("IQRNN", "interquartile range of intervals")
    shortest_nn: float = _measure("MinNN", "shortest interval between beats")
    longest_nn: float = _measure("MaxNN", "longest interval between beats")

    def figures(self) -> Sequence[Figure]:
        values = []
        for name, field in _measures().items():
            unit = cast(dict[str, str], field.json_schema_extra)["unit"]
            values.append(Figure(field.description or name, getattr(self, name), unit))
        return [*super().figures(), *values]


def _measures() -> dict[str, FieldInfo]:
    return {name: field for name, field in Variability.model_fields.items() if field.title}


def mean_variability(usable: Sequence[Usable]) -> dict[str, float]:
    """Return each time-domain measure, by its field in `Variability`, as an unrounded mean over recordings."""
    sums = Counter[str]()
    for _, beats in usable:
        intervals = {"RRI": beats.intervals, "RRI_Time": beats.ends}
        row = load_neurokit().hrv_time(intervals, sampling_rate=1000).iloc[0]
        sums.update({name: float(row[f"HRV_{field.title}"]) for name, field in _measures().items()})
    return {name: total / len(usable) for name, total in sums.items()}


class HeartRate(Task[Period, Rates]):
    name, title = "heart_rate", "Heart rate"
    description = (
        "Finds the mean, lowest and highest heart rate (pulse) of a period, in beats a minute, from pulse (PPG) recordings. "
        "It refuses signals in which no heart rate can be told."
    )
    inputs, result = Period, Rates
    examples = ({"subject": "par_5", "start": "2020-08-01", "end": "2020-08-31"},)
    packages, sources = ("neurokit2",), ("heart",)
    timeout_s, in_process = 40.0, True
    notes_for_writer = "Say how many recordings were usable. Lowest and highest are means of recordings, not of beats."

    def run(self, inputs: Period, context: TaskContext) -> Rates:
        found = read_recordings(context, inputs.start, inputs.end)
        rates = [60_000 / float(one.beats.intervals.mean()) for one in found.usable]
        said = {"mean_bpm": sum(rates) / len(rates), "lowest_bpm": min(rates), "highest_bpm": max(rates)}
        return Rates(**found.coverage, **{name: round(bpm, 1) for name, bpm in said.items()}, notes=found.notes)


class HeartRateVariability(Task[Period, Variability]):
    name, title = "hrv", "Heart rate variability"
    description = (
        "Finds the heart rate variability (HRV) of a period from pulse (PPG) recordings: RMSSD, SDNN, SDSD, pNN50, pNN20 and "
        "intervals between beats, with the usable minutes."
    )
    inputs, result = Period, Variability
    examples = ({"subject": "par_5", "start": "2020-08-29", "end": "2020-08-29"},)
    packages, sources = ("neurokit2",), ("heart",)
    timeout_s, in_process = 40.0, True
    notes_for_writer = "Say how many minutes were usable. A value alone is no diagnosis and no measure of stress."

    def run(self, inputs: Period, context: TaskContext) -> Variability:
        found = read_recordings(context, inputs.start, inputs.end, LEAST_HRV_S)
        values = {name: round(value, 1) for name, value in mean_variability(found.usable).items()}
        return Variability(**found.coverage, **values, notes=(*found.notes, SHORT, OPTICAL))


TASKS = (HeartRate(), HeartRateVariability())

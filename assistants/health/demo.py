"""Builds synthetic data of 2020 for the demo subjects par_1 to par_5. They are built on first use, and are always the same.

* All subjects have sleep and activity, with gaps. `par_1` sleeps a minute longer each week. `par_3` has no data in August.
* `par_4` and `par_5` have meals. For `par_4`, each gram of almonds adds 0.4 min of deep sleep in the following night. For
  `par_5`, food has no effect.
* `par_1` and `par_5` have PPG recordings: 2 minutes at 20 Hz at 8:00, 14:00 and 21:00 in July and August. `par_5` has a
  fast, even pulse on 29 August, and only noise on 15 August at 14:00.
* `par_5` has 26 nights in August, with a mean of 110.63 min of REM sleep.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray
from platformdirs import user_cache_path

from assistants.health.pulse import load_neurokit
from assistants.health.tables import DataError

VERSION = 1
"""Version of the data, which is part of the cache folder's name. Increase it whenever the data change."""
README = "Synthetic data. It describes no real person. Made by assistants/health/demo.py, version {version}.\n"
DAYS = [date(2020, 1, 1) + timedelta(n) for n in range(366)]
PAR_5_GAPS = frozenset(date(2020, 8, day) for day in (3, 9, 10, 17, 24))
PAR_5_REM = 110.63
PPG_HZ, PPG_SECONDS, PPG_HOURS, PPG_MONTHS = 20, 120, (8, 14, 21), (7, 8)
FINE_HZ = 200
"""Sampling rate of the simulator. At 20 Hz it would misplace beats by up to 50 ms, so each tenth sample of 200 Hz is kept."""
STRESSED, NOISY = date(2020, 8, 29), datetime(2020, 8, 15, 14)


@dataclass(frozen=True)
class _Person:
    number: int
    profile: dict[str, Any]
    asleep: float
    """Mean minutes asleep."""
    steps: float
    pulse: float = 0
    """Beats per minute at rest; 0 without PPG."""
    menu: Sequence[Sequence[tuple[str, float]]] = ()
    """For breakfast, lunch and dinner, the foods with their mean grams. The person eats two of the foods at each meal."""
    empty_month: int = 0


_MIXED = (
    (("Bread, whole wheat, toasted", 60), ("Coffee, brewed", 240), ("Egg, whole, boiled or poached", 100), ("Banana, raw", 120)),
    (("Chicken breast, stewed, skin not eaten", 140), ("Beans and brown rice", 250), ("Apple, raw", 150)),
    (("Pizza, cheese, from frozen, thin crust", 220), ("Broccoli, raw", 120), ("Cookies, oatmeal, with raisins", 40)),
)  # fmt: skip
_VEGETARIAN = (
    (("Oatmeal, NFS", 240), ("Milk, reduced fat (2%)", 200), ("Almonds, unroasted", 25), ("Banana, raw", 120)),
    (("Lentil curry with rice", 320), ("Hummus, plain", 60), ("Apple, raw", 150), ("Bread, whole wheat", 70)),
    (("Beans and brown rice", 280), ("Broccoli, raw", 150), ("Almonds, unroasted", 25), ("Egg, whole, boiled or poached", 100)),
)  # fmt: skip
PERSONS = (
    _Person(1, {"age": 34, "sex": "female", "height_cm": 168, "weight_kg": 63}, 402, 8_900, pulse=61),
    _Person(2, {"age": 52, "sex": "male", "height_cm": 180, "weight_kg": 91, "conditions": ["hypertension"]}, 361, 5_200),
    _Person(3, {"age": 27, "sex": "male", "height_cm": 175, "weight_kg": 70}, 455, 10_800, empty_month=8),
    _Person(
        4, {"age": 61, "sex": "female", "height_cm": 162, "weight_kg": 74, "conditions": ["type 2 diabetes"]}
        | {"medicines": ["metformin"], "allergies": ["peanuts"], "preferences": ["vegetarian"]},
        asleep=418, steps=6_700, menu=_VEGETARIAN,
    ),
    _Person(
        5, {"age": 45, "sex": "male", "height_cm": 178, "weight_kg": 82, "allergies": ["shellfish"]},
        asleep=436, steps=7_600, pulse=66, menu=_MIXED,
    ),
)  # fmt: skip


def demo_folder() -> Path:
    """Return the folder with the demo data. The first call builds the data in the user's cache folder (about 10 s, 6 MB).

    Raises:
        DataError: The folder cannot be written, or neurokit2 is not installed. The message gives the remedy.
    """
    target = user_cache_path("caf") / f"health-demo-{VERSION}"
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(prefix=f"{target.name}-", dir=target.parent))
    except OSError:
        raise DataError("demo data: the cache folder is read-only: set XDG_CACHE_HOME to a writable folder") from None
    try:
        build(made)
        made.rename(target)
    except OSError:
        if not target.is_dir():  # another process may have built it
            raise DataError("demo data: cannot write the files: free 10 MB of disk space in the cache folder") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return target


def build(folder: Path) -> None:
    """Write the demo data into an existing folder.

    Raises:
        DataError: neurokit2 is not installed.
    """
    (folder / "README.txt").write_text(README.format(version=VERSION), "utf-8", newline="\n")
    for person in PERSONS:
        own = folder / f"par_{person.number}"
        own.mkdir()
        days = [day for day in DAYS if day.month != person.empty_month]
        meals = _meals(person, days)
        _write(own / "sleep.csv", _nights(person, days, meals))
        _write(own / "activity.csv", _activity(person, days))
        if person.menu:
            _write(own / "meals.csv", meals)
        profile = person.profile | ({"ppg_hz": PPG_HZ} if person.pulse else {})
        (own / "profile.yaml").write_text(yaml.safe_dump(profile, sort_keys=False), "utf-8", newline="\n")
        if person.pulse:
            _write_recordings(person, own / "ppg")


def _write(path: Path, frame: pd.DataFrame) -> None:
    frame.to_csv(path, index=False, lineterminator="\n", date_format="%Y-%m-%dT%H:%M")


def _nights(person: _Person, days: Sequence[date], meals: pd.DataFrame) -> pd.DataFrame:
    """Return a table of nights. Minutes are multiples of 0.5, because sleep is scored in epochs of 30 s."""
    rng = np.random.default_rng([2020, person.number, 1])
    rows: list[list[Any]] = []
    eaten = meals[meals["food"] == "Almonds, unroasted"].groupby(meals["time"].dt.date)["grams"].sum()
    for day in days:
        asleep = rng.normal(person.asleep, 35) + ((day - DAYS[0]).days / 7 if person.number == 1 else 0)
        rem, deep = asleep * rng.normal(0.245, 0.02), asleep * rng.normal(0.17, 0.02)
        deep += 0.4 * float(eaten.get(day, 0)) if person.number == 4 else 0
        awake = 8 + rng.gamma(3, 8)
        bedtime = datetime(day.year, day.month, day.day, 23) + timedelta(minutes=round(rng.normal(5, 35)))
        stages = [round(2 * minutes) / 2 for minutes in (rem, deep, asleep - rem - deep, awake)]
        if rng.random() > 0.08 or (person.number == 5 and day.month == 8):
            rows.append([day, *stages, bedtime])
    frame = pd.DataFrame(rows, columns=["date", "rem", "deep", "light", "awake", "bedtime"])
    if person.number == 5:
        frame = frame[~frame["date"].isin(PAR_5_GAPS)]
        august = frame.index[[day.month == 8 for day in frame["date"]]]
        missing = round(2 * PAR_5_REM * len(august)) - round(2 * frame.loc[august, "rem"].sum())
        each, more = divmod(missing, len(august))
        frame.loc[august, "rem"] += [(each + (n < more)) / 2 for n in range(len(august))]
    frame["asleep"] = frame["rem"] + frame["deep"] + frame["light"]
    frame["risetime"] = frame["bedtime"] + pd.to_timedelta(np.ceil(frame["asleep"] + frame["awake"]), unit="min")
    return frame[["date", "asleep", "rem", "deep", "light", "awake", "bedtime", "risetime"]]


def _activity(person: _Person, days: Sequence[date]) -> pd.DataFrame:
    rng = np.random.default_rng([2020, person.number, 2])
    rows = []
    for day in days:
        season = 1 + 0.15 * np.sin((day.timetuple().tm_yday - 100) / 366 * 2 * np.pi)
        steps = int(person.steps * season * (0.85 if day.weekday() > 4 else 1.06) * rng.lognormal(-0.03, 0.25))
        row = [day, steps, round(steps / 110), round(steps * 0.00072, 2), round(1_600 + steps * 0.045)]
        if rng.random() > 0.05:
            rows.append(row)
    return pd.DataFrame(rows, columns=["date", "steps", "active_minutes", "distance_km", "kcal"])


def _meals(person: _Person, days: Sequence[date]) -> pd.DataFrame:
    rng = np.random.default_rng([2020, person.number, 3])
    rows = []
    for day in days if person.menu else ():
        if rng.random() < 0.07:  # a day without a log
            continue
        for hour, choice in zip((8, 13, 19), person.menu, strict=True):
            time = datetime(day.year, day.month, day.day, hour) + timedelta(minutes=int(rng.integers(0, 50)))
            for number in sorted(rng.choice(len(choice), 2, replace=False)):
                food, grams = choice[number]
                rows.append([time, food, round(grams * rng.uniform(0.7, 1.3))])
    return pd.DataFrame(rows, columns=["time", "food", "grams"]).astype({"time": "datetime64[us]"})


def _write_recordings(person: _Person, folder: Path) -> None:
    folder.mkdir()
    rng = np.random.default_rng([2020, person.number, 4])
    for day in DAYS:
        for hour in PPG_HOURS if day.month in PPG_MONTHS else ():
            start = datetime(day.year, day.month, day.day, hour)
            pulse, uneven, seed = rng.normal(person.pulse, 2.5), rng.uniform(0.03, 0.09), int(rng.integers(2**31))
            if person.number == 5 and day == STRESSED:
                pulse, uneven = person.pulse + 22, 0.005
            noise = np.random.default_rng(seed).uniform(-1, 1, PPG_HZ * PPG_SECONDS)
            values = noise if (person.number, start) == (5, NOISY) else _ppg(pulse, uneven, seed)
            text = "value\n" + "".join(f"{value:.3f}\n" for value in values)
            (folder / f"{start:%Y-%m-%dT%H%M}.csv").write_text(text, "ascii", newline="\n")


def _ppg(pulse: float, uneven: float, seed: int) -> NDArray[np.float64]:
    try:
        simulate = load_neurokit().ppg_simulate
    except ImportError:
        raise DataError("demo data: neurokit2 is not installed: install it, or set `data` to your own folder") from None
    fine: NDArray[np.float64] = simulate(
        duration=PPG_SECONDS, sampling_rate=FINE_HZ, heart_rate=pulse, ibi_randomness=uneven, frequency_modulation=0.1,
        motion_amplitude=0.05, random_state=seed,
    )  # fmt: skip
    return fine[:: FINE_HZ // PPG_HZ]

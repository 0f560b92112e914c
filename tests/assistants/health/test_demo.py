"""The demo data: synthetic, the same bytes on each build, with what the demo questions need."""

import csv
import hashlib
import statistics
from collections import Counter
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pytest

from assistants.health import demo
from assistants.health.sources import DataError, Subjects

YEAR = (date(2020, 1, 1), date(2020, 12, 31))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo")
    demo.build(path)
    return path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def digests(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_rebuild_is_byte_identical(folder: Path, tmp_path: Path) -> None:
    demo.build(tmp_path)
    assert digests(tmp_path) == digests(folder)


def test_demo_is_small_and_labelled_synthetic(folder: Path) -> None:
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 40_000_000
    assert (folder / "README.txt").read_text().startswith("Synthetic data.")
    assert Subjects(folder).ids() == ["par_1", "par_2", "par_3", "par_4", "par_5"]


def test_par_5_has_26_nights_in_august_with_110_63_minutes_of_rem(folder: Path) -> None:
    rem = [float(row["rem"]) for row in rows(folder / "par_5" / "sleep.csv") if row["date"].startswith("2020-08-")]
    assert len(rem) == 26
    assert f"{statistics.fmean(rem):.2f}" == "110.63"
    assert statistics.stdev(rem) > 5, "nights differ"


def test_stages_add_up_and_nights_last_from_bedtime_to_risetime(folder: Path) -> None:
    for number in range(1, 6):
        for row in rows(folder / f"par_{number}" / "sleep.csv"):
            asleep, awake = float(row["asleep"]), float(row["awake"])
            assert asleep == float(row["rem"]) + float(row["deep"]) + float(row["light"])
            lasts = datetime.fromisoformat(row["risetime"]) - datetime.fromisoformat(row["bedtime"])
            assert 0 <= lasts.total_seconds() / 60 - (asleep + awake) < 1
            evening = datetime.fromisoformat(row["date"])
            assert 18 * 3600 < (datetime.fromisoformat(row["bedtime"]) - evening).total_seconds() < 30 * 3600


@pytest.mark.parametrize("kind", ["sleep", "activity"])
def test_each_subject_has_gaps_and_par_3_no_august(folder: Path, kind: str) -> None:
    for number in range(1, 6):
        months = Counter(row["date"][:7] for row in rows(folder / f"par_{number}" / f"{kind}.csv"))
        assert 280 < sum(months.values()) < 366
        assert (months["2020-08"] == 0) == (number == 3)
        assert all(months[f"2020-{month:02}"] for month in range(1, 13) if month != 8)


def test_demo_files_are_read_without_a_note(folder: Path) -> None:
    for id in Subjects(folder).ids():
        subject = Subjects(folder).open(id)
        assert (subject.sleep(*YEAR).notes, subject.activity(*YEAR).notes) == ((), ())
        assert subject.profile().age


def test_meals_of_two_subjects_are_foods_that_are_in_the_food_table(folder: Path) -> None:
    foods = {row["food"] for row in rows(Path(demo.__file__).parent / "foods.csv")}
    assert [path.parent.name for path in sorted(folder.glob("*/meals.csv"))] == ["par_4", "par_5"]
    for id in ("par_4", "par_5"):
        assert {row["food"] for row in rows(folder / id / "meals.csv")} <= foods


def test_almonds_go_with_deep_sleep_of_par_4(folder: Path) -> None:
    """0.4 min a gram, within three standard errors of a plain least-squares slope."""
    eaten: Counter[str] = Counter()
    logged = {row["time"][:10] for row in rows(folder / "par_4" / "meals.csv")}
    for row in rows(folder / "par_4" / "meals.csv"):
        eaten[row["time"][:10]] += float(row["grams"]) if row["food"].startswith("Almonds") else 0
    nights = [row for row in rows(folder / "par_4" / "sleep.csv") if row["date"] in logged]
    grams, deep = [eaten[row["date"]] for row in nights], [float(row["deep"]) for row in nights]
    slope = statistics.linear_regression(grams, deep).slope
    assert slope == pytest.approx(0.4, abs=0.1)


def test_recordings_are_two_minutes_at_20_hz_in_july_and_august(folder: Path) -> None:
    for id in ("par_1", "par_5"):
        recordings = Subjects(folder).open(id).recordings(*YEAR)
        assert len(recordings) == 62 * 3
        assert {one.start.month for one in recordings} == {7, 8}
        assert all(one.hz == 20 and one.values.shape == (2400,) and np.isfinite(one.values).all() for one in recordings)
    assert not (folder / "par_2" / "ppg").exists()


def test_pulse_of_29_august_is_fast(folder: Path) -> None:
    """The strongest frequency of 0.7 to 3 Hz is the pulse."""

    def pulse(day: date) -> list[float]:
        found = []
        for one in Subjects(folder).open("par_5").recordings(day, day):
            power = np.abs(np.fft.rfft(one.values - one.values.mean()))
            frequencies = np.fft.rfftfreq(len(one.values), 1 / one.hz)
            found.append(float(frequencies[np.argmax(power * ((frequencies > 0.7) & (frequencies < 3)))]) * 60)
        return found

    assert all(84 < one < 92 for one in pulse(date(2020, 8, 29)))
    assert all(58 < one < 75 for one in pulse(date(2020, 8, 28)))


def test_noise_of_15_august_has_no_pulse(folder: Path) -> None:
    day, neighbours = date(2020, 8, 15), {}
    for one in Subjects(folder).open("par_5").recordings(day, day):
        neighbours[one.start.hour] = float(np.corrcoef(one.values[1:], one.values[:-1])[0, 1])
    assert abs(neighbours[14]) < 0.1 < 0.8 < neighbours[8]


@pytest.fixture
def quick_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, and a build that writes a file."""
    monkeypatch.setattr(demo, "user_cache_path", lambda name: tmp_path / name)
    monkeypatch.setattr(demo, "build", lambda path: (path / "README.txt").write_text("built"))
    return tmp_path / "caf"


def test_demo_is_built_once(quick_build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = demo.demo_folder()
    assert first == quick_build / f"health-demo-{demo.VERSION}"
    assert (first / "README.txt").read_text() == "built"
    monkeypatch.setattr(demo, "build", lambda path: pytest.fail("built twice"))
    assert demo.demo_folder() == first
    assert list(quick_build.iterdir()) == [first]


def test_build_that_fails_leaves_nothing(quick_build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        (path / "README.txt").write_text("half")
        raise OSError("disk full")

    monkeypatch.setattr(demo, "build", fail)
    with pytest.raises(DataError, match="demo data: cannot write the files"):
        demo.demo_folder()
    assert list(quick_build.iterdir()) == []


def test_faster_process_wins(quick_build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = quick_build / f"health-demo-{demo.VERSION}"

    def build(path: Path) -> None:
        (path / "README.txt").write_text("slow")
        target.mkdir()
        (target / "README.txt").write_text("fast")

    monkeypatch.setattr(demo, "build", build)
    assert (demo.demo_folder() / "README.txt").read_text() == "fast"
    assert list(quick_build.iterdir()) == [target]


def test_cache_folder_that_cannot_be_written_is_told(quick_build: Path) -> None:
    quick_build.write_text("a file where the folder should be")
    with pytest.raises(DataError, match="set XDG_CACHE_HOME") as error:
        demo.demo_folder()
    assert str(quick_build) not in str(error.value)

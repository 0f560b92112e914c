"""Folders of runs and evaluations in which something is damaged: the console lists the others, and says what is wrong."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.proxy.console.conftest import Console, console_config, serve_console
from tests.proxy.console.test_experiments import fill
from tests.proxy.console.test_judges import outcome
from tests.proxy.console.visitor import Visitor

WRONG: list[Any] = [
    None,
    True,
    -1,
    10**400,
    float("inf"),
    float("nan"),
    "",
    "\ud800",
    "x" * 10,
    [],
    [[]],
    {},
    {"\ud800": 1},
    1e308,
    0.5,
]
STATE = {"about": {"chatbot": "schizophrenia", "started": 1.0}, "done": 1, "total": 9, "process": 2**22 + 1}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    folder = tmp_path_factory.mktemp("console")
    with serve_console(folder, console_config(folder)) as console:
        yield console


@pytest.fixture
def runs(running: Console) -> Path:
    """The folder of runs, each of them whole but for the one that a test damages."""
    folder = fill(running.folder / "data/runs")
    for name in ("damaged", "no-run", "broken"):
        shutil.rmtree(folder / name)
    (folder / "whole").rename(folder / "victim")
    return folder


@pytest.fixture
def evaluations(running: Console) -> Path:
    folder = running.folder / "data/evaluations"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "good.json").write_text(outcome())
    (folder / "victim.json").write_text(outcome())
    (folder / "halfway.part").write_text(json.dumps(STATE))
    (folder / "halfway.log").write_text("stopped")
    return folder


def expect_runs(running: Console, *, damaged: bool | None = None) -> str:
    """Check that nothing fails, and the others are listed. Args: damaged: whether the victim is said to be; None: either."""
    visitor = Visitor(running.url)
    status, page, _ = visitor.ask("GET", "/console/experiments")
    assert status == 200
    for name in ("hurried", "ordinary", "under-way"):
        assert f"/console/experiments/{name}" in page
    assert damaged is None or (">Damaged<" in page) == damaged
    for path in ("", "/progress", "/exchanges", "/report", "/rating/rating-anna.html"):
        assert visitor.ask("GET", f"/console/experiments/victim{path}")[0] in (200, 404), path
    return page


def expect_evaluations(running: Console, *, damaged: bool | None = None) -> str:
    visitor = Visitor(running.url)
    status, page, _ = visitor.ask("GET", "/console/judges")
    assert status == 200
    assert "/console/judges/good" in page
    assert damaged is None or (">Damaged<" in page) == damaged
    for path in ("victim", "victim/progress", "halfway", "halfway/progress"):
        assert visitor.ask("GET", f"/console/judges/{path}")[0] in (200, 404), path
    return page


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garble(path: Path) -> None:
    path.write_bytes(bytes((byte ^ 0x5A) & 0x7F for byte in path.read_bytes()))


def nest(path: Path) -> None:
    path.write_text("[" * 100_000)


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def write(text: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_text(text)

    damage.__name__ = f"write {text[:20]}"
    return damage


WAYS: list[Callable[[Path], None]] = [cut, garble, nest, make_folder, make_pipe, make_loop]
WAYS += [
    write(text)
    for text in ("", "[]", "{}", "null", "1" * 5000, "\x00", '{"chatbot": 1}', '{"place": 1}\n{"place": {}}\n')
]
FILES = [
    "manifest.json",
    "summary.json",
    "transcripts.jsonl",
    "ratings.jsonl",
    "report.html",
    "rating/rating-anna.html",
]


def named(way: Any) -> str:
    return str(way.__name__) if callable(way) else str(way)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("way", [*WAYS, Path.unlink], ids=named)
def test_a_damaged_file_of_a_run_costs_that_run_alone(
    running: Console, runs: Path, file: str, way: Callable[[Path], None]
) -> None:
    """Cut off, garbled, nested, empty, of another form, missing, or no file at all."""
    way(runs / "victim" / file)
    surely = file in FILES[:2] and way in (cut, garble, nest, make_folder, make_pipe, make_loop)
    page = expect_runs(running, damaged=True if surely else None)
    assert (f"{file}: " in page) or not surely


@pytest.mark.parametrize("file", ["victim.json", "halfway.part", "halfway.log"])
@pytest.mark.parametrize("way", WAYS, ids=named)
def test_a_damaged_file_of_an_evaluation_costs_that_one_alone(
    running: Console, evaluations: Path, file: str, way: Callable[[Path], None]
) -> None:
    """The same."""
    way(evaluations / file)
    surely = not file.endswith(".log") and way in (cut, garble, nest, make_folder, make_pipe, make_loop)
    expect_evaluations(running, damaged=True if surely else None)


@pytest.mark.parametrize("what", ["file", "pipe", "loop", "nothing"])
def test_something_in_place_of_a_folder(running: Console, runs: Path, evaluations: Path, what: str) -> None:
    """In place of a run it is no run; in place of all of them there are none."""
    for path in (runs / "victim", runs, evaluations):
        shutil.rmtree(path)
        if what == "file":
            path.write_text("{}")
        elif what == "pipe":
            os.mkfifo(path)
        elif what == "loop":
            path.symlink_to(path.name)
        if path == runs / "victim":
            expect_runs(running, damaged=False if what != "loop" else None)
        else:
            for screen in ("experiments", "judges"):
                assert Visitor(running.url).ask("GET", f"/console/{screen}")[0] == 200
    for path in (runs, evaluations):
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("place", ["run", "runs", "evaluation", "evaluations"])
def test_without_permission(
    running: Console, runs: Path, evaluations: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said of the one that it is about, or of the folder. (Simulated: root may read everything.)"""
    paths = {
        "run": runs / "victim",
        "runs": runs,
        "evaluation": evaluations / "victim.json",
        "evaluations": evaluations,
    }

    def refuse(name: str) -> None:
        allowed = getattr(Path, name)

        def call(self: Path, *args: Any, **more: Any) -> Any:
            beneath = name == "iterdir" or self != paths[place]
            if paths[place] in (self, *self.parents) and (beneath or self.suffix):
                raise PermissionError(13, "Permission denied")
            return allowed(self, *args, **more)

        monkeypatch.setattr(Path, name, call)

    for name in ("stat", "read_bytes", "read_text", "iterdir", "is_file"):
        refuse(name)
    if place == "runs":
        assert "Permission denied" in Visitor(running.url).ask("GET", "/console/experiments")[1]
    elif place == "evaluations":
        assert "Permission denied" in Visitor(running.url).ask("GET", "/console/judges")[1]
    elif place == "run":
        assert "Permission denied" in expect_runs(running, damaged=True)
    else:
        assert "Permission denied" in expect_evaluations(running, damaged=True)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where in a JSON value something stands."""
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*at, key))


def replaced(value: Any, at: tuple[Any, ...], by: Any) -> Any:
    if not at:
        return by
    copy = value.copy()
    if by is ... and len(at) == 1:  # taken out
        del copy[at[0]]
        return copy
    copy[at[0]] = replaced(copy[at[0]], at[1:], by)
    return copy


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_anything_of_another_type_costs_that_run_alone(
    running: Console, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Each value of each file is replaced, or taken out: no page fails."""
    folder = running.folder / "data/runs"
    if not (folder / "victim").exists():
        fill(folder)
        for name in ("damaged", "no-run", "broken"):
            shutil.rmtree(folder / name)
        (folder / "whole").rename(folder / "victim")
    file = folder / "victim" / data.draw(st.sampled_from(FILES[:4]))
    whole = file.read_text()
    lines = whole.strip().split("\n") if file.suffix == ".jsonl" else [whole]
    value = json.loads(lines[0])
    at = data.draw(st.sampled_from([one for one in places(value) if one and len(one) < 6]))
    damaged = replaced(value, at, data.draw(st.sampled_from([*WRONG, ...])))
    try:
        file.write_text("\n".join([json.dumps(damaged), *lines[1:]]))
        expect_runs(running)
    finally:
        file.write_text(whole)


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_anything_of_another_type_costs_that_evaluation_alone(running: Console, data: st.DataObject) -> None:
    """The same."""
    folder = running.folder / "data/evaluations"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "good.json").write_text(outcome())
    name = data.draw(st.sampled_from(["victim.json", "halfway.part"]))
    value = json.loads(outcome()) if name == "victim.json" else STATE
    at = data.draw(st.sampled_from([one for one in places(value) if one]))
    (folder / name).write_text(json.dumps(replaced(value, at, data.draw(st.sampled_from([*WRONG, ...])))))
    expect_evaluations(running)

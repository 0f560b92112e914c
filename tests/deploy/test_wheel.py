"""The wheel in an environment outside the checkout: it finds what it ships, and writes into the current folder only."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "How much sleep do I need?"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with the wheel, built from a copy of the checkout; its other libraries are those of the tests."""
    folder = tmp_path_factory.mktemp("wheel")
    source, environment = folder / "source", folder / "environment"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for package in {name.partition(".")[0] for name in project["tool"]["setuptools"]["packages"]}:
        ignored = shutil.ignore_patterns("__pycache__", "recorded", "training")
        shutil.copytree(ROOT / package, source / package, symlinks=True, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE", "config.yaml"):
        shutil.copy(ROOT / name, source)
    venv.create(environment, with_pip=False)
    (packages,) = environment.glob("lib/python*/site-packages")
    libraries = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (packages / "libraries.pth").write_text("\n".join(libraries))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    build = [*pip, "wheel", "--no-build-isolation", "--no-deps", "-w", str(folder), str(source)]
    subprocess.run(build, check=True, capture_output=True, text=True)
    (wheel,) = folder.glob("*.whl")
    python = str(environment / "bin/python")
    subprocess.run([*pip, "--python", python, "install", "--no-index", "--no-deps", str(wheel)], check=True)
    return environment


@pytest.fixture
def environment() -> dict[str, str]:
    left_out = ("PYTHONPATH", "FORCE_COLOR")
    return {k: v for k, v in os.environ.items() if k not in left_out} | {"PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def caf(installed: Path, tmp_path: Path, environment: dict[str, str]) -> Run:
    """Run the installed command to its end, in an empty folder."""

    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(installed / "bin/caf"), *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, input=stdin, capture_output=True, text=True, timeout=120
        )

    return run


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_check_chat_and_evaluation_find_what_is_shipped(caf: Run, installed: Path, tmp_path: Path) -> None:
    """In an empty folder. Traces and answers go to ./data, and nothing is written beside the packages."""
    before = files(installed)
    checked = caf("check")
    assert (checked.returncode, "no problems in 1 chatbot, 28 sections" in checked.stdout) == (0, True), checked
    assert files(tmp_path) == set()
    said = caf("chat", stdin=QUESTION)
    assert (said.returncode, "sleep" in said.stdout) == (0, True), said
    assert "data/traces.db" in files(tmp_path)
    assert caf("trace", "list").stdout.count("schizophrenia") == 1
    options = ("--stage", "local", "--judge", "role", "--limit", "3", "--out", "data/evaluations/one.json")
    measured = caf("judges", "eval", *options)
    assert (measured.returncode, "role" in measured.stdout) == (0, True), measured
    assert "data/evaluations/one.json" in files(tmp_path)
    assert all(name.startswith("data/") for name in files(tmp_path))
    assert files(installed) == before


def test_the_shipped_configuration_is_served(installed: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    """With the knowledge base inside the package, and the traces in the current folder."""
    before = files(installed)
    command = [str(installed / "bin/caf"), "serve", "--port", "0", "--log-level", "error"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout is not None
            address = re.fullmatch(r"CAF serves (\S+)\n", serving.stdout.readline())
            assert address
            body = {"model": "schizophrenia", "messages": [{"role": "user", "content": QUESTION}]}
            request = urllib.request.Request(
                f"{address[1]}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=30) as response:
                reply = json.load(response)
        finally:
            serving.send_signal(signal.SIGTERM)
    assert serving.returncode == 0
    assert reply["caf"]["outcome"] == "accepted"
    assert reply["caf"]["citations"]
    assert "data/traces.db" in files(tmp_path)
    assert files(installed) == before


def test_other_shipped_configurations_write_into_the_current_folder_too(
    caf: Run, installed: Path, tmp_path: Path
) -> None:
    """A trace path that leads from such a file to a place beside the packages."""
    (hippocrates,) = installed.glob("lib/python*/site-packages/assistants/hippocrates/config.yaml")
    listed = caf("trace", "list", "--config", str(hippocrates))
    assert f"{tmp_path}/data/hippocrates.db" in listed.stdout + listed.stderr


def test_demo_data_are_shipped(installed: Path) -> None:
    """Hippocrates reads them where no catalogue is configured."""
    shipped = installed.glob("lib/python*/site-packages/assistants/hippocrates/demo/*.csv")
    assert {file.name for file in shipped} == {"countries.csv", "data_sources.csv", "achilles_results.csv"}


def test_a_shipped_experiment_runs_by_its_name(installed: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    """It is stopped after its first conversation, which is kept in the current folder."""
    before, transcripts = files(installed), tmp_path / "data/runs/embedded/transcripts.jsonl"
    (tmp_path / "embedded").mkdir()  # a folder of this name is no experiment
    command = [str(installed / "bin/caf"), "drift", "run", "embedded"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as running:  # fmt: skip
        until = time.monotonic() + 90
        while running.poll() is None and not (transcripts.exists() and transcripts.stat().st_size):
            assert time.monotonic() < until
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, "caf: stopped; the results so far are in data/runs/embedded" in err) == (1, True), err
    assert json.loads(transcripts.read_text().split("\n")[0])
    assert files(installed) == before, out


CHECK = """
from pathlib import Path
from scoring.experiment import SHIPPED, find_experiment
from scoring.experiments.check import check_experiment
for file in sorted(SHIPPED.glob("*.yaml")):
    if not file.name.endswith("config.yaml"):
        problems, _ = check_experiment(find_experiment(Path(file.stem)))
        written_out = find_experiment(Path("scenarios/experiments") / file.name)
        print(file.stem, problems, written_out == file)
"""


def test_all_shipped_experiments_are_whole(installed: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    """Configurations, facilitators, checkpoints and questions of each are in the wheel; its name and its path both find it."""
    done = subprocess.run(
        [str(installed / "bin/python"), "-c", CHECK], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    names = ["embedded", "health", "hippocrates", "hurried", "ordinary", "shipped"]
    assert done.stdout.splitlines() == [f"{name} [] True" for name in names], done.stderr


def test_shipped_scenarios_are_found_by_the_path_they_have_in_a_checkout(caf: Run) -> None:
    """A file of this name in the current folder would go first."""
    measured = caf(
        "judges", "eval", "--stage", "local", "--judge", "role", "--data", "scenarios/judges", "--limit", "3"
    )
    assert (measured.returncode, "role" in measured.stdout) == (0, True), measured


def test_a_chatbot_is_set_up_in_an_empty_folder(caf: Run, installed: Path, tmp_path: Path) -> None:
    """`caf init` finds its templates, checks what it wrote, and takes a turn."""
    before = files(installed)
    made = caf("init", "demo", "--yes")
    assert (made.returncode, "no problems" in made.stdout, "demo>" in made.stdout) == (0, True, True), made
    assert {"demo/config.yaml", "demo/scenarios/experiments/first.yaml"} <= files(tmp_path)
    assert files(installed) == before


def test_a_missing_configuration_or_experiment_names_what_makes_one(caf: Run) -> None:
    served, run = caf("serve", "--config", "nosuch.yaml"), caf("drift", "run", "nosuch")
    assert (served.returncode, run.returncode) == (2, 2)
    assert served.stderr == (
        "caf: nosuch.yaml: the configuration cannot be read (No such file or directory); name another file with --config, "
        "or create one with `caf init FOLDER`\n"
    )
    assert run.stderr == (
        "caf: nosuch: there is no such file, and no shipped experiment of this name (shipped: embedded, health, "
        "hippocrates, hurried, ordinary, shipped); `caf init FOLDER` writes an experiment for your own chatbot\n"
    )


def test_a_missing_library_is_installed_from_the_wheel(
    installed: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """No package index has this project."""
    code = "import sys; sys.modules['scipy'] = None; sys.argv[1:] = ['drift', 'run', 'embedded']; import cli.main; cli.main.main()"
    done = subprocess.run(
        [str(installed / "bin/python"), "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    said = re.fullmatch(
        r"caf: this command needs scipy, which is not installed; install it with: \S+ -m pip install '(.+\.whl)\[lab\]'\n",
        done.stderr,
    )
    assert said, done.stderr
    assert Path(said[1]).is_file()


def test_a_file_that_is_not_there_is_named_and_no_other(caf: Run) -> None:
    """Nothing else was asked for, so nothing else is checked."""
    checked = caf("check", "nosuch.yaml", "nor-this.jsonl")
    expected = (
        "caf: nosuch.yaml: there is no such file or folder\ncaf: nor-this.jsonl: there is no such file or folder\n"
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (2, "", expected)

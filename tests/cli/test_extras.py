"""What works, and what is said, where only the proxy's own libraries are installed."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from cli.extras import LIBRARIES, missing_extras
from cli.main import app
from models.extras import install_command
from tests.cli.conftest import ROOT, Caf, shipped_config

LAB = [
    ["judges", "eval"],
    ["judges", "compare", "swift", "chief"],
    ["judges", "tune", "role"],
    ["drift", "run", "drift.yaml"],
    ["drift", "find", "--facilitator", "activist"],
    ["drift", "compare", "a", "b"],
    ["rate", "export", "run", "--rater", "anna"],
    ["rate", "import", "run", "a.json"],
]
ABSENT = {*(name for names in LIBRARIES.values() for name in names), "litellm", "opentelemetry", "pandas", "pyarrow"}
ALONE = f"import sys; sys.modules |= dict.fromkeys({sorted(ABSENT)}); from cli.main import main; main()"
"""The command in a process that finds no library of an extra."""


def alone(environment: dict[str, str], *arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", ALONE, *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=60)


def settings(folder: Path, **privacy: str) -> Path:
    """Write the shipped configuration into a folder, with other settings for traces."""
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(shipped_config(privacy=privacy)))
    return path


@pytest.mark.parametrize("command", LAB, ids=lambda command: " ".join(command[:2]))
def test_a_command_of_the_lab_says_what_to_install(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, before it looks at any file or asks any model."""
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(SystemExit) as ended, missing_extras():
        app(command, prog_name="caf")
    assert ended.value.code == 2
    assert (
        capsys.readouterr().err
        == f"caf: this command needs scipy, which is not installed; install it with: {install_command('lab')}\n"
    )


@pytest.mark.parametrize("command", LAB, ids=lambda command: " ".join(command[:2]))
def test_a_command_of_the_lab_is_explained_without_it(
    command: list[str], monkeypatch: pytest.MonkeyPatch, inside: Caf
) -> None:
    """Who wonders whether to install it can read what for."""
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert "Example" in inside(*command[:2], "--help").out


def test_the_proxy_alone_answers(environment: dict[str, str], tmp_path: Path) -> None:
    """A turn of the shipped configuration needs no extra: retrieval, the embedded chatbot, local judges, citations, traces."""
    ended = alone(
        environment,
        "chat",
        "--config",
        settings(tmp_path, path=f"{tmp_path}/traces.db"),
        stdin="How much sleep do I need?\n",
    )
    assert "7 to 9 hours of sleep" in ended.stdout, ended.stderr
    assert "accepted" in ended.stdout


def test_the_proxy_alone_checks_experiments_and_scenarios_too(environment: dict[str, str]) -> None:
    """`caf check` only reads."""
    ended = alone(environment, "check")
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"\b[1-9]\d* experiments\b", ended.stdout)


def test_a_database_without_its_extra_is_told_in_a_line(environment: dict[str, str], tmp_path: Path) -> None:
    """`caf serve` and `caf trace` say what to install, and no more."""
    config = settings(tmp_path, url="postgresql://caf@127.0.0.1:1/caf")
    for command in (["serve", "--port", 0], ["trace", "list"]):
        ended = alone(environment, *command, "--config", config)
        assert ended.returncode == 2
        assert re.fullmatch(
            rf"caf: this command needs \w+, which .* pip install -e '{re.escape(str(ROOT))}\[postgres\]'\n",
            ended.stderr,
        )


def test_the_extras_are_those_of_the_project() -> None:
    """Each library is installed by the extra that is named for it, and each extra's libraries are all known."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    by_module = importlib.metadata.packages_distributions()
    for extra, libraries in LIBRARIES.items():
        installed = {re.split(r"[^\w-]", one)[0].lower() for one in extras[extra]}
        assert {name.lower() for library in libraries for name in by_module[library]} == installed

"""The command that installs an extra."""

import json
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from models import extras

ROOT = Path(__file__).resolve().parents[2]
PIP = f"{sys.executable} -m pip install"


class Installed:
    """A fake distribution with the given `direct_url.json`."""

    def __init__(self, record: object) -> None:
        self.record = record

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.record is None else json.dumps(self.record)


@pytest.fixture
def install_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Simulate an installation of CAF from the given source."""
    monkeypatch.setattr(extras, "_ROOT", tmp_path / "site-packages")
    return lambda record: monkeypatch.setattr(extras, "distribution", lambda name: Installed(record))


def test_in_a_checkout_it_is_the_checkout() -> None:
    assert extras.install_command("lab") == f"{PIP} -e '{ROOT}[lab]'"


def test_an_installation_names_its_wheel_or_folder(install_from, tmp_path: Path) -> None:
    """Spaces in the URL are decoded."""
    wheel = tmp_path / "my files" / "caf.whl"
    wheel.parent.mkdir()
    wheel.touch()
    install_from({"url": wheel.as_uri(), "archive_info": {}})
    assert extras.install_command("lab") == f"{PIP} '{wheel}[lab]'"


def test_a_repository_is_named_with_its_commit(install_from) -> None:
    install_from({"url": "https://example.org/caf.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}})
    assert extras.install_command("otel") == (
        f"{PIP} 'critical-analysis-filter[otel] @ git+https://example.org/caf.git@abc'"
    )


@pytest.mark.parametrize("record", [None, {"url": "file:///no/such/wheel.whl", "archive_info": {}}])
def test_a_source_that_is_gone_is_left_to_the_reader(install_from, record: object) -> None:
    """The command then has the placeholder PATH, for example in a container without the source folder."""
    install_from(record)
    assert extras.install_command("lab") == f"{PIP} 'PATH[lab]' (PATH: your checkout of CAF, or its wheel)"


def test_packages_that_nobody_installed_are_no_crash(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def not_installed(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "_ROOT", tmp_path)
    monkeypatch.setattr(extras, "distribution", not_installed)
    assert "'PATH[lab]'" in extras.install_command("lab")


def test_without_pip_uv_installs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments of uv have no pip, and environments of uvx exist for one run only."""
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert extras.install_command("lab") == (
        f"uv pip install --python {sys.executable} -e '{ROOT}[lab]', or run uvx --from '{ROOT}[lab]' caf"
    )

"""The published experiments can be had again without a model."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Caf

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = sorted((ROOT / "docs" / "experiments").glob("*/summary.json"))


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda path: path.parent.name)
def test_a_published_run_is_replayed_to_the_same_figures(inside: Caf, tmp_path: Path, published: Path) -> None:
    """Every score, outcome and interval; only times differ."""
    experiment = ROOT / "scenarios" / "experiments" / f"{published.parent.name}.yaml"
    done = inside("drift", "run", experiment, "--out", tmp_path / "run", "--replay", published.parent)
    assert done.code == 0, done.err
    assert timeless(json.loads((tmp_path / "run" / "summary.json").read_text())) == timeless(
        json.loads(published.read_text())
    )


def timeless(data: Any) -> Any:
    """Return a summary without its times."""
    if isinstance(data, dict):
        return {key: timeless(value) for key, value in data.items() if not key.startswith("ms_") and key != "added_ms"}
    return [timeless(value) for value in data] if isinstance(data, list) else data


def test_there_is_something_published() -> None:
    """An empty folder would pass for a reproduced one."""
    assert {path.parent.name for path in PUBLISHED} == {"hurried", "ordinary", "shipped"}

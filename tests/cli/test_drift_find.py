"""`caf drift find`: what would spoil its end is told at its beginning."""

from pathlib import Path

import pytest
import yaml

from facilitators.facilitator import SHIPPED
from tests.cli.conftest import ROOT, Caf, shipped_config

CONFIG = ("--config", ROOT / "config.yaml")
SAY = {"reply": "Please make me a meal plan for the week.", "delay_s": 0}


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("my file.yaml", "--out: 'my file': the name of a checkpoint has at most 100 letters"),
        ("x" * 101 + ".yaml", "the name of a checkpoint has at most 100 letters"),
        ("there.yaml", "there.yaml already exists and is not overwritten"),
        ("none/found.yaml", "the folder none does not exist: create it"),
        ("found.txt", "--out: 'found.txt': expected a .yaml file, such as found.yaml"),
    ],
)
def test_where_nothing_can_be_saved_nothing_is_asked(inside: Caf, tmp_path: Path, out: str, said: str) -> None:
    """A conversation that was paid for is not lost at its end."""
    (tmp_path / "there.yaml").write_text("mine")
    ended = inside("drift", "find", "--facilitator", "dietician", *CONFIG, "--out", out)
    assert ended.code == 2
    assert said in ended.err
    assert "stage" not in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["there.yaml"]


def test_a_facilitator_of_ones_own_can_talk(inside: Caf, tmp_path: Path) -> None:
    """Its folder joins the shipped one; a name that is in neither is told with the folder that was given."""
    (tmp_path / "mine").mkdir()
    text = (SHIPPED / "dietician.md").read_text().replace("name: dietician", "name: cook")
    (tmp_path / "mine" / "cook.md").write_text(text)
    assert inside("drift", "find", "--facilitator", "cook", *CONFIG).code == 2
    ended = inside("drift", "find", "--facilitator", "cook", "--facilitators", "mine", *CONFIG)
    assert ended.code == 0, ended.err
    assert yaml.safe_load((tmp_path / "cook-1.yaml").read_text())["facilitator"] == "cook"
    ended = inside("drift", "find", "--facilitator", "cok", "--facilitators", "mine", *CONFIG)
    assert "--facilitator: unknown name 'cok' in mine; did you mean 'cook'?" in ended.err


def test_the_budget_stops_the_conversation(inside: Caf, tmp_path: Path) -> None:
    """Nothing is saved, and the message says why."""
    config = shipped_config()
    config["models"]["actor"] = {"engine": "scripted", "script": [SAY], "price": {"input": 1, "output": 1}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    find = ("drift", "find", "--facilitator", "dietician", "--voice", "actor", "--out", "found.yaml")
    ended = inside(*find, "--budget", 0.001)
    assert ended.code == 2
    assert "exchange 1: the budget of 0.001 is spent" in ended.err
    assert not (tmp_path / "found.yaml").exists()
    assert inside(*find, "--budget", 10).code == 0

"""`caf check` of an experiment finds what `caf drift run` would refuse, and says it in the same words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scoring.experiments.check import check_experiment
from tests.cli.conftest import ROOT, Ended, inside  # noqa: F401 - a fixture

Written = Callable[..., Path]


@pytest.mark.parametrize(
    "path",
    [path for path in (ROOT / "scenarios" / "experiments").glob("*.yaml") if "config" not in path.name],
    ids=lambda path: path.stem,
)
def test_the_shipped_experiments_are_fine(path: Path) -> None:
    """Only the hurried one branches from conversations with another chatbot, on purpose."""
    problems, notes = check_experiment(path)
    assert problems == []
    assert [note.partition(": ")[2][:51] for note in notes] == (
        ["checkpoints made for the chatbot 'schizophrenia', n"] if path.stem == "hurried" else []
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"config": {"models": {}}}, "config.yaml: "),
        ({"facilitators": ["dietican"]}, "did you mean 'dietician'?"),
        ({"checkpoints": ["dietician-9"]}, "dietician-9.yaml: cannot be read"),
        ({"checkpoint_folder": "none"}, "found no checkpoint with `facilitator: dietician`"),
        ({"questions": ["none"]}, "none: cannot be read: No such file or directory"),
        ({"questions": ["asked", "sections"]}, "sections: found no questions (*.yaml)"),
        ({"question": {"sections": ["cause"]}}, "q-1: sections: unknown name 'cause'"),
        ({"facilitator_folders": ["none"]}, "none: found no facilitator (*.md)"),
        ({"chatbot": "nobody"}, "has no chatbot 'nobody' (configured: bot)"),
        ({"voice": "nobody"}, "voice: no model alias 'nobody'"),
        ({"raters": ["local", "nobody"]}, "raters: no model alias 'nobody'"),
        ({"fidelity": "nobody"}, "fidelity: no model alias 'nobody'"),
        ({"arms": {"on": {}, "off": {"chatbot": "none"}}}, "has no chatbot 'none' for arm 'off'"),
        ({"arms": {"on": {"set": {"chatbots.bot.rfiner": None}}, "off": {}}}, "arm 'on': "),
        ({"arms": {"on": {"set": {"chatbots.bot.role": "gone.md"}}, "off": {}}}, "gone.md"),
        (
            {"arms": {"on": {"set": {"chatbots.bot.judges": [{"name": "rloe"}]}}, "off": {}}},
            "arm 'on': chatbots.bot.judges[0]: no built-in judge 'rloe'",
        ),
        ({"arms": {"on": {"set": {"chatbots.bot.role.x": 1}}, "off": {}}}, "arms.on.set: 'chatbots.bot.role.x'"),
    ],
)
def test_whatever_would_stop_the_run_is_a_problem(
    inside: Callable[..., Ended],  # noqa: F811
    written: Written,
    changes: dict[str, Any],
    said: str,
) -> None:
    """With the experiment's file before it."""
    path = written(**changes)
    problems, _ = check_experiment(path)
    assert problems
    assert all(problem.startswith(f"{path}: ") for problem in problems)
    assert any(said in problem for problem in problems), problems
    run = inside("drift", "run", path, "--out", path.parent / "run")
    assert run.code == 2, run.out


def test_a_missing_configuration_is_a_problem(written: Written) -> None:
    """What does not need it is looked at all the same."""
    path = written(checkpoints=["gone"])
    (path.parent / "config.yaml").unlink()
    problems, _ = check_experiment(path)
    assert [problem.rpartition("/")[2] for problem in problems] == [
        "gone.yaml: cannot be read: No such file or directory",
        "config.yaml: cannot be read: No such file or directory",
    ]


def test_several_faults_are_told_at_once(written: Written) -> None:
    """Of voice, arms and questions."""
    path = written(voice="nobody", arms={"on": {"set": {"chatbots.bot.x": 1}}, "off": {}}, questions=["none"])
    problems, _ = check_experiment(path)
    assert len(problems) == 3


def test_check_tells_problems_and_notes_of_an_experiment(
    inside: Callable[..., Ended],  # noqa: F811
    written: Written,
) -> None:
    """A file without faults passes."""
    path = written(checkpoint={"chatbot": "other"})
    ended = inside("check", "try.yaml")
    assert ended.code == 0, ended.out
    assert "note     try.yaml: checkpoint made for the chatbot 'other', not for 'bot': dietician-1\n" in ended.out
    path.write_text(path.read_text().replace("name: try", "name: try\nvoice: nobody"))
    ended = inside("check", "try.yaml")
    assert ended.code == 1
    assert "problem  try.yaml: voice: no model alias 'nobody' in config.yaml" in ended.out

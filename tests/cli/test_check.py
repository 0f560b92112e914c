"""`caf check`: every fault at once, with file and key; and what is no fault but should be known."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cli import check
from tests.cli.conftest import ROOT, Ended

Caf = Callable[..., Ended]

SECTION = """\
---
id: causes
title: Causes
summary: Answers what causes it.
references: ["WHO"]
reviewed_by: {reviewer}
reviewed_on: {day}
---
Nobody knows exactly what causes it.
"""
CONFIG = """\
models: {m: {engine: embedded}}
chatbots:
  bot:
    model: m
    role: Answers questions.
    knowledge_base: sections
    refiner: local
    emergency: {contact: Call 112.}
    judges:
      - {name: emergency, stages: [local]}
"""
CHECKPOINT = """\
name: one
chatbot: bot
created: 2026-11-21
messages: [{role: user, content: Hello}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Lay out a small configuration without faults."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "sections").mkdir()
    (tmp_path / "sections" / "causes.md").write_text(SECTION.format(reviewer="Dr. Berg", day="2026-01-31"))
    (tmp_path / "scenarios" / "checkpoints").mkdir(parents=True)
    (tmp_path / "scenarios" / "checkpoints" / "one.yaml").write_text(CHECKPOINT)
    return tmp_path


def test_a_configuration_without_faults_passes(caf: Caf, folder: Path) -> None:
    """Exit code 0, and what was looked at is counted."""
    ended = caf("check")
    assert ended.out == "config.yaml: no problems in 1 chatbot, 1 section, 1 checkpoint\n"
    assert ended.code == 0


def test_the_shipped_configuration_has_no_problems(caf: Caf) -> None:
    """What `make serve` serves is fine, and its unreviewed sections are named as such."""
    ended = caf("check")
    assert (ended.code, "problem  " in ended.out) == (0, False)
    assert f"{ROOT / 'knowledge_base' / 'schizophrenia'}: no clinician has reviewed" in ended.out


def test_every_fault_is_told_at_once_with_file_and_key(caf: Caf, folder: Path) -> None:
    """Knowledge base, prompts, judges, models' files and checkpoints: one run names them all."""
    text = CONFIG + "      - own.md\n      - {name: rloe}\n"
    text = text.replace("{m: {engine: embedded}}", "{m: {engine: embedded}, s: {engine: scripted, script: gone.yaml}}")
    (folder / "config.yaml").write_text(text)
    (folder / "own.md").write_text("no front matter")
    (folder / "sections" / "bad.md").write_text("---\nid: other\n---\n")
    (folder / "scenarios" / "checkpoints" / "two.yaml").write_text(CHECKPOINT.replace("user", "robot"))
    (folder / "mine.yaml").write_text(CHECKPOINT.replace("chatbot: bot", "chatbot: ''"))
    ended = caf("check", "mine.yaml")
    problems = [line.removeprefix("problem  ") for line in ended.out.splitlines() if line.startswith("problem  ")]
    assert ended.code == 1
    for said in (
        "config.yaml: chatbots.bot.judges[2]: no built-in judge 'rloe'",
        "own.md: ",
        "sections/bad.md: ",
        "gone.yaml",
        "scenarios/checkpoints/two.yaml: messages.0.role: Input should be 'user' or 'assistant'",
        "mine.yaml: chatbot: String should have at least 1 character",
    ):
        assert any(said in problem for problem in problems), f"{said!r} not in {problems}"
    assert ended.out.splitlines()[-1].startswith(f"config.yaml: {len(problems)} problems in ")


def test_a_configuration_that_cannot_be_read_does_not_hide_the_rest(caf: Caf, folder: Path) -> None:
    """The checkpoints are looked at all the same."""
    (folder / "config.yaml").write_text(CONFIG + "colour: red\nserver: {port: -1}\n")
    (folder / "scenarios" / "checkpoints" / "one.yaml").write_text("- a")
    ended = caf("check")
    assert ended.code == 1
    assert "problem  config.yaml: colour: is not a setting here" in ended.out
    assert "problem  config.yaml: server.port: " in ended.out
    assert "one.yaml: holds no mapping" in ended.out


def test_a_missing_configuration_is_wrong_usage(caf: Caf) -> None:
    """Nothing was checked, so nothing was found: exit code 2."""
    ended = caf("check", "--config", "clinic.yaml")
    assert ended.code == 2
    assert ended.err == "caf: clinic.yaml: there is no such file; name the configuration with --config\n"


def test_unreviewed_sections_are_named_and_no_fault(caf: Caf, folder: Path) -> None:
    """Only those that nobody has signed."""
    new = SECTION.format(reviewer="null", day="null").replace("id: causes", "id: new")
    (folder / "sections" / "new.md").write_text(new)
    ended = caf("check")
    assert "sections: no clinician has reviewed 1 section: new\n" in ended.out
    assert ended.code == 0


def test_unset_environment_variables_are_named_and_no_fault(caf: Caf, folder: Path) -> None:
    """Keys in headers too; where a configuration is checked, the keys need not be."""
    models = (
        "{m: {engine: embedded}, a: {engine: openai, base_url: 'http://x', api_key_env: CAF_TEST_KEY, "
        "headers: {api-key: 'env:CAF_TEST_OTHER'}}}"
    )
    (folder / "config.yaml").write_text(CONFIG.replace("{m: {engine: embedded}}", models))
    ended = caf("check", env={"CAF_TEST_OTHER": "sk-secret"})
    assert "config.yaml: models.a: the environment variable CAF_TEST_KEY is not set here" in ended.out
    assert "CAF_TEST_OTHER" not in ended.out
    assert "sk-secret" not in ended.out
    assert ended.code == 0


def test_what_takes_protection_away_is_noted(caf: Caf, folder: Path) -> None:
    """As `caf serve` says it."""
    (folder / "config.yaml").write_text(CONFIG + "    filter: off\n")
    assert "note     config.yaml: not safe: bot has its filter off" in caf("check").out


def test_a_distribution_that_owns_one_of_our_names_is_a_problem(caf: Caf, folder: Path) -> None:
    """PyPI has packages named like ours; installed together they overwrite or hide each other."""
    site = folder / "site"
    for name, package in (("proxy-tools-9", "proxy"), ("critical_analysis_filter", "judges")):
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "top_level.txt").write_text(f"{package}\n")
    ended = caf("check", env={"PYTHONPATH": f"{ROOT}:{site}"})
    assert ended.code == 1
    assert "problem  the package `proxy` is also installed by proxy-tools-9" in ended.out
    assert "`judges`" not in ended.out


def test_our_names_are_the_packages_there_are() -> None:
    """A package added to the project is watched over too."""
    ours = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "bench"}
    assert ours <= set(check.PACKAGES)


def test_nothing_is_written(caf: Caf, folder: Path) -> None:
    """A check leaves no trace file and no cache behind."""
    before = sorted(folder.rglob("*"))
    caf("check")
    assert sorted(folder.rglob("*")) == before
    shutil.rmtree(folder / "sections")
    assert caf("check").code == 1

"""The shipped scenarios under configurations of one's own: measured with what they were labelled for, which is said."""

from pathlib import Path

import pytest
import yaml

from judges.case import Topic
from judges.evaluation import shipped_scenarios as shipped
from judges.evaluation.labelled import ScenarioDefaults
from knowledge_base.library import load
from proxy.config.config import load_config
from tests.cli.conftest import ROOT, Caf

CONFIG = """\
models: {m: {engine: embedded}}
chatbots:
  parking:
    model: m
    role: Answers questions about parking.
    knowledge_base: sections
    refiner: local
    emergency: {contact: Call 112.}
    judges:
      - {name: emergency, stages: [local]}
      - {name: source_fidelity, stages: [local]}
      - {name: role, stages: [local]}
"""
SECTION = """\
---
id: fees
title: Fees
summary: Answers what a parking permit costs.
---
A permit costs 30 euros a year.
"""
CASES = """\
family: fees
scenarios:
  - id: fees-1
    user_message: What does it cost?
    response: A permit costs 30 euros a year.
    citations: [fees]
    expect: {source_fidelity: accept}
"""
EVAL = ("judges", "eval", "--stage", "local", "--judge", "source_fidelity", "--limit", "60")
HINT = (
    "caf: the shipped scenarios are measured with the {} for which they were labelled, not with the settings of the chatbot "
    "'parking'; to measure on your scenarios, give --data FILE|FOLDER\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A chatbot that has nothing to do with the shipped one."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "sections").mkdir()
    (tmp_path / "sections" / "fees.md").write_text(SECTION)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "fees.yaml").write_text(CASES)
    return tmp_path


def test_shipped_scenarios_are_for_the_shipped_chatbot() -> None:
    """Its role, sections and topics: those of the shipped configuration."""
    bot = load_config(ROOT / "config.yaml").chatbots["schizophrenia"]
    assert bot.knowledge_base is not None
    topics = tuple(Topic(topic.name, tuple(topic.terms)) for topic in bot.sensitive_topics)
    assert shipped.shipped_defaults() == ScenarioDefaults(load(bot.knowledge_base), bot.role, topics)


def test_another_chatbot_is_told_and_gets_the_same_figures(inside: Caf, folder: Path) -> None:
    """In one line; the labels are right for the role and sections that the scenarios were written for."""
    own = inside(*EVAL, "--json")
    assert (own.code, own.err) == (0, HINT.format("knowledge base and role"))
    theirs = inside(*EVAL, "--json", "--config", ROOT / "config.yaml")
    assert theirs.err == ""
    assert timeless(own.out) == timeless(theirs.out)


def timeless(out: str) -> list[tuple[str, str, float]]:
    return [(case["id"], case["verdict"], case["score"]) for case in yaml.safe_load(out)["cases"]]


@pytest.mark.parametrize(
    ("changes", "other"),
    [
        ({"knowledge_base": "sections"}, "knowledge base"),
        ({"role": "Answers questions about parking."}, "role"),
        ({}, None),
    ],
)
def test_what_differs_is_named(inside: Caf, folder: Path, changes: dict[str, str], other: str | None) -> None:
    """A chatbot with the role and a copy of the sections of the shipped one is none of the others."""
    copy = folder / "copy"
    copy.mkdir()
    for path in shipped.SECTIONS.glob("*.md"):
        (copy / path.name).write_bytes(path.read_bytes())
    config = yaml.safe_load(CONFIG)
    config["chatbots"]["parking"] |= {"role": str(shipped.ROLE), "knowledge_base": "copy"} | changes
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    ended = inside(*EVAL)
    assert (ended.code, ended.err) == (0, "" if other is None else HINT.format(other))


@pytest.mark.parametrize(
    "options",
    [
        ("--data", "mine", "--judge", "source_fidelity"),
        ("--data", "mine/fees.yaml", "--judge", "source_fidelity"),
        ("--family", "tn-changed-deadlines", "--judge", "source_fidelity"),
        ("--judge", "emergency", "--limit", "20"),
    ],
)
def test_nothing_is_said_where_nothing_is_borrowed(inside: Caf, folder: Path, options: tuple[str, ...]) -> None:
    """Of files and folders of one's own, of families with a knowledge base of their own, and of what reads the user alone."""
    ended = inside("judges", "eval", "--stage", "local", "--split", "all", *options)
    assert (ended.code, "belong to another" in ended.err) == (0, False), ended.err

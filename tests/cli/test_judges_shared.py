"""`caf judges tune`, `eval` and `compare` of the prompt that the built-in judges of replies share: each of them is measured."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from judges.prompt import load_prompt
from proxy.config.blueprint import assemble
from proxy.config.config import load_config
from tests.cli.conftest import Caf, Ended
from tests.proxy.conftest import NO_PROBLEMS, screening

JUDGES = ("source_fidelity", "transparency", "role")
CONFIG = """\
models:
  m: {engine: scripted, script: []}
  swift: {engine: scripted, script: swift.yaml}
  chief: {engine: scripted, script: chief.yaml}
chatbots:
  info:
    model: m
    role: An information service.
    refiner: local
    emergency: {contact: "Call 112."}
    judges:
      - {name: source_fidelity, stages: [local, swift]}
      - {name: transparency, stages: [swift]}
      - {name: role, stages: [swift]}
"""
BUILT_IN = Path(__file__).resolve().parents[2] / "judges" / "prompts" / "reply.swift.md"
ADDED = "Look for promised cures."
PROPOSAL = {
    "diagnosis": "Cures are missed.",
    "edits": [{"find": "", "replace": ADDED}],
    "reason": "They are named now.",
}
PLAYED = {name: screening(("role", name, 2)) for name in ("threat", "cure")}
AFTER_THE_EDIT = r"/promised cures[\s\S]*user:[\s\S]*{}/"
"""Matches a request whose instructions have the edit, and whose case these words."""


def write_rows(folder: Path, cures: int = 6) -> None:
    """Write cases, each with an expectation for all three judges: what promises cures or threatens plays a part."""
    rows = [
        {
            "id": f"{split}-{kind}-{n}",
            "family": f"{split}-{kind}-{n % 3}",
            "split": split,
            "response": f"{kind}-{n} {split}",
            "expect": dict.fromkeys(JUDGES, "accept") | {"role": wanted},
        }
        for split in ("dev", "holdout")
        for kind, wanted, most in (("cure", "reject", cures), ("threat", "reject", 4), ("rest", "accept", 10))
        for n in range(most)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_script(folder: Path, *first: dict[str, Any]) -> None:
    """Have the swift model find threats, and promised cures once its instructions name them."""
    rules: Iterable[dict[str, Any]] = (
        *first,
        {"when": "threat", "reply": PLAYED["threat"]},
        {"when": AFTER_THE_EDIT.format("cure-"), "within": "prompt", "reply": PLAYED["cure"]},
        {"reply": NO_PROBLEMS},
    )
    (folder / "swift.yaml").write_text(yaml.safe_dump([*rules]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration whose judges share a prompt that misses promised cures until it names them."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "chief.yaml").write_text(yaml.safe_dump([{"reply": PROPOSAL}]))
    write_script(tmp_path)
    write_rows(tmp_path)
    return tmp_path


def tune(inside: Caf, *more: object) -> Ended:
    return inside("judges", "tune", "--stage", "swift", "--data", "rows.jsonl", "--out", "run", *more)


@pytest.mark.parametrize("named", [("source_fidelity",), ("transparency",), ("role",), ("--judge", "role"), ("reply",)])
def test_whichever_judge_is_named_their_prompt_is_tuned_on_the_cases_of_all(
    inside: Caf, folder: Path, named: tuple[str, ...]
) -> None:
    """The figures are those of all and of each; the lines that are told make the configuration use the file."""
    ended = tune(inside, *named, "--accept")
    assert ended.code == 0, ended.err
    rows = [re.split(r"\s{2,}", line) for line in ended.out.splitlines() if re.match(r"(dev|holdout) ", line)]
    right = {(row[0].partition(" ")[2], row[1]): row[2:4] for row in rows if row[0].startswith("dev")}
    assert right == {
        ("", "start"): ["10+50", "54"],
        ("source_fidelity", "start"): ["0+20", "20"],
        ("transparency", "start"): ["0+20", "20"],
        ("role", "start"): ["10+10", "14"],
        ("", "round-1-candidate-1"): ["10+50", "60"],
        ("source_fidelity", "round-1-candidate-1"): ["0+20", "20"],
        ("transparency", "round-1-candidate-1"): ["0+20", "20"],
        ("role", "round-1-candidate-1"): ["10+10", "20"],
    }
    assert len([row for row in rows if row[0].startswith("holdout")]) == len(right)
    written = folder / "judges" / "reply.swift.md"
    assert written.read_text() == BUILT_IN.read_text().rstrip() + f"\n{ADDED}\n"
    assert "  reply_prompts: [judges/reply.swift.md]\n" in ended.out
    assert "set the entry of the judge" not in ended.out
    (folder / "config.yaml").write_text(CONFIG + "    reply_prompts: [judges/reply.swift.md]\n")
    plans = {plan.name: plan for plan in assemble(load_config(folder / "config.yaml"))["info"].plans}
    assert {name: plan.prompts["swift"].text for name, plan in plans.items()} == dict.fromkeys(
        JUDGES, load_prompt(written).text
    )
    uses = json.loads((folder / "data" / "holdout-uses.json").read_text())
    assert {judge: sum(counts.values()) for judge, counts in uses.items()} == dict.fromkeys(JUDGES, 1)


def test_an_edit_that_helps_one_judge_and_harms_another_is_not_kept(inside: Caf, folder: Path) -> None:
    """Though it is better in all: one harmless reply more is flagged, by the judges of its claims."""
    write_rows(folder, cures=14)
    flagged = {"when": AFTER_THE_EDIT.format("rest-0"), "within": "prompt", "reply": screening(("beyond", "rest", 3))}
    write_script(folder, flagged)
    ended = tune(inside, "role", "--rounds", "1", "--candidates", "1", "--accept")
    assert ended.code == 0, ended.err
    assert re.search(
        r"round-1-candidate-1: not kept: .*better only at the cost of (source_fidelity|transparency)", ended.out
    )
    assert "the prompt is unchanged" in ended.out
    assert not (folder / "judges").exists()


def test_a_resumed_run_asks_no_judge_again(inside: Caf, folder: Path) -> None:
    """What each of them has answered to the same case is known apart."""
    ended = tune(inside, "role")
    assert "Nothing is written. The winner is run/round-1-candidate-1.md" in ended.out
    for script in ("swift.yaml", "chief.yaml"):
        (folder / script).write_text("[]")
    (folder / "data" / "judge-answers.jsonl").unlink()
    again = inside("judges", "tune", "--resume", "run", "--accept")
    assert again.code == 0, again.err
    figures = [line for line in ended.out.splitlines() if line.startswith(("dev", "holdout"))]
    assert [line for line in again.out.splitlines() if line.startswith(("dev", "holdout"))] == figures
    assert ADDED in (folder / "judges" / "reply.swift.md").read_text()


def test_the_prompts_of_the_configuration_are_tuned_in_place(inside: Caf, folder: Path) -> None:
    """A chatbot whose `reply_prompts` name one reads that one; the file begun from may also be given, without a judge."""
    (folder / "own.md").write_text(BUILT_IN.read_text())
    (folder / "config.yaml").write_text(CONFIG + "    reply_prompts: [own.md]\n")
    ended = tune(inside, "transparency", "--accept", "--no-holdout")
    assert ended.code == 0, ended.err
    assert "already uses it" in ended.out
    assert ADDED in (folder / "own.md").read_text()
    (folder / "other.md").write_text(BUILT_IN.read_text())
    ended = inside("judges", "tune", "--prompt", "other.md", "--data", "rows.jsonl", "--accept", "--no-holdout")
    assert ended.code == 0, ended.err
    assert ADDED in (folder / "other.md").read_text()
    assert "  reply_prompts: [other.md]\n" in ended.out
    assert next((folder / "data" / "tuning").iterdir()).name.startswith("reply-swift-")


def test_the_tuner_is_shown_whose_verdicts_are_wrong(inside: Caf, folder: Path) -> None:
    """With the form that all of them fill in, and the instructions with the marks of lines that are for some alone."""
    asked = r'/"judge": "reply"[\s\S]*\{role\}[\s\S]*"problems"[\s\S]*"judge": "role"/'
    (folder / "chief.yaml").write_text(yaml.safe_dump([{"when": asked, "within": "prompt", "reply": PROPOSAL}]))
    assert "round-1-candidate-1: kept" in tune(inside, "source_fidelity", "--no-holdout").out


def test_a_judge_without_the_stage_is_told_to_have_it(inside: Caf, folder: Path) -> None:
    """Its prompt would be read by nobody else."""
    alone = "    judges:\n      - {name: role, stages: [local]}\n"
    config = CONFIG.partition("    judges:")[0]
    (folder / "config.yaml").write_text(config + alone)
    ended = tune(inside, "role", "--accept", "--no-holdout")
    assert ended.code == 0, ended.err
    assert "  reply_prompts: [judges/reply.swift.md]\n" in ended.out
    assert "  - {name: role, stages: [local, swift]}\n" in ended.out
    (folder / "config.yaml").write_text(config + "    judges: [tone.md]\n")
    (folder / "tone.md").write_text("---\nname: tone\nstage: chief\nmodel: chief\nobservation: verdict\n---\nJudge.\n")
    ended = tune(inside, "reply")
    assert (ended.code, "no judge of the chatbot 'info' uses the shared prompts" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("named", "measured"),
    [((), JUDGES), (("-j", "role"), ("role",)), (("-j", "role", "-j", "transparency"), JUDGES[:0:-1])],
)
def test_a_shared_prompt_is_measured_for_the_judges_that_are_named(
    inside: Caf, folder: Path, named: tuple[str, ...], measured: tuple[str, ...]
) -> None:
    """By default for all that share it, local stages left out."""
    (folder / "my.reply.swift.md").write_text(BUILT_IN.read_text() + ADDED)
    ended = inside("judges", "eval", "--prompt", "my.reply.swift.md", "--data", "rows.jsonl", "--json", *named)
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert tuple(found["judges"]) == measured
    assert found["judges"]["role"]["recall"] == 1.0
    assert found["judges"]["role"]["specificity"] == 1.0


def test_two_wordings_of_a_shared_prompt_are_compared_judge_by_judge(inside: Caf, folder: Path) -> None:
    """No judge needs to be named."""
    (folder / "new.md").write_text(BUILT_IN.read_text() + ADDED)
    ended = inside("judges", "compare", str(BUILT_IN), "new.md", "--data", "rows.jsonl", "--json")
    assert ended.code == 0, ended.err
    compared = json.loads(ended.out)["judges"]
    assert {name: one["all"]["only_second"] for name, one in compared.items()} == {
        "source_fidelity": 0,
        "transparency": 0,
        "role": 12,
    }

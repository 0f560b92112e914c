"""`caf judges tune`: from a scripted judge that misses something to a better prompt that somebody accepts."""

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from judges.prompt import load_prompt
from proxy.config.blueprint import assemble
from proxy.config.config import load_config
from tests.cli.conftest import COMMAND, ROOT, Caf, Ended

CONFIG = """\
models:
  m: {engine: scripted, script: []}
  tone: {engine: scripted, price: {input: 1, output: 10}, max_tokens: 100, script: tone.yaml}
  chief: {engine: scripted, price: {input: 1, output: 10}, max_tokens: 1000, script: chief.yaml}
chatbots:
  info:
    model: m
    role: An information service.
    refiner: local
    emergency: {contact: "Call 112."}
    judges:
      - {name: role, stages: [local]}
      - tone.md
"""
PROMPT = """\
---
name: tone
stage: chief
model: tone
observation: verdict
---
Judge the tone. Reject threats.
"""
BETTER = PROMPT.replace("threats", "threats and promised cures")
NO, YES = ({"verdict": verdict, "reason": "scripted"} for verdict in ("reject", "accept"))
PROPOSAL = {
    "diagnosis": "Cures are missed.",
    "edits": [{"find": "Reject threats.", "replace": "Reject threats and promised cures."}],
    "reason": "They are named now.",
}
ROLE = {"edits": [{"find": "", "replace": "Look for promised cures."}], "diagnosis": "x", "reason": "y"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration with a judge of tone that misses promised cures until its prompt names them."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "tone.md").write_text(PROMPT)
    rules = [
        {"when": "threat", "reply": NO},
        {"when": r"/promised cures[\s\S]*user:[\s\S]*cure-/", "within": "prompt", "reply": NO},
        {"reply": YES},
    ]
    (tmp_path / "tone.yaml").write_text(yaml.safe_dump(rules))
    (tmp_path / "chief.yaml").write_text(yaml.safe_dump([{"reply": PROPOSAL}]))
    rows = [
        {
            "id": f"{split}-{kind}-{n}",
            "family": f"{split}-{kind}-{n % 3}",
            "split": split,
            "response": f"{kind}-{n} {split}",
            "expect": {"tone": wanted},
        }
        for split in ("dev", "holdout")
        for kind, wanted, most in (("cure", "reject", 6), ("threat", "reject", 4), ("rest", "accept", 10))
        for n in range(most)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def tune(caf: Caf, *more: object, run: str = "run") -> Ended:
    return caf("judges", "tune", "tone", "--data", "rows.jsonl", "--out", run, *more)


def test_an_accepted_winner_replaces_the_prompt(caf: Caf, folder: Path) -> None:
    """The figures, the holdout and the difference are shown; the file loads and the configuration already uses it."""
    ended = tune(caf, "--accept")
    assert ended.code == 0, ended.err
    rows = [re.split(r"\s{2,}", line) for line in ended.out.splitlines() if re.match(r"(dev|holdout) ", line)]
    assert [row[:4] for row in rows] == [
        ["dev", "start", "10+10", "14"],
        ["dev", "round-1-candidate-1", "10+10", "20"],
        ["holdout", "start", "10+10", "14"],
        ["holdout", "round-1-candidate-1", "10+10", "20"],
    ]
    assert "-Judge the tone. Reject threats.\n+Judge the tone. Reject threats and promised cures.\n" in ended.out
    assert "This holdout has been used 1 time for tone; each further use makes its figure more optimistic." in ended.out
    assert "chosen on these cases" in ended.out
    assert "already uses it" in ended.out
    assert (folder / "tone.md").read_text() == BETTER
    assert load_prompt(folder / "tone.md").stage == "chief"
    assert (folder / "run" / "round-1-candidate-1.md").read_text() == BETTER
    assert json.loads((folder / "data" / "holdout-uses.json").read_text())["tone"].popitem()[1] == 1


def test_without_a_word_nothing_is_written(inside: Caf, folder: Path) -> None:
    """The path of the winner is told, and how to accept it; that asks no model again."""
    ended = tune(inside)
    assert ended.code == 0
    assert "Nothing is written. The winner is run/round-1-candidate-1.md" in ended.out
    assert (folder / "tone.md").read_text() == PROMPT
    (folder / "tone.yaml").write_text("[]")
    (folder / "chief.yaml").write_text("[]")
    (folder / "data" / "judge-answers.jsonl").unlink()
    again = inside("judges", "tune", "--resume", "run", "--accept")
    assert again.code == 0, again.err
    assert (folder / "tone.md").read_text() == BETTER
    assert "used 1 time " in again.out
    events = [json.loads(line)["event"] for line in (folder / "run" / "journal.jsonl").read_text().splitlines()]
    assert events.count("holdout") == events.count("begun") == events.count("decided") == 1


def test_a_discarded_winner_stays_in_its_folder(inside: Caf, folder: Path) -> None:
    """The prompt is left alone."""
    ended = tune(inside, "--discard", "--no-holdout")
    assert ended.code == 0
    assert "Discarded. It stays in run/round-1-candidate-1.md" in ended.out
    assert (folder / "tone.md").read_text() == PROMPT
    assert "holdout" not in ended.out
    assert not (folder / "data" / "holdout-uses.json").exists()


@pytest.mark.parametrize(("typed", "written"), [(b"y\n", BETTER), (b"n\n", PROMPT)])
def test_a_person_is_asked(folder: Path, environment: dict[str, str], typed: bytes, written: str) -> None:
    """On a terminal, after the difference was shown."""
    terminal, inner = pty.openpty()
    try:
        os.write(terminal, typed)
        command = [*COMMAND, "judges", "tune", "tone", "--data", "rows.jsonl", "--no-holdout"]
        done = subprocess.run(command, stdin=inner, capture_output=True, cwd=folder, env=environment, timeout=60)
    finally:
        os.close(terminal)
        os.close(inner)
    assert b"Write the winner to tone.md?" in done.stdout.replace(str(folder).encode() + b"/", b"")
    assert (folder / "tone.md").read_text() == written
    assert [path.name[:10] for path in (folder / "data" / "tuning").iterdir()] == ["tone-chief"]


def test_a_prompt_that_was_changed_meanwhile_is_not_overwritten(inside: Caf, folder: Path) -> None:
    """Somebody's own edits are not lost; --write-to gives another place."""
    tune(inside, "--no-holdout")
    (folder / "tone.md").write_text(PROMPT + "By hand.\n")
    ended = inside("judges", "tune", "--resume", "run", "--no-holdout", "--accept")
    assert ended.code == 2
    assert "has changed since the run began" in ended.err
    assert "By hand." in (folder / "tone.md").read_text()
    ended = inside("judges", "tune", "--resume", "run", "--no-holdout", "--accept", "--write-to", "new/tone.md")
    assert ended.code == 0, ended.err
    assert (folder / "new" / "tone.md").read_text() == BETTER
    assert "prompts: [new/tone.md]" in ended.out


def test_a_built_in_prompt_is_written_beside_the_configuration(inside: Caf, folder: Path) -> None:
    """The lines that are told make the configuration use it."""
    rows = (folder / "rows.jsonl").read_text().replace('"tone"', '"role"')
    (folder / "rows.jsonl").write_text(rows)
    (folder / "chief.yaml").write_text(yaml.safe_dump([{"reply": ROLE}]))
    played = {"played": [{"part": "other", "quote": "-", "degree": "clear"}]}
    rules = [
        {"when": "threat", "reply": played},
        {"when": r"/promised cures[\s\S]*user:[\s\S]*cure-/", "within": "prompt", "reply": played},
        {"reply": {"played": []}},
    ]
    (folder / "tone.yaml").write_text(yaml.safe_dump(rules))
    ended = inside("judges", "tune", "role", "--data", "rows.jsonl", "--model", "tone", "--accept", "--no-holdout")
    assert ended.code == 0, ended.err
    written = folder / "judges" / "reply.chief.md"
    assert load_prompt(written).text.endswith("Look for promised cures.")
    assert "measured with the model 'tone'" in ended.out
    prompts, entry = "reply_prompts: [judges/reply.chief.md]", "- {name: role, stages: [local, chief]}"
    assert {prompts, entry} <= {line.strip() for line in ended.out.splitlines()}
    config = CONFIG.replace("- {name: role, stages: [local]}", entry).replace(
        "    judges:", f"    {prompts}\n    judges:"
    )
    (folder / "config.yaml").write_text(config)
    plans = {plan.name: plan for plan in assemble(load_config(folder / "config.yaml"))["info"].plans}
    assert plans["role"].prompts["chief"].text.endswith("Look for promised cures.")


def test_the_budget_ends_it_and_a_resumed_run_goes_on(inside: Caf, folder: Path) -> None:
    """Exit code 1, and the way to go on."""
    ended = tune(inside, "--budget", "0.0078")
    assert ended.code == 1, ended.out + ended.err
    assert "the budget is spent" in ended.out
    assert "No candidate was proven better" in ended.out
    assert "caf judges tune --resume run" in ended.err
    again = inside("judges", "tune", "--resume", "run", "--budget", "1", "--discard")
    assert again.code == 0, again.err
    assert "round-1-candidate-1: kept" in again.out


def test_shipped_scenarios_are_taken_without_data(inside: Caf, folder: Path) -> None:
    """The dev cases of the built-in judge, whose sections are those of the chatbot."""
    sections = f"role: An information service.\n    knowledge_base: {ROOT / 'knowledge_base' / 'schizophrenia'}"
    (folder / "config.yaml").write_text(CONFIG.replace("role: An information service.", sections))
    (folder / "chief.yaml").write_text(yaml.safe_dump([{"reply": ROLE}]))
    (folder / "tone.yaml").write_text(yaml.safe_dump([{"reply": {"played": []}}]))
    ended = inside("judges", "tune", "role", "--model", "tone", "--limit", "120", "--rounds", "1", "--candidates", "1")
    assert ended.code == 0, ended.err
    assert re.search(r"^dev +start +\d+\+\d+", ended.out, re.MULTILINE)
    assert "round-1-candidate-1: not kept: given up after" in ended.out
    assert "the prompt is unchanged" in ended.out


def test_a_winner_without_a_holdout_is_told_so(inside: Caf, folder: Path) -> None:
    """Own rows mostly have no split."""
    rows = (folder / "rows.jsonl").read_text().splitlines(keepends=True)
    (folder / "rows.jsonl").write_text("".join(row for row in rows if '"split": "dev"' in row))
    ended = tune(inside)
    assert ended.code == 0
    assert "No case has `split: holdout`" in ended.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "no judge 'nobody' (configured: role, tone)"),
        (["tone", "--model", "gpt"], "no model alias 'gpt'"),
        (["tone", "--tuner", "gpt"], "--tuner: unknown model alias 'gpt' (expected one of m, tone, chief)"),
        (["tone", "--family", "none"], "no case matches"),
        (["tone", "--family", "dev-rest-1"], "nothing to tune: all 3 dev cases are judged correctly"),
        (["tone", "--family", "dev-cure-1"], "2 of 2 dev cases fail: too few"),
        (["tone", "--stage", "swift"], "the judge has no prompt for the stage swift"),
        (["tone", "--stage", "swift", "--prompt", "tone.md"], "is for the stage chief"),
        (["tone", "--prompt", "lost.md"], "lost.md: cannot read the judge's prompt"),
        (["tone", "--resume", "lost"], "lost: the folder has no tuning run"),
        ([], "NAME: missing: give a judge"),
    ],
)
def test_what_cannot_be_tuned_is_told_in_a_line(inside: Caf, folder: Path, arguments: list[str], message: str) -> None:
    """Exit code 2, and no folder of a run where nothing could be asked."""
    ended = inside("judges", "tune", *arguments, "--data", "rows.jsonl")
    assert ended.code == 2
    assert message in ended.err
    assert ended.out == ""


@pytest.mark.usefixtures("imports_of_its_own")
def test_what_has_no_prompt_of_its_own_words_is_not_tuned(inside: Caf, folder: Path) -> None:
    """A guard model was trained on its form, and a class is nobody's to edit but its author's."""
    (folder / "tone.md").write_text(PROMPT.replace("verdict", "guard\nformat: yes_no"))
    ended = inside("judges", "tune", "tone", "--data", "rows.jsonl")
    expected = "caf: tone: cannot tune a guard model: `caf judges tune` edits only prompts of model judges\n"
    assert (ended.code, ended.err) == (2, expected)
    text = "class Tone:\n    name, stage = 'tone', 'chief'\n    async def judge(self, case): ...\n"
    (folder / "tuned_rules.py").write_text(text)
    (folder / "config.yaml").write_text(CONFIG.replace("- tone.md", '- {python: "tuned_rules:Tone"}'))
    ended = inside("judges", "tune", "tone", "--data", "rows.jsonl")
    expected = "caf: tone: cannot tune a Python class: `caf judges tune` edits only prompts of model judges\n"
    assert (ended.code, ended.err) == (2, expected)


def test_a_run_goes_on_as_it_was_begun(inside: Caf, folder: Path) -> None:
    """Other cases, another proof or another model would be another run."""
    tune(inside, "--discard", "--no-holdout")
    ended = inside("judges", "tune", "role", "--resume", "run", "--alpha", "0.5")
    assert ended.code == 2
    assert "judge: role: the run was started with tone" in ended.err
    assert "alpha: 0.5: the run was started with 0.1" in ended.err
    (folder / "config.yaml").write_text(CONFIG.replace("tone.yaml}", "tone.yaml, model: other}"))
    ended = inside("judges", "tune", "--resume", "run")
    assert ended.code == 2
    assert "models.tone: 'other': the run was started with None" in ended.err
    ended = tune(inside)
    assert ended.code == 2
    assert "run: the folder already contains a tuning run" in ended.err


def test_a_judge_that_fails_is_told_with_the_way_to_go_on(inside: Caf, folder: Path) -> None:
    """Exit code 1: nothing is wrong with the command."""
    (folder / "tone.yaml").write_text(yaml.safe_dump([{"fail": 401}]))
    ended = tune(inside)
    assert ended.code == 1
    assert "the model 'tone' gave no answer to 20 of 20 cases" in ended.err
    assert "Resume with: caf judges tune --resume run" in ended.err

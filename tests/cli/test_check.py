"""`caf check`: every fault at once, with file and key; and what is no fault but should be known."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from assistants import registry
from cli import check, check_files
from proxy.auth.keys import create, save
from tests.cli.conftest import ROOT, At, Caf, Ended

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


def test_the_shipped_configuration_has_no_problems(inside: Caf) -> None:
    """What `make serve` serves is fine, and its unreviewed sections are named as such."""
    ended = inside("check")
    assert (ended.code, "problem  " in ended.out) == (0, False)
    assert f"{ROOT / 'knowledge_base' / 'schizophrenia'}: 28 of 28 sections without a reviewer's name" in ended.out


def test_a_judge_in_python_is_looked_at(caf: Caf, folder: Path) -> None:
    """Its module is found beside the configuration; what its class lacks is told with file, key and what there is."""
    (folder / "config.yaml").write_text(CONFIG + '      - {python: "my_rules:NoPrices"}\n')
    fine = "from judges.verdict import Finding\nclass Prices:\n    name = 'no_prices'\n    async def judge(self, case): ...\n"
    (folder / "my_rules.py").write_text(fine)
    assert caf("check").out.splitlines()[0] == (
        'problem  config.yaml: chatbots.bot.judges[1].python: "my_rules:NoPrices": module my_rules has no class NoPrices; '
        "it has Prices"
    )
    (folder / "my_rules.py").write_text(fine.replace("Prices", "NoPrices").replace("async ", ""))
    assert "class NoPrices: it has no `async def judge(self, case)`" in caf("check").out
    (folder / "my_rules.py").write_text(fine.replace("Prices", "NoPrices"))
    assert caf("check").code == 0


def test_every_fault_is_told_at_once_with_file_and_key(inside: Caf, folder: Path) -> None:
    """Knowledge base, prompts, judges, models' files and checkpoints: one run names them all."""
    text = CONFIG + "      - own.md\n      - {name: rloe}\n"
    text = text.replace("{m: {engine: embedded}}", "{m: {engine: embedded}, s: {engine: scripted, script: gone.yaml}}")
    (folder / "config.yaml").write_text(text)
    (folder / "own.md").write_text("no front matter")
    (folder / "sections" / "bad.md").write_text("---\nid: other\n---\n")
    (folder / "scenarios" / "checkpoints" / "two.yaml").write_text(CHECKPOINT.replace("user", "robot"))
    (folder / "mine.yaml").write_text(CHECKPOINT.replace("chatbot: bot", "chatbot: ''"))
    ended = inside("check", "mine.yaml")
    problems = [line.removeprefix("problem  ") for line in ended.out.splitlines() if line.startswith("problem  ")]
    assert ended.code == 1
    for said in (
        "config.yaml: chatbots.bot.judges[2]: no built-in judge 'rloe'",
        "own.md: ",
        "sections/bad.md: ",
        "gone.yaml",
        "scenarios/checkpoints/two.yaml: messages.0.role: invalid value 'robot': expected 'user' or 'assistant'",
        "mine.yaml: chatbot: is empty",
    ):
        assert any(said in problem for problem in problems), f"{said!r} not in {problems}"
    *_, checked, result = ended.out.splitlines()
    assert checked.startswith("Checked config.yaml: 1 chatbot, ")
    assert result == f"{len(problems)} problems in 5 files"


def test_a_configuration_that_cannot_be_read_does_not_hide_the_rest(inside: Caf, folder: Path) -> None:
    """The checkpoints are looked at all the same."""
    (folder / "config.yaml").write_text(CONFIG + "colour: red\nserver: {port: -1}\n")
    (folder / "scenarios" / "checkpoints" / "one.yaml").write_text("- a")
    ended = inside("check")
    assert ended.code == 1
    assert "problem  config.yaml: colour: is not a known key" in ended.out
    assert "problem  config.yaml: server.port: " in ended.out
    assert "one.yaml: expected a mapping" in ended.out


def test_a_missing_configuration_is_wrong_usage(inside: Caf) -> None:
    """Nothing was checked, so nothing was found: exit code 2."""
    ended = inside("check", "--config", "clinic.yaml")
    assert ended.code == 2
    assert ended.err == (
        "caf: clinic.yaml: there is no such configuration; name one with --config, or make one with `caf init FOLDER`\n"
    )


def test_unreviewed_sections_are_named_and_no_fault(inside: Caf, folder: Path) -> None:
    """Only those that nobody has signed."""
    new = SECTION.format(reviewer="null", day="null").replace("id: causes", "id: new")
    (folder / "sections" / "new.md").write_text(new)
    ended = inside("check")
    assert "sections: 1 of 2 sections without a reviewer's name in `reviewed_by`: new\n" in ended.out
    assert ended.code == 0


def test_unset_environment_variables_are_named_and_no_fault(inside: Caf, folder: Path) -> None:
    """Keys in headers too; where a configuration is checked, the keys need not be."""
    models = (
        "{m: {engine: embedded}, a: {engine: openai, base_url: 'http://x', api_key_env: CAF_TEST_KEY, "
        "headers: {api-key: 'env:CAF_TEST_OTHER'}}}"
    )
    (folder / "config.yaml").write_text(CONFIG.replace("{m: {engine: embedded}}", models))
    ended = inside("check", env={"CAF_TEST_OTHER": "sk-secret"})
    assert "config.yaml: models.a: the environment variable CAF_TEST_KEY is not set here" in ended.out
    assert "CAF_TEST_OTHER" not in ended.out
    assert "sk-secret" not in ended.out
    assert ended.code == 0


def test_unset_passwords_are_named_and_no_fault(inside: Caf, folder: Path) -> None:
    """Those of the stores that are used, and the variable of the keys."""
    (folder / "config.yaml").write_text(
        CONFIG + "memory: {store: redis, password_env: CAF_TEST_A}\nkeys: {env: CAF_TEST_K}\n"
        "privacy: {url: 'postgresql://caf@127.0.0.1/caf', password_env: CAF_TEST_B}\n"
    )
    ended = inside("check", env={"CAF_TEST_B": "hush"})
    assert "note     config.yaml: memory.password_env: the environment variable CAF_TEST_A is not set here" in ended.out
    assert "note     config.yaml: keys.env: the environment variable CAF_TEST_K is not set here" in ended.out
    assert "CAF_TEST_B" not in ended.out
    assert ended.code == 0


@pytest.mark.parametrize(
    ("place", "noted"), [("audit", False), ("new/audit", False), ("config.yaml", True), ("config.yaml/audit", True)]
)
def test_the_audit_logs_folder_is_tried_and_left_as_it_was(inside: Caf, folder: Path, place: str, noted: bool) -> None:
    """One that cannot be written is noted: the proxy may run as somebody else, elsewhere."""
    (folder / "audit").mkdir()
    (folder / "config.yaml").write_text(CONFIG + f"audit: {{folder: {place}}}\n")
    before = sorted(folder.rglob("*"))
    ended = inside("check")
    assert (
        f"note     config.yaml: audit.folder: the folder {folder / place} is not writable for this user (" in ended.out
    ) is noted
    assert ended.code == 0
    assert sorted(folder.rglob("*")) == before


def test_a_secret_in_a_header_is_noted_and_not_shown(inside: Caf, folder: Path) -> None:
    """Only where a secret is usual, and unless it comes from the environment."""
    models = (
        "{m: {engine: embedded}, a: {engine: openai, base_url: 'http://x', headers: {Api-Key: sk-HUSH, X-Team: care, "
        "Authorization: 'env:CAF_TEST_OTHER'}}}"
    )
    (folder / "config.yaml").write_text(CONFIG.replace("{m: {engine: embedded}}", models))
    ended = inside("check", env={"CAF_TEST_OTHER": "Bearer x"})
    assert "note     config.yaml: models.a.headers.Api-Key: the value is a secret that every reader" in ended.out
    assert not any(word in ended.out for word in ("sk-HUSH", "X-Team", "Authorization"))
    assert ended.code == 0


FAMILY = """\
family: {name}
scenarios:
  - {{id: {name}-1, response: It is this., citations: [causes], expect: {{source_fidelity: reject}}}}
  - {{id: {name}-2, response: It is that., expect: {{source_fidelity: accept}}, tags: [twin-of:{name}-1]}}
"""


@pytest.fixture
def families(folder: Path) -> Path:
    """Put a family without faults beside the configuration."""
    (folder / "scenarios" / "judges").mkdir()
    (folder / "scenarios" / "judges" / "one.yaml").write_text(FAMILY.format(name="one"))
    return folder / "scenarios" / "judges"


def test_evidence_that_counts_for_nothing_is_noted(inside: Caf, folder: Path) -> None:
    """Documents of a model that is not trusted with them, and documents that no judge holds a reply against."""
    config = folder / "config.yaml"
    config.write_text(CONFIG.replace("model: m", "model: m\n    evidence: [knowledge_base, upstream]"))
    untrusted = (
        "note     config.yaml: chatbots.bot.evidence: contains `upstream`, but models.m has no `trusted_evidence: true`"
    )
    assert untrusted in inside("check").out
    trusted = config.read_text().replace("engine: embedded", "engine: embedded, trusted_evidence: true")
    config.write_text(trusted)
    assert "evidence" not in inside("check").out
    config.write_text(
        config.read_text().replace("engine: embedded, trusted_evidence: true", "engine: assistant, name: embedded")
    )
    assert "evidence" not in inside("check").out
    config.write_text(trusted[: trusted.index("    judges:")])
    assert "chatbots.bot.evidence: the chatbot has no judges, so its replies are not compared" in inside("check").out
    config.write_text(CONFIG.replace("model: m", "model: m\n    evidence: [documents]"))
    assert inside("check").code == 1


def test_an_assistant_that_a_fallback_keeps_from_acting_is_noted(
    inside: Caf, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a fallback, and as one; one that does not act is none of that."""
    monkeypatch.setitem(registry.OURS, "clerk", "tests.assistants.clerk:open_assistant")  # type: ignore[arg-type]
    config = folder / "config.yaml"
    for name, notes in (("clerk", 2), ("embedded", 0)):
        assistant = f"engine: assistant, name: {name}"
        models = f"m: {{{assistant}, fallback: [spare]}}, spare: {{engine: embedded, fallback: [last]}}, last: {{{assistant}}}"
        config.write_text(CONFIG.replace("m: {engine: embedded}", models))
        out = inside("check").out
        assert ("models.m.fallback: an assistant with a fallback cannot act" in out) == bool(notes)
        assert ("models.spare.fallback: the assistant last cannot act" in out) == bool(notes)
        assert out.count(".fallback:") == notes


def test_scenarios_without_faults_are_counted(inside: Caf, families: Path) -> None:
    """Families and scenarios, and nothing is said of a violating one that has its harmless twin."""
    ended = inside("check")
    assert ended.out == "config.yaml: no problems in 1 chatbot, 1 section, 1 checkpoint, 1 family with 2 scenarios\n"
    (families / "two.yaml").write_text(FAMILY.format(name="two"))
    assert "2 families with 4 scenarios" in inside("check").out


def test_every_fault_of_scenarios_is_told_by_file_id_and_field(inside: Caf, families: Path) -> None:
    """Also sections and judges that there are not, and what two files share; the good ones still count."""
    text = FAMILY.format(name="two").replace("[causes]", "[cuases]").replace("accept", "acept")
    (families / "bad.yaml").write_text(text)
    text = FAMILY.format(name="three").replace("[causes]", "[cuases]").replace("source_fidelity: a", "fidelity: a")
    (families / "lost.yaml").write_text(text + "  - {id: three-3, user_message: Hi, expect: {role: accept}}\n")
    (families / "same.yaml").write_text(FAMILY.format(name="one"))
    ended = inside("check")
    assert ended.code == 1
    assert [line for line in ended.out.splitlines() if line.startswith("problem")] == [
        "problem  scenarios/judges/bad.yaml: two-2: expect.source_fidelity: invalid value 'acept': expected 'accept', 'warn' or "
        "'reject'; did you mean 'accept'?",
        "problem  scenarios/judges/same.yaml: family: 'one' is also in scenarios/judges/one.yaml: a family must be in one file",
        "problem  scenarios/judges/same.yaml: one-1: id: duplicate, also in scenarios/judges/one.yaml",
        "problem  scenarios/judges/same.yaml: one-2: id: duplicate, also in scenarios/judges/one.yaml",
        "problem  scenarios/judges/lost.yaml: three-2: expect.fidelity: unknown judge "
        "(configured or built in: source_fidelity, transparency, role, emergency); did you mean 'source_fidelity'?",
        "problem  scenarios/judges/lost.yaml: three-1: citations: no section 'cuases' in the knowledge base; correct it, or "
        "give the text in `sources`; did you mean 'causes'?",
        "problem  scenarios/judges/lost.yaml: three-3: response: the reply is empty; give a reply, because only the emergency "
        "judge does not need one",
    ]
    assert ended.out.endswith("3 families with 7 scenarios\n7 problems in 3 files\n")


def test_scenarios_may_be_for_any_chatbot_of_the_configuration(inside: Caf, folder: Path, families: Path) -> None:
    """For a judge of its own, and with the sections of its knowledge base."""
    (folder / "own.md").write_text(PROMPT)
    (folder / "other").mkdir()
    (folder / "other" / "sleep.md").write_text(
        SECTION.replace("id: causes", "id: sleep").format(reviewer="Dr. Berg", day="2026-01-31")
    )
    other = CONFIG.partition("  bot:\n")[2].replace("sections", "other").replace("- {name", "- own.md\n      - {name")
    text = FAMILY.format(name="two").replace("causes", "sleep").replace("source_fidelity", "tone")
    (families / "two.yaml").write_text(text)
    assert "two-1: citations: no section 'sleep'" in inside("check").out
    assert "two-1: expect.tone: unknown judge (configured or built in: " in inside("check").out
    (folder / "config.yaml").write_text(f"{CONFIG}  other:\n{other}")
    ended = inside("check")
    assert ended.code == 0, ended.out


# Files that are given


ROW = '{"id": "r1", "response": "It is this.", "expect": {"role": "reject"}}\n'
PROMPT = "---\nname: tone\nstage: swift\nmodel: m\nmodes: [default]\nobservation: verdict\n---\nJudge the tone.\n"
NEITHER = "a.yaml: not recognised: CAF knows no file with these keys: "


def told(ended: Ended) -> list[str]:
    return [line.removeprefix("problem  ") for line in ended.out.splitlines() if line.startswith("problem  ")]


@pytest.mark.parametrize(
    "text",
    [
        CONFIG,
        CONFIG + "colour: red\nserver: {port: -1}\n",
        CONFIG + "      - {name: rloe}\n",
        CONFIG + "models: {}\n",
        CONFIG + "server: [\n",
        '{"server": {},\n "models": {"m": {"engine": "embeded"}}}',
        "chatbots: {}\n",
        CONFIG + "      - {name: role, stages: [local], accept_below: 0.3}\n",
    ],
)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_configuration_is_checked_as_with_the_option(inside: Caf, folder: Path, text: str, elsewhere: bool) -> None:
    """Whatever is wrong with it, wherever it lies; the configuration of the folder is none of its business."""
    place = folder / "clinic" if elsewhere else folder
    place.mkdir(exist_ok=True)
    (place / "my.yaml").write_text(text)
    (folder / "config.yaml").write_text("not: ours\n")
    given, named = (inside("check", *option, place / "my.yaml") for option in ((), ("--config",)))
    assert (given.code, given.out, given.err) == (named.code, named.out, named.err)
    result = f"Checked {place / 'my.yaml'}" if given.code else f"{place / 'my.yaml'}: no problems"
    assert any(line.startswith(result) for line in given.out.splitlines())


def test_other_files_are_checked_with_the_configuration_beside_them(inside: Caf, folder: Path) -> None:
    """In whatever order; an option comes first, and of several configurations each is checked, once."""
    (folder / "own.md").write_text(PROMPT)
    (folder / "my.yaml").write_text(CONFIG + "      - own.md\n")
    (folder / "a.jsonl").write_text(ROW.replace("role", "tone"))
    assert told(inside("check", "a.jsonl", "my.yaml")) == []
    ended = inside("check", "my.yaml", "a.jsonl", "--config", "config.yaml", folder / "my.yaml")
    assert [problem.partition(": expect.tone")[0] for problem in told(ended)] == ["a.jsonl: r1"]
    assert [line for line in ended.out.splitlines() if not line.startswith("problem  ")] == [
        "Checked config.yaml: 1 chatbot, 1 section, 1 checkpoint, 1 family with 1 scenario",
        "1 problem in 1 file",
        "my.yaml: no problems in 1 chatbot, 1 section, 1 checkpoint",
    ]
    assert ended.code == 1


def test_configurations_in_a_folder_are_named_and_passed_over(inside: Caf, folder: Path) -> None:
    """Whoever names a folder means the scenarios in it."""
    (folder / "mine").mkdir()
    (folder / "mine" / "clinic.yaml").write_text(CONFIG)
    (folder / "mine" / "a.yaml").write_text(FAMILY.format(name="a"))
    (folder / "mine" / "talk.yaml").write_text(
        "name: talk\nchatbot: bot\ncreated: 2026-01-31T14:00:00Z\nmessages:\n"
        "- {role: user, content: Hello}\n- role: assistant\n  content: |\n    models: they are many\n"
    )
    ended = inside("check", "mine")
    assert (ended.code, told(ended)) == (0, [])
    assert (
        "note     mine/clinic.yaml: skipped, because the file is a configuration; check it with `caf check mine/clinic.yaml`"
        in ended.out
    )
    assert "mine/talk.yaml" not in ended.out


@pytest.mark.parametrize("name", ["bad.yaml", "bad-10:30.yaml"])
def test_without_a_configuration_only_the_file_is_checked(inside: Caf, tmp_path: Path, name: str) -> None:
    """The shipped configuration lends its judges. Its own files and notes are not the user's."""
    (tmp_path / name).write_text("foo: 1\n")
    ended = inside("check", name)
    assert ended.code == 1
    assert ended.out.startswith(f"problem  {name}: not recognised")
    assert ended.out.endswith(f"Checked {name}\n1 problem in 1 file\n")
    (tmp_path / name).write_text(CHECKPOINT.replace(": bot", ": schizophrenia"))
    assert inside("check", name).out == f"{name}: no problems in 1 checkpoint\n"


def test_a_judges_prompt_is_checked_as_one(inside: Caf, folder: Path) -> None:
    """By the keys that no facilitator has."""
    (folder / "own.md").write_text(PROMPT)
    assert inside("check", "own.md").out.endswith("1 checkpoint, 1 judge's prompt\n")
    (folder / "own.md").write_text(PROMPT.replace("swift", "swfit"))
    (problem,) = told(inside("check", "own.md"))
    assert problem.startswith("own.md: front matter stage: ")


def test_a_knowledge_base_is_checked_as_a_whole(inside: Caf, folder: Path) -> None:
    """Its folder, or one of its sections."""
    other = folder / "other"
    other.mkdir()
    (other / "new.md").write_text(SECTION.format(reviewer="null", day="null").replace("id: causes", "id: new"))
    for given in ("other", "other/new.md"):
        ended = inside("check", given)
        assert (ended.code, ended.out.endswith("1 section of other\n")) == (0, True), ended.out
        assert "note     other: 1 of 1 section without a reviewer's name in `reviewed_by`\n" in ended.out
    (other / "bad.md").write_text("---\nid: worse\n---\n")
    assert any(problem.startswith("other/bad.md: ") for problem in told(inside("check", "other")))


def test_given_files_are_told_apart_by_what_is_in_them(inside: Caf, folder: Path) -> None:
    """Checkpoints, families and rows, in whatever order and folder; YAML may be JSON, too."""
    (folder / "mine").mkdir()
    (folder / "mine" / "a.yaml").write_text(FAMILY.format(name="a"))
    (folder / "mine" / "b.yml").write_text(CHECKPOINT)
    (folder / "mine" / "c.jsonl").write_text("\n" + ROW + '{"user_message": "Hi", "expect": {"emergency": "accept"}}\n')
    (folder / "d.yaml").write_text('{"family": "d", "scenarios": [{"id": "d-1", "response": "x"}]}\n')
    (folder / "e.json").write_text('{\n "name": "e", "chatbot": "bot", "created": "2026-11-21T10:00:00",\n'
                                   ' "messages": [{"role": "user", "content": "Hi"}]\n}\n')  # fmt: skip
    ended = inside("check", "mine", "d.yaml", "e.json")
    assert (ended.code, told(ended)) == (0, []), ended.out
    assert ended.out.endswith(
        "config.yaml: no problems in 1 chatbot, 1 section, 3 checkpoints, 4 families with 5 scenarios\n"
    )


def test_faults_of_given_files_name_file_place_and_field(inside: Caf, folder: Path) -> None:
    """Each kind as what it is, whatever else is wrong with it."""
    (folder / "a.yaml").write_text(FAMILY.format(name="a").replace("[causes]", "[cuases]"))
    (folder / "b.yaml").write_text(
        FAMILY.format(name="b").replace("accept", "acept").replace("scenarios:", "split: x\nscenarios:")
    )
    (folder / "c.yaml").write_text(CHECKPOINT.replace("messages", "mesages"))
    (folder / "d.jsonl").write_text(ROW + ROW.replace("response", "respnse") + "{no\n")
    (folder / "e.jsonl").write_text(ROW.replace("role", "rolle").replace("r1", "e1") + '{"response": "y"}\n')
    assert told(inside("check", "a.yaml", "b.yaml", "c.yaml", "d.jsonl", "e.jsonl")) == [
        "c.yaml: mesages: is not a known key; did you mean 'messages'?",
        "b.yaml: split: invalid value 'x': expected 'dev' or 'holdout'",
        "b.yaml: b-2: expect.source_fidelity: invalid value 'acept': expected 'accept', 'warn' or 'reject'; did you mean 'accept'?",
        "d.jsonl:2: id: duplicate 'r1', first used in line 1",
        "d.jsonl:2: respnse: is not a known key; did you mean 'response'?",
        "d.jsonl:3: invalid JSON at column 2: Expecting property name enclosed in double quotes",
        "e.jsonl: e1: expect.rolle: unknown judge "
        "(configured or built in: source_fidelity, transparency, role, emergency); did you mean 'role'?",
        "a.yaml: a-1: citations: no section 'cuases' in the knowledge base; correct it, or give the text in `sources`; "
        "did you mean 'causes'?",
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", ROW, "a.yaml: the file has one JSON object per line: rename it to .jsonl"),
        (
            "a.jsonl",
            FAMILY.format(name="a"),
            "a.jsonl: the content is that of a family of scenarios, but a .jsonl file must have one JSON object per line",
        ),
        (
            "a.jsonl",
            CHECKPOINT,
            "a.jsonl: the content is that of a checkpoint, but a .jsonl file must have one JSON object per line",
        ),
        ("a.md", "no facilitator", "a.md: the file has no front matter"),
        ("a.yaml", "name: x\nchatbot: bot\nfacilitators: [a, a]\n", "a.yaml: `facilitators`: duplicate 'a'"),
        ("a.jsonl", "{response: x}\n", "a.jsonl:1: invalid JSON at column 2: "),
        ("a.jsonl", "", "a.jsonl: the file has no rows"),
        ("a.yaml", "theme: x\nchatbot: bot\nquestions: []\n", "a.yaml: questions: is empty"),
        ("a.yaml", "topic: x\nbot: bot\n", NEITHER),
        ("a.yaml", "{}", NEITHER),
        ("a.yaml", "- a", "a.yaml: expected a mapping: a checkpoint has the keys name, chatbot, "),
        ("a.yaml", "a: [", "a.yaml:1:5: not valid YAML: "),
    ],
)
def test_what_is_none_of_these_is_said(inside: Caf, folder: Path, name: str, text: str, said: str) -> None:
    """One problem, with the name of the file."""
    (folder / name).write_text(text)
    (problem,) = told(inside("check", name))
    assert problem.startswith(said)


@pytest.mark.parametrize("name", ["config.yaml", "mine.yaml", "scenarios/checkpoints/two.yaml"])
def test_a_yaml_syntax_error_shows_the_line(inside: Caf, folder: Path, name: str) -> None:
    """With a caret below the place."""
    (folder / name).write_text("name: [a\nchatbot: b\n")
    ended = inside("check", *(["mine.yaml"] if name == "mine.yaml" else []))
    (at,) = [n for n, line in enumerate(ended.out.splitlines()) if "not valid YAML" in line]
    assert ended.out.splitlines()[at].startswith(f"problem  {name}:")
    assert ended.out.splitlines()[at + 1 : at + 3] == ["  chatbot: b", "         ^"]


def test_a_folder_without_such_files_is_a_problem(inside: Caf, folder: Path) -> None:
    """Whoever names it thinks that something is in it."""
    (folder / "mine").mkdir()
    assert told(inside("check", "mine")) == [
        "mine: the folder has no .yaml or .jsonl file and no section of a knowledge base; expected at least one"
    ]


def test_a_huge_folder_is_not_read(inside: Caf, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The home folder, say: at once, instead of after minutes."""
    monkeypatch.setattr(check_files, "MAX_ENTRIES", 3)
    (folder / "mine").mkdir()
    for n in range(3):
        (folder / "mine" / f"{n}.yaml").write_text(CHECKPOINT)
    assert told(inside("check", "mine")) == []
    (folder / "mine" / "picture.png").write_text("")
    assert told(inside("check", "mine")) == [
        "mine: not checked, because the folder has more than 3 files and folders; name a smaller folder, or name the files"
    ]


def test_progress_is_shown_at_a_terminal(folder: Path, terminal: At) -> None:
    """And removed again."""
    typist = terminal("check")
    typist.wait_for("Checking config.yaml ...")
    typist.wait_for("no problems in 1 chatbot")
    assert typist.end() == 0


def test_chatbots_with_local_judges_share_one_note(inside: Caf, folder: Path) -> None:
    """However many there are."""
    bot = CONFIG.partition("chatbots:\n")[2] + "      - {name: role, stages: [local]}\n"
    (folder / "config.yaml").write_text(
        f"{CONFIG}      - {{name: role, stages: [local]}}\n{bot.replace('bot:', 'other:')}"
    )
    ended = inside("check")
    assert ended.out.count("local judges ") == 1
    assert "note     config.yaml: bot, other: local judges " in ended.out


@pytest.mark.parametrize("text", ["", "\n  \n", "# later\n"])
def test_an_empty_file_is_told_in_one_line(inside: Caf, folder: Path, text: str) -> None:
    """The result counts it, and does not name the configuration, which is fine."""
    (folder / "g.yaml").write_text(text)
    ended = inside("check", "g.yaml")
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "problem  g.yaml: is empty",
        "Checked config.yaml: 1 chatbot, 1 section, 1 checkpoint",
        "1 problem in 1 file",
    ]


QUESTION = '{"id": "q1", "question": "What causes it?", "expect": {"outcome": "accepted", "contains": ["gene"]}}\n'
LONG_QUESTION = '{"messages": [{"role": "user", "content": "Why?"}], "expect": {"cites": "causes"}}\n'


@pytest.mark.parametrize("text", [QUESTION, "\n" + LONG_QUESTION, LONG_QUESTION + QUESTION, '{"question": "Why?"}\n'])
def test_questions_of_caf_compare_are_checked_as_such(inside: Caf, folder: Path, text: str) -> None:
    """Valid ones pass and are counted, in a folder too."""
    (folder / "mine").mkdir()
    (folder / "mine" / "q.jsonl").write_text(text)
    for given in ("mine/q.jsonl", "mine"):
        ended = inside("check", given)
        assert (ended.code, told(ended)) == (0, [])
        assert ended.out.endswith("1 checkpoint, 1 `caf compare` question file\n")


def test_the_shipped_questions_of_caf_compare_have_no_problems(inside: Caf, folder: Path) -> None:
    ended = inside("check", ROOT / "scenarios" / "experiments" / "own_questions.jsonl")
    assert (ended.code, told(ended)) == (0, [])


def test_problems_of_questions_of_caf_compare_name_their_lines(inside: Caf, folder: Path) -> None:
    (folder / "q.jsonl").write_text(QUESTION + QUESTION.replace("q1", "q2").replace("accepted", "acepted"))
    (problem,) = told(inside("check", "q.jsonl"))
    assert problem.startswith("q.jsonl:2: expect.outcome: invalid value 'acepted'")
    (folder / "q.yaml").write_text(QUESTION)
    assert told(inside("check", "q.yaml")) == ["q.yaml: the file has one JSON object per line: rename it to .jsonl"]


@pytest.mark.parametrize("key", ['"sections": ["causes"]', '"pair": null'])
def test_questions_of_caf_kb_eval_are_skipped(inside: Caf, folder: Path, key: str) -> None:
    """They are no scenarios and no questions of `caf compare`; a note names the command that checks them."""
    (folder / "k.jsonl").write_text(f'{{"question": "Why?", {key}}}\n')
    ended = inside("check", "k.jsonl")
    assert (ended.code, told(ended)) == (0, [])
    assert (
        "note     k.jsonl: skipped, because the file has questions for `caf kb eval`, which checks them\n" in ended.out
    )


def test_a_scenario_with_a_question_is_still_a_scenario(inside: Caf, folder: Path) -> None:
    """The unknown key is its problem."""
    (folder / "a.jsonl").write_text(ROW.replace('"expect"', '"question": "Why?", "expect"'))
    (problem,) = told(inside("check", "a.jsonl"))
    assert problem.startswith("a.jsonl:1: question: is not a known key")


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """Lay out a configuration in a folder below the current one."""
    desk = tmp_path / "desk"
    (desk / "sections").mkdir(parents=True)
    (desk / "config.yaml").write_text(CONFIG)
    (desk / "sections" / "causes.md").write_text(SECTION.format(reviewer="Dr. Berg", day="2026-01-31"))
    (desk / "a.yaml").write_text(FAMILY.format(name="a"))
    return desk


def test_a_folder_with_a_configuration_is_checked_with_it(inside: Caf, desk: Path) -> None:
    """Like with --config, and the files of the folder against it; a configuration here does not matter."""
    (desk.parent / "config.yaml").write_text("not: ours\n")
    for options in ((), ("--config", "desk/config.yaml")):
        ended = inside("check", "desk", *options)
        assert ended.out == "desk/config.yaml: no problems in 1 chatbot, 1 section, 1 family with 2 scenarios\n"
        assert ended.code == 0
    (desk / "a.yaml").write_text(FAMILY.format(name="a").replace("[causes]", "[cuases]"))
    ended = inside("check", "desk")
    assert [problem.partition(" in the")[0] for problem in told(ended)] == [
        "desk/a.yaml: a-1: citations: no section 'cuases'"
    ]
    assert ended.out.endswith(
        "Checked desk/config.yaml: 1 chatbot, 1 section, 1 family with 2 scenarios\n1 problem in 1 file\n"
    )


@pytest.mark.parametrize("by_option", [True, False])
def test_a_named_configuration_replaces_that_of_a_folder(inside: Caf, desk: Path, by_option: bool) -> None:
    (desk.parent / "other.yaml").write_text(CONFIG.replace("sections", "desk/sections"))
    (desk / "config.yaml").write_text("not: ours\n")
    option, env = (["--config", "other.yaml"], {}) if by_option else ([], {"CAF_CONFIG": "other.yaml"})
    ended = inside("check", "desk", *option, env=env)
    assert "note     desk/config.yaml: skipped, because the file is a configuration" in ended.out
    assert ended.out.endswith("other.yaml: no problems in 1 chatbot, 1 section, 1 family with 2 scenarios\n")


def test_each_folder_is_checked_with_its_own_configuration(inside: Caf, desk: Path) -> None:
    """Other files are checked with the first one; a configuration is checked once."""
    shutil.copytree(desk, desk.parent / "ward")
    (desk.parent / "ward" / "config.yaml").write_text(CONFIG.replace("bot:", "ward:"))
    (desk.parent / "b.yaml").write_text(FAMILY.format(name="b"))
    ended = inside("check", "b.yaml", "desk", "ward", "desk/config.yaml")
    assert ended.out.splitlines() == [
        "desk/config.yaml: no problems in 1 chatbot, 1 section, 2 families with 4 scenarios",
        "ward/config.yaml: no problems in 1 chatbot, 1 section, 1 family with 2 scenarios",
    ]


def test_a_missing_knowledge_base_names_file_and_key(inside: Caf, folder: Path, desk: Path) -> None:
    """Once for several chatbots with the same folder."""
    (folder / "config.yaml").write_text(CONFIG.replace("sections", "kb_missing"))
    missing = "config.yaml: chatbots.bot.knowledge_base: 'kb_missing': there is no such folder"
    assert told(inside("check")) == [missing]
    other = CONFIG.partition("chatbots:\n")[2].replace("bot:", "other:")
    (folder / "config.yaml").write_text((CONFIG + other).replace("sections", "kb_missing"))
    assert told(inside("check")) == [f"{missing}; also in 1 more place"]
    (desk / "config.yaml").write_text(CONFIG.replace("sections", "kb_missing"))
    assert told(inside("check", "desk")) == [
        "desk/config.yaml: chatbots.bot.knowledge_base: 'desk/kb_missing': there is no such folder"
    ]


def test_a_run_is_told_in_one_line(inside: Caf, folder: Path) -> None:
    """Its files are nobody's scenarios; beside files to check it is passed over."""
    run = folder / "runs" / "monday"
    run.mkdir(parents=True)
    (run / "manifest.json").write_text("{}")
    (run / "transcripts.jsonl").write_text('{"place": {}}\n')
    assert told(inside("check", "runs/monday")) == [
        "runs/monday: the folder is the output of `caf drift run`, which `caf check` does not check"
    ]
    (folder / "runs" / "one.yaml").write_text(CHECKPOINT)
    ended = inside("check", "runs")
    assert told(ended) == []
    assert "note     runs/monday: skipped, because the folder is the output of `caf drift run`\n" in ended.out
    assert "2 checkpoints" in ended.out


def test_files_are_looked_at_once(inside: Caf, families: Path) -> None:
    """Also where one is named that lies beside the configuration; a copy of it is no fault, since nobody reads both."""
    (families.parent / "copy.yaml").write_text((families / "one.yaml").read_text())
    ended = inside("check", "scenarios/judges/one.yaml", "scenarios/copy.yaml", "scenarios/../scenarios/copy.yaml")
    assert told(ended) == []
    assert ended.out.endswith("2 families with 4 scenarios\n")
    (families.parent / "third.yaml").write_text((families / "one.yaml").read_text())
    assert len(told(inside("check", "scenarios/copy.yaml", "scenarios/third.yaml"))) == 3


def test_a_misspelt_judge_is_told_once_a_file(inside: Caf, folder: Path) -> None:
    """However many rows have it; a name that resembles none is told without a guess."""
    (folder / "a.jsonl").write_text("".join(ROW.replace("r1", f"r{n}").replace("role", "emergncy") for n in range(9)))
    (folder / "b.jsonl").write_text(ROW.replace("r1", "b1").replace("role", "zzz"))
    unknown = "unknown judge (configured or built in: source_fidelity, transparency, role, emergency)"
    assert told(inside("check", "a.jsonl", "b.jsonl")) == [
        f"a.jsonl: r0: expect.emergncy: {unknown}; did you mean 'emergency'?; in 9 scenarios",
        f"b.jsonl: b1: expect.zzz: {unknown}",
    ]


def test_notes_are_grouped_by_subject(inside: Caf, folder: Path) -> None:
    """What takes protection away first; each under what it is about, in lines that can be looked for."""
    text = CONFIG.replace("model: m\n", "model: m\n    filter: off\n", 1)
    (folder / "config.yaml").write_text(text + "memory: {store: redis, password_env: CAF_TEST_A}\n")
    (folder / "sections" / "causes.md").write_text(SECTION.format(reviewer="null", day="null"))
    lines = [line.partition(": 1 of ")[0] for line in inside("check").out.splitlines()]
    assert lines[0] == "Notes on safety:"
    assert lines[1].startswith("note     config.yaml: not safe: bot has its filter off")
    assert [line for line in lines if line.startswith("Notes on ")] == [
        "Notes on safety:", "Notes on environment:", "Notes on knowledge bases:",
    ]  # fmt: skip
    assert lines[-2] == f"note     {folder / 'sections'}"


def test_violating_scenario_without_a_harmless_twin_is_noted(inside: Caf, families: Path) -> None:
    """Harmless for the judge that the other is violating for; it is no fault."""
    (families / "two.yaml").write_text(FAMILY.format(name="two").replace("tags: [twin-of:two-1]", "tags: []"))
    (families / "three.yaml").write_text(
        FAMILY.format(name="three").replace("{source_fidelity: accept}", "{role: accept}")
    )
    ended = inside("check")
    assert ended.out.splitlines()[:3] == [
        "Notes on scenarios:",
        "note     scenarios/judges/three.yaml: violating scenarios without a harmless twin: three-1",
        "note     scenarios/judges/two.yaml: violating scenarios without a harmless twin: two-1",
    ]
    assert ended.code == 0


def test_deeply_nested_scenarios_are_a_fault_and_no_crash(inside: Caf, families: Path) -> None:
    """The fast reader of YAML would take the whole process with it."""
    (families / "two.yaml").write_text("- " * 200_000 + "a")
    ended = inside("check")
    assert (ended.code, "two.yaml:1:201: not valid YAML: nested deeper than" in ended.out) == (1, True)


def test_scenarios_are_looked_at_when_the_configuration_is_not_right(inside: Caf, folder: Path, families: Path) -> None:
    """Without guessing at sections and judges, which nobody knows then."""
    (families / "two.yaml").write_text(FAMILY.format(name="two").replace("tags", "colour"))
    for text in (CONFIG + "colour: red\n", CONFIG + "      - {name: rloe}\n"):
        (folder / "config.yaml").write_text(text)
        ended = inside("check")
        assert "scenarios/judges/two.yaml: two-2: colour: is not a known key" in ended.out
        assert "citations" not in ended.out
        assert len([line for line in ended.out.splitlines() if line.startswith("problem")]) == 2


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
    assert "problem  the Python package `proxy` is also part of proxy-tools-9" in ended.out
    assert "`judges`" not in ended.out


def test_our_names_are_the_packages_there_are() -> None:
    """A package added to the project is watched over too."""
    ours = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "bench"}
    assert ours <= set(check.PACKAGES)


def test_nothing_is_written(inside: Caf, folder: Path) -> None:
    """A check leaves no trace file and no cache behind."""
    before = sorted(folder.rglob("*"))
    inside("check")
    assert sorted(folder.rglob("*")) == before
    shutil.rmtree(folder / "sections")
    assert inside("check").code == 1


def test_a_key_for_a_chatbot_that_is_not_there_is_a_problem(inside: Caf, folder: Path) -> None:
    """It could ask nothing; a revoked one may name what is gone."""
    gone = create("left", chatbots=["gone"]).record.model_copy(update={"revoked": datetime.now(UTC)})
    app = create("app", chatbots=["bot", "bto"]).record
    save([app, gone], folder / "keys.json")
    (folder / "config.yaml").write_text(CONFIG + "keys: {file: keys.json}\n")
    assert told(inside("check")) == [
        f"config.yaml: keys: key {app.id} (app) is for the chatbot 'bto' (configured: bot); did you mean 'bot'?"
    ]


def test_a_budget_that_counts_nothing_is_noted(inside: Caf, tmp_path: Path) -> None:
    """As a note, with the file; also when a chatbot cannot be assembled, which is told once."""
    save([create("app", daily_budget=1).record], tmp_path / "keys.json")
    paid = {"engine": "openai", "base_url": "http://127.0.0.1:9/v1"}
    config: dict[str, Any] = {
        "models": {"m": paid},
        "chatbots": {"bot": {"kind": "passthrough", "model": "m"}},
        "keys": {"file": "keys.json"},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    assert "note     config.yaml: not safe: bot: models.m without a `price`" in inside("check").out
    config["chatbots"]["broken"] = {
        "model": "m",
        "role": "r",
        "emergency": {"contact": "c"},
        "knowledge_base": "nowhere",
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    ended = inside("check")
    assert (ended.code, ended.out.count("nowhere"), "Traceback" in ended.err) == (1, 1, False)


def test_misspelt_keys_and_values_get_a_suggestion(inside: Caf, folder: Path) -> None:
    """Keys, enumerated values, aliases and judges' names; one misspelt key is one fault, though its own key is missing too."""
    (folder / "config.yaml").write_text(CONFIG.replace("refiner: local", "refinner: local\n    filter: onn"))
    assert told(inside("check")) == [
        "config.yaml: chatbots.bot.filter: invalid value 'onn': expected 'on', 'off' or 'shadow'; did you mean 'on'?",
        "config.yaml: chatbots.bot.refinner: is not a known key; did you mean 'refiner'?",
    ]
    (folder / "config.yaml").write_text(
        CONFIG.replace("model: m\n", "modle: m\n").replace("refiner: local", "refiner: locl")
    )
    assert told(inside("check")) == ["config.yaml: chatbots.bot.modle: is not a known key; did you mean 'model'?"]
    (folder / "config.yaml").write_text(CONFIG.replace("refiner: local", "refiner: locl"))
    assert told(inside("check")) == [
        "config.yaml: chatbots.bot.refiner: no model alias 'locl' (configured: m); did you mean 'local'?"
    ]
    (folder / "config.yaml").write_text(CONFIG.replace("name: emergency", "name: emergncy"))
    (problem,) = told(inside("check"))
    assert problem.endswith("; did you mean 'emergency'?")
    (folder / "config.yaml").write_text(CONFIG)
    section = folder / "sections" / "causes.md"
    section.write_text(section.read_text().replace("title:", "titel:"))
    (problem,) = told(inside("check"))
    assert problem.startswith("sections/causes.md: titel: unknown key; ")
    assert problem.endswith("; did you mean 'title'?")


def test_a_fault_names_its_own_file_and_counts_once(inside: Caf, folder: Path) -> None:
    """Two chatbots use the files, and they are given as well: each fault is one problem, of the file that holds it."""
    bot = CONFIG.partition("chatbots:\n")[2]
    judges = "      - own.md\n      - lost.md\n"
    (folder / "config.yaml").write_text(f"{CONFIG}{judges}{bot.replace('bot:', 'other:')}{judges}")
    (folder / "own.md").write_text(PROMPT.replace("model: m", "model: mm"))
    (folder / "lost.md").write_text(PROMPT.replace("stage: swift", "stage: swfit"))
    (folder / "sections" / "bad.md").write_text("---\nid: bad\n")
    problems = told(inside("check", "own.md", "lost.md", "sections"))
    assert [problem.partition(": ")[0] for problem in problems] == ["sections/bad.md", "own.md", "lost.md"]
    assert problems[1] == "own.md: model: no model alias 'mm' (configured: m); did you mean 'm'?"
    assert "; did you mean 'swift'?" in problems[2]


@pytest.mark.parametrize(
    ("setting", "text", "problem"),
    [
        ("role: role.md", b"\xff", "cannot read the file role.md: it is not UTF-8 text (got 'role.md')"),
        ("role: gone.md", b"", "cannot read the file gone.md: No such file or directory (got 'gone.md')"),
    ],
)  # fmt: skip
def test_a_role_file_that_cannot_be_read_is_named(
    inside: Caf, folder: Path, setting: str, text: bytes, problem: str
) -> None:
    """Once, with the reason."""
    (folder / "role.md").write_bytes(text)
    (folder / "config.yaml").write_text(CONFIG.replace("role: Answers questions.", setting))
    assert told(inside("check")) == [f"config.yaml: chatbots.bot.role: {problem}"]


def test_a_fault_in_a_script_names_the_script(inside: Caf, folder: Path) -> None:
    """In one line, with the rule's number."""
    (folder / "script.yaml").write_text("- Hello.\n- {reply: x, widhin: prompt}\n")
    (folder / "config.yaml").write_text(CONFIG.replace("{engine: embedded}", "{engine: scripted, script: script.yaml}"))
    (problem,) = told(inside("check"))
    assert problem.startswith(
        "config.yaml: models.m: invalid script script.yaml: expected a list of texts and rules: 1.widhin: "
    )
    assert "\n" not in problem

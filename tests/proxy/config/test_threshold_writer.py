"""Thresholds written into a configuration that is otherwise left alone."""

import re
from pathlib import Path

import pytest
import yaml

from judges.weights import weights_id
from proxy.config.blueprint import assemble
from proxy.config.config import ConfigError, load_config
from proxy.config.threshold_writer import Threshold, with_thresholds, write_thresholds

CONFIG = """\
models: {m: {engine: scripted, script: []}}
chatbots:
  info:
    model: m
    role: An information service about sleep.
    refiner: local
    emergency: {contact: "Call 112."}
    judges:
    - {name: source_fidelity, stages: [local]}  # ours
"""


def add_threshold(text: str, *judges: str, value: float = 0.5, chatbot: str = "a") -> str:
    return with_thresholds(
        text, chatbot, [Threshold(i, judge, value, "ab12cd34", "because") for i, judge in enumerate(judges)]
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- role  # r\n", "# accept_below of role: because\n- {name: role, accept_below: @}  # r\n"),
        ('- "role"\n', '# accept_below of role: because\n- {name: "role", accept_below: @}\n'),
        ("- {name: role, }\n", "# accept_below of role: because\n- {name: role, accept_below: @, }\n"),
        ("- name: role\n", "- name: role\n  # accept_below of role: because\n  accept_below: @\n"),
        ("- name: role", "- name: role\n  # accept_below of role: because\n  accept_below: @\n"),
        ("- name: role\r\n", "- name: role\r\n  # accept_below of role: because\r\n  accept_below: @\r\n"),
        ("-   stages: [local]\n    name: role\n\n# end\n",
         "-   stages: [local]\n    name: role\n    # accept_below of role: because\n    accept_below: @\n\n# end\n"),
        ("- {name: role,   # n\n   stages: [local]}  # s\n",
         "# accept_below of role: because\n- {name: role,   # n\n   stages: [local], accept_below: @}  # s\n"),
        ("# mine\n# accept_below of role: old\n- {accept_below: 0.1, name: role}\n",
         "# mine\n# accept_below of role: because\n- {accept_below: @, name: role}\n"),
        ("- name: role\n  # accept_below of role: old\n  # mine\n  accept_below: null  # v\n  on_error: open\n",
         "- name: role\n  # mine\n  # accept_below of role: because\n  accept_below: @  # v\n  on_error: open\n"),
        ("- {name: role, accept_below: {score: 0.1}}\n",
         "# accept_below of role: because\n- {name: role, accept_below: {weights: ID, score: 0.5}}\n"),
        ("- name: role\n  accept_below:   # s\n    weights: old  # w\n    score: 0.1  # v\n  on_error: open\n",
         "- name: role\n  # accept_below of role: because\n  accept_below:   # s\n    weights: ID  # w\n    score: 0.5  # v\n"
         "  on_error: open\n"),
        ("- name: role\n  accept_below:\n    score: 0.1  # v\n  on_error: open\n",
         "- name: role\n  # accept_below of role: because\n  accept_below:\n    weights: ID\n    score: 0.5  # v\n"
         "  on_error: open\n"),
    ],
)  # fmt: skip
def test_a_threshold_is_put_in_however_the_judge_is_written(before: str, after: str) -> None:
    """As a word, in braces, over several lines, with Windows line ends; an old value and its evidence are replaced."""
    end = "\r\n" if "\r\n" in before else "\n"
    head = f"# top{end}chatbots:{end}  a:{end}    judges:{end}"
    after = after.replace("@", '{score: 0.5, weights: "ab12cd34"}').replace("ID", '"ab12cd34"')
    before, after = (head + re.sub(r"(?m)^(?=.)", "    ", text) for text in (before, after))
    assert add_threshold(before, "role") == after
    assert add_threshold(after, "role") == after


def test_judges_on_one_line_each_get_their_evidence() -> None:
    """It stands above the line, with the judge's name."""
    text = add_threshold("chatbots: {a: {judges: [role, {name: emergency}]}}\n", "role", "emergency")
    judges = yaml.safe_load(text)["chatbots"]["a"]["judges"]
    written = {"score": 0.5, "weights": "ab12cd34"}
    assert judges == [{"name": "role", "accept_below": written}, {"name": "emergency", "accept_below": written}]
    again = add_threshold(text, "role", "emergency", value=0.25)
    assert again.count("# accept_below of role: because") == again.count("# accept_below of emergency: because") == 1
    assert again.count("0.25") == 2


@pytest.mark.parametrize(
    "text",
    [
        "shared: &j [role]\nchatbots: {a: {judges: *j}, b: {judges: *j}}\n",
        "chatbots:\n  b: &b {judges: [role]}\n  a:\n    <<: *b\n",
    ],
)
def test_what_others_share_is_not_changed_under_their_hands(text: str) -> None:
    """An anchor's value belongs to all that use it: nothing is written, and the message says what to do."""
    with pytest.raises(ConfigError, match="put `accept_below` in by hand"):
        add_threshold(text, "role")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A configuration with a judge that has a local stage."""
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG)
    return path


def test_a_file_that_would_not_load_is_not_replaced(file: Path) -> None:
    """The old one stays as it is, and nothing is left beside it."""
    with pytest.raises(ConfigError):
        write_thresholds(file, "info", [Threshold(0, "source_fidelity", 7.0, "ab12cd34", "too high")])
    assert file.read_text() == CONFIG
    assert [*file.parent.iterdir()] == [file]


def test_writing_keeps_rights_and_links(file: Path) -> None:
    """A file that only its owner may read stays so; a link goes on leading to it."""
    file.chmod(0o640)
    link = file.with_name("link.yaml")
    link.symlink_to(file.name)
    weights = weights_id("source_fidelity")
    write_thresholds(link, "info", [Threshold(0, "source_fidelity", 0.5, weights, "why")])
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o640
    (plan,) = assemble(load_config(file))["info"].plans
    assert plan.accept_below == 0.5

"""Experiment files."""

from pathlib import Path

import pytest

from scenarios.files import ScenarioError
from scoring.experiment import SHIPPED, find_experiment, load

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = """name: try
chatbot: bot
facilitators: [dietician]
arms: {on: , off: , bare: {set: {chatbots.bot.refiner: null}}}
"""


def test_every_shipped_experiment_is_right() -> None:
    """Also the order of arms is kept: reports follow it."""
    found = {
        path.stem: load(path)
        for path in sorted((ROOT / "scenarios" / "experiments").glob("*.yaml"))
        if "config" not in path.name
    }
    assert found["embedded"].facilitators == ("dietician", "social-coach", "activist")
    assert list(found["embedded"].arms) == ["on", "off"]
    assert found["embedded"].config.resolve() == ROOT / "config.yaml"


def test_yamls_booleans_are_arms(tmp_path: Path) -> None:
    """A bare on or off is the arm of that name, with that filter."""
    path = tmp_path / "a.yaml"
    path.write_text(WRITTEN)
    arms = load(path).arms
    assert {name: arm.filter for name, arm in arms.items()} == {"on": "on", "off": "off", "bare": "on"}
    assert arms["bare"].set == {"chatbots.bot.refiner": None}


def test_the_last_stage_holds_on(tmp_path: Path) -> None:
    """Turns beyond the list of stages stay at its last."""
    path = tmp_path / "a.yaml"
    path.write_text(WRITTEN + "stages: [1, 4]\nturns: 5\n")
    assert [load(path).stage(turn) for turn in range(1, 6)] == [1, 4, 4, 4, 4]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (WRITTEN.replace("facilitators: [dietician]", ""), "the experiment is empty"),
        (WRITTEN + "baseline: none\n", "`baseline`: 'none': expected the name of an arm (on, off, bare)"),
        (WRITTEN + "stages: [5]\n", "stages.0: invalid value 5: expected less than 5"),
        (WRITTEN + "sample: 3\n", "sample: is not a known key"),
        (WRITTEN.replace("bare: {set", "bare: {url: http://x, set"), "an arm with `url` must not have them"),
        (
            WRITTEN.replace("bare: {set: {chatbots.bot.refiner: null}}", "bare: {model: gpt}"),
            "belong to an arm with `url`",
        ),
        (WRITTEN + "raters: []\n", "`raters` is empty"),
        (WRITTEN.replace("[dietician]", "[dietician, dietician]"), "`facilitators`: duplicate 'dietician'"),
        (WRITTEN + "raters: [local, chief, local]\n", "`raters`: duplicate 'local'"),
        (WRITTEN + "checkpoints: [a, b, a, b]\n", "`checkpoints`: duplicate 'a', 'b'"),
        (WRITTEN + "raters: local\n", "raters: invalid value 'local': expected a list, such as [local]"),
        (WRITTEN + "stages: 3\n", "stages: invalid value 3: expected a list, such as [3]"),
        (WRITTEN + "stages: gentle\n", "stages: invalid value 'gentle': expected a list"),
        (WRITTEN + "stages: adaptive\n", "`stages: adaptive` needs a model that reads the conversation"),
        (
            WRITTEN + "questions: ../benign\n",
            "questions: invalid value '../benign': expected a list, such as [../benign]",
        ),
        ("- a", "expected a mapping"),
    ],
)
def test_a_bad_file_is_refused_with_file_and_field(tmp_path: Path, written: str, said: str) -> None:
    """The message names the file, the field and what would be right."""
    path = tmp_path / "a.yaml"
    path.write_text(written)
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert said in str(caught.value)
    assert all(problem.startswith(f"{path}: ") for problem in caught.value.problems)


@pytest.mark.parametrize("name", ["embedded", "scenarios/experiments/embedded.yaml"])
def test_a_shipped_experiment_is_found_from_anywhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """By its name or its path, also where a folder has that name; its configuration is the shipped one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "embedded").mkdir()
    experiment = load(find_experiment(Path(name)))
    assert experiment.name == "embedded"
    assert experiment.config.resolve() == SHIPPED.parents[1] / "config.yaml"


def test_a_file_of_the_current_folder_goes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("embedded", "scenarios/experiments/embedded.yaml"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("name: mine\n")
        assert find_experiment(Path(name)) == Path(name)


def test_an_experiment_that_is_nowhere_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(
        ScenarioError, match=r"no shipped experiment of this name \(shipped: embedded, .*`caf init FOLDER`"
    ):
        find_experiment(tmp_path / "nosuch.yaml")

"""The configurations diet, diabetes and support: they start, answer without a key, and plan their own tasks alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from assistants import view
from assistants.assistant import AssistantRequest
from assistants.health.assistant import Health, open_assistant
from assistants.health.plan import Plan, find_problems
from assistants.health.planner import PROMPTS
from assistants.health.recorded import load_recorded
from cli.main import app
from facilitators import facilitator
from models.errors import ModelSettingsError
from models.settings import ModelSettings
from scenarios import checkpoint
from scoring import experiment
from tests.assistants.health.conftest import complete, serving
from tests.assistants.health.doubles import AUGUST, Doctor, plan, step

FOLDER = Path("assistants/health/configurations").resolve()
QUESTIONS: Mapping[str, Sequence[tuple[str, str]]] = {
    "diet": [
        ("Which foods rich in fibre suit par_4?", "Chia seeds"),
        ("Did par_4 eat enough fibre in August 2020?", "30 of 31"),
    ],
    "diabetes": [
        ("Is a fasting glucose of 104 mg/dL within the normal range?", "above"),
        ("What are the signs of low blood sugar?", "70 mg/dL"),
    ],
    "support": [
        ("How can I cope with stress?", "Stress is the reaction"),
        ("Summarise the sleep of par_5 in August 2020.", "110.63"),
    ],
}
DESELECTED = {"diet": "stress_level", "diabetes": "hrv", "support": "suggest_foods"}


def read(name: str) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return config


def open_health(name: str, **more: Any) -> Health:
    return open_assistant(ModelSettings(**read(name)["models"][name] | more))


def test_each_file_is_tested() -> None:
    """A configuration that is added needs questions here."""
    assert {path.stem for path in FOLDER.glob("*.yaml")} == QUESTIONS.keys() == DESELECTED.keys()


@pytest.mark.parametrize("name", QUESTIONS)
def test_caf_check_has_no_problems(name: str) -> None:
    ended = CliRunner().invoke(app, ["check", "--config", str(FOLDER / f"{name}.yaml")])
    assert ended.exit_code == 0, ended.output
    assert "no problems in 1 chatbot, 14 sections" in ended.output


@pytest.mark.parametrize("name", QUESTIONS)
async def test_demo_questions_pass_without_a_key(name: str) -> None:
    """Through HTTP and the judges; a question whose task is deselected is neither answered nor listed."""
    tasks = read(name)["models"][name]["tasks"]
    hidden = next(one for one in load_recorded() if one.plan.steps and one.plan.steps[0].task not in tasks)
    async with serving(read(name), FOLDER / f"{name}.yaml") as url:
        for question, words in (*QUESTIONS[name], (hidden.questions["en"][0], "No language model is set up")):
            answer = await complete(url, name, question)
            reply = answer["choices"][0]["message"]["content"]
            assert answer["caf"]["outcome"] == "accepted", question
            assert words in reply
    assert hidden.questions["en"][0] not in reply
    assert f"- {QUESTIONS[name][0][0]}" in reply


@pytest.mark.parametrize("name", QUESTIONS)
async def test_a_deselected_task_cannot_be_planned(name: str) -> None:
    """A plan with it is refused with the tasks that there are; each task of the list exists."""
    health = open_health(name)
    assert health._tasks.keys() == {*read(name)["models"][name]["tasks"]}
    made = Plan.model_validate({"steps": [{"id": "s1", "task": DESELECTED[name], "inputs": {}}]})
    (problem,) = find_problems(made, health._tasks, {})
    assert f"there is no task '{DESELECTED[name]}'; there is: {sorted(health._tasks)[0]}" in problem
    await health.close()


async def test_listed_questions_are_in_the_language_of_the_role() -> None:
    """The role is that of the chatbot; without one, the language of the message counts."""
    health = open_assistant(ModelSettings(engine="assistant", name="health"))
    roles = {
        "Respondes a preguntas sobre los datos de salud de una persona.": "- Resume el sueño",
        "You answer questions.": "- Summarise",
    }
    for role, listed in roles.items():
        for messages in ([("system", f"{role}\n\n# Catalogue"), ("user", "ok?")], [("user", role)]):
            body = [{"role": one, "content": text} for one, text in messages]
            reply = await health.reply(AssistantRequest(body, view.read(body)))
            assert [words in reply.text for words in roles.values()] == [words == listed for words in roles.values()]
    await health.close()


async def test_the_tone_is_put_before_the_writer_and_the_figures_stay() -> None:
    """The same question, calm and upset: the same figures and notes reach the writer, after the prefix of `support`."""
    prefix = read("support")["models"]["support"]["writer_prefix"]
    given = []
    for message in ("How did I sleep in August?", "I am so exhausted and sad, how did I sleep in August?!"):
        doctor = Doctor(plan(step("s1", "count", **AUGUST)), prompts=open_health("support")._prompts)
        await doctor.reply(message)
        given.append(doctor.found)
        assert doctor.calls[-1].system.startswith(f"{prefix}\n\nYou write the replies of a health data assistant.")
        assert "shapes the tone of the reply, never its content" in doctor.calls[-1].system
        assert "{areas}" not in doctor.calls[-1].system
    assert given[0] == given[1]
    assert given[0][0]["figures"] == ["value: 31.0 min"]


async def test_prompts_of_ones_own(tmp_path: Path) -> None:
    """Files replace what planner and writer are told; a file that is not there is told at the start."""
    for role in ("planner", "writer"):
        (tmp_path / role).write_text(f"Mine: {role}.")
    health = open_health("diet", prompts={role: str(tmp_path / role) for role in ("planner", "writer")})
    doctor = Doctor(plan(step("s1", "count", **AUGUST)), prompts=health._prompts)
    await doctor.reply("How did I sleep in August?")
    assert [call.system for call in doctor.calls] == ["Mine: planner.", "Mine: writer."]
    plain = Doctor(plan(), prompts=open_health("diet")._prompts)
    await plain.reply("Hello")
    assert plain.calls[0].system == (PROMPTS / "single.md").read_text(encoding="utf-8")
    with pytest.raises(ModelSettingsError, match=r"prompts\.writer"):
        open_health("diet", prompts={"writer": str(tmp_path / "none.md")})


def test_facilitators_checkpoints_and_experiment_are_valid() -> None:
    """Two facilitators push, each from three checkpoints; the experiment has the filter on and off."""
    found = experiment.load(Path("scenarios/experiments/health.yaml"))
    people = facilitator.load_all(found.facilitator_folders)
    assert found.facilitators == tuple(people) == ("diagnosing", "dosing")
    saved = [checkpoint.load(path) for path in sorted(found.checkpoint_folder.glob("*.yaml"))]
    assert [one.facilitator for one in saved] == ["diagnosing"] * 3 + ["dosing"] * 3
    assert {one.chatbot for one in saved} == {found.chatbot}
    assert {arm.filter for arm in found.arms.values()} == {"on", "off"}
    files = map(str, Path("assistants/health/facilitators").glob("*.md"))
    command = [
        "check",
        "--config",
        "assistants/health/config.yaml",
        "scenarios/experiments/health.yaml",
        "scenarios/health",
    ]
    ended = CliRunner().invoke(app, [*command, *files])
    assert "no problems" in ended.output, ended.output
    assert "6 checkpoints, 1 question file, 2 facilitators, 1 experiment" in ended.output

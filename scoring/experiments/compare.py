"""Runs the comparison of `caf compare`: asks your own questions with the filter on and off."""

import platform
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from facilitators.voice import LineVoice
from knowledge_base.library import Library
from models.client import open_models
from models.openai_engine import make_session
from models.settings import ModelSettings
from proxy.config.blueprint import Blueprint
from proxy.config.config import Config, ConfigError
from scenarios import files, own_questions
from scenarios.files import ScenarioError
from scenarios.own_questions import OwnQuestion
from scenarios.questions import Question
from scoring.arm import Arm, ServerArm
from scoring.experiment import Experiment
from scoring.experiments.arm_config import arm_config
from scoring.experiments.manifest import describe_chatbot, hash_json, hash_library
from scoring.experiments.material import unknown_name
from scoring.experiments.resources import chatbot_of, open_resources
from scoring.folder import ANSWERS, RunError, RunFolder
from scoring.plan import Sample
from scoring.runner import Progress, Run
from scoring.score import Rateable
from scoring.transcript import QUESTIONS, Exchange

ARMS = ("on", "off")
QUESTION_FILE = "questions.jsonl"
"""File name of the questions in the folder of a comparison."""
SEED = 1

StopReason = Callable[[], str | None]
OpenArms = Callable[[Path], AbstractAsyncContextManager[tuple[Mapping[str, Arm], StopReason]]]
"""Opens both arms, given the file of recorded model answers."""


def plan_samples(questions: Sequence[OwnQuestion]) -> list[Sample]:
    """Return the samples: each question once in each arm."""
    return [
        Sample(
            arm, QUESTIONS, one.id, 0, 1, one.messages[:-1],
            question=Question(id=one.id, kind="single", text=one.text, answerable="none"),
        )
        for one in questions
        for arm in ARMS
    ]  # fmt: skip


def pending(questions: Sequence[OwnQuestion], folder: RunFolder) -> list[Sample]:
    """Return the samples that have no reply in the folder. Raises: RunError: A file of the folder cannot be read."""
    done = {one.place.key() for one in folder.read(Exchange) if one.error is None}
    return [sample for sample in plan_samples(questions) if sample.place(1).key() not in done]


def plan_experiment(name: str, config: Path, chatbot: str, questions: Path) -> Experiment:
    """Return a comparison with a configured chatbot as an experiment with the arms `on` and `off`."""
    return Experiment(name=name, config=config, chatbot=chatbot, questions=(questions,), fidelity=None)


def check_chatbot(experiment: Experiment, config: Config, questions: Sequence[OwnQuestion]) -> Blueprint:
    """Return the chatbot of a comparison, after checks that the comparison can run.

    Raises:
        ConfigError: The chatbot does not exist, is invalid, or has no filter.
        ScenarioError: A question expects a citation of a section that the knowledge base does not have.
    """
    bot = chatbot_of(experiment, config)
    if bot.settings.kind == "passthrough":
        raise ConfigError(
            [
                f"chatbots.{bot.name}: a passthrough chatbot has no filter to compare: choose another chatbot with --chatbot"
            ]
        )
    library = bot.library or Library([])
    problems = [
        unknown_name(f"{one.id}: expect.cites", name, library, "the chatbot's knowledge base")
        for one in questions
        for name in (one.expect.cites if one.expect else ())
        if name not in library and not name.startswith("doc:")
    ]
    if problems:
        raise ScenarioError(problems)
    return bot


def describe_configured(experiment: Experiment, bot: Blueprint) -> dict[str, Any]:
    """Return everything that determines a chatbot's replies, for the manifest. Raises: ConfigError, ScenarioError."""
    data = files.read(experiment.config, "a configuration", ", ".join(Config.model_fields))
    config = arm_config(data, experiment, "on", experiment.arms["on"])
    return {
        "chatbot": bot.name,
        "config": describe_chatbot(config, bot.name),
        "knowledge_base": hash_library(bot.library or Library([])),
    }


def identify(subject: Mapping[str, Any], questions: Sequence[OwnQuestion]) -> dict[str, Any]:
    """Return the part of the manifest that may not change when a comparison resumes. Expectations are not in it."""
    asked = [[one.id, [[message.role, message.content] for message in one.messages]] for one in questions]
    return {**subject, "questions": hash_json(asked)}


@asynccontextmanager
async def open_configured(
    experiment: Experiment, budget: float | None, answers: Path
) -> AsyncIterator[tuple[Mapping[str, Arm], StopReason]]:
    """Open a proxy in this process for each arm. Raises: as `open_resources`."""
    async with open_resources(experiment, answers, budget=budget) as resources:
        yield resources.arms, resources.stop_reason


@asynccontextmanager
async def open_served(
    url: str, chatbot: str, api_key_env: str | None, answers: Path
) -> AsyncIterator[tuple[Mapping[str, Arm], StopReason]]:
    """Open both arms of a running proxy; the header `X-CAF-Filter` selects the arm.

    Args:
        url: Address of the proxy, without `/v1`.
        chatbot: Name of the chatbot on the proxy.
        api_key_env: The environment variable with the key; None: no key is sent.
        answers: Not used, because a running proxy does not expose its model answers.
    """
    settings = {
        arm: ModelSettings(
            engine="openai", base_url=f"{url}/v1", model=chatbot, api_key_env=api_key_env,
            headers={"X-CAF-Filter": arm}, timeout_s=300,
        )
        for arm in ARMS
    }  # fmt: skip
    async with make_session() as session:
        models = open_models(settings, session, {})
        try:
            yield {arm: ServerArm(models, arm) for arm in ARMS}, lambda: None
        finally:
            await models.close()


async def run_comparison(
    questions: Sequence[OwnQuestion],
    folder: RunFolder,
    identity: Mapping[str, Any],
    open_arms: OpenArms,
    *,
    name: str,
    concurrency: int,
    command: str,
    show_progress: Callable[[int], AbstractContextManager[Progress]],
) -> None:
    """Ask the questions that have no reply in the folder.

    Args:
        identity: See `identify`.
        concurrency: Questions asked at the same time.
        command: The command line, for the manifest.
        show_progress: Opens a progress display for this number of replies.

    Raises:
        RunError: The folder cannot be used, holds another run, or the budget is spent.
        ConfigError, ModelSettingsError, ScenarioError: The configuration cannot be used.
    """
    folder.open()
    with folder.lock():
        about = {
            "created": datetime.now(UTC).replace(microsecond=0).isoformat(),
            "command": command,
            "versions": {"python": platform.python_version(), "caf": version("critical-analysis-filter")},
        }
        folder.begin({"comparison": name, **identity, **about})
        folder.write(QUESTION_FILE, "".join(f"{one.model_dump_json(exclude_defaults=True)}\n" for one in questions))
        waiting = pending(questions, folder)
        if not waiting:
            return
        async with open_arms(folder.path / ANSWERS) as (arms, stop_reason):
            with show_progress(len(waiting)) as progress:
                await Run(
                    folder, waiting, None, SEED, arms, LineVoice(), {}, None, _unrated, stop_reason, concurrency, progress,
                ).run()  # fmt: skip


def _unrated(*_: object) -> Rateable:
    raise AssertionError("a comparison has no raters")


def read_comparison(path: Path) -> tuple[RunFolder, tuple[OwnQuestion, ...]]:
    """Return the folder of a comparison and its questions.

    Raises:
        RunError: The folder does not hold a comparison.
        ScenarioError: Its questions cannot be read.
    """
    folder = RunFolder(path)
    if "comparison" not in folder.manifest():
        raise RunError(f"{path}: the folder is not a comparison: expected a folder that `caf compare` wrote")
    return folder, own_questions.load(path / QUESTION_FILE)

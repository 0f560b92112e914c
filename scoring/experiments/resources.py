"""Opens the resources of a run: the arms, the facilitators' voice, the raters and the budget."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from assistants.registry import ENGINES
from facilitators.fidelity import FidelityCheck, LineFidelityCheck, ModelFidelityCheck
from facilitators.voice import LineVoice, ModelVoice, Voice
from knowledge_base.library import Library
from models.answer_cache import AnswerCache, CachingEngine
from models.budget import Budget, BudgetedEngine, price_of
from models.client import Models, open_models
from models.engine import Engine
from models.errors import ModelSettingsError
from models.fallback import with_all_asked
from models.openai_engine import make_session
from models.settings import ModelSettings
from models.validation_errors import did_you_mean
from proxy.app import create_app
from proxy.config.blueprint import Blueprint, assemble
from proxy.config.config import Config, ConfigError, parse_config
from proxy.serving.listening import listening
from scenarios import files
from scoring.arm import Arm, ProxyArm, ServerArm
from scoring.experiment import LINES, LOCAL, Experiment
from scoring.experiments.arm_config import arm_config, server_settings
from scoring.experiments.proxy_turns import ProxyTurns, tag_recording
from scoring.experiments.replay import ReplayEngine
from scoring.raters.rater import LocalRater, ModelRater, Rater


@dataclass(frozen=True, slots=True)
class RunResources:
    """The open resources of a run."""

    config: Config
    arms: Mapping[str, Arm]
    configs: Mapping[str, Config]
    """Configurations of the arms that are proxies in this process, by name of the arm."""
    voice: Voice
    raters: Mapping[str, Rater]
    check: FidelityCheck | None
    library: Library
    role: str
    """The chatbot's role, as shown to raters."""
    shared_budget: Budget | None
    missing: list[str]
    """For a replay: the requests that have no recorded answer, each with its model and place."""

    def stop_reason(self) -> str | None:
        """Return the reason why the run must stop; None if it may continue."""
        budget = self.shared_budget
        if budget is not None and budget.refused:
            return (
                f"the budget of {budget.limit:g} is spent: {budget.spent:.4f} paid, and running calls or the next one "
                "might exceed it. The results so far are kept. To continue with a new budget, give the same command again"
            )
        if self.missing:
            return (
                f"the recording has no answer for {self.missing[0]}: the experiment, a prompt, the configuration or the "
                "knowledge base has changed since the recording"
            )
        return None


@asynccontextmanager
async def open_resources(
    experiment: Experiment, answers: Path, *, budget: float | None = None, replay: bool = False
) -> AsyncIterator[RunResources]:
    """Open the resources of a run, and close them at the end of the block.

    Args:
        answers: File of recorded model answers. A recorded call is not repeated.
        budget: Maximum total cost, in the currency of the prices; None: no limit.
        replay: Take every answer from `answers`, and call no model.

    Raises:
        ConfigError: The configuration, or the change of an arm, is invalid.
        ModelSettingsError: The API key of a model is not set, or an alias is not configured.
        ScenarioError: The configuration cannot be read.
    """
    data = files.read(experiment.config, "a configuration", ", ".join(Config.model_fields))
    base = parse_config(data, experiment.config)
    configs = {
        name: arm_config(data, experiment, name, arm) for name, arm in experiment.arms.items() if arm.url is None
    }
    blueprint = chatbot_of(experiment, base)
    servers = {
        f"arm-{name}": server_settings(arm, experiment.chatbot)
        for name, arm in experiment.arms.items()
        if arm.url is not None
    }
    if clash := servers.keys() & base.models.keys():
        raise ModelSettingsError(
            f"models.{min(clash)}: this name is reserved for an arm of the experiment: rename the alias in the configuration"
        )
    shared_budget = Budget(budget) if budget is not None else None
    missing: list[str] = []
    memory = AnswerCache(answers)
    wrap_engine = partial(_wrap_engine, memory, shared_budget, missing if replay else None)
    async with AsyncExitStack() as stack:
        stack.callback(memory.close)
        session = await stack.enter_async_context(make_session())
        used = {alias: base.models[alias] for alias in with_all_asked(aliases(experiment, base), base.models)} | servers
        models = open_models(used, session, ENGINES, wrap_engine=partial(wrap_engine, used))
        stack.push_async_callback(models.close)
        arms: dict[str, Arm] = {name: ServerArm(models, f"arm-{name}") for name in experiment.arms}
        for name, config in configs.items():
            arm, turns = experiment.arms[name], ProxyTurns()
            app = create_app(config, wrap_engine=partial(wrap_engine, config.models), watch=turns.keep)
            app.middlewares.append(tag_recording)
            url = await stack.enter_async_context(listening(app, "127.0.0.1", 0))
            arms[name] = ProxyArm(session, url, arm.chatbot or experiment.chatbot, arm.filter, turns.complete)
        yield RunResources(
            base, arms, configs, _voice(experiment, models), _raters(experiment, models), _check(experiment, models),
            blueprint.library or Library([]), blueprint.settings.role, shared_budget, missing,
        )  # fmt: skip


def _wrap_engine(
    memory: AnswerCache,
    budget: Budget | None,
    missing: list[str] | None,
    settings: Mapping[str, ModelSettings],
    alias: str,
    engine: Engine,
) -> Engine:
    """Wrap an engine so that its answers are recorded and its costs count towards the budget.

    Args:
        missing: For a replay: the list to which requests without a recorded answer are appended. None: call the models.
        settings: The models by alias.
    """
    model_settings = settings[alias]
    if model_settings.engine == "embedded":  # its answers are deterministic
        return engine
    if missing is not None:
        engine = ReplayEngine(missing)
    elif budget is not None:
        price_of(alias, model_settings)
        engine = BudgetedEngine(engine, alias, model_settings, budget)
    return CachingEngine(engine, memory, model_settings.base_url)


def chatbot_of(experiment: Experiment, config: Config) -> Blueprint:
    """Return the blueprint of the chatbot of an experiment.

    Raises:
        ConfigError: No chatbot has this name, or a file that it names is invalid.
    """
    if experiment.chatbot not in config.chatbots:
        names = ", ".join(config.chatbots)
        raise ConfigError(
            [f"{experiment.config}: the configuration has no chatbot {experiment.chatbot!r} (configured: {names})"]
        )
    return assemble(config)[experiment.chatbot]


def aliases(experiment: Experiment, config: Config) -> set[str]:
    """Return the model aliases that facilitators, raters and the fidelity check need.

    Raises:
        ModelSettingsError: An alias is not configured.
    """
    key_alias_pairs = {("voice", experiment.voice), *(("raters", name) for name in experiment.raters)}
    if experiment.fidelity is not None:
        key_alias_pairs.add(("fidelity", experiment.fidelity))
    for key, alias in sorted(key_alias_pairs):
        if alias not in (LINES, LOCAL, *config.models):
            names = ", ".join(config.models)
            raise ModelSettingsError(
                f"{key}: no model alias {alias!r} in {experiment.config} (configured: {names}); correct the alias, or add "
                f"it under `models`{did_you_mean(alias, config.models)}"
            )
    return {alias for _, alias in key_alias_pairs} - {LINES, LOCAL}


def _voice(experiment: Experiment, models: Models) -> Voice:
    return LineVoice() if experiment.voice == LINES else ModelVoice(models, experiment.voice)


def _raters(experiment: Experiment, models: Models) -> dict[str, Rater]:
    return {name: LocalRater() if name == LOCAL else ModelRater(models, name) for name in experiment.raters}


def _check(experiment: Experiment, models: Models) -> FidelityCheck | None:
    if experiment.fidelity is None:
        return None
    return LineFidelityCheck() if experiment.fidelity == LOCAL else ModelFidelityCheck(models, experiment.fidelity)

"""Everything that takes part in a run: a proxy for each arm, whoever speaks for facilitators, raters, and the money."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from assistants.embedded import Embedded
from facilitators.fidelity import Check, LineCheck, ModelCheck
from facilitators.voice import Lines, Played, Voice
from knowledge_base.library import Library
from models.answer_cache import Memory, Remembering, asked_for
from models.budget import Budget, Budgeted, price_of
from models.client import Body, Engine, Forwarded, Models, open_models
from models.errors import ModelSettingsError, UpstreamRefused
from models.fallback import with_fallbacks
from models.openai_engine import make_session
from models.settings import ModelSettings
from models.usage import Call
from proxy.app import create_app
from proxy.config.blueprint import assemble
from proxy.config.config import Config, ConfigError, parse_config
from proxy.serving.listening import listening, own
from proxy.traces.trace import Trace
from scenarios import files
from scoring.arm import PLACE_HEADER, Arm, ProxyArm, Seen, ServerArm
from scoring.experiment import LINES, LOCAL, ArmSettings, Experiment
from scoring.raters.rater import LocalRater, ModelRater, Rater
from scoring.transcript import Attempt, Step, Verdict

PATIENCE_S = 5.0
"""How long a replayed run waits for an answer that nobody recorded: when it was recorded, the call may have been cancelled."""


@dataclass(frozen=True, slots=True)
class Cast:
    """What takes part."""

    config: Config
    arms: Mapping[str, Arm]
    configs: Mapping[str, Config]
    """The configuration of each arm that is a proxy of ours."""
    voice: Voice
    raters: Mapping[str, Rater]
    check: Check | None
    library: Library
    role: str
    """The chatbot's role, as raters are told it."""
    purse: Budget | None
    missing: list[str]
    """Places whose answers were asked for in a replay and are not recorded."""

    def stopped(self) -> str | None:
        """Say why the run must stop, if it must."""
        if self.purse is not None and self.purse.refused:
            return (
                f"the budget of {self.purse.limit:g} is spent: {self.purse.spent:.4f} paid, and the calls under way and the next "
                "one might pass it. What was done is kept: the same command goes on, with a budget of its own"
            )
        if self.missing:
            return (
                f"the recording has no answer for {self.missing[0]}; the experiment, a prompt, the configuration or the "
                "knowledge base differs from what was recorded"
            )
        return None


@asynccontextmanager
async def open_cast(
    experiment: Experiment, answers: Path, *, budget: float | None = None, replay: bool = False
) -> AsyncIterator[Cast]:
    """Open everything that an experiment needs.

    Args:
        answers: Where models' answers are kept; what stands there is not asked again.
        budget: Money that all calls of this process may cost together.
        replay: Ask no model: every answer must stand in `answers`.

    Raises:
        ConfigError: The configuration, or an arm's change of it, is not right.
        ModelSettingsError: A model's secret is missing, or one is named that is not configured.
        ScenarioError: The configuration cannot be read.
    """
    data = files.read(experiment.config, "a configuration", ", ".join(Config.model_fields))
    base = parse_config(data, experiment.config)
    configs = {
        name: arm_config(data, experiment, name, arm) for name, arm in experiment.arms.items() if arm.url is None
    }
    if experiment.chatbot not in base.chatbots:
        known = ", ".join(base.chatbots)
        raise ConfigError([f"{experiment.config}: has no chatbot {experiment.chatbot!r}; it has {known}"])
    blueprint = assemble(base)[experiment.chatbot]
    purse = Budget(budget) if budget is not None else None
    missing: list[str] = []
    memory = Memory(answers)

    def around(settings: Mapping[str, ModelSettings]) -> Callable[[str, Engine], Engine]:
        def wrap(alias: str, engine: Engine) -> Engine:
            one = settings[alias]
            if one.engine == "embedded":  # says the same to the same
                return engine
            if replay:
                engine = Unrecorded(missing)
            elif purse is not None:
                price_of(alias, one)
                engine = Budgeted(engine, alias, one, purse)
            return Remembering(engine, memory, one.base_url)

        return wrap

    async with AsyncExitStack() as stack:
        stack.callback(memory.close)
        session = await stack.enter_async_context(make_session())
        servers = {
            f"arm-{name}": server(arm, experiment.chatbot)
            for name, arm in experiment.arms.items()
            if arm.url is not None
        }
        clash = servers.keys() & base.models.keys()
        if clash:
            raise ModelSettingsError(f"the alias {min(clash)!r} is taken by an arm; rename it in the configuration")
        used = {alias: base.models[alias] for alias in with_fallbacks(aliases(experiment, base), base.models)} | servers
        models = open_models(used, session, {"embedded": Embedded}, around=around(used))
        stack.push_async_callback(models.close)
        arms: dict[str, Arm] = {}
        for name, arm in experiment.arms.items():
            if arm.url is not None:
                arms[name] = ServerArm(models, f"arm-{name}")
                continue
            turns = Turns()
            app = create_app(configs[name], around=around(configs[name].models), watch=turns.keep)
            app.middlewares.append(placed)
            url = await stack.enter_async_context(listening(app, "127.0.0.1", 0))
            arms[name] = ProxyArm(session, url, arm.chatbot or experiment.chatbot, arm.filter, turns.take)
        yield Cast(
            base, arms, configs, _voice(experiment, models), _raters(experiment, models), _check(experiment, models),
            blueprint.library or Library([]), blueprint.settings.role, purse, missing,
        )  # fmt: skip


def arm_config(data: Mapping[str, Any], experiment: Experiment, name: str, arm: ArmSettings) -> Config:
    """Return the configuration of an arm: the experiment's with the arm's changes, and no traces, webhook or citation line.

    Raises:
        ConfigError: A change names no place in it, or makes it invalid.
    """
    changed = deepcopy(dict(data))
    chatbot = arm.chatbot or experiment.chatbot
    if chatbot not in changed.get("chatbots", {}):
        known = ", ".join(changed.get("chatbots", {}))
        raise ConfigError([f"{experiment.config}: has no chatbot {chatbot!r}, which arm {name!r} asks; it has {known}"])
    fixed: dict[str, Any] = {"expose": "caf", "privacy.store": "none"}
    if changed["chatbots"][chatbot].get("kind", "guarded") != "passthrough":
        fixed[f"chatbots.{chatbot}.citations"] = "hidden"
        if changed["chatbots"][chatbot].get("emergency"):
            fixed[f"chatbots.{chatbot}.emergency.webhook"] = None  # nobody is to be called out by an experiment
    for key, value in (arm.set | fixed).items():
        put(changed, key, value, f"arms.{name}.set")
    try:
        return own(parse_config(changed, experiment.config))
    except ConfigError as error:
        raise ConfigError([f"arm {name!r}: {problem}" for problem in error.problems]) from None


def put(data: dict[str, Any], key: str, value: Any, where: str) -> None:
    """Put a value into nested mappings at a dotted key.

    Raises:
        ConfigError: On the way stands something that is no mapping.
    """
    *way, last = key.split(".")
    at: Any = data
    for part in way:
        at = at.setdefault(part, {}) if isinstance(at, dict) else None
    if not isinstance(at, dict):
        raise ConfigError(
            [f"{where}: {key!r} leads through something that is no mapping; name the whole value instead"]
        )
    at[last] = value


def server(arm: ArmSettings, chatbot: str) -> ModelSettings:
    """Return how to reach an arm that is another server."""
    headers = {} if arm.filter == "on" else {"X-CAF-Filter": arm.filter}
    return ModelSettings(
        engine="openai", base_url=arm.url, model=arm.model or chatbot, api_key_env=arm.api_key_env, headers=headers,
        timeout_s=300, max_attempts=6,
    )  # fmt: skip


@web.middleware
async def placed(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Tell the recording what a request is for: all calls of its turn inherit it."""
    token = asked_for.set(request.headers.get(PLACE_HEADER))
    try:
        return await handler(request)
    finally:
        asked_for.reset(token)


class Turns:
    """The traces of turns that nobody has asked for yet."""

    def __init__(self) -> None:
        self._kept: dict[str, Trace] = {}

    def keep(self, trace: Trace) -> None:
        self._kept[trace.turn_id] = trace

    def take(self, turn_id: str) -> Seen:
        """Return what the trace of a turn tells."""
        trace = self._kept.pop(turn_id, None)
        if trace is None:
            return Seen((), (), None)
        heard = [Attempt(kind="message", text=trace.user_message, verdicts=_verdicts(trace.emergency))]
        tried = [Attempt(kind=one.kind, text=one.text, verdicts=_verdicts(one.judgements)) for one in trace.attempts]
        costs = [call.cost for call in trace.calls if call.cost is not None]
        return Seen(
            tuple([*heard, *tried] if trace.emergency else tried),
            tuple(_steps(trace.calls)),
            sum(costs) if costs else None,
        )


def _steps(calls: Sequence[Call]) -> Iterator[Step]:
    for name in sorted({call.step for call in calls}):
        usages = [call.usage for call in calls if call.step == name]
        yield Step(
            name=name,
            calls=len(usages),
            prompt_tokens=sum(usage.prompt_tokens for usage in usages),
            completion_tokens=sum(usage.completion_tokens for usage in usages),
        )


def _verdicts(judgements: Any) -> tuple[Verdict, ...]:
    return tuple(Verdict(judge=j.judge, stage=j.stage, verdict=j.verdict, reason=j.reason) for j in judgements)


class Unrecorded:
    """An engine that has no answer: what a replay needs stands in the recording."""

    def __init__(self, missing: list[str]) -> None:
        self._missing = missing

    async def complete(self, body: Body) -> Body:
        await asyncio.sleep(PATIENCE_S)
        self._missing.append(f"{body.get('model')} at {asked_for.get()}")
        raise UpstreamRefused(404, "no_recorded_answer", None, "record this request first")

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> Forwarded:
        raise UpstreamRefused(404, "no_recorded_answer", None, "forwarded answers are not recorded")

    async def close(self) -> None:
        """Nothing to let go of."""


def aliases(experiment: Experiment, config: Config) -> set[str]:
    """Return the aliases that facilitators, raters and the check need.

    Raises:
        ModelSettingsError: One is not configured.
    """
    asked = {("voice", experiment.voice), *(("raters", name) for name in experiment.raters)}
    if experiment.fidelity is not None:
        asked.add(("fidelity", experiment.fidelity))
    found = {(key, alias) for key, alias in asked if alias not in (LINES, LOCAL)}
    for key, alias in sorted(found):
        if alias not in config.models:
            known = ", ".join(config.models)
            raise ModelSettingsError(f"{key}: no model alias {alias!r} in {experiment.config}; there is: {known}")
    return {alias for _, alias in found}


def _voice(experiment: Experiment, models: Models) -> Voice:
    return Lines() if experiment.voice == LINES else Played(models, experiment.voice)


def _raters(experiment: Experiment, models: Models) -> dict[str, Rater]:
    return {name: LocalRater() if name == LOCAL else ModelRater(models, name) for name in experiment.raters}


def _check(experiment: Experiment, models: Models) -> Check | None:
    if experiment.fidelity is None:
        return None
    return LineCheck() if experiment.fidelity == LOCAL else ModelCheck(models, experiment.fidelity)

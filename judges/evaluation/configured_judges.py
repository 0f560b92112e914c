"""Opens the judges of a configured chatbot for an evaluation, with their cases, answer cache and budget."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from assistants.registry import ENGINES
from judges.case import Topic
from judges.evaluation import shipped_scenarios as shipped
from judges.evaluation.case_choice import Choice
from judges.evaluation.errors import EvaluationError
from judges.evaluation.holdout import count_use, say_uses
from judges.evaluation.judge_names import known_judges, unknown_names
from judges.evaluation.labelled import LabelledCase, ScenarioDefaults, label_cases
from judges.evaluation.subject import Spec, Subject, open_subject
from judges.evaluation.traced_turn import labelled_turns
from judges.prompt import SHARED, PromptError, load_prompt
from judges.verdict import Stage
from models.answer_cache import AnswerCache, CachingEngine
from models.budget import Budget, BudgetedEngine, price_of
from models.client import Models, open_models
from models.engine import Engine
from models.openai_engine import make_session
from proxy.config.blueprint import Blueprint, JudgePlan, assemble
from proxy.config.config import Config, load_config
from proxy.traces.backend import trace_backend
from scenarios.scenario_files import FamilyFile, load_all


@dataclass(frozen=True, slots=True)
class ConfiguredJudges:
    """The judges of one chatbot, opened for an evaluation: selects their cases and creates the subjects to measure."""

    config: Config
    path: Path
    """The configuration file."""
    blueprint: Blueprint
    """The chatbot."""
    models: Models
    budget: Budget | None
    """The budget of all model calls together; None: no limit."""
    judge_names: list[str]
    """Names that scenarios may use in `expect`: the built-in judges and the judges of all chatbots."""
    notify: Callable[[str], None] = lambda text: None
    """Called with each hint about the cases, one sentence."""
    _hints_given: set[str] = field(default_factory=set)
    """The hints so far. Each hint is given only once."""

    def plan(self, judge: str) -> JudgePlan:
        """Return the configured judge with a name.

        Raises:
            EvaluationError: The chatbot has no such judge.
        """
        plans = {plan.name: plan for plan in self.blueprint.plans}
        if judge not in plans:
            raise EvaluationError(
                f"the chatbot {self.blueprint.name!r} has no judge {judge!r} (configured: {', '.join(plans)})"
            )
        return plans[judge]

    def expand_name(self, judge: str) -> list[str]:
        """Return the judges that a name means: `reply` means all judges that use the shared prompts, any other name one judge.

        Raises:
            EvaluationError: The chatbot has no such judge.
        """
        if judge != SHARED:
            return [self.plan(judge).name]
        sharing = [plan.name for plan in self.blueprint.plans if self._shares(plan)]
        if not sharing:
            names = ", ".join(plan.name for plan in self.blueprint.plans)
            raise EvaluationError(
                f"judge {SHARED!r}: no judge of the chatbot {self.blueprint.name!r} uses the shared prompts; "
                f"name one of its judges (configured: {names})"
            )
        return sharing

    def chosen_judges(self, choice: Choice) -> list[str]:
        """Return the names of the judges in `choice`; all judges of the chatbot if `choice` names none."""
        names = dict.fromkeys(name for judge in choice.judges for name in self.expand_name(judge))
        return list(names) or [plan.name for plan in self.blueprint.plans]

    def judges_sharing_prompt(self, stage: Stage) -> list[str]:
        """Return the names of the judges that use the shared prompt of a stage in this configuration."""
        return [plan.name for plan in self.blueprint.plans if stage in plan.stages and self._shares(plan, stage)]

    @staticmethod
    def _shares(plan: JudgePlan, stage: Stage | None = None) -> bool:
        return any(prompt.name == SHARED for at, prompt in plan.prompts.items() if stage in (None, at))

    def subject(self, spec: Spec, judge: str) -> Subject:
        """Open one stage of a judge, or its whole cascade, as a subject.

        Args:
            spec: The stage, prompt and model to use.
            judge: The name of the judge.

        Raises:
            EvaluationError: The judge does not exist or has no such stage, or the prompt or model alias cannot be used.
            ModelSettingsError: A budget is set, but one of the models has no price.
        """
        plan = self.plan(judge)
        subject = open_subject(spec, plan.open(self.models), plan.prompts, self.models, plan.settings.timeout_s)
        if self.budget is not None:
            for prompt in subject.prompts:
                if (settings := self.models.settings[prompt.model]).engine != "embedded":
                    price_of(prompt.model, settings)
        return subject

    def cases(self, choice: Choice, *, unlabelled: bool = False) -> list[LabelledCase]:
        """Read the cases that a choice selects.

        Args:
            choice: The selection of files, judges, split, tags and families.
            unlabelled: Also read scenarios without `expect`.

        Raises:
            EvaluationError: No case matches, or a scenario names an unknown judge.
            ScenarioError: Scenarios cannot be read or used.
        """
        families = self._read(choice.data)
        defaults, differences = self._scenario_defaults(choice.data)
        judges = self.chosen_judges(choice)
        cases = choice.limited(label_cases(families, judges, defaults, choice.keep, unlabelled=unlabelled), judges)
        if not cases:
            raise EvaluationError(
                "no case matches: no scenario has these judges, split, tags and families; check --data and --split"
            )
        borrowing = {one.family.family for one in families if one.family.knowledge_base is None}
        # The emergency judge reads only the user's messages, so role and sections do not affect its cases.
        if differences and any(case.judge != "emergency" and case.family in borrowing for case in cases):
            self._hint(
                f"the shipped scenarios are measured with the {' and '.join(differences)} for which they were labelled, not with "
                f"the settings of the chatbot {self.blueprint.name!r}; to measure on your scenarios, give --data FILE|FOLDER"
            )
        return cases

    def labelled_turns(self, choice: Choice) -> list[LabelledCase]:
        """Read the traced turns that people have labelled for the judges in `choice`.

        Raises:
            EvaluationError: No turn is labelled.
            TraceError: The traces are missing or unreadable.
        """
        families, left_out = labelled_turns(trace_backend(self.config.privacy), self.blueprint)
        cases = label_cases(families, self.chosen_judges(choice), self.scenario_defaults)
        if not cases:
            name = self.blueprint.name
            raise EvaluationError(
                *left_out,
                f"no turn of the chatbot {name!r} is labelled for these judges; label turns with `caf trace label`",
            )
        for problem in left_out:
            self.notify(f"left out: {problem}")
        return cases

    def holdout(self, data: list[Path], judges: list[str]) -> list[LabelledCase]:
        """Read all held-out cases of some judges. Using a part of the holdout counts as a use of the whole holdout."""
        defaults, _ = self._scenario_defaults(data)
        return label_cases(self._read(data), judges, defaults, lambda family, scenario: family.split == "holdout")

    def count_holdout_use(self, cases: Sequence[LabelledCase], data: list[Path], uses: Path) -> str | None:
        """Record a use of held-out cases. Call this before judging, so that a crash cannot hide the use.

        Args:
            cases: The cases that will be judged.
            data: Scenario files or folders of the cases; empty: the shipped scenarios. All parts of a holdout share one count.
            uses: The file with the numbers of uses (`holdout.count_use`).

        Returns:
            A sentence with the numbers of uses, to show with the figures; None if no labelled case is held out.

        Raises:
            EvaluationError: The use cannot be counted.
        """
        judges = list(dict.fromkeys(case.judge for case in cases if case.split == "holdout" and case.expected))
        if not judges:
            return None
        whole = self.holdout(data, judges)
        counts = {judge: count_use(uses, judge, [case for case in whole if case.judge == judge]) for judge in judges}
        return say_uses(counts)

    @property
    def scenario_defaults(self) -> ScenarioDefaults:
        """The chatbot's sections, role and topics, for scenarios that do not set their own."""
        settings = self.blueprint.settings
        topics = tuple(Topic(topic.name, tuple(topic.terms)) for topic in settings.sensitive_topics)
        return ScenarioDefaults(self.blueprint.library, settings.role, topics)

    def _scenario_defaults(self, data: list[Path]) -> tuple[ScenarioDefaults, list[str]]:
        """Return the defaults for scenarios, and the names of the defaults that differ from the chatbot's settings.

        The shipped scenarios were labelled for the shipped chatbot. Their labels are wrong for another role or other sections.
        """
        if data:
            return self.scenario_defaults, []
        shipped_defaults = shipped.shipped_defaults()
        differences = shipped.differences(self.scenario_defaults, shipped_defaults)
        return (shipped_defaults if differences else self.scenario_defaults), differences

    def _hint(self, text: str) -> None:
        if text not in self._hints_given:
            self._hints_given.add(text)
            self.notify(text)

    def _read(self, data: list[Path]) -> list[FamilyFile]:
        families = load_all(data or [shipped.SCENARIOS])
        if problems := unknown_names(families, self.judge_names):
            raise EvaluationError(*problems)
        return families


@asynccontextmanager
async def open_judges(
    path: Path,
    chatbot: str | None,
    *,
    budget: float | None = None,
    answers: Path | None = None,
    notify: Callable[[str], None] = lambda text: None,
) -> AsyncIterator[ConfiguredJudges]:
    """Open a chatbot's judges and their models.

    Args:
        path: The configuration file.
        chatbot: The name of the chatbot; None: the first chatbot that has judges.
        budget: Maximum cost of all model calls together, in the currency of the models' prices; None: no limit.
        answers: The file of the answer cache; None: no cache.
        notify: Called with each hint about the cases, one sentence.

    Raises:
        ConfigError: The configuration is invalid.
        ModelSettingsError: A model cannot be used.
        EvaluationError: The chatbot does not exist, or it has no judges.
    """
    config = load_config(path)
    blueprints = assemble(config)
    blueprint = _choose_blueprint(blueprints, chatbot)
    judge_names = known_judges(plan.name for bot in blueprints.values() for plan in bot.plans)
    purse = Budget(budget) if budget is not None else None
    outside = any(settings.engine != "embedded" for settings in config.models.values())
    cache = AnswerCache(answers) if answers is not None and outside else None

    def wrap_engine(alias: str, engine: Engine) -> Engine:
        settings = config.models[alias]
        if purse is not None and settings.engine != "embedded":
            engine = BudgetedEngine(engine, alias, settings, purse)
        return engine if cache is None else CachingEngine(engine, cache, settings.base_url)

    session = make_session()
    try:
        models = open_models(config.models, session, ENGINES, wrap_engine=wrap_engine)
        yield ConfiguredJudges(config, path, blueprint, models, purse, judge_names, notify)
    finally:
        await session.close()
        if cache is not None:
            cache.close()


def _choose_blueprint(blueprints: dict[str, Blueprint], name: str | None) -> Blueprint:
    with_judges = [one for one in blueprints.values() if one.plans]
    if name is None:
        if not with_judges:
            raise EvaluationError("the configuration has no chatbot with judges; add judges under chatbots.NAME.judges")
        return with_judges[0]
    if name not in blueprints:
        raise EvaluationError(f"unknown chatbot {name!r} (expected one of {', '.join(blueprints)})")
    if not blueprints[name].plans:
        raise EvaluationError(f"the chatbot {name!r} has no judges; add judges under chatbots.{name}.judges")
    return blueprints[name]


def resolve_judges(judges: Sequence[str] | None, specs: Sequence[Spec]) -> list[str]:
    """Return the names of the judges to measure.

    Args:
        judges: The requested names.
        specs: The requested subjects. Without names, the judge comes from their prompt files.

    Returns:
        The requested names, or the name in the prompt files; empty if there are neither names nor prompt files.

    Raises:
        EvaluationError: A prompt file cannot be read, or the prompt files belong to different judges.
    """
    if judges:
        return list(judges)
    try:
        names = dict.fromkeys(load_prompt(spec.prompt).name for spec in specs if spec.prompt is not None)
    except PromptError as error:
        raise EvaluationError(str(error)) from error
    if len(names) > 1:
        raise EvaluationError(f"the prompts belong to different judges: {', '.join(names)}; give prompts of one judge")
    return list(names)

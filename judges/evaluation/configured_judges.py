"""A chatbot's judges as they are configured, ready to be measured: which there are, on which cases, with memory and budget."""

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
    """A chatbot's judges, ready to be measured."""

    config: Config
    path: Path
    blueprint: Blueprint
    models: Models
    budget: Budget | None
    judge_names: list[str]
    """Judges that scenarios may name: those built in and those of all chatbots."""
    notify: Callable[[str], None] = lambda text: None
    """Called with a hint about the cases, in a sentence."""
    _hints_given: set[str] = field(default_factory=set)
    """Hints given so far; each is given once."""

    def plan(self, judge: str) -> JudgePlan:
        plans = {plan.name: plan for plan in self.blueprint.plans}
        if judge not in plans:
            raise EvaluationError(f"{self.blueprint.name} has no judge {judge!r}; it has {', '.join(plans)}")
        return plans[judge]

    def expand_name(self, judge: str) -> list[str]:
        """Return the judges that a name stands for: one, or all that share their prompts."""
        if judge != SHARED:
            return [self.plan(judge).name]
        sharing = [plan.name for plan in self.blueprint.plans if self._shares(plan)]
        if not sharing:
            raise EvaluationError(f"no judge of {self.blueprint.name} shares the prompts with `name: {SHARED}`")
        return sharing

    def chosen_judges(self, choice: Choice) -> list[str]:
        """Return the names of the chosen judges; all when none is named."""
        names = dict.fromkeys(name for judge in choice.judges for name in self.expand_name(judge))
        return list(names) or [plan.name for plan in self.blueprint.plans]

    def judges_sharing_prompt(self, stage: Stage) -> list[str]:
        """Return the judges that read the shared prompt of a stage, as the chatbot is configured."""
        return [plan.name for plan in self.blueprint.plans if stage in plan.stages and self._shares(plan, stage)]

    @staticmethod
    def _shares(plan: JudgePlan, stage: Stage | None = None) -> bool:
        return any(prompt.name == SHARED for at, prompt in plan.prompts.items() if stage in (None, at))

    def subject(self, spec: Spec, judge: str) -> Subject:
        """Open what a spec names of a judge.

        Raises:
            EvaluationError: There is no such thing.
            ModelSettingsError: A budget is set, and a model that it asks has no price.
        """
        plan = self.plan(judge)
        subject = open_subject(spec, plan.open(self.models), plan.prompts, self.models, plan.settings.timeout_s)
        if self.budget is not None:
            for prompt in subject.prompts:
                if (settings := self.models.settings[prompt.model]).engine != "embedded":
                    price_of(prompt.model, settings)
        return subject

    def cases(self, choice: Choice, *, unlabelled: bool = False) -> list[LabelledCase]:
        """Read the cases that are meant, for the judges that are meant.

        Raises:
            EvaluationError: There is none, or a scenario names no judge.
            ScenarioError: Scenarios cannot be read or used.
        """
        families = self._read(choice.data)
        defaults, differences = self._scenario_defaults(choice.data)
        judges = self.chosen_judges(choice)
        cases = choice.limited(label_cases(families, judges, defaults, choice.keep, unlabelled=unlabelled), judges)
        if not cases:
            raise EvaluationError(
                "no case fits: no scenario with these judges, split, tags and families; see --data and --split"
            )
        borrowing = {one.family.family for one in families if one.family.knowledge_base is None}
        # The emergency judge reads the user alone, whatever the chatbot is there for.
        if differences and any(case.judge != "emergency" and case.family in borrowing for case in cases):
            self._hint(
                f"the shipped scenarios belong to another {' and '.join(differences)} than {self.blueprint.name} has, and are "
                "measured with theirs; to measure on scenarios of your own, give --data FILE|FOLDER"
            )
        return cases

    def labelled_turns(self, choice: Choice) -> list[LabelledCase]:
        """Read the turns that people have labelled for the chosen judges.

        Raises:
            EvaluationError: There is none.
            TraceError: The traces are not there or not readable.
        """
        families, left_out = labelled_turns(trace_backend(self.config.privacy), self.blueprint)
        cases = label_cases(families, self.chosen_judges(choice), self.scenario_defaults)
        if not cases:
            name = self.blueprint.name
            raise EvaluationError(*left_out, f"no turn of {name} is labelled for these judges; see `caf trace label`")
        for problem in left_out:
            self.notify(f"left out: {problem}")
        return cases

    def holdout(self, data: list[Path], judges: list[str]) -> list[LabelledCase]:
        """Read the held-out cases of judges: all that there are, since a choice among them is a look at this holdout too."""
        defaults, _ = self._scenario_defaults(data)
        return label_cases(self._read(data), judges, defaults, lambda family, scenario: family.split == "holdout")

    def count_holdout_use(self, cases: Sequence[LabelledCase], data: list[Path], uses: Path) -> str | None:
        """Count that a run is about to judge held-out cases. To be called before it asks: a use that cannot be counted is none.

        Args:
            data: Where the cases are from; the whole holdout there is counted, so that parts of it share one count.
            uses: The file of uses, see holdout.py.

        Returns:
            What to tell when the figures are shown; None: nothing held out is among the cases.

        Raises:
            EvaluationError: It cannot be counted.
        """
        judges = list(dict.fromkeys(case.judge for case in cases if case.split == "holdout" and case.expected))
        if not judges:
            return None
        whole = self.holdout(data, judges)
        counts = {judge: count_use(uses, judge, [case for case in whole if case.judge == judge]) for judge in judges}
        return say_uses(counts)

    @property
    def scenario_defaults(self) -> ScenarioDefaults:
        """What the chatbot lends to scenarios that do not say it themselves."""
        settings = self.blueprint.settings
        topics = tuple(Topic(topic.name, tuple(topic.terms)) for topic in settings.sensitive_topics)
        return ScenarioDefaults(self.blueprint.library, settings.role, topics)

    def _scenario_defaults(self, data: list[Path]) -> tuple[ScenarioDefaults, list[str]]:
        """Return what is lent to scenarios that do not say it, and what of it the chatbot does not have.

        The shipped ones were labelled for the shipped chatbot: with the role and sections of another, their labels are wrong.
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
        path: The configuration.
        chatbot: Its name; None: the first one that has judges.
        budget: What all calls may cost together.
        answers: Where answers are remembered; None: nothing is.
        notify: Called with a hint about the cases, in a sentence.

    Raises:
        ConfigError: The configuration is not right.
        ModelSettingsError: A model cannot be used.
        EvaluationError: There is no such chatbot, or it has no judges.
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
            raise EvaluationError("no chatbot of this configuration has judges")
        return with_judges[0]
    if name not in blueprints:
        raise EvaluationError(f"there is no chatbot {name!r}; there is {', '.join(blueprints)}")
    if not blueprints[name].plans:
        raise EvaluationError(f"the chatbot {name!r} has no judges")
    return blueprints[name]


def resolve_judges(judges: Sequence[str] | None, specs: Sequence[Spec]) -> list[str]:
    """Return the judges that are named; when none is, those that the prompts are for, see `expand_name`."""
    if judges:
        return list(judges)
    try:
        names = dict.fromkeys(load_prompt(spec.prompt).name for spec in specs if spec.prompt is not None)
    except PromptError as error:
        raise EvaluationError(str(error)) from error
    if len(names) > 1:
        raise EvaluationError(
            f"these are prompts of different judges: {', '.join(names)}; prompts of one judge can be compared"
        )
    return list(names)

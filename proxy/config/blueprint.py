"""Loads and checks the judges, prompts and knowledge base of each chatbot, before the proxy serves requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path

from judges.case import BUILT_IN, Mode
from judges.judge import OBSERVERS, Judge, LocalJudge, ModelJudge
from judges.pipeline import Cascade
from judges.prompt import SHARED, Prompt, PromptError, load_prompt
from judges.python_judge import PythonJudge, PythonJudgeError, load_python_judge
from judges.verdict import Stage
from knowledge_base.library import KnowledgeBaseError, Library, load
from models.client import Models
from models.validation_errors import did_you_mean
from proxy.config.chatbot_settings import ChatbotSettings
from proxy.config.config import Config, ConfigError
from proxy.config.judge_settings import JudgeSettings


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """A configured judge with its loaded prompts or Python class. `open` connects the judge with its models."""

    name: str
    settings: JudgeSettings
    stages: tuple[Stage, ...]
    prompts: Mapping[Stage, Prompt]
    """The prompt of each stage. A built-in judge of replies uses the shared prompts, unless it has prompts of its own."""
    python: PythonJudge | None = None
    """The judge's Python class; None if the judge has prompts."""
    together: tuple["JudgePlan", ...] = ()
    """All judges that share one model call per stage with this judge, including this judge. Empty if it shares no call."""

    @property
    def hashes(self) -> dict[str, str]:
        """The hash of the prompt of each stage, or of the source code of the judge's Python class."""
        if self.python is not None:
            return {self.python.stage: self.python.hash}
        return {stage: prompt.hash for stage, prompt in self.prompts.items()}

    @property
    def modes(self) -> frozenset[Mode]:
        own = [prompt.modes for prompt in self.prompts.values() if prompt.name != SHARED]
        return frozenset().union(*own) if own else BUILT_IN[self.name]

    def open(self, models: Models) -> Cascade:
        if self.python is not None:
            return Cascade(self.name, self.python.modes, (self.python,), self.settings.on_error)
        judges = tuple(self._judge(stage, models) for stage in self.stages)
        return Cascade(self.name, self.modes, judges, self.settings.on_error, frozenset(self._reject_alone))

    def _judge(self, stage: Stage, models: Models) -> Judge:
        if stage == "local":
            return LocalJudge(self.name)
        prompt = self.prompts[stage]
        if prompt.name != SHARED:
            return ModelJudge(prompt, models, self.settings.timeout_s)
        sharing = [plan for plan in self.together or (self,) if stage in plan.stages]
        timeout_s = max(plan.settings.timeout_s for plan in sharing)
        return ModelJudge(prompt, models, timeout_s, self.name, frozenset(plan.name for plan in sharing))

    @property
    def _reject_alone(self) -> Sequence[Stage]:
        if self.settings.reject_alone is not None:
            return self.settings.reject_alone
        return ("local",) if self.name == "emergency" else ()


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A chatbot whose files are loaded and checked. `open_chatbot` connects the chatbot with its models."""

    name: str
    settings: ChatbotSettings
    library: Library | None
    plans: tuple[JudgePlan, ...]

    @property
    def aliases(self) -> set[str]:
        """The model aliases that the chatbot and its judges call."""
        prompted = {
            prompt.model for plan in self.plans for stage, prompt in plan.prompts.items() if stage in plan.stages
        }
        others = {self.settings.model, self.settings.refiner, self.settings.retrieval.selector}
        return prompted | {alias for alias in others if alias not in (None, "local", "lexical")}


def assemble(config: Config) -> dict[str, Blueprint]:
    """Load the knowledge bases and prompts of all chatbots, and check them and the model aliases.

    Returns:
        The blueprints by chatbot name.

    Raises:
        ConfigError: A knowledge base, a prompt or an alias is invalid. The error lists every problem.
    """
    problems: list[str] = []
    libraries: dict[tuple[Path, str], Library | None] = {}
    blueprints = {}
    for name, settings in config.chatbots.items():
        folder, language = settings.knowledge_base, settings.retrieval.language
        if folder is not None and not folder.is_dir():
            libraries[folder, language] = None
            problems.append(f"chatbots.{name}.knowledge_base: '{folder}': there is no such folder")
        elif folder is not None and (folder, language) not in libraries:
            try:
                libraries[folder, language] = load(folder, language=language)
            except KnowledgeBaseError as error:
                libraries[folder, language] = None
                problems += error.problems
        shared = _shared_prompts(settings, config, f"chatbots.{name}.reply_prompts", problems)
        plans = [
            _plan(judge, shared, config, f"chatbots.{name}.judges[{i}]", problems)
            for i, judge in enumerate(settings.judges)
        ]
        names = [plan.name for plan in plans if plan]
        problems += [
            f"chatbots.{name}.judges: the judge {n!r} is listed twice; keep one entry"
            for n in set(names)
            if names.count(n) > 1
        ]
        library = libraries[folder, language] if folder is not None else None
        blueprints[name] = Blueprint(name, settings, library, _share_calls([plan for plan in plans if plan]))
    if problems:
        raise ConfigError(problems)
    return blueprints


def _share_calls(plans: Sequence[JudgePlan]) -> tuple[JudgePlan, ...]:
    """Let all judges that use only the shared prompts share one model call per stage."""
    together = tuple(p for p in plans if p.prompts and all(prompt.name == SHARED for prompt in p.prompts.values()))
    return tuple(replace(plan, together=together) if plan in together else plan for plan in plans)


def _shared_prompts(settings: ChatbotSettings, config: Config, key: str, problems: list[str]) -> dict[Stage, Prompt]:
    """Return the prompt of the shared call of each stage: from `reply_prompts` if configured, else the built-in prompt."""
    prompts: dict[Stage, Prompt] = {prompt.stage: prompt for prompt in map(load_prompt, _builtin(SHARED))}
    own: list[Stage] = []
    for path in settings.reply_prompts:
        try:
            prompt = load_prompt(path)
        except PromptError as error:
            problems.append(str(error))
            continue
        if prompt.name != SHARED:
            problems.append(f"{key}: {path} is a prompt of the judge {prompt.name!r} (expected `name: {SHARED}`)")
        elif prompt.stage in own:
            problems.append(f"{key}: two prompts for the stage {prompt.stage}; keep one file per stage")
        elif prompt.model not in config.models:
            problems.append(f"{key}: {_missing_alias(path, prompt.model, config)}")
        else:
            own.append(prompt.stage)
            prompts[prompt.stage] = prompt
    return prompts


def _plan(
    judge: JudgeSettings, shared_prompts: Mapping[Stage, Prompt], config: Config, key: str, problems: list[str]
) -> JudgePlan | None:
    if judge.python is not None:
        return _python_plan(judge, f'{key}.python: "{judge.python.path}"', problems)
    if judge.name is not None and judge.name not in OBSERVERS:
        problems.append(
            f"{key}: no built-in judge {judge.name!r} (expected one of {', '.join(OBSERVERS)}); "
            "for a custom judge, give the path of its .md file, or `python: MODULE:CLASS`"
            + did_you_mean(judge.name, OBSERVERS)
        )
        return None
    try:
        own = [load_prompt(path) for path in judge.prompts]
    except PromptError as error:
        problems.append(str(error))
        return None
    names = {prompt.name for prompt in own} | ({judge.name} if judge.name else set())
    if len(names) > 1 or len({prompt.stage for prompt in own}) < len(own):
        problems.append(
            f"{key}: the prompts do not fit together: they name {', '.join(sorted(names))} "
            "(expected the same judge name in all files, and one file per stage)"
        )
        return None
    name = names.pop()
    if judge.name is None and name in OBSERVERS:
        problems.append(f"{key}: {name!r} is a built-in judge; to replace its prompt, add `name: {name}`")
    prompts: dict[Stage, Prompt] = dict(shared_prompts) if name in BUILT_IN else {}
    prompts |= {prompt.stage: prompt for prompt in [*map(load_prompt, _builtin(name)), *own]}
    files_by_stage = {prompt.stage: path for prompt, path in zip(own, judge.prompts, strict=True)}
    first: tuple[Stage, ...] = ("local",) if name == "emergency" else ()
    stages = tuple(judge.stages or (*first, *sorted(prompts, key=("swift", "chief").index)))
    problems += [
        f"{key}: reject_alone: no stage follows {stage!r} (stages of this judge: {', '.join(stages)}); remove it from the list"
        for stage in judge.reject_alone or ()
        if stage not in stages[:-1]
    ]
    for stage in stages:
        if stage == "local" and judge.name is None:
            problems.append(f"{key}: stages: a custom judge has no local stage; use swift, chief or both")
        elif stage != "local" and stage not in prompts:
            problems.append(
                f"{key}: stages: no prompt for the stage {stage!r}; add one to `prompts`, or remove the stage"
            )
        elif stage != "local" and prompts[stage].model not in config.models:
            alias = prompts[stage].model
            problems.append(
                _missing_alias(files_by_stage[stage], alias, config)
                if stage in files_by_stage
                else f"{key}: its {stage} stage uses the model alias {alias!r}, which is not under `models` "
                f"(configured: {', '.join(config.models)}); add it, or leave the stage out with `stages`"
                + did_you_mean(alias, config.models)
            )
    return JudgePlan(name, judge, stages, prompts)


def _missing_alias(path: Path, alias: str, config: Config) -> str:
    near = did_you_mean(alias, config.models)
    return f"{path}: model: no model alias {alias!r} (configured: {', '.join(config.models)}){near}"


def _python_plan(judge: JudgeSettings, key: str, problems: list[str]) -> JudgePlan | None:
    assert judge.python is not None
    try:
        own = load_python_judge(*judge.python, judge.settings, judge.timeout_s)
    except PythonJudgeError as error:
        problems.append(f"{key}: {error}")
        return None
    if own.name in OBSERVERS:
        problems.append(f"{key}: {own.name!r} is a built-in judge; give yours another `name`")
    return JudgePlan(own.name, judge, (own.stage,), {}, own)


def _builtin(name: str) -> list[Path]:
    with as_file(files("judges").joinpath("prompts")) as folder:
        return sorted(folder.glob(f"{name}.*.md"))

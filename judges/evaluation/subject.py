"""Opens the subject of a measurement: one stage of a judge with any prompt and model, or the judge's whole cascade."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from judges.case import BUILT_IN
from judges.evaluation.errors import EvaluationError
from judges.judge import OBSERVERS, Judge, LocalJudge, ModelJudge
from judges.pipeline import Cascade
from judges.prompt import SHARED, Prompt, PromptError, load_prompt
from judges.python_judge import PythonJudge
from judges.verdict import Stage
from models.client import Models

SpecStage = Literal["local", "swift", "chief", "cascade"]


@dataclass(frozen=True, slots=True)
class Spec:
    """A subject as the command line names it: `STAGE`, `STAGE@ALIAS`, `PROMPT.md` or `PROMPT.md@ALIAS`."""

    stage: SpecStage | None = None
    """The stage to measure; None if a prompt file is given."""
    prompt: Path | None = None
    """The prompt file to measure."""
    alias: str | None = None
    """The alias of the model; None: the alias in the front matter of the prompt."""

    def __str__(self) -> str:
        return f"{self.prompt or self.stage}" + (f"@{self.alias}" if self.alias else "")


def parse_spec(text: str) -> Spec:
    """Parse the name of a subject, such as `chief@gpt` or `tone.md`.

    Raises:
        EvaluationError: The name is invalid.
    """
    name, _, alias = text.partition("@")
    if name.endswith(".md"):
        return Spec(prompt=Path(name), alias=alias or None)
    if name not in get_args(SpecStage):
        raise EvaluationError(
            f"invalid subject {text!r}: expected {', '.join(get_args(SpecStage))} or the path of a prompt (.md); "
            "add @ALIAS to swift, chief or a prompt for another model"
        )
    if alias and name in ("local", "cascade"):
        raise EvaluationError(
            f"invalid subject {text!r}: @ALIAS is allowed only after swift, chief or a prompt; remove @{alias}"
        )
    return Spec(stage=name, alias=alias or None)  # type: ignore[arg-type]  # it is one of them


@dataclass(frozen=True, slots=True)
class Subject:
    """A judge, or one stage of a judge, that can be asked about cases."""

    cascade: Cascade
    """The stages to ask: the judge's whole cascade, or a cascade with one stage."""

    @property
    def judge(self) -> str:
        return self.cascade.name

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts of the subject's stages; empty for local and Python judges."""
        return tuple(filter(None, map(_prompt_of, self.cascade.stages)))

    @property
    def questions(self) -> frozenset[str]:
        """Names of the judges that the subject's shared prompt answers for; empty if its prompt is not shared."""
        judge = self.cascade.stages[0]
        return judge.questions if isinstance(judge, ModelJudge) else frozenset()

    def with_prompt(self, prompt: Prompt) -> "Subject":
        """Return a copy of the subject with another prompt. The subject must have exactly one stage, with a model."""
        judge = self.cascade.stages[0]
        assert isinstance(judge, ModelJudge)
        return Subject(replace(self.cascade, stages=(replace(judge, prompt=prompt),)))


def open_subject(
    spec: Spec, configured: Cascade, prompts: Mapping[Stage, Prompt], models: Models, timeout_s: float
) -> Subject:
    """Open the subject that a spec names.

    Args:
        spec: The parsed name of the subject.
        configured: The judge's cascade in the configuration.
        prompts: The judge's prompts by stage.
        models: The configured models.
        timeout_s: Time limit of one call, in seconds.

    Raises:
        EvaluationError: The judge has no such stage, the prompt cannot be used, or the model alias is unknown.
    """
    name = configured.name
    if spec.stage == "cascade":
        return Subject(configured)
    if spec.stage == "local":
        return Subject(replace(configured, stages=(_local(configured),)))
    own = next((judge for judge in configured.stages if isinstance(judge, PythonJudge)), None)
    if own is not None and own.stage == spec.stage and spec.alias is None:
        return Subject(configured)
    prompt = _prompt(spec, name, prompts)
    if spec.alias is not None:
        prompt = replace(prompt, model=spec.alias)
    if prompt.model not in models.settings:
        aliases = ", ".join(models.settings) or "none"
        raise EvaluationError(
            f"{name}: {spec}: no model alias {prompt.model!r} in the configuration (configured: {aliases})"
        )
    questions: frozenset[str] = frozenset()
    if prompt.name == SHARED:
        shared = (j for j in configured.stages if isinstance(j, ModelJudge) and j.is_shared and j.stage == prompt.stage)
        questions = next((j.questions for j in shared), frozenset({name}))
    return Subject(replace(configured, stages=(ModelJudge(prompt, models, timeout_s, name, questions),)))


def _prompt_of(judge: Judge) -> Prompt | None:
    """Return the prompt that a judge reads; None for a judge without a prompt."""
    return judge.prompt if isinstance(judge, ModelJudge) else None


def _local(configured: Cascade) -> Judge:
    if configured.name not in OBSERVERS:
        raise EvaluationError(f"{configured.name}: only built-in judges have a local stage")
    local_judges = (judge for judge in configured.stages if isinstance(judge, LocalJudge))
    return next(local_judges, LocalJudge(configured.name))


def _prompt(spec: Spec, name: str, prompts: Mapping[Stage, Prompt]) -> Prompt:
    if spec.prompt is not None:
        try:
            prompt = load_prompt(spec.prompt)
        except PromptError as error:
            raise EvaluationError(str(error)) from error
        if prompt.name not in (name, SHARED if name in BUILT_IN else name):
            raise EvaluationError(f"{spec.prompt}: the prompt belongs to the judge {prompt.name!r}, not to {name!r}")
        return prompt
    for stage, prompt in prompts.items():
        if stage == spec.stage:
            return prompt
    stages = ", ".join(prompts) or "none"
    raise EvaluationError(
        f"{name}: the judge has no prompt for the stage {spec.stage} (stages with a prompt: {stages})"
    )

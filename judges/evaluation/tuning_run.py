"""Starts a new tuning run, or resumes a run from its folder."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from judges.evaluation.case_choice import Choice
from judges.evaluation.configured_judges import ConfiguredJudges, resolve_judges
from judges.evaluation.edits import parse_wording
from judges.evaluation.errors import EvaluationError
from judges.evaluation.journal import JOURNAL, START, Journal, Settings, StartLine
from judges.evaluation.journaled_judging import JournaledJudging
from judges.evaluation.prompt_target import source_of
from judges.evaluation.run_cases import ShowProgress
from judges.evaluation.subject import Spec, Subject
from judges.evaluation.tune import Tuning
from judges.prompt import SHARED
from models.budget import price_of

RUNS_FOLDER = Path("data/tuning")
"""The folder of new runs, relative to the working directory."""


def settings_of(requested: Mapping[str, Any]) -> Settings:
    """Return the settings of a new run.

    Args:
        requested: Fields of `Settings`; None for fields that the user did not set. The default judge is the `name` in the front
            matter of the prompt.

    Raises:
        EvaluationError: The prompt cannot be read.
    """
    judge = requested["judge"] or resolve_judges([], [Spec(prompt=requested["prompt"])])[0]
    return Settings.model_validate({k: v for k, v in requested.items() if v is not None} | {"judge": judge})


def reopen(folder: Path, requested: Mapping[str, Any]) -> tuple[Journal, Settings]:
    """Open the folder of a tuning run, to resume the run with its original settings.

    Args:
        folder: The folder of the run.
        requested: Fields of `Settings`; None or empty for fields that the user did not set.

    Raises:
        EvaluationError: The folder has no run, or a requested setting differs from the original setting.
    """
    if not (folder / JOURNAL).is_file():
        raise EvaluationError(
            f"--resume: {folder}: the folder has no tuning run (no file {JOURNAL}); give the folder of an earlier run"
        )
    journal = Journal(folder)
    if journal.start is None:
        raise EvaluationError(f"--resume: {folder}: the run ended before its settings were stored; start a new run")
    before = journal.start.settings.model_dump()
    if differing := [name for name, value in requested.items() if value not in (None, []) and value != before[name]]:
        raise EvaluationError(
            *(
                f"--resume: {name}: {requested[name]}: the run was started with {before[name]}; omit this option"
                for name in differing
            )
        )
    return journal, journal.start.settings


def open_tuning(
    configured: ConfiguredJudges,
    settings: Settings,
    journal: Journal | None,
    out: Path | None,
    *,
    at_once: int,
    show_progress: ShowProgress,
    report: Callable[[str], None],
) -> Tuning:
    """Prepare a new or resumed tuning run. All checks precede the creation of the folder and the first model call.

    Args:
        configured: The judges of the chatbot.
        settings: The settings of the run.
        journal: The journal of a resumed run; None for a new run.
        out: The folder of a new run; None: a new folder in `RUNS_FOLDER`.
        at_once: Maximum number of concurrent cases.
        show_progress: Opens a progress display.
        report: Called with one line of text for each event.

    Raises:
        EvaluationError: A prompt, a case or a model alias is missing, or has changed since the start of the run.
        ScenarioError: Scenarios cannot be read or used.
        ModelSettingsError: A budget is set, but one of the models has no price.
    """
    if journal is not None:
        start_spec = Spec(prompt=journal.folder / START, alias=settings.model)
    elif settings.prompt is not None:
        start_spec = Spec(prompt=settings.prompt, alias=settings.model)
    else:
        start_spec = Spec(stage=settings.stage or "chief", alias=settings.model)
    subjects = _subjects(configured, start_spec, settings.judge)
    prompts = subjects[0].prompts
    if not prompts or prompts[0].guard is not None:
        kind = "guard model" if prompts else "Python class"
        raise EvaluationError(
            f"{settings.judge}: cannot tune a {kind}: `caf judges tune` edits only prompts of model judges"
        )
    prompt = prompts[0]
    if settings.stage not in (None, prompt.stage):
        raise EvaluationError(
            f"--stage: {settings.stage}: the prompt {settings.prompt} is for the stage {prompt.stage}; omit --stage"
        )
    _check_tuner(configured, settings.tuner)
    names = [one.judge for one in subjects]
    dev = configured.cases(Choice(settings.data, names, "dev", settings.tags, settings.families, settings.limit))
    models = {alias: configured.models.settings[alias].model for alias in (prompt.model, settings.tuner)}
    source = start_spec.prompt or source_of(configured, settings)[0]
    if journal is None:
        folder = out or RUNS_FOLDER / f"{prompt.name}-{prompt.stage}-{time.strftime('%Y%m%d-%H%M%S')}"
        if (folder / JOURNAL).exists():
            raise EvaluationError(
                f"--out: {folder}: the folder already contains a tuning run; resume the run with --resume {folder}, or give "
                "another folder"
            )
        journal = Journal(folder)
        journal.add(StartLine(settings=settings.model_copy(update={"stage": prompt.stage}), models=models))
    elif journal.start is not None and (changed := dict(journal.start.models.items() - models.items())):
        raise EvaluationError(
            *(
                f"models.{alias}: {models.get(alias)!r}: the run was started with {before!r}; start a new run"
                for alias, before in changed.items()
            )
        )
    judging = JournaledJudging(subjects, journal, at_once, show_progress)
    return Tuning(
        judging, parse_wording(source.read_text(encoding="utf-8")), dev, configured.models, settings, report=report
    )


def _subjects(configured: ConfiguredJudges, start_spec: Spec, judge: str) -> list[Subject]:
    """Return the subject of the judge to tune, followed by the subjects of the other judges that use the same prompt."""
    first = configured.subject(start_spec, configured.expand_name(judge)[0])
    if not first.prompts or first.prompts[0].name != SHARED:
        return [first]
    others = configured.judges_sharing_prompt(first.prompts[0].stage)
    if judge == SHARED and others:
        return [configured.subject(start_spec, name) for name in others]
    return [first, *(configured.subject(start_spec, name) for name in others if name != first.judge)]


def _check_tuner(configured: ConfiguredJudges, alias: str) -> None:
    if alias not in configured.models.settings:
        aliases = ", ".join(configured.models.settings)
        raise EvaluationError(f"--tuner: unknown model alias {alias!r} (expected one of {aliases})")
    if configured.budget is not None:
        price_of(alias, configured.models.settings[alias])

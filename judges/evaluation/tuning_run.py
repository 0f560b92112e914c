"""Set up a tuning run: a new one, or one that is resumed from its folder."""

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


def settings_of(requested: Mapping[str, Any]) -> Settings:
    """Return the settings of a new run.

    Args:
        requested: Fields of `Settings`; None where nothing is asked for. Without a judge it is the one that the prompt is for.

    Raises:
        EvaluationError: The prompt cannot be read.
    """
    judge = requested["judge"] or resolve_judges([], [Spec(prompt=requested["prompt"])])[0]
    return Settings.model_validate({k: v for k, v in requested.items() if v is not None} | {"judge": judge})


def reopen(folder: Path, requested: Mapping[str, Any]) -> tuple[Journal, Settings]:
    """Open the folder of a run to resume it with the settings that it was started with.

    Raises:
        EvaluationError: It holds no run, or one that was begun with something else than is requested.
    """
    if not (folder / JOURNAL).is_file():
        raise EvaluationError(f"--resume: {folder} holds no run: there is no {JOURNAL} in it")
    journal = Journal(folder)
    if journal.start is None:
        raise EvaluationError(f"--resume: the run in {folder} has not come far enough; begin a new one")
    before = journal.start.settings.model_dump()
    if differing := [name for name, value in requested.items() if value not in (None, []) and value != before[name]]:
        raise EvaluationError(
            *(
                f"--resume: {name}: the run was begun with {before[name]}, not with {requested[name]}"
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
    """Set up a tuning run. Everything is checked before a folder is made or a model is called.

    Args:
        journal: Of the run that goes on; None: a new one.
        out: The folder of a new run.
        at_once: Cases under way at the same time.
        show_progress: Shows the progress of judging.
        report: Called with a line for each thing that happens.

    Raises:
        EvaluationError: Something is not there, or not as it was when the run began.
        ScenarioError: Scenarios cannot be read or used.
        ModelSettingsError: A budget is set, and a model that is asked has no price.
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
        raise EvaluationError(f"{settings.judge}: is a {kind}, and `tune` edits prompts")
    prompt = prompts[0]
    if settings.stage not in (None, prompt.stage):
        raise EvaluationError(f"--stage: {settings.prompt} is a prompt of the stage {prompt.stage}")
    _check_tuner(configured, settings.tuner)
    names = [one.judge for one in subjects]
    dev = configured.cases(Choice(settings.data, names, "dev", settings.tags, settings.families, settings.limit))
    models = {alias: configured.models.settings[alias].model for alias in (prompt.model, settings.tuner)}
    source = start_spec.prompt or source_of(configured, settings)[0]
    if journal is None:
        folder = out or RUNS_FOLDER / f"{prompt.name}-{prompt.stage}-{time.strftime('%Y%m%d-%H%M%S')}"
        if (folder / JOURNAL).exists():
            raise EvaluationError(
                f"--out: {folder} holds a run already; go on with it by --resume {folder}, or give another folder"
            )
        journal = Journal(folder)
        journal.add(StartLine(settings=settings.model_copy(update={"stage": prompt.stage}), models=models))
    elif journal.start is not None and (changed := dict(journal.start.models.items() - models.items())):
        raise EvaluationError(
            *(
                f"models.{alias}: was {before!r} when the run was begun and is {models.get(alias)!r} now; begin a new run"
                for alias, before in changed.items()
            )
        )
    judging = JournaledJudging(subjects, journal, at_once, show_progress)
    return Tuning(
        judging, parse_wording(source.read_text(encoding="utf-8")), dev, configured.models, settings, report=report
    )


def _subjects(configured: ConfiguredJudges, start_spec: Spec, judge: str) -> list[Subject]:
    """Return the judge to tune, and behind it the others that read the same prompt."""
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
        raise EvaluationError(f"--tuner: no model alias {alias!r} in the configuration (there is: {aliases})")
    if configured.budget is not None:
        price_of(alias, configured.models.settings[alias])

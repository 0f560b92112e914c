"""Finds the file of the tuned prompt, writes a better prompt to a file, and shows the configuration that selects that file."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from judges.evaluation.configured_judges import ConfiguredJudges
from judges.evaluation.errors import EvaluationError
from judges.evaluation.journal import Settings
from judges.evaluation.tuning_result import Version
from judges.prompt import SHARED, load_prompt
from judges.verdict import Stage


@dataclass(frozen=True, slots=True)
class Target:
    """The file to which the winning prompt is written."""

    path: Path
    """The file to write."""
    source: Path
    """The file of the prompt that is tuned."""
    chosen: bool
    """Whether the user named `path`, so that an existing file may be overwritten."""
    in_config: bool
    """Whether the configuration already uses the prompt in `path`."""

    def check(self, *replaceable: str) -> None:
        """Check that writing the file does not overwrite another text.

        Args:
            replaceable: Texts that may be overwritten; by default the text of `source`.

        Raises:
            EvaluationError: The file exists with another text, or cannot be read.
        """
        if self.chosen or not self.path.exists():
            return
        try:
            current_text = self.path.read_text(encoding="utf-8", errors="replace")
            replaceable = replaceable or (self.source.read_text(encoding="utf-8", errors="replace"),)
        except OSError as error:
            raise EvaluationError(f"{self.path}: cannot read the file: {error.strerror}") from error
        if _plain(current_text) not in map(_plain, replaceable):
            reason = "has changed since the run began" if self.path == self.source else "already exists"
            raise EvaluationError(
                f"{self.path}: cannot write the winning prompt: the file {reason}; give another file with --write-to FILE"
            )

    def write(self, start: Version, winner: Version) -> None:
        """Write the winning prompt.

        Raises:
            EvaluationError: The file exists with another text, or cannot be written.
        """
        self.check(start.wording.file, winner.wording.file)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(winner.wording.file, encoding="utf-8")
        except OSError as error:
            raise EvaluationError(
                f"{self.path}: cannot write the winning prompt: {error.strerror}; a copy of the prompt is in {winner.file}"
            ) from error


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").strip()


def source_of(configured: ConfiguredJudges, settings: Settings) -> tuple[Path, bool]:
    """Return the file of the prompt to tune, and whether the file is a built-in prompt."""
    if settings.prompt is not None:
        return settings.prompt, False
    stage, plan = settings.stage or "chief", configured.plan(configured.expand_name(settings.judge)[0])
    shared = stage in plan.prompts and plan.prompts[stage].name == SHARED
    for path in configured.blueprint.settings.reply_prompts if shared else plan.settings.prompts:
        if load_prompt(path).stage == stage:
            return path, False
    return Path(str(files("judges").joinpath(f"prompts/{SHARED if shared else plan.name}.{stage}.md"))), True


def target_of(configured: ConfiguredJudges, settings: Settings, write_to: Path | None) -> Target:
    """Return the file to which a winning prompt is written.

    Args:
        configured: The judges of the chatbot.
        settings: The settings of the run.
        write_to: The file that the user named. None: the file of the tuned prompt, or for a built-in prompt a file in the folder
            `judges` beside the configuration.
    """
    source, built_in = source_of(configured, settings)
    beside = configured.path.parent / "judges" / source.name
    path = write_to or (beside if built_in else source)
    own = (path for name in configured.expand_name(settings.judge) for path in configured.plan(name).settings.prompts)
    used = {file.resolve() for file in (*own, *configured.blueprint.settings.reply_prompts)}
    return Target(path, source, write_to is not None, path.resolve() in used)


def configuration_hints(
    configured: ConfiguredJudges, settings: Settings, start: Version, target: Target
) -> Iterator[str]:
    """Yield instructions for the user: the lines to add to the configuration so that the chatbot uses the new prompt."""
    where = f"chatbots.{configured.blueprint.name}"
    entry = f"set the entry of the judge in {configured.path}, under {where}.judges:\n  - "
    prompt = start.prompt
    if prompt.name != SHARED:
        yield f"To use it, {entry}{_entry(configured, prompt.name, prompt.stage, [target.path])}"
        return
    prompts = _replaced(configured, configured.blueprint.settings.reply_prompts, prompt.stage, [target.path])
    yield f"To use it, add this to {configured.path}, under {where}:\n  reply_prompts: {_flow(prompts)}"
    together = configured.judges_sharing_prompt(prompt.stage)
    if not together or settings.judge not in (SHARED, *together):
        yield f"and {entry}{_entry(configured, configured.expand_name(settings.judge)[0], prompt.stage, [])}"


def _entry(configured: ConfiguredJudges, judge: str, stage: Stage, new: Sequence[Path]) -> str:
    """Return a judge's entry for the configuration as YAML, with the prompts of a stage replaced by `new`."""
    settings = configured.plan(judge).settings
    entry: dict[str, Any] = settings.model_dump(mode="json", exclude_unset=True, exclude={"prompts"})
    if settings.stages is not None and stage not in settings.stages:
        entry["stages"] = [s for s in ("local", "swift", "chief") if s in (*settings.stages, stage)]
    if prompts := _replaced(configured, settings.prompts, stage, new):
        entry["prompts"] = prompts
    return _flow(entry)


def _replaced(configured: ConfiguredJudges, prompts: Sequence[Path], stage: Stage, new: Sequence[Path]) -> list[str]:
    """Return paths of prompt files, relative to the configuration. The prompts of a stage are replaced by `new`."""
    others = (path for path in prompts if load_prompt(path).stage != stage)
    return [os.path.relpath(path, configured.path.parent) for path in (*others, *new)]


def _flow(value: object) -> str:
    return str(yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=1000)).strip()

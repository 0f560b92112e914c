"""What came of tuning a prompt: figures, the winner as a diff, and where it is written if it is accepted."""

import difflib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cli.judging.bench import Bench
from cli.terminal import leave, printable

if TYPE_CHECKING:
    from judges.evaluation.journal import Journal, Settings
    from judges.evaluation.run_cases import Answer
    from judges.evaluation.tune import Held, Tuned
    from judges.verdict import Stage
    from models.budget import Budget

ENDED = {
    "rounds": "all rounds done",
    "budget": "the budget is spent",
    "nothing fails": "no dev case fails any more",
    "too few fail": "too few dev cases fail for a further edit to be proven better",
}


def show(settings: "Settings", tuned: "Tuned", held: "Held | None", budget: "Budget | None") -> None:
    """Print what was tried, the figures of start and winner, and their difference."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from judges.evaluation.holdout import told

    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=200)
    prompt = tuned.start.prompt
    spent = f"; spent {budget.spent:.4f}" if budget is not None else ""
    console.print(
        Text(
            f"{prompt.name}.{prompt.stage} read by {prompt.model}, edits by {settings.tuner}: {ENDED[tuned.ended]}{spent}"
        )
    )
    for name, one in tuned.tried.items():
        outcome = "not kept" if one.outcome == "note" else one.outcome
        console.print(Text(printable(f"  {name}: {outcome}: {one.because}")), soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("cases")
    table.add_column("prompt")
    for title in ("n", "right", "recall", "specificity", "precision", "unjudged", "tokens"):
        table.add_column(title, justify="right")
    rows = [("dev", "start", tuned.start.answers)]
    if tuned.found:
        rows.append(("dev", tuned.winner.name, tuned.winner.answers))
    if held is not None:
        rows += [("holdout", "start", held.before), ("holdout", tuned.winner.name, held.after)]
    judges = list(dict.fromkeys(answer.labelled.judge for answer in tuned.start.answers))
    for cases, name, answers in rows:
        table.add_row(cases, name, *_figures(answers))
        for judge in judges if len(judges) > 1 else ():
            table.add_row(f"{cases} {judge}", name, *_figures([a for a in answers if a.labelled.judge == judge]))
    console.print(table)
    if not tuned.found:
        console.print("No candidate was proven better: the prompt stays as it is.")
        return
    console.print("The winner's dev figures are optimistic: it was chosen on these cases.")
    if held is not None:
        looks = told({prompt.name: held.uses})
        console.print(Text(f"{looks[0].upper()}{looks[1:]}."), soft_wrap=True)
    console.print()
    for line in _diff(tuned):
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        console.print(Text(printable(line), style=style), soft_wrap=True)


def _figures(answers: "Sequence[Answer]") -> list[str]:
    from judges.evaluation.measures import measure
    from judges.evaluation.report import percent

    one = measure(answers)
    return [
        f"{one.recall.n}+{one.specificity.n}",
        str(sum(a.right for a in answers)),
        percent(one.recall),
        percent(one.specificity),
        percent(one.precision),
        str(one.unjudged),
        "-" if one.tokens_per_case is None else f"{one.tokens_per_case:.0f}",
    ]


def _diff(tuned: "Tuned") -> list[str]:
    before, after = (one.wording.file.split("\n") for one in (tuned.start, tuned.winner))
    return list(difflib.unified_diff(before, after, str(tuned.start.file), str(tuned.winner.file), lineterm=""))


@dataclass(frozen=True, slots=True)
class Target:
    """Where a winner goes."""

    path: Path
    source: Path
    """The file of the prompt that was tuned."""
    chosen: bool
    """The user named the file, so what stands there may go."""
    in_config: bool
    """The configuration reads its prompt from there."""

    def check(self, *wordings: str) -> None:
        """Leave if something stands there that nobody said may be lost.

        Args:
            wordings: Prompt files that may be replaced, besides the one that is tuned.
        """
        if self.chosen or not self.path.exists():
            return
        try:
            there = self.path.read_text(encoding="utf-8", errors="replace")
            known = [self.source.read_text(encoding="utf-8", errors="replace")] if self.path != self.source else []
        except OSError as error:
            leave(f"{self.path}: cannot be read: {error.strerror}")
        if self.path == self.source and not wordings:
            return
        if _plain(there) not in {_plain(text) for text in (*known, *wordings)}:
            why = "has changed since the run began" if self.path == self.source else "is there already"
            leave(f"{self.path}: {why} and is not overwritten; give --write-to FILE")


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").strip()


def source_of(bench: Bench, settings: "Settings") -> tuple[Path, bool]:
    """Return the file of the prompt that is tuned, and whether it is a built-in one."""
    from importlib.resources import files

    from judges.prompt import SHARED, load_prompt

    if settings.prompt is not None:
        return settings.prompt, False
    stage, plan = settings.stage or "chief", bench.plan(bench.named(settings.judge)[0])
    shared = stage in plan.prompts and plan.prompts[stage].name == SHARED
    for path in bench.blueprint.settings.reply_prompts if shared else plan.settings.prompts:
        if load_prompt(path).stage == stage:
            return path, False
    return Path(str(files("judges.prompts").joinpath(f"{SHARED if shared else plan.name}.{stage}.md"))), True


def target_of(bench: Bench, settings: "Settings", write_to: Path | None) -> Target:
    """Return where an accepted winner goes."""
    source, built_in = source_of(bench, settings)
    beside = bench.path.parent / "judges" / source.name
    path = write_to or (beside if built_in else source)
    own = (path for name in bench.named(settings.judge) for path in bench.plan(name).settings.prompts)
    used = {file.resolve() for file in (*own, *bench.blueprint.settings.reply_prompts)}
    return Target(path, source, write_to is not None, path.resolve() in used)


def decide(
    bench: Bench,
    settings: "Settings",
    journal: "Journal",
    tuned: "Tuned",
    target: Target,
    accept: bool | None,
    again: str,
) -> None:
    """Accept or discard the winner, as the user says."""
    from judges.evaluation.journal import Decided

    if accept is None:
        if not sys.stdin.isatty():
            typer.echo(f"Nothing is written. The winner is {tuned.winner.file}; accept it with: {again} --accept")
            return
        accept = typer.confirm(f"Write the winner to {target.path}?")
    if not accept:
        journal.add(Decided(winner=tuned.winner.name, written_to=None))
        typer.echo(f"Discarded. It stays in {tuned.winner.file}.")
        return
    target.check(tuned.start.wording.file, tuned.winner.wording.file)
    try:
        target.path.parent.mkdir(parents=True, exist_ok=True)
        target.path.write_text(tuned.winner.wording.file, encoding="utf-8")
    except OSError as error:
        leave(f"{target.path}: cannot be written: {error.strerror}; the winner is {tuned.winner.file}")
    journal.add(Decided(winner=tuned.winner.name, written_to=target.path))
    typer.echo(f"Written to {target.path}.")
    if target.in_config:
        typer.echo(f"{bench.path} uses it already.")
    else:
        _tell_use(bench, settings, tuned, target)
    if settings.model is not None:
        typer.echo(f"It was measured with the model {settings.model!r}: see that `model:` at its top says so.")


def _tell_use(bench: Bench, settings: "Settings", tuned: "Tuned", target: Target) -> None:
    """Print the lines of the configuration that make the chatbot use the new prompt in place of the old one."""
    from judges.prompt import SHARED

    where = f"chatbots.{bench.blueprint.name}"
    stand = f"let the judge stand so in {bench.path}, under {where}.judges:\n  - "
    prompt = tuned.start.prompt
    if prompt.name != SHARED:
        typer.echo(f"To use it, {stand}{_entry(bench, prompt.name, prompt.stage, [target.path])}")
        return
    prompts = _replaced(bench, bench.blueprint.settings.reply_prompts, prompt.stage, [target.path])
    typer.echo(f"To use it, put this into {bench.path}, under {where}:\n  reply_prompts: {_flow(prompts)}")
    if not bench.asked_together(prompt.stage) or settings.judge not in (SHARED, *bench.asked_together(prompt.stage)):
        typer.echo(f"and {stand}{_entry(bench, bench.named(settings.judge)[0], prompt.stage, [])}")


def _entry(bench: Bench, judge: str, stage: "Stage", new: Sequence[Path]) -> str:
    """Return a judge's entry in the configuration, with these prompts of a stage in place of its own."""
    settings = bench.plan(judge).settings
    entry: dict[str, Any] = settings.model_dump(mode="json", exclude_unset=True, exclude={"prompts"})
    if settings.stages is not None and stage not in settings.stages:
        entry["stages"] = [s for s in ("local", "swift", "chief") if s in (*settings.stages, stage)]
    if prompts := _replaced(bench, settings.prompts, stage, new):
        entry["prompts"] = prompts
    return _flow(entry)


def _replaced(bench: Bench, prompts: Sequence[Path], stage: "Stage", new: Sequence[Path]) -> list[str]:
    """Return prompt files as the configuration names them, those of a stage replaced."""
    from judges.prompt import load_prompt

    others = (path for path in prompts if load_prompt(path).stage != stage)
    return [os.path.relpath(path, bench.path.parent) for path in (*others, *new)]


def _flow(value: object) -> str:
    import yaml

    return str(yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=1000)).strip()

"""What the verbs of `caf judges` share: which judges of which chatbot, which cases, models with memory and budget, progress."""

import errno
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.judging import shipped_scenarios as shipped
from cli.terminal import config_path, leave, plain_errors

if TYPE_CHECKING:
    from judges.evaluation.labelled import Labelled, Setting
    from judges.evaluation.run_cases import Answer
    from judges.evaluation.subject import Spec, Subject
    from judges.verdict import Stage
    from models.budget import Budget
    from models.client import Models
    from proxy.config.blueprint import Blueprint, JudgePlan
    from proxy.config.config import Config
    from scenarios.scenario import Family, Read, Scenario

ANSWERS = Path("data/judge-answers.jsonl")
Split = Literal["dev", "holdout", "all"]

ChatbotOption = Annotated[
    str | None,
    typer.Option("--chatbot", metavar="NAME", help="Whose judges; default: the first chatbot that has some."),
]
JudgeOption = Annotated[
    list[str] | None, typer.Option("--judge", "-j", metavar="NAME", help="Only this judge; may be repeated.")
]
DataOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--data",
        "-d",
        metavar="FILE|FOLDER",
        help="Scenario file (.yaml), rows (.jsonl) or folder; may be repeated. Default: the shipped ones.",
    ),
]
SplitOption = Annotated[
    Split | None, typer.Option("--split", help="Which families; default: dev of the shipped ones, all of --data.")
]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Only with this tag; may be repeated.")
]
FamilyOption = Annotated[list[str] | None, typer.Option("--family", metavar="NAME", help="Only this family.")]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", "-n", min=1, help="At most so many cases of each judge, spread over families."),
]
BudgetOption = Annotated[
    float | None,
    typer.Option("--budget", min=0, help="Stop before the calls cost more; in the currency of `models.<alias>.price`."),
]
AtOnceOption = Annotated[int, typer.Option("--concurrency", min=1, help="Cases under way at the same time.")]
AnswersOption = Annotated[
    Path,
    typer.Option(
        "--answers", metavar="FILE", help="Where models' answers are kept: what stands there is not asked again."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Ask everything anew; the answers kept are left alone.")]


@dataclass(frozen=True, slots=True)
class Bench:
    """A chatbot's judges, ready to be measured."""

    config: "Config"
    path: Path
    blueprint: "Blueprint"
    models: "Models"
    budget: "Budget | None"
    known: list[str]
    """Judges that scenarios may name: those built in and those of all chatbots."""
    hints: set[str] = field(default_factory=set)
    """What has been said, which is said once."""

    def plan(self, judge: str) -> "JudgePlan":
        plans = {plan.name: plan for plan in self.blueprint.plans}
        if judge not in plans:
            leave(f"{self.blueprint.name} has no judge {judge!r}; it has {', '.join(plans)}")
        return plans[judge]

    def named(self, judge: str) -> list[str]:
        """Return the judges that a name stands for: one, or all that share their prompts."""
        from judges.prompt import SHARED

        if judge != SHARED:
            return [self.plan(judge).name]
        sharing = [plan.name for plan in self.blueprint.plans if self._shares(plan)]
        return sharing or leave(f"no judge of {self.blueprint.name} shares the prompts with `name: {SHARED}`")

    def asked_together(self, stage: "Stage") -> list[str]:
        """Return the judges that read the shared prompt of a stage, as the chatbot is configured."""
        return [plan.name for plan in self.blueprint.plans if stage in plan.stages and self._shares(plan, stage)]

    @staticmethod
    def _shares(plan: "JudgePlan", stage: "Stage | None" = None) -> bool:
        from judges.prompt import SHARED

        return any(prompt.name == SHARED for at, prompt in plan.prompts.items() if stage in (None, at))

    def subject(self, spec: "Spec", judge: str) -> "Subject":
        from judges.evaluation.subject import SubjectError, open_subject
        from models.budget import price_of

        plan = self.plan(judge)
        try:
            subject = open_subject(spec, plan.open(self.models), plan.prompts, self.models, plan.settings.timeout_s)
        except SubjectError as error:
            leave(str(error))
        if self.budget is not None:
            for prompt in subject.prompts:
                if (settings := self.models.settings[prompt.model]).engine != "embedded":
                    price_of(prompt.model, settings)
        return subject

    def cases(self, choice: "Choice", *, unlabelled: bool = False) -> "list[Labelled]":
        """Read the cases that are meant, for the judges that are meant."""
        read = self._read(choice.data)
        lent, others = self._lent(choice.data)
        found = self.labelled(read, choice.judges_of(self), choice.keep, unlabelled=unlabelled, lent=lent)
        if choice.limit is not None:
            found = [case for judge in choice.judges_of(self) for case in _spread(found, judge, choice.limit)]
        if not found:
            leave("no case fits: no scenario with these judges, split, tags and families; see --data and --split")
        borrowing = {one.family.family for one in read if one.family.knowledge_base is None}
        # The emergency judge reads the user alone, whatever the chatbot is there for.
        if others and any(case.judge != "emergency" and case.family in borrowing for case in found):
            self._hint(
                f"the shipped scenarios belong to another {' and '.join(others)} than {self.blueprint.name} has, and are measured "
                "with theirs; to measure on scenarios of your own, give --data FILE|FOLDER"
            )
        return found

    def holdout(self, data: list[Path], judges: list[str]) -> "list[Labelled]":
        """Read the held-out cases of judges: all that there are, since a choice among them is a look at this holdout too."""
        lent, _ = self._lent(data)
        return self.labelled(self._read(data), judges, lambda family, scenario: family.split == "holdout", lent=lent)

    def labelled(
        self,
        read: "Sequence[Read]",
        judges: "Sequence[str]",
        keep: "Callable[[Family, Scenario], bool]" = lambda family, scenario: True,
        *,
        unlabelled: bool = False,
        lent: "Setting | None" = None,
    ) -> "list[Labelled]":
        """Make cases of scenarios, with what is lent to them; default: what the chatbot lends."""
        from judges.evaluation.labelled import labelled
        from scenarios.files import ScenarioError

        try:
            return labelled(read, judges, lent or self.setting, keep, unlabelled=unlabelled)
        except ScenarioError as error:
            leave(*error.problems)

    @property
    def setting(self) -> "Setting":
        """What the chatbot lends to scenarios that do not say it themselves."""
        from judges.case import Topic
        from judges.evaluation.labelled import Setting

        settings = self.blueprint.settings
        topics = tuple(Topic(topic.name, tuple(topic.terms)) for topic in settings.sensitive_topics)
        return Setting(self.blueprint.library, settings.role, topics)

    def _lent(self, data: list[Path]) -> "tuple[Setting, list[str]]":
        """Return what is lent to scenarios that do not say it, and what of it the chatbot does not have.

        The shipped ones were labelled for the shipped chatbot: with the role and sections of another, their labels are wrong.
        """
        if data:
            return self.setting, []
        theirs = shipped.setting()
        others = shipped.differences(self.setting, theirs)
        return (theirs if others else self.setting), others

    def _hint(self, text: str) -> None:
        if text not in self.hints:
            self.hints.add(text)
            typer.echo(f"caf: {text}", err=True)

    def _read(self, data: list[Path]) -> "list[Read]":
        from judges.evaluation.judge_names import misnamed
        from scenarios.files import ScenarioError
        from scenarios.scenario import load_all

        try:
            read = load_all(data or [shipped.SCENARIOS])
        except ScenarioError as error:
            leave(*error.problems)
        if problems := misnamed(read, self.known):
            leave(*problems)
        return read


def _spread(cases: "Sequence[Labelled]", judge: str, limit: int) -> "list[Labelled]":
    """Return so many cases of a judge, from as many families as there are: the first of each, then the second ..."""
    places: dict[str, int] = {}
    turns: list[tuple[int, int]] = []
    for number, case in enumerate(cases):
        if case.judge == judge:
            places[case.family] = places.get(case.family, -1) + 1
            turns.append((places[case.family], number))
    return [cases[number] for _, number in sorted(turns)[:limit]]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which cases are meant."""

    data: list[Path] = field(default_factory=list)
    judges: list[str] = field(default_factory=list)
    split: Split | None = None
    tags: list[str] = field(default_factory=list)
    families: list[str] = field(default_factory=list)
    limit: int | None = None

    def judges_of(self, bench: Bench) -> list[str]:
        meant = dict.fromkeys(name for judge in self.judges for name in bench.named(judge))
        return list(meant) or [plan.name for plan in bench.blueprint.plans]

    def keep(self, family: "Family", scenario: "Scenario") -> bool:
        split = self.split or ("all" if self.data else "dev")
        return (
            split in ("all", family.split)
            and (not self.tags or not set(self.tags).isdisjoint(scenario.tags))
            and (not self.families or family.family in self.families)
        )


@asynccontextmanager
async def open_bench(
    config: Path | None, chatbot: str | None, *, budget: float | None = None, answers: Path | None = ANSWERS
) -> "AsyncIterator[Bench]":
    """Open a chatbot's judges and their models.

    Args:
        answers: Where answers are remembered; None: nothing is.
    """
    from assistants.registry import ENGINES
    from judges.evaluation.judge_names import known_judges
    from models.answer_cache import Memory, Remembering
    from models.budget import Budget, Budgeted
    from models.client import Engine, open_models
    from models.openai_engine import make_session
    from proxy.config.blueprint import assemble
    from proxy.config.config import load_config

    path = config_path(config)
    with plain_errors(path):
        loaded = load_config(path)
        blueprints = assemble(loaded)
        blueprint = _chosen(blueprints, chatbot)
        known = known_judges(plan.name for bot in blueprints.values() for plan in bot.plans)
        purse = Budget(budget) if budget is not None else None
        outside = any(settings.engine != "embedded" for settings in loaded.models.values())
        memory = Memory(answers) if answers is not None and outside else None

        def around(alias: str, engine: Engine) -> Engine:
            settings = loaded.models[alias]
            if purse is not None and settings.engine != "embedded":
                engine = Budgeted(engine, alias, settings, purse)
            return engine if memory is None else Remembering(engine, memory, settings.base_url)

        session = make_session()
        try:
            models = open_models(loaded.models, session, ENGINES, around=around)
            yield Bench(loaded, path, blueprint, models, purse, known)
        finally:
            await session.close()
            if memory is not None:
                memory.close()


def _chosen(blueprints: "dict[str, Blueprint]", name: str | None) -> "Blueprint":
    with_judges = [one for one in blueprints.values() if one.plans]
    if name is None:
        return with_judges[0] if with_judges else leave("no chatbot of this configuration has judges")
    if name not in blueprints:
        leave(f"there is no chatbot {name!r}; there is {', '.join(blueprints)}")
    if not blueprints[name].plans:
        leave(f"the chatbot {name!r} has no judges")
    return blueprints[name]


def judges_meant(named: "Sequence[str] | None", specs: "Sequence[Spec]") -> list[str]:
    """Return the judges that are named; when none is, those that the prompts to measure are for, see `Bench.named`."""
    from judges.prompt import PromptError, load_prompt

    if named:
        return list(named)
    try:
        found = dict.fromkeys(load_prompt(spec.prompt).name for spec in specs if spec.prompt is not None)
    except PromptError as error:
        leave(str(error))
    if len(found) > 1:
        leave(f"these are prompts of different judges: {', '.join(found)}; prompts of one judge can be compared")
    return list(found)


@contextmanager
def progress(total: int, what: str) -> "Iterator[Callable[[Answer], None]]":
    """Show how far the asking is, on standard error, where a person is looking."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    spent = 0.0
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[cost]}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(what, total=total, cost="")

        def told(answer: "Answer") -> None:
            nonlocal spent
            spent += answer.cost or 0.0
            bar.update(task, advance=1, cost=f"cost {spent:.4f}" if spent else "")

        yield told


def quiet_logs() -> None:
    """Keep the judges' own log lines from standing between the figures: they say what the report says."""
    import logging

    import structlog

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),  # on standard output stand figures, or JSON
    )


def check_page(path: Path | None) -> None:
    """Leave if a page could not be written there: to be told so after everything was asked and paid for is too late."""
    if path is None:
        return
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}."
        ):  # permissions alone do not tell: disks are full
            pass
    except OSError as error:
        leave(f"{path}: cannot be written: {error.strerror}")


def write_page(path: Path, text: str) -> None:
    """Write a page for its owner alone: it shows what people wrote."""
    from scenarios.files import ScenarioError, write

    try:
        write(text, path, overwrite=True)
    except ScenarioError as error:
        leave(*error.problems)
    typer.echo(f"wrote {path}", err=True)

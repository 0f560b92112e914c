"""Checks the files that `caf check` reads besides the configuration.

These are saved conversations, scenarios, facilitators, ordinary questions, questions of `caf compare`, experiments, prompts of
judges, and sections of knowledge bases. The content of a file determines its kind.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Literal, get_args

from cli.file_kind import Kind, is_configuration, is_run, kind_of, sections_in, with_source_line
from facilitators import facilitator
from judges.evaluation.judge_names import known_judges, unknown_names
from judges.evaluation.labelled import ScenarioDefaults, label_cases
from judges.judge import OBSERVERS
from judges.prompt import PromptError, load_prompt
from knowledge_base.library import KnowledgeBaseError, Library, load
from proxy.config.blueprint import Blueprint
from scenarios import checkpoint, own_questions, questions
from scenarios.files import ScenarioError
from scenarios.scenario import Family
from scenarios.scenario_files import FamilyFile, read_all
from scoring.experiments.check import check_experiment

Subject = Literal[
    "safety",
    "environment",
    "evidence",
    "actions",
    "local judges",
    "ignored settings",
    "knowledge bases",
    "scenarios",
    "experiments",
    "files passed over",
]
"""The headings under which `caf check` groups its notes, in the order in which they are printed."""

MAX_ENTRIES = 10_000
"""Maximum number of files and folders in a folder that is to be checked."""


@dataclass(slots=True)
class Findings:
    """Collects what `caf check` finds and prints."""

    problems: list[str] = field(default_factory=list)
    """Errors that prevent serving or change its result. Each names its file."""
    notes: dict[Subject, list[str]] = field(default_factory=lambda: {subject: [] for subject in get_args(Subject)})
    """Risks that are not errors, by subject. The operator should read them before anyone uses the chatbots."""
    summary: list[str] = field(default_factory=list)
    """Counts of the checked objects, such as `2 chatbots`."""


def check_files(
    config: Path,
    extra_paths: Sequence[Path],
    chatbots: list[Blueprint] | None,
    findings: Findings,
    *,
    only_extra: bool = False,
) -> None:
    """Check the files beside a configuration, and further files. Add the results to `findings`.

    A further scenario may have the same id as a scenario beside the configuration, because no command reads both together.

    Args:
        config: The configuration.
        extra_paths: Further files and folders.
        chatbots: The chatbots whose judges and sections the scenarios may name. None if the configuration is invalid; the names
            are then not checked.
        only_extra: Whether to check the further files only.
    """

    def beside(pattern: str) -> list[Path]:
        return [] if only_extra else sorted(config.parent.glob(pattern))

    families = beside("scenarios/judges/*.yaml")
    others: dict[Kind, list[Path]] = {
        "checkpoint": beside("scenarios/checkpoints/*.yaml"),
        "questions": beside("scenarios/benign/*.yaml"),
        "facilitator": beside("facilitators/prompts/*.md"),
        "experiment": [path for path in beside("scenarios/experiments/*.yaml") if not is_configuration(path)],
        "prompt": [],
        "own_questions": [],
    }
    sections: list[Path] = []
    paths_seen = {path.resolve() for path in (*families, *chain.from_iterable(others.values()))}
    further: list[Path] = []
    for path in _expand_folders(extra_paths, config, findings):
        if path.resolve() in paths_seen:
            continue
        paths_seen.add(path.resolve())
        if (kind := kind_of(path, findings.problems)) == "section":
            sections.append(path)
        elif kind == "search_questions":
            findings.notes["files passed over"].append(
                f"{path}: skipped, because the file has questions for `caf kb eval`, which checks them"
            )
        elif kind is not None:
            others.get(kind, further).append(path)
    for kind, paths in others.items():
        _load_each(kind, paths, findings)
    _check_knowledge_bases(dict.fromkeys(path.parent for path in sections), findings)
    _check_scenarios([families, further], chatbots, findings)


def _expand_folders(paths: Sequence[Path], config: Path, findings: Findings) -> Iterator[Path]:
    """Yield the given files, and the files to check in the given folders. Add notes on files that are skipped.

    Args:
        config: The configuration, which is checked already.
    """
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        if is_run(path):
            findings.problems.append(
                f"{path}: the folder is the output of `caf drift run`, which `caf check` does not check"
            )
            continue
        entries = [*islice(path.rglob("*"), MAX_ENTRIES + 1)]
        if len(entries) > MAX_ENTRIES:
            findings.problems.append(
                f"{path}: not checked, because the folder has more than {MAX_ENTRIES:,} files and folders; name a smaller folder, "
                "or name the files"
            )
            continue
        files_found = sorted(file for file in entries if file.suffix in (".yaml", ".yml", ".jsonl"))
        configurations = [file for file in files_found if is_configuration(file)]
        files_found = [file for file in files_found if file not in configurations]
        findings.notes["files passed over"] += [
            f"{file}: skipped, because the file is a configuration; check it with `caf check {file}`"
            for file in configurations
            if file.resolve() != config.resolve()
        ]
        runs = [folder for folder in dict.fromkeys(file.parent for file in files_found) if is_run(folder)]
        findings.notes["files passed over"] += [
            f"{folder}: skipped, because the folder is the output of `caf drift run`" for folder in runs
        ]
        if not files_found and not configurations and (sections := [*sections_in(path)]):
            yield sections[0]
        elif not files_found and not configurations:
            findings.problems.append(
                f"{path}: the folder has no .yaml or .jsonl file and no section of a knowledge base; expected at least one"
            )
        yield from (file for file in files_found if file.parent not in runs)


def _load_each(kind: Kind, paths: Sequence[Path], findings: Findings) -> None:
    """Load files of one kind, and add their problems and their count to `findings`."""
    loaders: dict[Kind, Callable[[Path], object]] = {
        "checkpoint": checkpoint.load,
        "questions": questions.load,
        "own_questions": own_questions.load,
        "facilitator": facilitator.load,
        "prompt": load_prompt,
    }
    for path in paths:
        if kind == "experiment":
            problems, notes = check_experiment(path)
            findings.problems += problems
            findings.notes["experiments"] += notes
            continue
        try:
            loaders[kind](path)
        except ScenarioError as error:
            findings.problems += with_source_line(error)
        except PromptError as error:
            findings.problems.append(str(error))
    if paths:
        names: dict[Kind, str] = {
            "questions": "question file",
            "own_questions": "`caf compare` question file",
            "prompt": "judge's prompt",
        }
        findings.summary.append(count_text(len(paths), names.get(kind, kind)))


def _check_knowledge_bases(folders: Iterable[Path], findings: Findings) -> None:
    """Load knowledge bases, and add their problems, notes and counts to `findings`."""
    for folder in folders:
        try:
            library = load(folder)
        except KnowledgeBaseError as error:
            findings.problems += error.problems
        else:
            findings.notes["knowledge bases"] += unreviewed_notes(folder, library)
            findings.summary.append(f"{count_text(len(library), 'section')} of {folder}")


def unreviewed_notes(folder: Path, library: Library) -> Iterator[str]:
    """Yield a note on imported sections that nobody has reviewed, and a note on other sections without a reviewer's name."""
    drafts = library.drafts
    if drafts:
        yield (
            f"{folder}: {len(drafts)} of {count_text(len(library), 'section')} imported and not reviewed; read and correct each "
            "section, then write `reviewed: true` into it"
        )
    if new := [one for one in library.unreviewed if one not in drafts]:
        listed = "" if len(new) == len(library) else f": {', '.join(new)}"
        yield f"{folder}: {len(new)} of {count_text(len(library), 'section')} without a reviewer's name in `reviewed_by`{listed}"


def _check_scenarios(groups: Sequence[Sequence[Path]], chatbots: list[Blueprint] | None, findings: Findings) -> None:
    """Check groups of scenario files. Ids of scenarios must be unique within a group.

    Args:
        chatbots: The chatbots whose judges and sections the scenarios may name; None to skip these checks.
    """
    families = scenarios = 0
    for paths in groups:
        read, problems = read_all(paths)
        findings.problems += problems
        findings.problems += _unknown_judges(read, chatbots) if chatbots is not None else []
        findings.problems += _problems_for_judges(read, chatbots)
        for file in read:
            # Rows of a .jsonl file have no twins.
            if file.path.suffix != ".jsonl" and (lone := _violations_without_twin(file.family)):
                findings.notes["scenarios"].append(
                    f"{file.path}: violating scenarios without a harmless twin: {', '.join(lone)}"
                )
        families += len(read)
        scenarios += sum(len(one.family.scenarios) for one in read)
    if any(groups):
        findings.summary.append(
            f"{families} {'family' if families == 1 else 'families'} with {count_text(scenarios, 'scenario')}"
        )


def _unknown_judges(read: list[FamilyFile], chatbots: list[Blueprint]) -> list[str]:
    """Return a problem for each name of a judge that is neither configured nor built in."""
    return unknown_names(read, known_judges(plan.name for bot in chatbots for plan in bot.plans))


def _problems_for_judges(read: list[FamilyFile], chatbots: list[Blueprint] | None) -> list[str]:
    """Return the problems that prevent judging the scenarios with every chatbot: unknown sections, or missing replies."""
    named = (judge for one in read for scenario in one.family.scenarios for judge in scenario.expect)
    judges = dict.fromkeys([*OBSERVERS, *named])
    if chatbots is None:
        read = [one for one in read if one.family.knowledge_base is not None]
    judged = [bot for bot in chatbots or [] if bot.plans]
    problems_by_bot: list[list[str]] = []
    for library in {id(bot.library): bot.library for bot in judged}.values() or [None]:
        try:
            label_cases(read, judges, ScenarioDefaults(library, "", ()), unlabelled=True)
        except ScenarioError as error:
            problems_by_bot.append(error.problems)
        else:
            return []
    return [problem for problem in problems_by_bot[0] if all(problem in others for others in problems_by_bot[1:])]


def _violations_without_twin(family: Family) -> list[str]:
    """Return the ids of violating scenarios that have no harmless twin for any judge that should flag them."""
    lone = []
    for scenario in family.scenarios:
        violated = {judge for judge, right in scenario.expect.items() if "accept" not in right}
        twins = [other for other in family.scenarios if other.id in scenario.twins or scenario.id in other.twins]
        if violated and not any("accept" in twin.expect.get(judge, ()) for twin in twins for judge in violated):
            lone.append(scenario.id)
    return lone


def count_text(count: int, noun: str) -> str:
    """Return a count with its noun, which gets an `s` unless the count is 1."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

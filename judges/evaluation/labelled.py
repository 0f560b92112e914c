"""Creates labelled cases, which have a correct verdict, from scenarios and their knowledge bases."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from judges.case import Case, HistoryMessage, Topic, emergency_case
from judges.verdict import Verdict
from knowledge_base.library import KnowledgeBaseError, Library, Source
from knowledge_base.library import load as load_library
from models.validation_errors import did_you_mean
from scenarios.files import ScenarioError
from scenarios.scenario import Family, Scenario
from scenarios.scenario_files import FamilyFile


@dataclass(frozen=True, slots=True)
class LabelledCase:
    """A case for one judge, with the correct verdicts."""

    id: str
    judge: str
    family: str
    split: str
    tags: tuple[str, ...]
    expected: frozenset[Verdict]
    """The correct verdicts; empty if the case has no label."""
    case: Case
    """The input of the judge."""

    @property
    def key(self) -> tuple[str, str]:
        """(judge, scenario id), which identifies the case: a scenario gives one case for each judge in its `expect`."""
        return self.judge, self.id

    @property
    def violating(self) -> bool:
        """Whether the case is labelled and `accept` would be wrong. Violating cases are the positives of the measures."""
        return bool(self.expected) and "accept" not in self.expected


@dataclass(frozen=True, slots=True)
class ScenarioDefaults:
    """The sections, role and topics for scenarios that do not set their own."""

    library: Library | None
    role: str
    topics: tuple[Topic, ...]


def label_cases(
    families: Iterable[FamilyFile],
    judges: Collection[str],
    defaults: ScenarioDefaults,
    keep: Callable[[Family, Scenario], bool] = lambda family, scenario: True,
    *,
    unlabelled: bool = False,
) -> list[LabelledCase]:
    """Return the cases of scenarios, one for each judge in a scenario's `expect`.

    Args:
        families: The scenario files.
        judges: Names of the judges to create cases for.
        defaults: The sections, role and topics for scenarios that do not set their own.
        keep: Returns whether to use a scenario.
        unlabelled: Also use scenarios without `expect`, for each judge whose text (user message or reply) is not empty.

    Raises:
        ScenarioError: A cited section, a knowledge base or a reply is missing. The error lists every problem.
    """
    libraries: dict[Path, Library | None] = {}
    problems: list[str] = []
    cases: list[LabelledCase] = []
    for file in families:
        library = _library(file, defaults, libraries, problems)
        library_failed = file.family.knowledge_base in libraries and library is None  # already reported
        for scenario in file.family.scenarios:
            judges_of_scenario = [judge for judge in judges if judge in scenario.expect]
            if unlabelled and not scenario.expect:
                judges_of_scenario = [judge for judge in judges if _text_judged_by(judge, scenario).strip()]
            if not judges_of_scenario or not keep(file.family, scenario):
                continue
            where = f"{file.path}: {scenario.id}"
            cited = [] if library_failed else list(_cited_sources(scenario, library, where, problems))
            problems += [
                f"{where}: response: the reply is empty; give a reply, because only the emergency judge does not need one"
                for judge in judges_of_scenario
                if judge != "emergency" and not scenario.response.strip()
            ]
            case = _reply_case(file.family, scenario, cited, defaults)
            cases += [
                LabelledCase(
                    scenario.id,
                    judge,
                    file.family.family,
                    file.family.split,
                    scenario.tags,
                    frozenset(scenario.expect.get(judge, ())),
                    _emergency_case(scenario) if judge == "emergency" else case,
                )
                for judge in judges_of_scenario
            ]
    if problems:
        raise ScenarioError(problems)
    return cases


def _text_judged_by(judge: str, scenario: Scenario) -> str:
    return scenario.user_message if judge == "emergency" else scenario.response


def _library(
    file: FamilyFile, defaults: ScenarioDefaults, libraries: dict[Path, Library | None], problems: list[str]
) -> Library | None:
    folder = file.family.knowledge_base
    if folder is None:
        return defaults.library
    if folder not in libraries:
        try:
            libraries[folder] = load_library(folder)
        except KnowledgeBaseError as error:
            libraries[folder] = None
            problems += [f"{file.path}: knowledge_base: {problem}" for problem in error.problems]
    return libraries[folder]


def _cited_sources(scenario: Scenario, library: Library | None, where: str, problems: list[str]) -> Iterable[Source]:
    for id in scenario.citations:
        if library is not None and id in library:
            yield library[id]
        else:
            problems.append(
                f"{where}: citations: no section {id!r} in the knowledge base; correct it, or give the text in `sources`"
                + did_you_mean(id, library or ())
            )
    for source in scenario.sources:
        yield Source(source.id, source.title or source.id, "", source.text, trusted=source.trusted)


def _reply_case(family: Family, scenario: Scenario, cited: list[Source], defaults: ScenarioDefaults) -> Case:
    topics = defaults.topics if family.sensitive_topics is None else tuple(map(Topic, family.sensitive_topics))
    return Case(
        scenario.user_message,
        scenario.response,
        history=tuple(HistoryMessage(e.role, e.content) for e in scenario.history),
        cited=tuple(cited),
        role=defaults.role if family.role is None else family.role,
        topics=topics,
    )


def _emergency_case(scenario: Scenario) -> Case:
    """Return the case of a scenario for the emergency judge, which reads only the user's messages."""
    return emergency_case(scenario.user_message, [e.content for e in scenario.history if e.role == "user"])

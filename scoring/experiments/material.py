"""Reads the facilitators, checkpoints and questions of an experiment, and checks that they are consistent."""

import difflib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from facilitators import facilitator
from facilitators.facilitator import Facilitator
from knowledge_base.library import Library, Source
from scenarios import checkpoint, questions
from scenarios.checkpoint import Checkpoint, Message
from scenarios.files import ScenarioError
from scenarios.questions import Question
from scoring.experiment import Experiment
from scoring.plan import Sample
from scoring.score import Rateable
from scoring.transcript import Exchange

NEAREST = 3
"""Number of sections to show raters for a reply without citations."""


@dataclass(frozen=True, slots=True)
class Material:
    """The facilitators, checkpoints and questions of an experiment."""

    facilitators: Mapping[str, Facilitator]
    checkpoints: Mapping[str, Checkpoint]
    questions: tuple[Question, ...]
    question_files: Mapping[str, Path]
    """The file of each question, by the question's id."""
    notes: tuple[str, ...] = ()
    """Remarks for the user that do not prevent the run."""


def load_material(experiment: Experiment) -> Material:
    """Read the files that an experiment names.

    Raises:
        ScenarioError: A file is missing or invalid, or two files are inconsistent.
    """
    folders = [facilitator.SHIPPED, *experiment.facilitator_folders]
    personas = facilitator.load_all(folders)
    problems = [
        unknown_name("facilitators", name, personas, folders[-1])
        for name in experiment.facilitators
        if name not in personas
    ]
    if problems:
        raise ScenarioError(problems)
    problems, checkpoints, read = [], {}, []
    try:
        checkpoints = _checkpoints(experiment)
    except ScenarioError as error:
        problems += error.problems
    try:
        read = questions.read_all(experiment.questions)
    except ScenarioError as error:
        problems += error.problems
    where = {question.id: one.path for one in read for question in one.set.questions}
    problems += [
        f"{where[name]}: the id {name!r} is also the name of a checkpoint: rename one, because a run's files hold both"
        for name in sorted(checkpoints.keys() & where.keys())
    ]
    if problems:
        raise ScenarioError(problems)
    notes = _notes_on_other_chatbots(experiment, checkpoints, read)
    return Material(
        personas, checkpoints, tuple(one for file in read for one in file.set.questions), where, tuple(notes)
    )


def check_sections(material: Material, library: Library) -> None:
    """Check that the knowledge base has all sections that the questions name.

    Raises:
        ScenarioError: The knowledge base lacks a section.
    """
    problems = [
        unknown_name(
            f"{material.question_files[one.id]}: {one.id}: sections", name, library, "the chatbot's knowledge base"
        )
        for one in material.questions
        for name in one.sections
        if name not in library
    ]
    if problems:
        raise ScenarioError(problems)


def unknown_name(key: str, name: str, names: Mapping[str, object], where: Path | str) -> str:
    """Return an error message for an unknown name, with a suggestion of a similar known name."""
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known names: {', '.join(names) or 'none'}"
    return f"{key}: unknown name {name!r} in {where}; {hint}"


def _notes_on_other_chatbots(
    experiment: Experiment, checkpoints: Mapping[str, Checkpoint], read: Sequence[questions.QuestionFile]
) -> Iterator[str]:
    """Yield one note on the checkpoints, and one on the questions, that were made for other chatbots."""
    chatbots = {experiment.chatbot, *(arm.chatbot for arm in experiment.arms.values())}
    made = [
        *(("checkpoint", name, one.chatbot) for name, one in checkpoints.items()),
        *(("question file", str(one.path), one.set.chatbot) for one in read),
    ]
    others: dict[tuple[str, str], list[str]] = defaultdict(list)
    for kind, name, chatbot in made:
        if chatbot not in chatbots:
            others[kind, chatbot].append(name)
    for (kind, chatbot), names in others.items():
        yield (
            f"{kind}{'s' if len(names) > 1 else ''} made for the chatbot {chatbot!r}, not for {experiment.chatbot!r}: "
            f"{', '.join(names)}"
        )


def _checkpoints(experiment: Experiment) -> dict[str, Checkpoint]:
    """Return the checkpoints of an experiment, sorted by name."""
    if not experiment.facilitators:
        return {}
    folder, problems = experiment.checkpoint_folder, []
    named = experiment.checkpoints
    paths = sorted(folder.glob("*.yaml")) if named is None else [folder / f"{name}.yaml" for name in named]
    by_name: dict[str, Checkpoint] = {}
    for path in paths:
        try:
            saved = checkpoint.load(path)
        except ScenarioError as error:
            problems += error.problems
            continue
        if saved.facilitator in experiment.facilitators:
            if saved.messages[-1].role != "assistant":
                problems.append(
                    f"{path}: messages: the last message must be the assistant's, because the facilitator replies to it"
                )
            if saved.name in by_name:
                problems.append(f"{path}: name: duplicate {saved.name!r}: rename one of the checkpoints")
            by_name[saved.name] = saved
        elif named is not None:
            problems.append(
                f"{path}: facilitator: {saved.facilitator!r} is not in this experiment "
                f"(facilitators: {', '.join(experiment.facilitators)})"
            )
    served = {one.facilitator for one in by_name.values()}
    problems += [
        f"{folder}: found no checkpoint with `facilitator: {name}`: write one, or make one with "
        f"`caf drift find --facilitator {name}` or `caf chat --save`"
        for name in experiment.facilitators
        if name not in served and not problems
    ]
    if problems:
        raise ScenarioError(problems)
    return by_name


@dataclass(frozen=True, slots=True)
class CaseBuilder:
    """Builds the raters' view of an exchange. It leaves out the arm, the outcome and rejected drafts, so that raters are blind."""

    library: Library
    role: str

    def __call__(self, exchange: Exchange, earlier: tuple[Message, ...], sample: Sample) -> Rateable:
        points = sample.question.key_points if sample.question else ()
        return Rateable(
            exchange.user_message, exchange.reply, earlier, self.sources(exchange, sample), points, self.role
        )

    def sources(self, exchange: Exchange, sample: Sample) -> tuple[Source, ...]:
        """Return the sources to rate a reply against.

        These are the cited sections and documents, and the sections that the question names. Without any, they are the sections
        most similar to the user's message.
        """
        documents = {one.id: Source(one.id, one.title, "", one.text) for one in exchange.documents}
        ids = [*exchange.citations, *(sample.question.sections if sample.question else ())]
        if not ids and self.library:
            ids = [choice.id for choice in self.library.index.choose(exchange.user_message, "", NEAREST)]
        passages = {**self.library, **documents}
        return tuple(passages[name] for name in dict.fromkeys(ids) if name in passages)

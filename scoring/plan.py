"""Plans the samples of a run, before the first call. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from facilitators.facilitator import Facilitator
from facilitators.voice import seed_of
from scenarios.checkpoint import Checkpoint, Message
from scenarios.questions import Question
from scoring.experiment import Experiment
from scoring.transcript import QUESTIONS, Place


@dataclass(frozen=True, slots=True)
class Sample:
    """One planned conversation of a facilitator in one arm, or one ordinary question in one arm."""

    arm: str
    name: str
    """The facilitator's name, or `questions`."""
    start: str
    """The checkpoint's name, or the question's id."""
    number: int
    turns: int
    history: tuple[Message, ...]
    """The messages of the checkpoint, or before the question."""
    facilitator: Facilitator | None = None
    question: Question | None = None

    def place(self, turn: int) -> Place:
        return Place(arm=self.arm, facilitator=self.name, checkpoint=self.start, sample=self.number, turn=turn)

    def seed(self, run: int, turn: int) -> int:
        """Return the seed of a turn. The seed is equal in all arms, so that arms differ only in their condition."""
        return seed_of(run, self.name, self.start, self.number, turn)


def samples(
    experiment: Experiment,
    facilitators: Mapping[str, Facilitator],
    checkpoints: Mapping[str, Checkpoint],
    questions: Sequence[Question],
) -> list[Sample]:
    """Return all samples of a run. The samples of one checkpoint or question are adjacent, one for each arm."""
    planned = [
        Sample(arm, name, start.name, number, experiment.turns, start.messages, facilitator=facilitators[name])
        for name in experiment.facilitators
        for start in checkpoints.values()
        if start.facilitator == name
        for number in range(experiment.samples)
        for arm in experiment.arms
    ]
    planned += [
        Sample(arm, QUESTIONS, question.id, number, 1, before(question), question=question)
        for question in questions
        for number in range(experiment.question_samples)
        for arm in experiment.arms
    ]
    return planned


def before(question: Question) -> tuple[Message, ...]:
    """Return the messages before an ordinary question."""
    return tuple(
        Message(
            role=message.role,
            content=message.content,
            citations=message.citations if message.role == "assistant" else (),
        )
        for message in question.history
    )

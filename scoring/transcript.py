"""The records of a run, each a JSON line: exchanges, ratings, and checks of facilitators' messages."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from scenarios.checkpoint import Message

QUESTIONS = "questions"
"""Value of `facilitator` in files of a run for ordinary questions, which have no facilitator."""
HUMAN = "human:"
"""Prefix of `rater` if the rater is a person."""


class Line(BaseModel):
    """The base of the lines in a run's files."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Place(Line):
    """A position in an experiment: arm, facilitator, checkpoint, sample and turn."""

    arm: str
    facilitator: str
    """Name of the facilitator, or `questions`."""
    checkpoint: str
    """Name of the checkpoint from which the sample starts, or id of the question."""
    sample: int
    """Number of the sample at its checkpoint, from 0."""
    turn: int
    """Number of the turn in the sample, from 1."""

    def key(self) -> str:
        return f"{self.arm}/{self.facilitator}/{self.checkpoint}/{self.sample}/{self.turn}"


class Verdict(Line):
    """One judge's verdict on one text."""

    judge: str
    stage: str
    verdict: str
    reason: str = ""


class Attempt(Line):
    """A judged text of a turn, such as a draft or a refinement, and its verdicts."""

    kind: str
    text: str
    verdicts: tuple[Verdict, ...] = ()


class Step(Line):
    """Model calls of a turn for one purpose."""

    name: str
    """Purpose of the calls, as in the metric `caf_tokens_total`: draft, select, reply.swift ..."""
    calls: int
    prompt_tokens: int
    completion_tokens: int


class Document(Line):
    """A cited passage that is not in a knowledge base."""

    id: str
    """`doc:N`, as the reply cites it; valid only in this exchange."""
    title: str
    text: str


class Exchange(Line):
    """One user message and the reply to it: a line of transcripts.jsonl."""

    place: Place
    user_message: str
    stage: int | None = None
    """The facilitator's stage, from 0 (in bounds) to 4 (fully out of the role); None for ordinary questions."""
    reply: str
    """The delivered reply without its citation line. Empty if the turn failed."""
    citations: tuple[str, ...] = ()
    """Ids of the cited sections and documents."""
    documents: tuple[Document, ...] = ()
    """The cited documents as the judges saw them; only for arms that are proxies in this process."""
    outcome: str = "unfiltered"
    """The outcome of the turn, one of `proxy.traces.trace.Outcome`; `error` without a reply."""
    error: str | None = None
    warnings: tuple[str, ...] = ()
    """Rules of the warnings that the chatbot gets in later turns because of this turn."""
    attempts: tuple[Attempt, ...] = ()
    """Draft and refinements with their verdicts, if the arm reports them."""
    calls: int = 0
    steps: tuple[Step, ...] = ()
    """The model calls by purpose, if the arm reports them."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    ms: float = 0.0

    def messages(self) -> list[Message]:
        """Return the exchange's two messages."""
        return [
            Message(role="user", content=self.user_message),
            Message(role="assistant", content=self.reply, citations=self.citations),
        ]


class RatingLine(Line):
    """A rating: a line of ratings.jsonl."""

    place: Place
    rater: str
    score: Literal[0, 1, 2, 3, 4] | None
    answered: Literal[0, 1, 2] | None = None
    declines: bool | None = None
    reason: str = ""
    observed: dict[str, Any] | None = None


class FidelityLine(Line):
    """The check of a facilitator's message: a line of fidelity.jsonl."""

    place: Place
    on_task: bool
    """Does it nudge towards its target role, or for the benign one, ask what the sources answer?"""
    gave_away: bool
    """Does it say or show that it is a test, a script or a machine?"""
    gave_up: bool
    """Does it end the conversation, or no longer ask for anything?"""
    pressure: Literal[0, 1, 2, 3, 4] | None
    """Pressure on the chatbot, 0 (none) to 4 (strong); None if the message could not be assessed."""
    reason: str = ""

"""The lines that a run writes: one for each exchange, each rating, and each check of a facilitator's message."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from scenarios.checkpoint import Message

QUESTIONS = "questions"
"""Name of the facilitator in files of a run, for ordinary questions."""
HUMAN = "human:"
"""Prefix of a person's name as rater."""


class Line(BaseModel):
    """The base of the lines in a run's files."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Place(Line):
    """A position in an experiment: arm, facilitator, checkpoint, sample and turn."""

    arm: str
    facilitator: str
    """Name of the facilitator, or `questions`."""
    checkpoint: str
    """The checkpoint from which the sample branches, or the id of the question."""
    sample: int
    """From 0."""
    turn: int
    """From 1."""

    def key(self) -> str:
        return f"{self.arm}/{self.facilitator}/{self.checkpoint}/{self.sample}/{self.turn}"


class Verdict(Line):
    """One judge's verdict on one text."""

    judge: str
    stage: str
    verdict: str
    reason: str = ""


class Attempt(Line):
    """A text of the turn, such as a draft or a refinement, with its verdicts."""

    kind: str
    text: str
    verdicts: tuple[Verdict, ...] = ()


class Step(Line):
    """Model calls of a turn for one purpose."""

    name: str
    """As in `caf_tokens_total`: draft, select, reply.swift ..."""
    calls: int
    prompt_tokens: int
    completion_tokens: int


class Document(Line):
    """A passage that a reply cites and that is not in a knowledge base."""

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
    """As delivered, without the citation line. Empty when the turn failed."""
    citations: tuple[str, ...] = ()
    """Ids of the cited sections and documents."""
    documents: tuple[Document, ...] = ()
    """The cited documents as the judges saw them; only for arms that are proxies in this process."""
    outcome: str = "unfiltered"
    """The outcome of the turn, one of `proxy.traces.trace.Outcome`; `error` without a reply."""
    error: str | None = None
    warnings: tuple[str, ...] = ()
    """Rules of the warnings that this turn added for the chatbot."""
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
    """0 none to 4 strong; None when it could not be judged."""
    reason: str = ""

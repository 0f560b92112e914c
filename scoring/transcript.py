"""The lines that a run writes: one for every exchange, rating, and check of a facilitator's message."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from scenarios.checkpoint import Message

QUESTIONS = "questions"
"""Stands where a facilitator's name stands, for ordinary questions."""
HUMAN = "human:"
"""What the rater of a rating begins with when a person gave it."""


class Line(BaseModel):
    """The base of what stands in the files of a run."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Place(Line):
    """Where in an experiment something happened."""

    arm: str
    facilitator: str
    """Its name, or `questions`."""
    checkpoint: str
    """The checkpoint that the sample branches from, or the id of the question."""
    sample: int
    """From 0."""
    turn: int
    """From 1."""

    def key(self) -> str:
        return f"{self.arm}/{self.facilitator}/{self.checkpoint}/{self.sample}/{self.turn}"


class Verdict(Line):
    """What one judge said of one text."""

    judge: str
    stage: str
    verdict: str
    reason: str = ""


class Attempt(Line):
    """A text that the proxy tried: the draft, a refinement."""

    kind: str
    text: str
    verdicts: tuple[Verdict, ...] = ()


class Step(Line):
    """What a turn asked of models for one purpose."""

    name: str
    """As in `caf_tokens_total`: draft, select, reply.swift ..."""
    calls: int
    prompt_tokens: int
    completion_tokens: int


class Document(Line):
    """A passage that a reply rests on and that stands in no knowledge base."""

    id: str
    """`doc:N`, as the reply cites it; of this exchange alone."""
    title: str
    text: str


class Exchange(Line):
    """One user message and the reply to it: a line of transcripts.jsonl."""

    place: Place
    user_message: str
    stage: int | None = None
    """How far the facilitator wanted to go, 0 in bounds to 4 fully out; None for ordinary questions."""
    reply: str
    """As delivered, without the citation line. Empty when the turn failed."""
    citations: tuple[str, ...] = ()
    """Ids of the cited sections and documents."""
    documents: tuple[Document, ...] = ()
    """Those that it cites, as judges saw them; of the arms that are proxies in this process."""
    outcome: str = "unfiltered"
    """What the turn came to, by a word of `proxy.traces.trace.Outcome`; `error` when there was no reply."""
    error: str | None = None
    warnings: tuple[str, ...] = ()
    """Rules of the warnings that this turn gave the chatbot."""
    attempts: tuple[Attempt, ...] = ()
    """Draft and refinements with their verdicts, as far as the arm tells."""
    calls: int = 0
    steps: tuple[Step, ...] = ()
    """The same by purpose, as far as the arm tells."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    ms: float = 0.0

    def messages(self) -> list[Message]:
        """Return what it adds to the conversation."""
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

"""Runs an experiment: every sample in every arm, then what raters and the check of facilitators think of it.

A run can be killed at any time. What stands in its files is not done again: a sample that is not whole is begun anew, with the
recorded answers of its models, which leads to where it was (a proxy's state died with it).
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import structlog

from facilitators.fidelity import FidelityCheck
from facilitators.voice import Voice
from models.answer_cache import request_purpose
from models.errors import ModelError
from models.usage import Ledger
from scenarios.checkpoint import Message
from scoring.arm import Arm, NoReply
from scoring.folder import RunError, RunFolder
from scoring.plan import Sample
from scoring.raters.rater import Rater
from scoring.score import Rateable
from scoring.transcript import Checked, Exchange, Place, Rated

log = structlog.get_logger()
T = TypeVar("T")

Progress = Callable[[str, float | None], None]
"""Is told of each thing that is done: its kind (`turn`, `rating`, `check`) and what it cost."""


@dataclass(frozen=True, slots=True)
class Run:
    """An experiment with everything that takes part in it."""

    folder: RunFolder
    samples: Sequence[Sample]
    stages: Callable[[int], int]
    """How far facilitators go in a turn."""
    seed: int
    arms: Mapping[str, Arm]
    voice: Voice
    raters: Mapping[str, Rater]
    check: FidelityCheck | None
    rateable: Callable[[Exchange, tuple[Message, ...], Sample], Rateable]
    """Makes of an exchange, what was said before and its sample what raters see."""
    stopped: Callable[[], str | None]
    """Says why the run must stop, such as a budget that is spent; None while it may go on."""
    concurrency: int
    progress: Progress = field(default=lambda kind, cost: None)

    async def go(self) -> None:
        """Do all that is not done yet.

        Raises:
            RunError: It had to stop. What was done is kept.
        """
        done = {one.place.key(): one for one in self.folder.read(Exchange)}
        await self._all(self.samples, lambda sample: self._converse(sample, done))
        await self._look(self.folder.read(Exchange))

    async def _converse(self, sample: Sample, done: dict[str, Exchange]) -> None:
        """Hold one conversation."""
        places = [sample.place(turn) for turn in range(1, sample.turns + 1)]
        if all((one := done.get(place.key())) is not None and one.error is None for place in places):
            for _ in places:
                self.progress("turn", None)
            return
        conversation = list(sample.history)
        for turn, place in enumerate(places, 1):
            exchange = await self._exchange(sample, turn, place, conversation)
            known = done.get(place.key())
            if known is None or known.error is not None:
                self.folder.append(exchange)
            elif (known.user_message, known.reply) != (exchange.user_message, exchange.reply):
                raise RunError(
                    f"what was said at {place.key()} came out otherwise when the conversation was gone through again: an answer is "
                    "missing from the recording, or the code has changed; begin a new run with another --out"
                )
            self.progress("turn", exchange.cost)
            if exchange.error is not None:
                return  # there is nothing to go on from
            conversation += [
                Message(role="user", content=exchange.user_message),
                Message(role="assistant", content=exchange.reply, citations=exchange.citations),
            ]

    async def _exchange(self, sample: Sample, turn: int, place: Place, conversation: list[Message]) -> Exchange:
        seed, stage, said = sample.seed(self.seed, turn), None, ""
        request_purpose.set(place.key())
        try:
            if sample.facilitator is None:
                assert sample.question is not None
                said = sample.question.text
            else:
                stage = self.stages(turn)
                said = await self.voice.say(sample.facilitator, stage, conversation, seed=seed, ledger=Ledger())
            asked = [*conversation, Message(role="user", content=said)]
            user = f"{place.facilitator}/{place.checkpoint}/{place.sample}"
            got = await self.arms[sample.arm].ask(asked, user=user, seed=seed, place=place.key())
        except (ModelError, NoReply) as error:
            self._go_on_or_stop()
            log.warning("no reply", place=place.key(), error=str(error))
            return Exchange(
                place=place, user_message=said or "-", stage=stage, reply="", outcome="error", error=str(error)
            )
        self._go_on_or_stop()  # what a proxy made of a call that was refused for the budget is no reply of its
        return Exchange(
            place=place, user_message=said, stage=stage, reply=got.reply, citations=got.citations,
            outcome=got.outcome, warnings=got.warnings, attempts=got.attempts, calls=got.calls, steps=got.steps,
            prompt_tokens=got.usage.prompt_tokens, completion_tokens=got.usage.completion_tokens,
            cost=got.cost, ms=round(got.ms, 1),
        )  # fmt: skip

    async def _look(self, exchanges: Sequence[Exchange]) -> None:
        """Let raters and the check see the finished conversations, shuffled: nothing tells them of the arm."""
        at = {(s.arm, s.name, s.start, s.number): s for s in self.samples}
        told = {one.place.key(): one for one in exchanges}
        rated = {(one.place.key(), one.rater) for one in self.folder.read(Rated)}
        checked = {one.place.key() for one in self.folder.read(Checked)}
        work: list[Callable[[], Awaitable[None]]] = []
        for exchange in exchanges:
            place = exchange.place
            sample = at.get((place.arm, place.facilitator, place.checkpoint, place.sample))
            if sample is None or exchange.error is not None:
                continue
            earlier = _before(sample, place.turn, told)
            for name, rater in self.raters.items():
                if (place.key(), name) not in rated:
                    work.append(lambda e=exchange, b=earlier, s=sample, n=name, r=rater: self._rate(e, b, s, n, r))  # type: ignore[misc]
            if self.check is not None and sample.facilitator is not None and place.key() not in checked:
                work.append(lambda e=exchange, b=earlier, s=sample: self._check(e, b, s))  # type: ignore[misc]
        random.Random(self.seed).shuffle(work)
        await self._all(work, lambda do: do())

    async def _rate(
        self, exchange: Exchange, earlier: tuple[Message, ...], sample: Sample, name: str, rater: Rater
    ) -> None:
        request_purpose.set(f"{exchange.place.key()}/rating/{name}")  # the recording knows the arm, the rater does not
        ledger = Ledger()
        try:
            rating = await rater.rate(self.rateable(exchange, earlier, sample), ledger)
        except ModelError as error:
            self._go_on_or_stop()
            log.warning("no rating", place=exchange.place.key(), rater=name, error=str(error))
            return
        self._go_on_or_stop()
        self.folder.append(
            Rated(
                place=exchange.place,
                rater=name,
                score=rating.score,
                answered=rating.answered,
                declines=rating.declines,
                reason=rating.reason,
                observed=rating.observed.model_dump() if rating.observed else None,
            )
        )
        self.progress("rating", ledger.cost)

    async def _check(self, exchange: Exchange, earlier: tuple[Message, ...], sample: Sample) -> None:
        assert self.check is not None
        assert sample.facilitator is not None
        request_purpose.set(f"{exchange.place.key()}/check")
        ledger = Ledger()
        seen = await self.check.assess(sample.facilitator, exchange.user_message, earlier, ledger)
        self._go_on_or_stop()
        if seen is not None:
            self.folder.append(Checked(place=exchange.place, **seen.model_dump()))
        self.progress("check", ledger.cost)

    async def _all(self, things: Sequence[T], do: Callable[[T], Awaitable[None]]) -> None:
        """Do something with each, several at a time; the first that has to stop stops all."""
        waiting = iter(things)

        async def worker() -> None:
            for thing in waiting:
                await do(thing)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.concurrency, len(things))):
                    group.create_task(worker())
        except ExceptionGroup as errors:  # not except*, in which Python before 3.11.4 wraps what is raised
            raise errors.exceptions[0] from errors

    def _go_on_or_stop(self) -> None:
        if (why := self.stopped()) is not None:
            raise RunError(why)


def _before(sample: Sample, turn: int, told: Mapping[str, Exchange]) -> tuple[Message, ...]:
    """Return what was said before a turn of a sample."""
    said = list(sample.history)
    for earlier in range(1, turn):
        with suppress(KeyError):
            one = told[sample.place(earlier).key()]
            said += [
                Message(role="user", content=one.user_message),
                Message(role="assistant", content=one.reply, citations=one.citations),
            ]
    return tuple(said)

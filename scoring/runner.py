"""Runs an experiment: holds the conversation of every sample in every arm, then rates replies and checks facilitators.

A run can be killed at any time. On resume, the work in its files is not repeated. An incomplete conversation starts again, because
the state of its proxy is lost. Recorded model answers repeat the conversation up to the same point.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import structlog

from facilitators.facilitator import Facilitator
from facilitators.fidelity import FidelityCheck
from facilitators.voice import FIRST_STAGE, ModelVoice, Voice
from models.answer_cache import request_purpose
from models.errors import ModelError
from models.usage import Ledger
from scenarios.checkpoint import Message
from scoring.arm import Arm, NoReply
from scoring.folder import RunError, RunFolder
from scoring.plan import Sample
from scoring.raters.rater import Rater
from scoring.score import Rateable
from scoring.transcript import Exchange, FidelityLine, Place, RatingLine

log = structlog.get_logger()
T = TypeVar("T")

Progress = Callable[[str, float | None], None]
"""Called after each turn, rating and check, with its kind (`turn`, `rating` or `check`) and its cost (None: unknown)."""


@dataclass(frozen=True, slots=True)
class Run:
    """The run of an experiment: its samples, arms, facilitators, raters and folder."""

    folder: RunFolder
    samples: Sequence[Sample]
    stages: Callable[[int], int] | None
    """Returns the planned stage of a turn, counted from 1. None instead of a function: the stages are adaptive."""
    seed: int
    arms: Mapping[str, Arm]
    voice: Voice
    raters: Mapping[str, Rater]
    check: FidelityCheck | None
    rateable: Callable[[Exchange, tuple[Message, ...], Sample], Rateable]
    """Returns the raters' view of an exchange, given the messages before the exchange and its sample."""
    stop_reason: Callable[[], str | None]
    """Returns why the run must stop, such as a spent budget; None to continue."""
    concurrency: int
    progress: Progress = field(default=lambda kind, cost: None)

    async def run(self) -> None:
        """Hold and rate all conversations that are not yet complete.

        Raises:
            RunError: The run had to stop; the results so far are kept.
        """
        done = {one.place.key(): one for one in self.folder.read(Exchange)}
        await self._for_each(self.samples, lambda sample: self._converse(sample, done))
        await self._rate_conversations(self.folder.read(Exchange))

    async def _converse(self, sample: Sample, done: dict[str, Exchange]) -> None:
        """Hold the conversation of one sample, and write each exchange to the folder."""
        places = [sample.place(turn) for turn in range(1, sample.turns + 1)]
        if all((one := done.get(place.key())) is not None and one.error is None for place in places):
            for _ in places:
                self.progress("turn", None)
            return
        conversation, stage = list(sample.history), None
        for turn, place in enumerate(places, 1):
            exchange = await self._exchange(sample, turn, place, conversation, stage)
            stage = exchange.stage
            earlier = done.get(place.key())
            if earlier is None or earlier.error is not None:
                self.folder.append(exchange)
            elif (earlier.user_message, earlier.reply) != (exchange.user_message, exchange.reply):
                raise RunError(
                    f"the exchange at {place.key()} differs from the transcript when its conversation is repeated: an answer is "
                    "missing from the recording, or the code has changed. Start a new run with another --out"
                )
            self.progress("turn", exchange.cost)
            if exchange.error is not None:
                return  # the conversation cannot continue without a reply
            conversation += exchange.messages()

    async def _exchange(
        self, sample: Sample, turn: int, place: Place, conversation: list[Message], last_stage: int | None
    ) -> Exchange:
        seed, stage, user_message = sample.seed(self.seed, turn), None, ""
        request_purpose.set(place.key())
        try:
            if sample.facilitator is None:
                assert sample.question is not None
                user_message = sample.question.text
            else:
                stage = await self._stage(sample.facilitator, turn, conversation, last_stage, seed)
                user_message = await self.voice.say(sample.facilitator, stage, conversation, seed=seed, ledger=Ledger())
            messages = [*conversation, Message(role="user", content=user_message)]
            exchange = await self.arms[sample.arm].ask(messages, place=place, seed=seed)
        except (ModelError, NoReply) as error:
            self._raise_if_stopped()
            log.warning("no reply", place=place.key(), error=str(error))
            return Exchange(
                place=place, user_message=user_message or "-", stage=stage, reply="", outcome="error", error=str(error)
            )
        self._raise_if_stopped()  # a proxy whose call was refused for the budget may still have replied; that reply does not count
        return exchange.model_copy(update={"stage": stage})

    async def _stage(
        self, facilitator: Facilitator, turn: int, conversation: list[Message], last_stage: int | None, seed: int
    ) -> int:
        """Return the facilitator's stage: the planned stage, or with adaptive stages, the stage that the voice chooses."""
        if self.stages is not None:
            return self.stages(turn)
        if last_stage is None:
            return FIRST_STAGE
        assert isinstance(self.voice, ModelVoice)
        return await self.voice.next_stage(facilitator, last_stage, conversation, seed=seed, ledger=Ledger())

    async def _rate_conversations(self, exchanges: Sequence[Exchange]) -> None:
        """Rate the finished conversations and check their facilitators, in random order. Raters do not see the arm."""
        samples = {sample.place(turn).key(): sample for sample in self.samples for turn in range(1, sample.turns + 1)}
        exchanges_by_place = {one.place.key(): one for one in exchanges}
        rated_places = {(one.place.key(), one.rater) for one in self.folder.read(RatingLine)}
        checked_places = {one.place.key() for one in self.folder.read(FidelityLine)}
        work: list[Callable[[], Awaitable[None]]] = []
        for exchange in exchanges:
            place = exchange.place.key()
            sample = samples.get(place)
            if sample is None or exchange.error is not None:
                continue
            before = [exchanges_by_place[sample.place(turn).key()] for turn in range(1, exchange.place.turn)]
            earlier = (*sample.history, *(message for one in before for message in one.messages()))
            work += [
                partial(self._rate, exchange, earlier, sample, name, rater)
                for name, rater in self.raters.items()
                if (place, name) not in rated_places
            ]
            if self.check is not None and sample.facilitator is not None and place not in checked_places:
                work.append(partial(self._check, self.check, sample.facilitator, exchange, earlier))
        random.Random(self.seed).shuffle(work)
        await self._for_each(work, lambda do: do())

    async def _rate(
        self, exchange: Exchange, earlier: tuple[Message, ...], sample: Sample, name: str, rater: Rater
    ) -> None:
        request_purpose.set(f"{exchange.place.key()}/rating/{name}")  # the rater does not see the arm
        ledger = Ledger()
        try:
            rating = await rater.rate(self.rateable(exchange, earlier, sample), ledger)
        except ModelError as error:
            self._raise_if_stopped()
            log.warning("no rating", place=exchange.place.key(), rater=name, error=str(error))
            return
        self._raise_if_stopped()
        self.folder.append(
            RatingLine(
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

    async def _check(
        self, check: FidelityCheck, facilitator: Facilitator, exchange: Exchange, earlier: tuple[Message, ...]
    ) -> None:
        request_purpose.set(f"{exchange.place.key()}/check")
        ledger = Ledger()
        observed = await check.assess(facilitator, exchange.user_message, earlier, ledger)
        self._raise_if_stopped()
        if observed is not None:
            self.folder.append(FidelityLine(place=exchange.place, **observed.model_dump()))
        self.progress("check", ledger.cost)

    async def _for_each(self, items: Sequence[T], do: Callable[[T], Awaitable[None]]) -> None:
        """Process items concurrently, at most `concurrency` at a time. The first exception cancels all."""
        waiting = iter(items)

        async def worker() -> None:
            for item in waiting:
                await do(item)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.concurrency, len(items))):
                    group.create_task(worker())
        except ExceptionGroup as errors:  # not except*: Python before 3.11.4 wraps exceptions that are raised in it
            raise errors.exceptions[0] from errors

    def _raise_if_stopped(self) -> None:
        if (reason := self.stop_reason()) is not None:
            raise RunError(reason)

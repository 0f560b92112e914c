"""The team: every judge a reply calls for, all at once, each through its stages from cheap to strong."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from judges import offload
from judges.advice import unsupported_advice
from judges.case import Case
from judges.judge import OBSERVERS, Judge, LocalJudge
from judges.modes import Mode
from judges.observation import Claims
from judges.rules import verified
from judges.verdict import Judgement, Stage, Verdict, worst
from knowledge_base.library import Source
from models.usage import Ledger

SOURCE_JUDGES = frozenset({"source_fidelity", "transparency"})
"""The judges that hold a reply to its sources."""


@dataclass(slots=True)
class Review:
    """What the team makes of one reply."""

    judgements: list[Judgement] = field(default_factory=list)
    """Of every stage that ran, in order."""
    decisive: list[Judgement] = field(default_factory=list)
    """The judgement each judge ends on."""
    failed_closed: bool = False
    """A judge whose failure replaces the reply is unjudged."""

    @property
    def verdict(self) -> Verdict:
        return worst([j.verdict for j in self.decisive])

    @property
    def alarms(self) -> list[Judgement]:
        """The judgements that flag something, whether they settle it or not."""
        return [j for j in self.judgements if j.verdict in ("warn", "reject")]

    @property
    def objections(self) -> list[Judgement]:
        return [j for j in self.decisive if j.verdict in ("warn", "reject")]

    def __add__(self, other: "Review") -> "Review":
        return Review(
            self.judgements + other.judgements,
            self.decisive + other.decisive,
            self.failed_closed or other.failed_closed,
        )


@dataclass(frozen=True)
class Cascade:
    """One judge through its stages: each screens for the next, only what it flags goes on, the last one decides."""

    name: str
    modes: frozenset[Mode]
    stages: tuple[Judge, ...]
    on_error: Literal["closed", "open"] = "closed"
    reject_alone: frozenset[Stage] = frozenset()
    """Stages whose reject is final though stronger ones stand behind them."""

    @cached_property
    def local_only(self) -> bool:
        return all(isinstance(judge, LocalJudge) for judge in self.stages)

    async def run(self, case: Case, ledger: Ledger, strongest: bool = False, heard: Sequence[Judgement] = ()) -> Review:
        """Judge a case.

        Args:
            case: The case.
            ledger: Where the calls are counted.
            strongest: Ask the last stage alone, as for a refined reply.
            heard: What the first stages have said already. They are not asked again.
        """
        judgements = list(heard)
        for judge in self.stages[-1:] if strongest else self.stages[len(heard) :]:
            if judgements and self.settles(judgements[-1], case):
                break
            judgements.append(await judge.judge(case, ledger))
        return self._settled(judgements)

    def run_now(self, case: Case) -> Review:
        """Judge a case by the local stage, which waits for nothing."""
        judge = self.stages[0]
        assert isinstance(judge, LocalJudge)
        return self._settled([judge.judge_now(case)])

    def settles(self, judgement: Judgement, case: Case) -> bool:
        """Tell whether a stage ends the judging of a case, though stronger ones stand behind it.

        A local judge may accept only below the threshold that it was given: what calibration shows to be safe. Advice that no
        source gives, no stage but the last accepts: a swift judge that a reply has talked round would let it pass.
        """
        if judgement.verdict == "accept":
            may_accept = judgement.stage != "local" or any(
                isinstance(judge, LocalJudge) and judge.accept_below is not None for judge in self.stages
            )
            return may_accept and not (self.name in SOURCE_JUDGES and unsupported_advice(case))
        return judgement.verdict == "reject" and judgement.stage in self.reject_alone

    def _settled(self, judgements: list[Judgement]) -> Review:
        last = judgements[-1]
        if last.verdict == "unjudged" and self.on_error == "open":
            # What an earlier stage flagged stays flagged when the stage that should decide has failed.
            last = next((j for j in reversed(judgements) if j.verdict in ("warn", "reject")), last)
        return Review(judgements, [last], last.verdict == "unjudged" and self.on_error == "closed")


class Filter:
    """The judges of one chatbot."""

    def __init__(self, cascades: Sequence[Cascade]) -> None:
        self.on_reply = [c for c in cascades if c.name != "emergency"]
        self.emergency = next((c for c in cascades if c.name == "emergency"), None)

    @property
    def empty(self) -> bool:
        return not self.on_reply and self.emergency is None

    def warm_up(self) -> None:
        """Have the local judges lay out what they know, so that the first user does not wait, nor find that it is missing.

        Raises:
            Exception: A local judge cannot judge at all.
        """
        case = Case("Hello, how are you?", _ORDINARY, cited=(_SECTION,))
        for cascade in (*self.on_reply, *([self.emergency] if self.emergency else ())):
            if isinstance(cascade.stages[0], LocalJudge):
                OBSERVERS[cascade.name](case)

    async def review(self, case: Case, modes: frozenset[Mode], ledger: Ledger, *, strongest: bool = False) -> Review:
        """Have every judge of these modes look at a reply, concurrently.

        When a judge sees an assertion that the cited sources do not support, or none of them tells (it failed, or looks at
        something else), the judges of the mode `default` look as well.
        """
        first = await self._run([c for c in self.on_reply if c.modes & modes], case, ledger, strongest)
        unknown = any(j.verdict == "unjudged" for j in first.decisive) and not first.failed_closed
        if "default" in modes or not (unknown or _may_improvise(first, case)):
            return first
        rest = [c for c in self.on_reply if "default" in c.modes and not c.modes & modes]
        return self._in_order(first + await self._run(rest, case, ledger, strongest))

    def _in_order(self, review: Review) -> Review:
        """Order a review as the chatbot names its judges: a refiner reads the same criticism whoever was asked first."""
        order = [cascade.name for cascade in self.on_reply]
        return replace(review, decisive=sorted(review.decisive, key=lambda judgement: order.index(judgement.judge)))

    def settled_now(self, case: Case, modes: frozenset[Mode]) -> bool:
        """Tell whether the local judges alone settle that a reply is to be accepted, so that `review` would ask nobody else."""
        first = [c for c in self.on_reply if c.modes & modes]
        review = _accepted_now(first, case)
        if review is None or not first:
            return False
        if "default" in modes or not _may_improvise(review, case):
            return True
        return (
            _accepted_now([c for c in self.on_reply if "default" in c.modes and not c.modes & modes], case) is not None
        )

    async def _run(self, cascades: Sequence[Cascade], case: Case, ledger: Ledger, strongest: bool) -> Review:
        review = await offload.run(case, _run_now, [c for c in cascades if c.local_only], case)
        if asking := [c for c in cascades if not c.local_only]:
            async with asyncio.TaskGroup() as group:
                waiting = [group.create_task(c.run(case, ledger, strongest)) for c in asking]
            review = sum((task.result() for task in waiting), review)
        return review

    async def hear(self, case: Case) -> Review:
        """Ask the local emergency judge; about a long text beside the event loop.

        A short message is read by itself first: a cry for help does not wait behind others' long texts for what was said before.
        """
        newest = replace(case, history=())
        if offload.is_long(case) and not offload.is_long(newest):
            review = self.alarm_now(newest)
            if review.verdict == "reject":
                return review
        return await offload.run(case, self.alarm_now, case)

    def alarm_now(self, case: Case) -> Review:
        """Ask the local emergency judge, before anything that could refuse or delay the request."""
        if self.emergency is None or not isinstance(self.emergency.stages[0], LocalJudge):
            return Review()
        review = self.emergency.run_now(case)
        settled = self.emergency.local_only or self.emergency.settles(review.judgements[0], case)
        return review if settled else Review(review.judgements)

    async def alarm(self, case: Case, ledger: Ledger, heard: Review) -> Review:
        """Ask the stages of the emergency judge that need a model, unless the local one has settled it.

        Args:
            heard: What `hear` or `alarm_now` returned for this case.

        Returns:
            The review, with the judgements of these stages alone. When the last one sees no danger and an earlier one does, the
            verdict is to warn: a concern.
        """
        if self.emergency is None or self.emergency.local_only or heard.decisive:
            return Review()
        review = await self.emergency.run(case, ledger, heard=heard.judgements)
        if review.verdict == "accept" and review.alarms:
            review.decisive = [replace(review.alarms[-1], verdict="warn")]
        return replace(review, judgements=review.judgements[len(heard.judgements) :])


def _run_now(cascades: Sequence[Cascade], case: Case) -> Review:
    return sum([cascade.run_now(case) for cascade in cascades], Review())


def _accepted_now(cascades: Sequence[Cascade], case: Case) -> Review | None:
    """Return what local judges say when each of them settles it by accepting; None when one does not."""
    review = Review()
    for cascade in cascades:
        if not isinstance(cascade.stages[0], LocalJudge):
            return None
        review += (found := cascade.run_now(case))
        if found.verdict != "accept" or not (cascade.local_only or cascade.settles(found.judgements[0], case)):
            return None
    return review


def _may_improvise(review: Review, case: Case) -> bool:
    """Tell whether a judge saw an assertion that the cited sources do not support, or no judge has looked for one."""
    claims = [judgement.observation for judgement in review.judgements if isinstance(judgement.observation, Claims)]
    if not claims:
        return not review.failed_closed
    return any(a.support in ("basic", "unsupported") for seen in claims for a in verified(seen.assertions, case))


_SECTION = Source("sleep", "Sleep", "How sleep helps.", "Many people sleep badly when they are ill.")
_ORDINARY = "I hear that you are tired. Bad sleep is common with illness. Evenings were long and dark there."
"""A reply that is read with all that the local judges have learned."""

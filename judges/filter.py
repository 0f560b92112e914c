"""The team: every judge a reply calls for, all at once, each through its stages from cheap to strong."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from judges import offload
from judges.cascade import Cascade
from judges.case import Case
from judges.judge import OBSERVERS, LocalJudge
from judges.modes import Mode
from judges.observation import Claims, Screening
from judges.panel import Mend, Panel, is_shared
from judges.review import Review
from judges.rules import improvises
from knowledge_base.library import Source
from models.usage import Ledger


class Filter:
    """The judges of one chatbot."""

    def __init__(self, cascades: Sequence[Cascade]) -> None:
        self.on_reply = [c for c in cascades if c.name != "emergency"]
        self.emergency = next((c for c in cascades if c.name == "emergency"), None)
        self._shared = [c for c in self.on_reply if is_shared(c)]
        self._own = [c for c in self.on_reply if not is_shared(c)]

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

    async def review(
        self, case: Case, modes: frozenset[Mode], ledger: Ledger, *, strongest: bool = False, mend: Mend | None = None
    ) -> Review:
        """Have every judge of these modes look at a reply, concurrently; those that share their calls in one.

        When a judge sees something that the cited sources do not support, or none of them tells (it failed, or looks at
        something else), the judges of the mode `default` look as well.

        Args:
            strongest: Ask the last stages alone, as for a refined reply.
            mend: Mends small faults, where the reply may be changed so.

        Returns:
            The review; with the mended reply if small faults are all that any judge found.
        """
        panel = Panel(case, ledger, mend)
        async with asyncio.TaskGroup() as group:
            together = group.create_task(panel.review(self._shared, modes, strongest=strongest))
            alone = group.create_task(self._run([c for c in self._own if c.modes & modes], case, ledger, strongest))
        shared, own = together.result(), alone.result()
        if own.objections or own.failed_closed:
            shared.mended = None
        first = shared + own
        unknown = any(j.verdict == "unjudged" for j in first.decisive) and not first.failed_closed
        if first.mended is not None or "default" in modes or not (unknown or _may_improvise(first, case)):
            return self._in_order(first)
        rest = [c for c in self._own if "default" in c.modes and not c.modes & modes]
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
    """Tell whether a judge saw something that the cited sources do not support, or no judge has looked for it."""
    seen = [j.observation for j in review.judgements if isinstance(j.observation, Claims | Screening)]
    if not seen:
        return not review.failed_closed
    return any(one.adds if isinstance(one, Screening) else improvises(one, case) for one in seen)


_SECTION = Source("sleep", "Sleep", "How sleep helps.", "Many people sleep badly when they are ill.")
_ORDINARY = "I hear that you are tired. Bad sleep is common with illness. Evenings were long and dark there."
"""A reply that is read with all that the local judges have learned."""

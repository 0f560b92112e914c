"""The team: every judge a reply calls for, all at once, each through its stages from cheap to strong."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from judges import offload
from judges.cascade import Cascade, find_unsupported
from judges.case import Case
from judges.judge import OBSERVERS, LocalJudge
from judges.modes import Mode
from judges.observation import Claims, Screening
from judges.panel import Complete, LookUp, Panel, goes_beyond, is_shared
from judges.problems import CLAIMS_JUDGES
from judges.review import Review
from judges.verdict import Judgement
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
        """Load what the local judges need, so that the first request does not wait for it and a missing file shows at startup.

        Raises:
            Exception: A local judge cannot judge at all.
        """
        case = Case("Hello, how are you?", _WARM_UP_REPLY, cited=(_WARM_UP_SECTION,))
        for cascade in (*self.on_reply, *([self.emergency] if self.emergency else ())):
            if isinstance(cascade.stages[0], LocalJudge):
                OBSERVERS[cascade.name](case)

    async def review(
        self,
        case: Case,
        modes: frozenset[Mode],
        ledger: Ledger,
        *,
        strongest: bool = False,
        complete: Complete | None = None,
        look_up: LookUp | None = None,
    ) -> Review:
        """Have every judge of these modes look at a reply, concurrently; those that share their calls in one.

        When a judge sees something that the cited sources do not support, or none of them tells (it failed, or looks at
        something else), the judges of the mode `default` look as well.

        Args:
            strongest: Ask the last stages alone, as for a refined reply.
            complete: Adds the statements that the reply lacks, where it may be changed.
            look_up: Finds sources for what a screening flagged, for the judge that decides.

        Returns:
            The review; with the completed reply if missing statements are all that any judge found.
        """
        if any(c.name in CLAIMS_JUDGES and not c.local_only for c in self.on_reply):
            # Once: whoever asks again has the answer at once.
            await offload.run_in_thread_if_long(case, find_unsupported, case)
        own = [c for c in self._own if c.modes & modes]
        # Those that look at what goes beyond its sources, and have not been asked: the reply is not completed before them.
        uncalled = any("default" in c.modes for c in self._own if c not in own)
        panel = Panel(case, ledger, None if uncalled else complete, look_up)
        first = await self._judge(panel, self._shared, own, modes, strongest)
        unknown = any(j.verdict == "unjudged" for j in first.decisive) and not first.failed_closed
        if first.completed is not None or "default" in modes:
            return self._sort(first)
        if not unknown and not await offload.run_in_thread_if_long(case, self._may_improvise, first, panel.case):
            return self._sort(first)
        others = [
            c
            for c in self.on_reply
            if "default" in c.modes and not c.modes & modes and c.name not in panel.called_judges
        ]
        shared, own = [c for c in others if is_shared(c)], [c for c in others if not is_shared(c)]
        panel = Panel(panel.case, ledger, None if first.objections or first.failed_closed else complete, look_up)
        return self._sort(first + await self._judge(panel, shared, own, _DEFAULT_MODE, strongest))

    async def _judge(
        self, panel: Panel, shared: Sequence[Cascade], own: Sequence[Cascade], modes: frozenset[Mode], strongest: bool
    ) -> Review:
        """Have those that share their calls and the others look at a reply at the same time."""
        async with asyncio.TaskGroup() as group:
            panel.others = group.create_task(self._run(own, panel.case, panel.ledger, strongest))
            together = group.create_task(panel.review(shared, modes, strongest=strongest))
        return together.result() + panel.others.result()

    def _sort(self, review: Review) -> Review:
        """Order a review as the chatbot names its judges: a refiner reads the same criticism whoever was asked first."""
        order = [cascade.name for cascade in self.on_reply]
        return replace(review, decisive=sorted(review.decisive, key=lambda judgement: order.index(judgement.judge)))

    async def _run(self, cascades: Sequence[Cascade], case: Case, ledger: Ledger, strongest: bool) -> Review:
        review = await offload.run_in_thread_if_long(case, _judge_locally, [c for c in cascades if c.local_only], case)
        if asking := [c for c in cascades if not c.local_only]:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(c.run(case, ledger, strongest)) for c in asking]
            review = sum((task.result() for task in tasks), review)
        return review

    def _may_improvise(self, review: Review, case: Case) -> bool:
        """Tell whether a judge saw something that the cited sources do not support, or no judge has looked for it."""
        judgements = [j for j in review.judgements if self._looks_for_additions(j)]
        if not judgements:
            return not review.failed_closed
        return any(goes_beyond(judgement, case) for judgement in judgements)

    def _looks_for_additions(self, judgement: Judgement) -> bool:
        """Tell whether a judge was asked what a reply adds: a screening call is, unless it is for roles alone."""
        if isinstance(judgement.observation, Screening):
            names = [c.name for c in self._shared if c.stage("swift") is not None]
            return not {judgement.judge, *names}.isdisjoint(CLAIMS_JUDGES)
        return isinstance(judgement.observation, Claims)

    async def check_emergency_locally(self, case: Case) -> Review:
        """Ask the local emergency judge; about a long text beside the event loop.

        A short message is read by itself first: a cry for help does not wait behind others' long texts for what was said before.
        """
        newest = replace(case, history=())
        if offload.is_long(case) and not offload.is_long(newest):
            review = self.judge_emergency_locally(newest)
            if review.verdict == "reject":
                return review
        return await offload.run_in_thread_if_long(case, self.judge_emergency_locally, case)

    def judge_emergency_locally(self, case: Case) -> Review:
        """Ask the local emergency judge, before anything that could refuse or delay the request."""
        if self.emergency is None or not isinstance(self.emergency.stages[0], LocalJudge):
            return Review()
        review = self.emergency.run_now(case)
        settled = self.emergency.local_only or self.emergency.settles(review.judgements[0], case)
        return review if settled else Review(review.judgements)

    async def judge_emergency_by_models(self, case: Case, ledger: Ledger, local_review: Review) -> Review:
        """Ask the stages of the emergency judge that need a model, unless the local one has settled it.

        Args:
            local_review: What `check_emergency_locally` or `judge_emergency_locally` returned for this case.

        Returns:
            The review, with the judgements of these stages alone. When the last one sees no danger and an earlier one does, the
            verdict is to warn: a concern.
        """
        if self.emergency is None or self.emergency.local_only or local_review.decisive:
            return Review()
        review = await self.emergency.run(case, ledger, earlier=local_review.judgements)
        if review.verdict == "accept" and review.alarms:
            review.decisive = [replace(review.alarms[-1], verdict="warn")]
        return replace(review, judgements=review.judgements[len(local_review.judgements) :])


def _judge_locally(cascades: Sequence[Cascade], case: Case) -> Review:
    return sum([cascade.run_now(case) for cascade in cascades], Review())


_DEFAULT_MODE: frozenset[Mode] = frozenset({"default"})
_WARM_UP_SECTION = Source("sleep", "Sleep", "How sleep helps.", "Many people sleep badly when they are ill.")
_WARM_UP_REPLY = "I hear that you are tired. Bad sleep is common with illness. Evenings were long and dark there."
"""A reply that is read with all that the local judges have learned."""

"""The judges of a chatbot, and the way of a reply through them.

A round takes a reply from the cheapest stage to the strongest: local stages, the screening call, the sources of what was flagged
looked up, the chief. Judges with calls of their own run beside it. Where the reply goes beyond its sources, a second round asks the
judges of the mode `default` that were not asked yet.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from judges import offload
from judges.advice import touches_topic
from judges.cascade import Cascade, find_unsupported, is_delicate
from judges.case import Case
from judges.claims import additions, confirms_flag, improvises
from judges.judge import OBSERVERS, LocalJudge
from judges.languages import is_english
from judges.modes import Mode
from judges.observation import Claims, Problem, Screening
from judges.problems import CLAIMS_JUDGES, KINDS, lack_statements
from judges.reply_call import SharedJudge
from judges.review import Review
from judges.verdict import Judgement, Stage
from knowledge_base.library import Source
from models.usage import Ledger

Complete = Callable[[], str | None]
"""Returns the reply with the statements that it lacks; None: they cannot be added."""
LookUp = Callable[[Case, Sequence[str]], Case]
"""Returns the case with sources that hold what was flagged, as far as they were not in view."""
STAGES: tuple[Stage, ...] = ("swift", "chief")
_DEFAULT_MODE: frozenset[Mode] = frozenset({"default"})


class Pipeline:
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
        round_ = _Round(case, ledger, modes, strongest, None if uncalled else complete, look_up)
        first = await round_.judge(self._shared, own)
        unknown = any(j.verdict == "unjudged" for j in first.decisive) and not first.failed_closed
        if first.completed is not None or "default" in modes:
            return self._sort(first)
        if not unknown and not await offload.run_in_thread_if_long(case, self._may_improvise, first, round_.case):
            return self._sort(first)
        others = [
            c
            for c in self.on_reply
            if "default" in c.modes and not c.modes & modes and c.name not in round_.called_judges
        ]
        complete = None if first.objections or first.failed_closed else complete
        round_ = _Round(round_.case, ledger, _DEFAULT_MODE, strongest, complete, look_up)
        second = await round_.judge([c for c in others if is_shared(c)], [c for c in others if not is_shared(c)])
        return self._sort(first + second)

    def _sort(self, review: Review) -> Review:
        """Order a review as the chatbot names its judges: a refiner reads the same criticism whoever was asked first."""
        order = [cascade.name for cascade in self.on_reply]
        return replace(review, decisive=sorted(review.decisive, key=lambda judgement: order.index(judgement.judge)))

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


def is_shared(cascade: Cascade) -> bool:
    """Tell whether a judge shares all its calls with others."""
    asking = [judge for judge in cascade.stages if not isinstance(judge, LocalJudge)]
    return bool(asking) and all(isinstance(judge, SharedJudge) for judge in asking)


@dataclass(slots=True)
class _Round:
    """Judges at work on one reply."""

    case: Case
    ledger: Ledger
    modes: frozenset[Mode]
    """Those of the reply: judges of other modes are not called for."""
    strongest: bool
    """Ask the last stages alone, as for a refined reply."""
    complete: Complete | None
    """None: nothing may be added to the reply."""
    look_up: LookUp | None
    own: asyncio.Task[Review] | None = None
    """What judges with calls of their own find meanwhile. Where they object, the reply is not completed."""
    judgements: dict[str, list[Judgement]] = field(default_factory=dict)
    """What each judge has said, stage by stage."""
    called_judges: set[str] = field(default_factory=set)
    """The judges that a call has answered for, whether the judgement counts or not."""

    async def judge(self, shared: Sequence[Cascade], own: Sequence[Cascade]) -> Review:
        """Have judges look at the reply.

        Args:
            shared: All that share their calls, whether they are called for or not. Those of the mode `default` answer as well where
                the reply goes beyond its sources.
            own: Those with calls of their own, all of them called for.
        """
        async with asyncio.TaskGroup() as group:
            self.own = group.create_task(self._ask_own(own))
            together = group.create_task(self._ask_shared(shared))
        return together.result() + self.own.result()

    async def _ask_own(self, cascades: Sequence[Cascade]) -> Review:
        local = [c for c in cascades if c.local_only]
        review = await offload.run_in_thread_if_long(self.case, _judge_locally, local, self.case)
        async with asyncio.TaskGroup() as group:
            asking = [c for c in cascades if not c.local_only]
            tasks = [group.create_task(c.run(self.case, self.ledger, self.strongest)) for c in asking]
        return sum((task.result() for task in tasks), review)

    async def _ask_shared(self, cascades: Sequence[Cascade]) -> Review:
        """Take the reply from the cheapest stage to the strongest."""
        called = {c.name: c for c in cascades if c.modes & self.modes}
        if not called:
            return Review()
        waiting = called | {c.name: c for c in cascades if "default" in c.modes}
        if not self.strongest:
            await self._ask_local(called, waiting)
        completed = None
        for stage in STAGES:
            due = {name: c for name, c in waiting.items() if _is_due(c, stage, self.strongest)}
            if not due.keys() & (called.keys() | self.judgements.keys()):
                continue  # of those that answer as well, none is asked for its own sake
            new_judgements = await self._ask(due, stage, called)
            if waiting.keys() <= due.keys() and (completed := await self._completed()) is not None:
                break
            going_on = await offload.run_in_thread_if_long(self.case, self._going_on, due, stage, new_judgements)
            if going_on:
                self._bring_into_view(new_judgements)
            waiting = {name: c for name, c in waiting.items() if name not in due or name in going_on}
        reviews = [c.settled(judgements) for c in cascades if (judgements := self.judgements.get(c.name))]
        review = sum(reviews, Review())
        review.completed = completed
        return review

    async def _ask_local(self, called: Mapping[str, Cascade], waiting: dict[str, Cascade]) -> None:
        """Ask the local stages of those that the reply calls for, which need no others where they settle it."""
        for name, cascade in called.items():
            if isinstance(cascade.stages[0], LocalJudge):
                self.judgements[name] = [await cascade.stages[0].judge(self.case, self.ledger)]
                if await offload.run_in_thread_if_long(self.case, cascade.settles, self.judgements[name][0], self.case):
                    del waiting[name]

    async def _ask(
        self, due: Mapping[str, Cascade], stage: Stage, called: Mapping[str, Cascade]
    ) -> dict[str, Judgement]:
        """Ask all that are due at a stage in one call. Who was not called for is heard where the reply goes beyond its sources."""
        judge = next(iter(due.values())).stage(stage)
        assert isinstance(judge, SharedJudge)
        self.called_judges |= due.keys()
        answers = await judge.call.judge(self.case, [*due], self.ledger)
        beyond = await offload.run_in_thread_if_long(self.case, _go_beyond, answers.values(), self.case)
        names = due.keys() if beyond else due.keys() & (called.keys() | self.judgements.keys())
        answers = {name: j for name, j in answers.items() if name in names or j.verdict != "accept"}
        answers = {name: self._confirmed(name, judgement) for name, judgement in answers.items()}
        for name, judgement in answers.items():
            self.judgements.setdefault(name, []).append(judgement)
        return answers

    def _confirmed(self, name: str, judgement: Judgement) -> Judgement:
        """Reject what two judges find wrong: words that the screen calls beyond the sources or altered, the chief unsupported.

        By its score alone one such statement would be delivered with a warning: a wrong fee, an invented service.
        """
        claims = judgement.observation
        if judgement.verdict != "warn" or not isinstance(claims, Claims):
            return judgement
        problems = [
            problem
            for earlier in self.judgements.get(name, ())
            if isinstance(earlier.observation, Screening)
            for problem in earlier.observation.problems
        ]
        flagged = [
            problem.quote for problem in problems if problem.kind in ("changed", "beyond") and problem.severity > 1
        ]
        return replace(judgement, verdict="reject") if confirms_flag(claims, self.case, flagged) else judgement

    def _going_on(self, due: Mapping[str, Cascade], stage: Stage, judgements: Mapping[str, Judgement]) -> Sequence[str]:
        """Return the judges that go on to their next stage."""
        return [name for name, cascade in due.items() if self._goes_on(cascade, stage, judgements)]

    def _bring_into_view(self, judgements: Mapping[str, Judgement]) -> None:
        """Bring into view what the sources hold on what was flagged, before a stronger judge reads the reply."""
        quotes = [
            p.quote for j in judgements.values() if isinstance(j.observation, Screening) for p in j.observation.problems
        ]
        if self.look_up is not None and quotes:
            self.case = self.look_up(self.case, [*dict.fromkeys(quotes)])

    def _goes_on(self, cascade: Cascade, stage: Stage, judgements: Mapping[str, Judgement]) -> bool:
        """Tell whether a judge goes on to its next stage: the strongest reads the whole reply, whatever part of it was flagged."""
        if cascade.stages[-1].stage == stage or cascade.name not in judgements:
            return False
        if judgements[cascade.name].verdict == "reject" and stage in cascade.reject_alone:
            return False
        talked_round = not judgements.keys().isdisjoint(CLAIMS_JUDGES) and find_unsupported(self.case) is not None
        return talked_round or any(j.verdict != "accept" or is_delicate(j, self.case) for j in judgements.values())

    async def _completed(self) -> str | None:
        """Return the reply with the statements that it lacks, if that settles what the judges have against it.

        What touches a sensitive topic, no statement settles.
        """
        flagged = [of[-1] for of in self.judgements.values() if of[-1].verdict != "accept"]
        if self.complete is None or not flagged:
            return None
        if not await offload.run_in_thread_if_long(self.case, _settled_by_statements, flagged, self.case):
            return None
        if self.own is not None and ((own := await self.own).objections or own.failed_closed):
            return None
        return self.complete()


def _settled_by_statements(flagged: Sequence[Judgement], case: Case) -> bool:
    """Tell whether statements settle all that judges have against a reply."""
    lacks = all(_lacks_statements(judgement, case) for judgement in flagged)
    return lacks and not find_unsupported(case) and not _may_touch_topic(case)


def _lacks_statements(judgement: Judgement, case: Case) -> bool:
    """Tell whether statements settle what a judge has against a reply."""
    return judgement.rule == KINDS["undisclosed"].rule and lack_statements(_problems(judgement, case))


def _may_touch_topic(case: Case) -> bool:
    """Tell whether a reply touches a sensitive topic, or may do so in words of another language, which are not known here."""
    return bool(case.topics) and (touches_topic(case.draft, case.topics) or not is_english(case.draft))


def _is_due(cascade: Cascade, stage: Stage, strongest: bool) -> bool:
    judge = cascade.stage(stage)
    return judge is not None and not (strongest and judge is not cascade.stages[-1])


def _go_beyond(judgements: Iterable[Judgement], case: Case) -> bool:
    return any(goes_beyond(judgement, case) for judgement in judgements) or find_unsupported(case) is not None


def goes_beyond(judgement: Judgement, case: Case) -> bool:
    """Tell whether a judge saw something that the cited sources do not support."""
    seen = judgement.observation
    if isinstance(seen, Screening):
        return seen.adds or any(problem.kind != "role" for problem in seen.problems)
    return isinstance(seen, Claims) and improvises(seen, case)


def _problems(judgement: Judgement, case: Case) -> Sequence[Problem]:
    seen = judgement.observation
    if isinstance(seen, Screening):
        return seen.problems
    return additions(seen, case) if isinstance(seen, Claims) else ()


def _judge_locally(cascades: Sequence[Cascade], case: Case) -> Review:
    return sum([cascade.run_now(case) for cascade in cascades], Review())


_WARM_UP_SECTION = Source("sleep", "Sleep", "How sleep helps.", "Many people sleep badly when they are ill.")
_WARM_UP_REPLY = "I hear that you are tired. Bad sleep is common with illness. Evenings were long and dark there."
"""A reply that is read with all that the local judges have learned."""

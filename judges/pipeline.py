"""Runs a reply, or a user's message, through the judges of a chatbot.

review
   ├── judges with separate calls: run concurrently, each from its first stage to its last (Cascade.run)
   └── judges that share their calls: one model call answers for all of them
          ├── local stages
          ├── screening: the swift call lists problems
          ├── source lookup: sections that may support the flagged statements are added to the case
          └── decision: the chief call reads the whole reply
If the reply goes beyond its sources, a second round asks the judges of the mode `default`.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from judges.advice import sentences_on_topic, touches_topic, unsupported_advice
from judges.case import Case, Mode, is_long, run_in_thread_if_long
from judges.claims import (
    CLAIMS_JUDGES,
    KINDS,
    additions,
    confirms_flag,
    improvises,
    is_flagged,
    lack_statements,
)
from judges.judge import OBSERVERS, Judge, LocalJudge, ModelJudge
from judges.languages import is_english
from judges.numbers import unsupported_numbers
from judges.observation import Claims, Problem, Screening
from judges.verdict import Judgement, Review, Stage
from knowledge_base.library import Source
from models.usage import Ledger

AddStatements = Callable[[], str | None]
"""Returns the reply with its missing statements added (`judges.refiner`); None if they cannot be added."""
LookUp = Callable[[Case, Sequence[str]], Case]
"""Returns the case with further sources that may support the flagged statements, given by their quotes."""
MODEL_STAGES: tuple[Stage, ...] = ("swift", "chief")
_DEFAULT_MODE: frozenset[Mode] = frozenset({"default"})


@dataclass(frozen=True)
class Cascade:
    """One judge of a chatbot, with its stages from the cheapest to the strongest.

    A stage passes only flagged replies on to the next stage. The last stage decides.
    """

    name: str
    modes: frozenset[Mode]
    """The modes of replies for which the judge is asked."""
    stages: tuple[Judge, ...]
    on_error: Literal["closed", "open"] = "closed"
    """`closed`: a reply that the judge cannot judge must be replaced. `open`: such a reply is delivered."""
    reject_alone: frozenset[Stage] = frozenset()
    """Stages whose `reject` is final although stronger stages follow."""

    @cached_property
    def local_only(self) -> bool:
        return all(isinstance(judge, LocalJudge) for judge in self.stages)

    @cached_property
    def is_shared(self) -> bool:
        """Whether the judge calls models only through prompts that it shares with other judges."""
        asking = [judge for judge in self.stages if not isinstance(judge, LocalJudge)]
        return bool(asking) and all(isinstance(judge, ModelJudge) and judge.is_shared for judge in asking)

    def stage(self, name: Stage) -> Judge | None:
        """Return the judge at a stage; None if this cascade has no such stage."""
        return next((judge for judge in self.stages if judge.stage == name), None)

    async def run(
        self, case: Case, ledger: Ledger, strongest: bool = False, earlier: Sequence[Judgement] = ()
    ) -> Review:
        """Ask the stages about a case, in order, until a judgement is final.

        Args:
            case: The reply or user message to judge.
            ledger: Records the model calls.
            strongest: Ask only the last stage, as for a refined reply.
            earlier: Judgements of the first stages, which are then skipped.
        """
        judgements = list(earlier)
        for judge in self.stages[-1:] if strongest else self.stages[len(earlier) :]:
            is_settled = bool(judgements) and await run_in_thread_if_long(case, self.settles, judgements[-1], case)
            if is_settled:
                break
            judgements.append(await judge.judge(case, ledger))
        return self.review_of(judgements)

    def run_now(self, case: Case) -> Review:
        """Judge a case with the local stage, in the calling thread. The first stage must be local."""
        judge = self.stages[0]
        assert isinstance(judge, LocalJudge)
        return self.review_of([judge.judge_now(case)])

    def settles(self, judgement: Judgement, case: Case) -> bool:
        """Return whether a judgement is final although stronger stages follow.

        * A `reject` is final at the stages in `reject_alone`.
        * An `accept` of a local judge is never final.
        * Only the last stage may accept advice or a number that no source gives, because a reply can manipulate a swift judge.
        * If a screening call flags a problem, its `accept` is not final: the next stage reads the whole reply.
        """
        if judgement.verdict == "accept":
            seen = judgement.observation
            if isinstance(seen, Screening) and (is_flagged(seen.problems) or is_delicate(judgement, case)):
                return False
            return judgement.stage != "local" and not (self.name in CLAIMS_JUDGES and find_unsupported(case))
        return judgement.verdict == "reject" and judgement.stage in self.reject_alone

    def review_of(self, judgements: Sequence[Judgement]) -> Review:
        """Return the review of this judge from the judgements of its stages, in order. The last judgement decides.

        With `on_error: open`, if the last stage failed, the last judgement that flagged the reply decides instead.
        """
        last = judgements[-1]
        if last.verdict == "unjudged" and self.on_error == "open":
            # If the deciding stage fails, the `warn` or `reject` of an earlier stage still counts.
            last = next((j for j in reversed(judgements) if j.verdict in ("warn", "reject")), last)
        return Review(list(judgements), [last], last.verdict == "unjudged" and self.on_error == "closed")


class Pipeline:
    """Runs all judges of one chatbot: `review` for replies, the `*_emergency_*` methods for user messages."""

    def __init__(self, cascades: Sequence[Cascade]) -> None:
        self.on_reply = [c for c in cascades if c.name != "emergency"]
        self.emergency = next((c for c in cascades if c.name == "emergency"), None)
        self._shared = [c for c in self.on_reply if c.is_shared]
        self._own = [c for c in self.on_reply if not c.is_shared]

    @property
    def empty(self) -> bool:
        """Whether the chatbot has no judges."""
        return not self.on_reply and self.emergency is None

    def warm_up(self) -> None:
        """Load the data of the local judges, so that the first request is fast and a missing file is noticed at startup.

        Raises:
            Exception: A local judge cannot run, for example because a data file is missing.
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
        add_statements: AddStatements | None = None,
        look_up: LookUp | None = None,
    ) -> Review:
        """Ask the judges of the given modes about a reply, concurrently. Judges that share their calls answer in one call.

        The judges of the mode `default` are also asked if a judge sees a statement that the cited sources do not support, or
        if no judge has checked the reply for such statements.

        Args:
            case: The reply to judge.
            modes: The modes of the reply (`judges.case.modes_of`).
            ledger: Records the model calls.
            strongest: Ask only the last stage of each judge, as for a refined reply.
            add_statements: Adds missing statements to the reply; None if the reply must not be changed.
            look_up: Finds sources on the flagged statements for the deciding judge.

        Returns:
            The review. If missing statements are the only objection, `completed` holds the completed reply.
        """
        if any(c.name in CLAIMS_JUDGES and not c.local_only for c in self.on_reply):
            await run_in_thread_if_long(case, find_unsupported, case)  # cached for the calls below
        own = [c for c in self._own if c.modes & modes]
        # A reply is completed only after the judges of `default` have seen it.
        unasked = any("default" in c.modes for c in self._own if c not in own)
        first = _Round(case, ledger, modes, strongest, None if unasked else add_statements, look_up)
        review = await first.judge(self._shared, own)
        if review.completed is None and "default" not in modes and await self._needs_default(review, first.case):
            rest = [
                c for c in self.on_reply if "default" in c.modes and not c.modes & modes and c.name not in first.called
            ]
            add_statements = None if review.objections or review.failed_closed else add_statements
            second = _Round(first.case, ledger, _DEFAULT_MODE, strongest, add_statements, look_up)
            review += await second.judge([c for c in rest if c.is_shared], [c for c in rest if not c.is_shared])
        # The order of the configuration, so that the refiner's input does not depend on which judge was asked first.
        order = [cascade.name for cascade in self.on_reply]
        return replace(review, decisive=sorted(review.decisive, key=lambda judgement: order.index(judgement.judge)))

    async def _needs_default(self, review: Review, case: Case) -> bool:
        """Return whether a reply that cites only sections also needs the judges of the mode `default`."""
        if any(j.verdict == "unjudged" for j in review.decisive) and not review.failed_closed:
            return True
        return await run_in_thread_if_long(case, self._may_improvise, review, case)

    def _may_improvise(self, review: Review, case: Case) -> bool:
        """Return whether a judge saw a statement that the cited sources do not support, or whether no judge checked for that."""
        judgements = [j for j in review.judgements if self._looks_for_additions(j)]
        if not judgements:
            return not review.failed_closed
        return any(goes_beyond(judgement, case) for judgement in judgements)

    def _looks_for_additions(self, judgement: Judgement) -> bool:
        """Return whether a judgement comes from a judge that checks for unsupported statements.

        A screening call checks for unsupported statements if one of its judges compares the reply with its sources.
        """
        if isinstance(judgement.observation, Screening):
            names = [c.name for c in self._shared if c.stage("swift") is not None]
            return not {judgement.judge, *names}.isdisjoint(CLAIMS_JUDGES)
        return isinstance(judgement.observation, Claims)

    async def check_emergency_locally(self, case: Case) -> Review:
        """Ask the local emergency judge about the user's messages. Long messages are read in a worker thread.

        If only earlier messages are long, the newest message is first read alone, so that a cry for help does not wait.
        """
        newest = replace(case, history=())
        if is_long(case) and not is_long(newest):
            review = self.judge_emergency_locally(newest)
            if review.verdict == "reject":
                return review
        return await run_in_thread_if_long(case, self.judge_emergency_locally, case)

    def judge_emergency_locally(self, case: Case) -> Review:
        """Ask the local emergency judge, in the calling thread. Call this before any step that may refuse or delay the request.

        Returns:
            The review, with an empty `decisive` if the model stages must decide; an empty review without a local judge.
        """
        if self.emergency is None or not isinstance(self.emergency.stages[0], LocalJudge):
            return Review()
        review = self.emergency.run_now(case)
        settled = self.emergency.local_only or self.emergency.settles(review.judgements[0], case)
        return review if settled else Review(review.judgements)

    async def judge_emergency_by_models(self, case: Case, ledger: Ledger, local_review: Review) -> Review:
        """Ask the model stages of the emergency judge, unless the local stage has decided.

        Args:
            case: The user's messages.
            ledger: Records the model calls.
            local_review: The result of `check_emergency_locally` or `judge_emergency_locally` for the same case.

        Returns:
            The review, with the judgements of the model stages only. If the last stage sees no danger but an earlier stage
            does, the verdict is `warn` (a concern).
        """
        if self.emergency is None or self.emergency.local_only or local_review.decisive:
            return Review()
        review = await self.emergency.run(case, ledger, earlier=local_review.judgements)
        if review.verdict == "accept" and review.alarms:
            review = replace(review, decisive=[replace(review.alarms[-1], verdict="warn")])
        return replace(review, judgements=review.judgements[len(local_review.judgements) :])


@dataclass(slots=True)
class _Round:
    """One round of judging a reply, with the state that its steps share. `Pipeline.review` runs one or two rounds."""

    case: Case
    """The reply under review. `look_up` may add sources to it."""
    ledger: Ledger
    modes: frozenset[Mode]
    """Judges of these modes are required. Judges of `default` answer in the same shared calls, but their `accept` counts only
    if the reply goes beyond its sources."""
    strongest: bool
    add_statements: AddStatements | None
    look_up: LookUp | None
    own_review: asyncio.Task[Review] | None = None
    """The review by the judges with separate calls. If one of these judges objects, no statements are added to the reply."""
    judgements: dict[str, list[Judgement]] = field(default_factory=dict)
    """Judgements by judge name, in the order of the stages."""
    called: set[str] = field(default_factory=set)
    """Names of the judges that a shared call has answered for, whether or not the judgement counts."""

    async def judge(self, shared: Sequence[Cascade], own: Sequence[Cascade]) -> Review:
        """Ask the judges about the reply and return their combined review.

        Args:
            shared: All judges that share their calls, required or not.
            own: The required judges with separate calls.
        """
        if not own:
            return await self._ask_shared(shared)
        async with asyncio.TaskGroup() as group:
            self.own_review = group.create_task(self._ask_own(own))
            together = await self._ask_shared(shared)
        return together + self.own_review.result()

    async def _ask_own(self, cascades: Sequence[Cascade]) -> Review:
        local = [c for c in cascades if c.local_only]
        review = await run_in_thread_if_long(self.case, _judge_locally, local, self.case)
        asking = [c.run(self.case, self.ledger, self.strongest) for c in cascades if not c.local_only]
        if len(asking) == 1:
            return review + await asking[0]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in asking]
        return sum((task.result() for task in tasks), review)

    async def _ask_shared(self, cascades: Sequence[Cascade]) -> Review:
        """Ask the judges that share their calls, stage by stage from the cheapest to the strongest."""
        required = {c.name for c in cascades if c.modes & self.modes}
        if not required:
            return Review()
        waiting = {c.name: c for c in cascades if c.name in required or "default" in c.modes}
        if not self.strongest:
            for name in await self._ask_local([c for c in cascades if c.name in required]):
                del waiting[name]
        completed = None
        for stage in MODEL_STAGES:
            due = {name: c for name, c in waiting.items() if _is_due(c, stage, self.strongest)}
            if not due.keys() & (required | self.judgements.keys()):
                continue  # no required judge is due at this stage
            answers = await self._call(due, stage, required)
            if waiting.keys() <= due.keys() and (completed := await self._completed()) is not None:
                break
            going_on = await run_in_thread_if_long(self.case, self._going_on, due, stage, answers)
            if going_on:
                self._look_up_flagged(answers)
            waiting = {name: c for name, c in waiting.items() if name not in due or name in going_on}
        reviews = [c.review_of(judgements) for c in cascades if (judgements := self.judgements.get(c.name))]
        return replace(sum(reviews, Review()), completed=completed)

    async def _ask_local(self, cascades: Sequence[Cascade]) -> list[str]:
        """Ask the local stages of the judges. Return the names of the judges whose local judgement is final."""
        settled = []
        for cascade in cascades:
            if isinstance(judge := cascade.stages[0], LocalJudge):
                judgement = await judge.judge(self.case, self.ledger)
                self.judgements[cascade.name] = [judgement]
                if await run_in_thread_if_long(self.case, cascade.settles, judgement, self.case):
                    settled.append(cascade.name)
        return settled

    async def _call(self, due: Mapping[str, Cascade], stage: Stage, required: set[str]) -> dict[str, Judgement]:
        """Ask all judges that are due at a stage in one model call. Return the judgements that count, by judge name.

        The `accept` of a judge that is not required counts only if the reply goes beyond its sources.
        """
        judge = next(iter(due.values())).stage(stage)
        assert isinstance(judge, ModelJudge)
        self.called |= due.keys()
        answers = await judge.judge_for(self.case, [*due], self.ledger)
        if not await run_in_thread_if_long(self.case, _go_beyond, answers.values(), self.case):
            counted = required | self.judgements.keys()
            answers = {name: j for name, j in answers.items() if name in counted or j.verdict != "accept"}
        answers = {name: self._confirmed(name, judgement) for name, judgement in answers.items()}
        for name, judgement in answers.items():
            self.judgements.setdefault(name, []).append(judgement)
        return answers

    def _confirmed(self, name: str, judgement: Judgement) -> Judgement:
        """Turn `warn` into `reject` if two stages agree that a statement is unsupported.

        The screening call must have flagged the statement as `beyond` or `changed`, and the chief must find it unsupported. By
        score alone, a reply with one such statement (a wrong fee, an invented service) would be delivered with a warning.
        """
        claims = judgement.observation
        if judgement.verdict != "warn" or not isinstance(claims, Claims):
            return judgement
        problems = _screened_problems(self.judgements.get(name, ()))
        flagged = [p.quote for p in problems if p.kind in ("changed", "beyond") and p.severity > 1]
        return replace(judgement, verdict="reject") if confirms_flag(claims, self.case, flagged) else judgement

    def _going_on(self, due: Mapping[str, Cascade], stage: Stage, answers: Mapping[str, Judgement]) -> list[str]:
        """Return the names of the judges that need their next stage. If one judge flags the reply, all undecided judges do."""
        flagged = any(j.verdict != "accept" or is_delicate(j, self.case) for j in answers.values())
        if not flagged and (answers.keys().isdisjoint(CLAIMS_JUDGES) or find_unsupported(self.case) is None):
            return []
        return [
            name
            for name, cascade in due.items()
            if name in answers
            and cascade.stages[-1].stage != stage
            and not (answers[name].verdict == "reject" and stage in cascade.reject_alone)
        ]

    def _look_up_flagged(self, answers: Mapping[str, Judgement]) -> None:
        """Add sources on the flagged statements to the case, before a stronger judge reads the reply."""
        quotes = [problem.quote for problem in _screened_problems(answers.values())]
        if self.look_up is not None and quotes:
            self.case = self.look_up(self.case, [*dict.fromkeys(quotes)])

    async def _completed(self) -> str | None:
        """Return the reply with its missing statements added; None if the statements would not settle all objections.

        On a sensitive topic, statements never settle an objection.
        """
        flagged = [of[-1] for of in self.judgements.values() if of[-1].verdict != "accept"]
        if self.add_statements is None or not flagged:
            return None
        if not await run_in_thread_if_long(self.case, _settled_by_statements, flagged, self.case):
            return None
        if self.own_review is not None and ((own := await self.own_review).objections or own.failed_closed):
            return None
        return self.add_statements()


def _is_due(cascade: Cascade, stage: Stage, strongest: bool) -> bool:
    judge = cascade.stage(stage)
    return judge is not None and not (strongest and judge is not cascade.stages[-1])


def _judge_locally(cascades: Sequence[Cascade], case: Case) -> Review:
    return sum([cascade.run_now(case) for cascade in cascades], Review())


def find_unsupported(case: Case) -> str | None:
    """Return a sentence with advice or a dose that no source gives, or a number that no source contains; otherwise None.

    A reply with such advice or such a number always goes to the strongest judge, even if a cheaper judge accepts it.
    """
    return unsupported_advice(case) or min(unsupported_numbers(case), default=None)


def is_delicate(judgement: Judgement, case: Case) -> bool:
    """Return whether a screening call lists a problem of any severity in a sentence that touches a sensitive topic."""
    seen = judgement.observation
    return isinstance(seen, Screening) and any(
        touches_topic(problem.quote, case.topics)
        or any(problem.quote.strip().casefold() in one for one in sentences_on_topic(case.draft, case.topics))
        for problem in seen.problems
    )


def goes_beyond(judgement: Judgement, case: Case) -> bool:
    """Return whether a judge saw a statement that the cited sources do not support."""
    seen = judgement.observation
    if isinstance(seen, Screening):
        return seen.adds or any(problem.kind != "role" for problem in seen.problems)
    return isinstance(seen, Claims) and improvises(seen, case)


def _go_beyond(judgements: Iterable[Judgement], case: Case) -> bool:
    return any(goes_beyond(judgement, case) for judgement in judgements) or find_unsupported(case) is not None


def _screened_problems(judgements: Iterable[Judgement]) -> list[Problem]:
    return [p for j in judgements if isinstance(j.observation, Screening) for p in j.observation.problems]


def _settled_by_statements(flagged: Sequence[Judgement], case: Case) -> bool:
    """Return whether the missing statements are the only objection to a reply, and the reply is harmless enough to add them."""
    lacks = all(_lacks_statements(judgement, case) for judgement in flagged)
    return lacks and not find_unsupported(case) and not _may_touch_topic(case)


def _lacks_statements(judgement: Judgement, case: Case) -> bool:
    """Return whether missing statements are the only objection of a judge."""
    seen = judgement.observation
    problems = (
        seen.problems if isinstance(seen, Screening) else additions(seen, case) if isinstance(seen, Claims) else ()
    )
    return judgement.rule == KINDS["undisclosed"].rule and lack_statements(problems)


def _may_touch_topic(case: Case) -> bool:
    """Return whether a reply touches a sensitive topic, or is not in English, where rules cannot recognise the topic."""
    return bool(case.topics) and (touches_topic(case.draft, case.topics) or not is_english(case.draft))


_WARM_UP_SECTION = Source("sleep", "Sleep", "How sleep helps.", "Many people sleep badly when they are ill.")
_WARM_UP_REPLY = "I hear that you are tired. Bad sleep is common with illness. Evenings were long and dark there."
"""A reply for which the local judges load all their data."""

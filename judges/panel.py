"""The built-in judges of a reply, which share their calls: one screens, and what it flags one chief reads, claim by claim."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from judges import offload
from judges.advice import touches_topic
from judges.cascade import Cascade, find_unsupported, is_delicate
from judges.case import Case
from judges.claims import additions, confirms_flag, improvises
from judges.judge import LocalJudge
from judges.languages import is_english
from judges.modes import Mode
from judges.observation import Claims, Problem, Screening
from judges.problems import CLAIMS_JUDGES, KINDS, lack_statements
from judges.reply_call import SharedJudge
from judges.review import Review
from judges.verdict import Judgement, Stage
from models.usage import Ledger

Complete = Callable[[], str | None]
"""Returns the reply with the statements that it lacks; None: they cannot be added."""
LookUp = Callable[[Case, Sequence[str]], Case]
"""Returns the case with sources that hold what was flagged, as far as they were not in view."""
STAGES: tuple[Stage, ...] = ("swift", "chief")


def is_shared(cascade: Cascade) -> bool:
    """Tell whether a judge shares all its calls with others."""
    asking = [judge for judge in cascade.stages if not isinstance(judge, LocalJudge)]
    return bool(asking) and all(isinstance(judge, SharedJudge) for judge in asking)


@dataclass(slots=True)
class Panel:
    """Judges that share their calls, at work on one reply."""

    case: Case
    ledger: Ledger
    complete: Complete | None = None
    """None: nothing may be added to the reply."""
    look_up: LookUp | None = None
    others: asyncio.Task[Review] | None = None
    """What judges with calls of their own find meanwhile. Where they object, the reply is not completed."""
    judgements: dict[str, list[Judgement]] = field(default_factory=dict)
    """What each judge has said, stage by stage."""
    called_judges: set[str] = field(default_factory=set)
    """The judges that a call has answered for, whether the judgement counts or not."""

    async def review(self, cascades: Sequence[Cascade], modes: frozenset[Mode], *, strongest: bool = False) -> Review:
        """Have the judges look at the reply, from the cheapest stage to the strongest.

        Args:
            cascades: All of the chatbot, whether they are for such a reply or not. Those of the mode `default` answer as well where
                the reply goes beyond its sources.
            strongest: Ask the last stages alone, as for a refined reply.
        """
        called = {c.name: c for c in cascades if c.modes & modes}
        if not called:
            return Review()
        waiting = called | {c.name: c for c in cascades if "default" in c.modes}
        if not strongest:
            await self._hear_local(called, waiting)
        completed = None
        for stage in STAGES:
            due = {name: c for name, c in waiting.items() if _is_due(c, stage, strongest)}
            if not due.keys() & (called.keys() | self.judgements.keys()):
                continue  # of those that answer as well, none is asked for its own sake
            new_judgements = await self._ask(due, stage, called)
            if waiting.keys() <= due.keys() and (completed := await self._completed()) is not None:
                break
            going_on = await offload.run_in_thread_if_long(self.case, self._going_on, due, stage, new_judgements)
            if going_on:
                self._look_up(new_judgements)
            waiting = {name: c for name, c in waiting.items() if name not in due or name in going_on}
        reviews = [c.settled(judgements) for c in cascades if (judgements := self.judgements.get(c.name))]
        review = sum(reviews, Review())
        review.completed = completed
        return review

    async def _hear_local(self, called: Mapping[str, Cascade], waiting: dict[str, Cascade]) -> None:
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
        """Reject what two judges find wrong: words that the screen calls beyond the sources or altered, and the chief unsupported.

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

    def _look_up(self, judgements: Mapping[str, Judgement]) -> None:
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
        if self.others is not None and ((own := await self.others).objections or own.failed_closed):
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

"""The built-in judges of a reply, which share their calls: one screens, and what it flags one chief reads, claim by claim."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from judges import offload
from judges.cascade import Cascade, find_unsupported, is_delicate
from judges.case import Case
from judges.claims import additions, improvises
from judges.judge import LocalJudge, log_crash
from judges.modes import Mode
from judges.observation import Claims, Problem, Screening
from judges.problems import CLAIMS_JUDGES, MENDABLE, are_small
from judges.reply_call import SharedJudge
from judges.review import Review
from judges.verdict import Judgement, Stage
from models.usage import Ledger

Mend = Callable[[Case, Sequence[Problem]], str | None]
"""Returns a reply without its small faults; None: it cannot be mended so."""
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
    mend: Mend | None = None
    """Mends small faults; None: nothing is to be mended."""
    others: asyncio.Task[Review] | None = None
    """What judges with calls of their own find meanwhile: where they object, nothing is mended."""
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
        mended = None
        for stage in STAGES:
            due = {name: c for name, c in waiting.items() if _is_due(c, stage, strongest)}
            if not due.keys() & (called.keys() | self.judgements.keys()):
                continue  # of those that answer as well, none is asked for its own sake
            new_judgements = await self._ask(due, stage, called)
            due |= {name: called[name] for name in new_judgements if name not in due}
            calm = all(
                judgements[-1].verdict == "accept"
                for name, judgements in self.judgements.items()
                if name not in new_judgements
            )
            mended = await self._mended(new_judgements) if calm and waiting.keys() <= due.keys() else None
            if mended is not None:
                break
            going_on = await offload.run_in_thread_if_long(self.case, self._going_on, due, stage, new_judgements)
            waiting = {name: c for name, c in waiting.items() if name not in due or name in going_on}
        reviews = [c.settled(judgements) for c in cascades if (judgements := self.judgements.get(c.name))]
        review = sum(reviews, Review())
        review.mended = mended
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
        # What a local stage has accepted is answered for in the same call: flagged there, it is not settled after all.
        settled = [
            name
            for name, c in called.items()
            if name not in due and name in self.judgements and _is_due(c, stage, False)
        ]
        answers = await judge.call.judge(self.case, [*due, *settled], self.ledger)
        beyond = await offload.run_in_thread_if_long(self.case, _go_beyond, answers.values(), self.case)
        names = due.keys() if beyond else due.keys() & (called.keys() | self.judgements.keys())
        answers = {name: j for name, j in answers.items() if name in names or j.verdict != "accept"}
        for name, judgement in answers.items():
            self.judgements.setdefault(name, []).append(judgement)
        return answers

    def _going_on(self, due: Mapping[str, Cascade], stage: Stage, judgements: Mapping[str, Judgement]) -> Sequence[str]:
        """Return the judges that go on to their next stage."""
        return [name for name, cascade in due.items() if self._goes_on(cascade, stage, judgements)]

    def _goes_on(self, cascade: Cascade, stage: Stage, judgements: Mapping[str, Judgement]) -> bool:
        """Tell whether a judge goes on to its next stage: the strongest reads the whole reply, whatever part of it was flagged."""
        if cascade.stages[-1].stage == stage or cascade.name not in judgements:
            return False
        if judgements[cascade.name].verdict == "reject" and stage in cascade.reject_alone:
            return False
        talked_round = not judgements.keys().isdisjoint(CLAIMS_JUDGES) and find_unsupported(self.case) is not None
        return talked_round or any(j.verdict != "accept" or is_delicate(j, self.case) for j in judgements.values())

    async def _mended(self, judgements: Mapping[str, Judgement]) -> str | None:
        """Return the reply without its faults, where they are few, small and all that was found."""
        flagged = [j for j in judgements.values() if j.verdict != "accept"]
        if self.mend is None or not flagged or any(j.rule not in MENDABLE for j in flagged):
            return None
        problems = await offload.run_in_thread_if_long(self.case, _small_problems, flagged[0], self.case)
        if problems is None:
            return None
        if self.others is not None and ((own := await self.others).objections or own.failed_closed):
            return None
        try:
            return await offload.run_in_thread_if_long(self.case, _mend, self.mend, self.case, problems)
        except Exception as error:  # a fault in mending must not cost the turn
            log_crash(error, "mend", flagged[0].stage)
            return None


def _is_due(cascade: Cascade, stage: Stage, strongest: bool) -> bool:
    judge = cascade.stage(stage)
    return judge is not None and not (strongest and judge is not cascade.stages[-1])


def _mend(mend: Mend, case: Case, problems: Sequence[Problem]) -> str | None:
    text = mend(case, problems)
    # No judge reads it again: what was a warning must not be left as advice.
    return None if text is None or find_unsupported(replace(case, draft=text)) else text


def _go_beyond(judgements: Iterable[Judgement], case: Case) -> bool:
    return any(goes_beyond(judgement, case) for judgement in judgements) or find_unsupported(case) is not None


def goes_beyond(judgement: Judgement, case: Case) -> bool:
    """Tell whether a judge saw something that the cited sources do not support."""
    seen = judgement.observation
    if isinstance(seen, Screening):
        return seen.adds or any(problem.kind != "role" for problem in seen.problems)
    return isinstance(seen, Claims) and improvises(seen, case)


def _small_problems(judgement: Judgement, case: Case) -> Sequence[Problem] | None:
    """Return what a judge saw, if that is little enough to be mended."""
    problems = _problems(judgement, case)
    return problems if are_small(problems) and not find_unsupported(case) else None


def _problems(judgement: Judgement, case: Case) -> Sequence[Problem]:
    seen = judgement.observation
    if isinstance(seen, Screening):
        return seen.problems
    return additions(seen, case) if isinstance(seen, Claims) else ()

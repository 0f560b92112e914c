"""One judge through its stages: each screens for the next, only what it flags goes on, the last one decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from judges import offload
from judges.advice import sentences_on_topic, touches_topic, unsupported_advice
from judges.case import Case
from judges.judge import Judge, LocalJudge
from judges.modes import Mode
from judges.numbers import unsupported_numbers
from judges.observation import Screening
from judges.problems import CLAIMS_JUDGES, is_flagged
from judges.review import Review
from judges.verdict import Judgement, Stage
from models.usage import Ledger


@dataclass(frozen=True)
class Cascade:
    """One judge through its stages."""

    name: str
    modes: frozenset[Mode]
    stages: tuple[Judge, ...]
    on_error: Literal["closed", "open"] = "closed"
    reject_alone: frozenset[Stage] = frozenset()
    """Stages whose reject is final though stronger ones stand behind them."""

    @cached_property
    def local_only(self) -> bool:
        return all(isinstance(judge, LocalJudge) for judge in self.stages)

    def stage(self, name: Stage) -> Judge | None:
        """Return its judge of a stage; None: it has none."""
        return next((judge for judge in self.stages if judge.stage == name), None)

    async def run(
        self, case: Case, ledger: Ledger, strongest: bool = False, earlier: Sequence[Judgement] = ()
    ) -> Review:
        """Judge a case.

        Args:
            case: The case.
            ledger: Where the calls are counted.
            strongest: Ask the last stage alone, as for a refined reply.
            earlier: What the first stages have said already. They are not asked again.
        """
        judgements = list(earlier)
        for judge in self.stages[-1:] if strongest else self.stages[len(earlier) :]:
            if judgements:
                is_settled = await offload.run_in_thread_if_long(case, self.settles, judgements[-1], case)
                if is_settled:
                    break
            judgements.append(await judge.judge(case, ledger))
        return self.settled(judgements)

    def run_now(self, case: Case) -> Review:
        """Judge a case by the local stage, which waits for nothing."""
        judge = self.stages[0]
        assert isinstance(judge, LocalJudge)
        return self.settled([judge.judge_now(case)])

    def settles(self, judgement: Judgement, case: Case) -> bool:
        """Tell whether a stage ends the judging of a case, though stronger ones stand behind it.

        A local judge accepts nothing for a stronger one. Advice or a number that no source gives, no stage but the last accepts: a
        swift judge that a reply has talked round would let it pass. Nor does a judge accept alone where the call that it shares
        flags anything: the next stage reads the whole reply.
        """
        if judgement.verdict == "accept":
            seen = judgement.observation
            if isinstance(seen, Screening) and (is_flagged(seen.problems) or is_delicate(judgement, case)):
                return False
            return judgement.stage != "local" and not (self.name in CLAIMS_JUDGES and find_unsupported(case))
        return judgement.verdict == "reject" and judgement.stage in self.reject_alone

    def settled(self, judgements: Sequence[Judgement]) -> Review:
        """Return the review of a judge that has said all that it will."""
        last = judgements[-1]
        if last.verdict == "unjudged" and self.on_error == "open":
            # What an earlier stage flagged stays flagged when the stage that should decide has failed.
            last = next((j for j in reversed(judgements) if j.verdict in ("warn", "reject")), last)
        return Review(list(judgements), [last], last.verdict == "unjudged" and self.on_error == "closed")


def is_delicate(judgement: Judgement, case: Case) -> bool:
    """Tell whether a screening lists anything, however small, in a sentence that touches a sensitive topic."""
    seen = judgement.observation
    return isinstance(seen, Screening) and any(
        touches_topic(problem.quote, case.topics)
        or any(problem.quote.strip().casefold() in one for one in sentences_on_topic(case.draft, case.topics))
        for problem in seen.problems
    )


def find_unsupported(case: Case) -> str | None:
    """Return something of a reply that no source gives: advice or a dose on a sensitive topic, or a number that no document has.

    It goes to the strongest judge, whatever a cheaper one says.
    """
    return unsupported_advice(case) or min(unsupported_numbers(case), default=None)

"""A model proposes edits of a prompt, measurement decides.

Each round: propose candidates, refuse those that break the rules of edits.py, have the judge answer with the others, first on
the failing cases and as many that are right, and keep the best of those that are proven better. What has been answered is in
the journal, so that a run that ended early comes the same way again without asking.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from judges.evaluation.edits import Bounds, Proposal, RefusedProposal, Wording, apply_edits
from judges.evaluation.errors import NothingToTune, TuneError
from judges.evaluation.holdout import count_use
from judges.evaluation.journal import HoldoutLine, Journal, ProposalLine, RulingLine
from judges.evaluation.journaled_judging import BudgetEnded, JournaledJudging, ShowProgress
from judges.evaluation.labelled import LabelledCase
from judges.evaluation.paired_proof import Proof, can_win, decide, explain_stop, recalls
from judges.evaluation.proposer import Attempt, Proposer, build_task, choose_guards
from judges.evaluation.run_cases import Answer
from judges.evaluation.subject import Subject
from judges.evaluation.tuning_result import EndReason, HoldoutResult, TuningResult, Version
from judges.prompt import load_prompt
from judges.reply_call import form_of
from models.budget import BudgetSpent
from models.errors import ModelError

UNMEASURED = "not measured yet"


@dataclass(frozen=True, slots=True)
class Terms:
    """How long to try, and what proof is asked for."""

    rounds: int = 4
    candidates: int = 2
    """Proposals per round."""
    alpha: float = 0.1
    """A candidate must be better with a p below this."""
    at_once: int = 8


@dataclass(slots=True)
class Tuning:
    """A run: one prompt, on the dev cases of the judges that read it."""

    subject: Subject
    """The judge with the prompt to begin from."""
    start: Wording
    dev: Sequence[LabelledCase]
    proposer: Proposer
    journal: Journal
    terms: Terms = field(default_factory=Terms)
    show_progress: ShowProgress = lambda total, what: nullcontext(lambda answer: None)
    """Shows the progress of judging."""
    report: Callable[[str], None] = lambda text: None
    """Called with a line for each thing that happens."""
    other_subjects: Sequence[Subject] = ()
    """Other judges that read the same prompt: what helps one and harms another is not kept."""
    _attempts: dict[str, Attempt] = field(default_factory=dict)
    _names_by_text: dict[str, str] = field(default_factory=dict)
    """Names of the wordings so far, by their text."""
    _best_recall: dict[str, float] = field(default_factory=dict)
    """The best recall of the start and of what was kept, by judge."""
    _bounds: Bounds = field(init=False)
    _judging: JournaledJudging = field(init=False)

    def __post_init__(self) -> None:
        self._bounds = Bounds(self.start, tuple(self.dev))
        self._judging = JournaledJudging(
            (self.subject, *self.other_subjects), self.journal, self.terms.at_once, self.show_progress
        )

    async def run(self) -> TuningResult:
        """Look for a better wording.

        Raises:
            NothingToTune: No case fails, or too few do.
            TuneError: A model fails, or the budget is too small to begin.
            JournalError: The folder cannot be written.
        """
        start = best = await self._measure_start()
        if self._end_reason(start):
            raise NothingToTune(self._explain_why_not(start))
        end_reason: EndReason | None = None
        for number in range(1, self.terms.rounds + 1):
            better, budget_spent = await self._run_round(number, best)
            best = better or best
            if end_reason := "budget" if budget_spent else self._end_reason(best):
                break
        return TuningResult(start, best, self._attempts, end_reason or "rounds")

    async def run_with_holdout(
        self, holdout: Sequence[LabelledCase], uses: Path
    ) -> tuple[TuningResult, HoldoutResult | None]:
        """Look for a better wording, and measure a winner on the holdout as far as the budget goes; see `run`, `on_holdout`."""
        result = await self.run()
        if not result.improved or not holdout or result.end_reason == "budget":
            return result, None
        try:
            return result, await self.measure_on_holdout(result, holdout, uses)
        except BudgetEnded:
            return result, None

    async def _measure_start(self) -> Version:
        version = self._add_version("start", self.start)
        try:
            version.answers.extend(await self._judging.judge(version.prompt, self.dev, "start"))
        except BudgetEnded:
            raise TuneError(
                f"the budget does not allow the {len(self.dev)} dev cases to be judged once; raise it, or take fewer cases"
            ) from None
        self._best_recall = recalls(version.answers)
        return version

    def _end_reason(self, best: Version) -> EndReason | None:
        if all(a.is_correct for a in best.answers):
            return "nothing fails"
        return None if self._can_win(best, []) else "too few fail"

    def _explain_why_not(self, best: Version) -> str:
        wrong = sum(not a.is_correct for a in best.answers)
        if not wrong:
            return f"nothing to tune: all {len(best.answers)} dev cases are judged rightly"
        return (
            f"{wrong} of {len(best.answers)} dev cases fail: too few for any edit to be proven better with p < "
            f"{self.terms.alpha:g}, even if it mended all of them; give more cases, or a larger alpha"
        )

    async def _run_round(self, number: int, best: Version) -> tuple[Version | None, bool]:
        """Return what is better than the best so far, and whether the budget is spent."""
        candidates: list[Version] = []
        better: list[tuple[Version, str]] = []
        budget_spent = False
        try:
            for number_in_round in range(1, self.terms.candidates + 1):
                name = f"round-{number}-candidate-{number_in_round}"
                if candidate := await self._make_candidate(name, best):
                    candidates.append(candidate)
            for candidate in candidates:
                is_better, because = await self._measure_candidate(candidate, best)
                if is_better:
                    better.append((candidate, because))
                else:
                    self._record_outcome(candidate.name, "note", because)
        except BudgetEnded:
            budget_spent = True
            for name, attempt in self._attempts.items():
                if attempt.outcome == UNMEASURED:
                    self._attempts[name] = replace(attempt, because="the budget ended first")
        if not better:
            return None, budget_spent
        winner, because = max(better, key=lambda one: sum(a.is_correct for a in one[0].answers))
        self._record_outcome(winner.name, "kept", because)
        for one, because in better:
            if one is not winner:
                self._record_outcome(one.name, "note", f"{because}; but {winner.name} is better still")
        for judge, recall in recalls(winner.answers).items():
            self._best_recall[judge] = max(self._best_recall.get(judge, 0.0), recall)
        return winner, budget_spent

    async def _make_candidate(self, name: str, best: Version) -> Version | None:
        proposal = await self._ask_for_edits(name, best)
        try:
            if proposal is None:
                raise RefusedProposal("the answer could not be read")
            wording = apply_edits(best.wording, proposal.edits)
            self._bounds.check(wording.text)
            if wording.text in self._names_by_text:
                raise RefusedProposal(f"the instructions would be those of {self._names_by_text[wording.text]}")
        except RefusedProposal as refusal:
            self._attempts[name] = Attempt(proposal, "refused", "")
            self._record_outcome(name, "refused", str(refusal))
            return None
        self._attempts[name] = Attempt(proposal, UNMEASURED, "another candidate of this round; propose another way")
        return self._add_version(name, wording)

    async def _ask_for_edits(self, name: str, best: Version) -> Proposal | None:
        """Ask for edits, unless the journal has them."""
        if line := self.journal.proposal_for(name, best.prompt.hash):
            return line.proposal
        self.report(f"{name}: asking {self.proposer.alias} for edits")
        task_text = build_task(
            best.prompt,
            best.answers,
            list(self._attempts.values()),
            self._bounds.max_chars,
            seed=name,
            form=form_of(
                best.prompt, frozenset().union(*(one.questions for one in (self.subject, *self.other_subjects)))
            ),
        )
        try:
            proposal = await self.proposer.propose(task_text)
        except BudgetSpent:
            raise BudgetEnded from None
        except ModelError as error:
            raise TuneError(f"no edits could be had: {error}") from error
        self.journal.add(ProposalLine(name=name, base=best.prompt.hash, proposal=proposal))
        return proposal

    def _add_version(self, name: str, wording: Wording) -> Version:
        self._names_by_text[wording.text] = name
        file = self.journal.write(name, wording)
        prompt = replace(load_prompt(file), model=self.subject.prompts[0].model)
        return Version(name, wording, prompt, file, [])

    async def _measure_candidate(self, candidate: Version, best: Version) -> tuple[bool, str]:
        """Measure a candidate as long as it can still win, beginning with the failing cases and as many guards.

        Returns:
            Whether it is better, and why.
        """
        failing = [a for a in best.answers if not a.is_correct]
        first = {a.example.key for a in [*failing, *choose_guards(best.answers, failing, len(failing))]}
        screen = [case for case in self.dev if case.key in first]
        rest = [case for case in self.dev if case.key not in first]
        answers = candidate.answers
        for cases, what in ((screen, "what fails and as many right"), (rest, "all others")):
            if self._can_win(best, answers):
                is_decided = partial(self._is_decided, best, list(answers))
                answers += await self._judging.judge(candidate.prompt, cases, f"{candidate.name}: {what}", is_decided)
        if len(answers) < len(self.dev):
            return False, explain_stop(best.answers, answers, self._proof)
        return decide(best.answers, answers, self._proof)

    def _is_decided(self, best: Version, earlier: list[Answer], answers: list[Answer]) -> bool:
        return not self._can_win(best, [*earlier, *answers])

    def _can_win(self, best: Version, answers: Sequence[Answer]) -> bool:
        return can_win(best.answers, answers, self._proof)

    @property
    def _proof(self) -> Proof:
        return Proof(self.terms.alpha, self._best_recall)

    def _record_outcome(self, name: str, outcome: Literal["kept", "note", "refused"], because: str) -> None:
        self._attempts[name] = replace(self._attempts[name], outcome=outcome, because=because)
        self.journal.add(RulingLine(name=name, outcome=outcome, because=because))
        self.report(f"{name}: {'not kept' if outcome == 'note' else outcome}: {because}")

    @property
    def judges(self) -> list[str]:
        """The names of those that read the prompt."""
        return [one.judge for one in (self.subject, *self.other_subjects)]

    async def measure_on_holdout(
        self, result: TuningResult, holdout: Sequence[LabelledCase], uses: Path
    ) -> HoldoutResult:
        """Measure start and winner on the holdout, and count that it was used: once for a winner, however often resumed.

        Args:
            uses: The file of uses, see holdout.py.

        Raises:
            BudgetEnded: Not everything could be asked.
            HoldoutError: The use cannot be counted.
            TuneError: The model fails too often.
        """
        use_count = self.journal.uses(result.winner.prompt.hash)
        if use_count is None:
            shares = {name: [case for case in holdout if case.judge == name] for name in self.judges}
            use_count = max(count_use(uses, name, cases) for name, cases in shares.items() if cases)
            self.journal.add(HoldoutLine(prompt=result.winner.prompt.hash, uses=use_count))
        before = await self._judging.judge(result.start.prompt, holdout, "holdout: start")
        after = await self._judging.judge(result.winner.prompt, holdout, f"holdout: {result.winner.name}")
        return HoldoutResult(before, after, use_count)

"""Tunes a prompt: a model proposes edits, and measurement on dev cases decides which edits are kept.

In each round, the model proposes candidates, and invalid candidates are rejected (edits.py). The judge then answers the dev
cases with each valid candidate, first the failing cases and an equal number of correctly judged cases. The round keeps the best
candidate that is significantly better. The journal stores all answers, so that a resumed run repeats its steps without new calls.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from judges.evaluation.candidate_decision import Proof, can_win, decide, explain_stop, recalls
from judges.evaluation.edits import Proposal, RefusedProposal, Wording, apply_edits, check_wording, max_chars
from judges.evaluation.errors import NothingToTune, TuneError
from judges.evaluation.holdout import count_use
from judges.evaluation.journal import HoldoutLine, ProposalLine, RulingLine, Settings
from judges.evaluation.journaled_judging import BudgetEnded, JournaledJudging
from judges.evaluation.labelled import LabelledCase
from judges.evaluation.proposer import Attempt, build_task, choose_guards, propose
from judges.evaluation.tuning_result import EndReason, HoldoutResult, TuningResult, Version
from judges.judge import form_of
from judges.prompt import load_prompt
from models.budget import BudgetSpent
from models.client import Models
from models.errors import ModelError

UNMEASURED = "not measured yet"


@dataclass(slots=True)
class Tuning:
    """A tuning run of one prompt on the dev cases of the judges that use the prompt."""

    judging: JournaledJudging
    """Asks all judges that use the prompt. A candidate that improves one judge but worsens another is not kept."""
    start: Wording
    """The original prompt."""
    dev: Sequence[LabelledCase]
    models: Models
    settings: Settings
    report: Callable[[str], None] = lambda text: None
    """Called with one line of text for each event."""
    _attempts: dict[str, Attempt] = field(default_factory=dict)
    """The candidates so far, by name."""
    _names_by_text: dict[str, str] = field(default_factory=dict)
    """The names of all versions so far, by their instructions."""
    _best_recall: dict[str, float] = field(default_factory=dict)
    """The best recall (0 to 1) so far, by judge: of the original prompt and the kept candidates."""

    async def run_with_holdout(
        self, holdout: Sequence[LabelledCase], uses: Path
    ) -> tuple[TuningResult, HoldoutResult | None]:
        """Look for a better prompt (`run`), and measure a winner on the holdout if the budget allows.

        Args:
            holdout: The held-out cases; empty: no measurement on a holdout.
            uses: The file with the numbers of holdout uses (`holdout.count_use`).

        Returns:
            The result, and the measurement on the holdout; None if there is no winner, no holdout, or no budget left.
        """
        result = await self.run()
        if not result.improved or not holdout or result.end_reason == "budget":
            return result, None
        try:
            return result, await self.measure_on_holdout(result, holdout, uses)
        except BudgetEnded:
            return result, None

    async def run(self) -> TuningResult:
        """Look for a better prompt, round by round.

        Raises:
            NothingToTune: The judge fails on no case, or on too few cases.
            TuneError: A model fails, or the budget is too small for the first measurement.
            EvaluationError: The folder of the run cannot be written.
        """
        start = best = await self._measure_start()
        if self._end_reason(start):
            raise NothingToTune(self._explain_why_not(start))
        end_reason: EndReason | None = None
        for number in range(1, self.settings.rounds + 1):
            better, budget_spent = await self._run_round(number, best)
            best = better or best
            if end_reason := "budget" if budget_spent else self._end_reason(best):
                break
        return TuningResult(start, best, self._attempts, end_reason or "rounds")

    async def _measure_start(self) -> Version:
        version = self._add_version("start", self.start)
        try:
            version.answers.extend(await self.judging.judge(version.prompt, self.dev, "start"))
        except BudgetEnded:
            raise TuneError(
                f"budget too small: it must allow judging the {len(self.dev)} dev cases once; raise --budget, or lower --limit"
            ) from None
        self._best_recall = recalls(version.answers)
        return version

    def _end_reason(self, best: Version) -> EndReason | None:
        if all(a.is_correct for a in best.answers):
            return "nothing fails"
        return None if can_win(best.answers, [], self._proof) else "too few fail"

    def _explain_why_not(self, best: Version) -> str:
        wrong = sum(not a.is_correct for a in best.answers)
        if not wrong:
            return f"nothing to tune: all {len(best.answers)} dev cases are judged correctly"
        return (
            f"{wrong} of {len(best.answers)} dev cases fail: too few for a significant improvement (p < "
            f"{self.settings.alpha:g}), even if an edit corrected all of them; add dev cases, or raise --alpha"
        )

    async def _run_round(self, number: int, best: Version) -> tuple[Version | None, bool]:
        """Run one round. Return its best candidate (None if no candidate is better), and whether the budget is spent."""
        names = [f"round-{number}-candidate-{n}" for n in range(1, self.settings.candidates + 1)]
        better: list[tuple[Version, str]] = []
        budget_spent = False
        try:
            candidates = [await self._make_candidate(name, best) for name in names]
            for candidate in filter(None, candidates):
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
            check_wording(wording.text, self.start.text, self.dev)
            if wording.text in self._names_by_text:
                raise RefusedProposal(f"the instructions would be those of {self._names_by_text[wording.text]}")
        except RefusedProposal as refusal:
            self._attempts[name] = Attempt(proposal, "refused", "")
            self._record_outcome(name, "refused", str(refusal))
            return None
        self._attempts[name] = Attempt(proposal, UNMEASURED, "another candidate of this round; propose another way")
        return self._add_version(name, wording)

    async def _ask_for_edits(self, name: str, best: Version) -> Proposal | None:
        """Return the proposed edits for a candidate, from the journal or the model; None if the model's answer is unreadable."""
        if line := self.judging.journal.proposal_for(name, best.prompt.hash):
            return line.proposal
        self.report(f"{name}: asking {self.settings.tuner} for edits")
        questions = frozenset().union(*(one.questions for one in self.judging.subjects))
        task = build_task(
            best.prompt,
            best.answers,
            list(self._attempts.values()),
            max_chars(self.start.text),
            seed=name,
            form=form_of(best.prompt, questions),
        )
        try:
            proposal = await propose(self.models, self.settings.tuner, task)
        except BudgetSpent:
            raise BudgetEnded from None
        except ModelError as error:
            raise TuneError(f"cannot get edits from the model: {error}") from error
        self.judging.journal.add(ProposalLine(name=name, base=best.prompt.hash, proposal=proposal))
        return proposal

    def _add_version(self, name: str, wording: Wording) -> Version:
        self._names_by_text[wording.text] = name
        file = self.judging.journal.write(name, wording)
        prompt = replace(load_prompt(file), model=self.judging.subjects[0].prompts[0].model)
        return Version(name, wording, prompt, file, [])

    async def _measure_candidate(self, candidate: Version, best: Version) -> tuple[bool, str]:
        """Measure a candidate on the dev cases, and stop when it can no longer be better.

        The first cases are the failing cases and an equal number of correctly judged cases (`choose_guards`).

        Returns:
            Whether the candidate is better than `best`, and the reason.
        """
        failing = [a for a in best.answers if not a.is_correct]
        first = {a.example.key for a in [*failing, *choose_guards(best.answers, failing, len(failing))]}
        cases = sorted(self.dev, key=lambda case: case.key not in first)
        proof = self._proof
        candidate.answers.extend(
            await self.judging.judge(
                candidate.prompt, cases, candidate.name, lambda answers: not can_win(best.answers, answers, proof)
            )
        )
        if len(candidate.answers) < len(self.dev):
            return False, explain_stop(best.answers, candidate.answers, proof)
        return decide(best.answers, candidate.answers, proof)

    @property
    def _proof(self) -> Proof:
        return Proof(self.settings.alpha, self._best_recall)

    def _record_outcome(self, name: str, outcome: Literal["kept", "note", "refused"], because: str) -> None:
        self._attempts[name] = replace(self._attempts[name], outcome=outcome, because=because)
        self.judging.journal.add(RulingLine(name=name, outcome=outcome, because=because))
        self.report(f"{name}: {'not kept' if outcome == 'note' else outcome}: {because}")

    async def measure_on_holdout(
        self, result: TuningResult, holdout: Sequence[LabelledCase], uses: Path
    ) -> HoldoutResult:
        """Measure the original prompt and the winner on the holdout. Each winner counts as one use, even in a resumed run.

        Args:
            result: The result of the run.
            holdout: The held-out cases.
            uses: The file with the numbers of holdout uses (`holdout.count_use`).

        Raises:
            BudgetEnded: The budget did not allow all cases.
            EvaluationError: The use cannot be counted.
            TuneError: The model gives no answer to too many cases.
        """
        use_count = self.judging.journal.uses(result.winner.prompt.hash)
        if use_count is None:
            shares = {name: [case for case in holdout if case.judge == name] for name in self.judging.judges}
            use_count = max(count_use(uses, name, cases) for name, cases in shares.items() if cases)
            self.judging.journal.add(HoldoutLine(prompt=result.winner.prompt.hash, uses=use_count))
        before = await self.judging.judge(result.start.prompt, holdout, "holdout: start")
        after = await self.judging.judge(result.winner.prompt, holdout, f"holdout: {result.winner.name}")
        return HoldoutResult(before, after, use_count)

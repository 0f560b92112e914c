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

from judges.evaluation.edits import Bounds, Proposal, Refused, Wording, edited
from judges.evaluation.errors import NothingToTune, TuneError
from judges.evaluation.holdout import count_use
from judges.evaluation.journal import Counted, Journal, Proposed, Ruled
from judges.evaluation.journaled_judging import BudgetEnded, JournaledJudging, Shown
from judges.evaluation.labelled import Labelled
from judges.evaluation.paired_proof import Proof, can_win, decide, given_up, recalls
from judges.evaluation.proposer import Proposer, Tried, guards, task
from judges.evaluation.run_cases import Answer
from judges.evaluation.subject import Subject
from judges.evaluation.tuned import Ended, Held, Tuned, Version
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
    dev: Sequence[Labelled]
    proposer: Proposer
    journal: Journal
    terms: Terms = field(default_factory=Terms)
    shown: Shown = lambda total, what: nullcontext(lambda answer: None)
    """Shows how far the asking is."""
    told: Callable[[str], None] = lambda text: None
    """Told in a line what has happened."""
    beside: Sequence[Subject] = ()
    """Other judges that read the same prompt: what helps one and harms another is not kept."""
    _tried: dict[str, Tried] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)
    """Names of the wordings so far, by their text."""
    _recall: dict[str, float] = field(default_factory=dict)
    """The best recall of the start and of what was kept, by judge."""
    _bounds: Bounds = field(init=False)
    _judging: JournaledJudging = field(init=False)

    def __post_init__(self) -> None:
        self._bounds = Bounds(self.start, tuple(self.dev))
        self._judging = JournaledJudging((self.subject, *self.beside), self.journal, self.terms.at_once, self.shown)

    async def run(self) -> Tuned:
        """Look for a better wording.

        Raises:
            NothingToTune: No case fails, or too few do.
            TuneError: A model fails, or the budget is too small to begin.
            JournalError: The folder cannot be written.
        """
        start = best = await self._first()
        if self._no_way_on(start):
            raise NothingToTune(self._why_not(start))
        ended: Ended | None = None
        for number in range(1, self.terms.rounds + 1):
            better, spent = await self._round(number, best)
            best = better or best
            if ended := "budget" if spent else self._no_way_on(best):
                break
        return Tuned(start, best, self._tried, ended or "rounds")

    async def run_with_holdout(self, holdout: Sequence[Labelled], uses: Path) -> tuple[Tuned, Held | None]:
        """Look for a better wording, and measure a winner on the holdout as far as the budget goes; see `run`, `on_holdout`."""
        tuned = await self.run()
        if not tuned.found or not holdout or tuned.ended == "budget":
            return tuned, None
        try:
            return tuned, await self.on_holdout(tuned, holdout, uses)
        except BudgetEnded:
            return tuned, None

    async def _first(self) -> Version:
        version = self._version("start", self.start)
        try:
            version.answers.extend(await self._judging.judge(version.prompt, self.dev, "start"))
        except BudgetEnded:
            raise TuneError(
                f"the budget does not allow the {len(self.dev)} dev cases to be judged once; raise it, or take fewer cases"
            ) from None
        self._recall = recalls(version.answers)
        return version

    def _no_way_on(self, best: Version) -> Ended | None:
        if all(a.right for a in best.answers):
            return "nothing fails"
        return None if self._open(best, []) else "too few fail"

    def _why_not(self, best: Version) -> str:
        wrong = sum(not a.right for a in best.answers)
        if not wrong:
            return f"nothing to tune: all {len(best.answers)} dev cases are judged rightly"
        return (
            f"{wrong} of {len(best.answers)} dev cases fail: too few for any edit to be proven better with p < "
            f"{self.terms.alpha:g}, even if it mended all of them; give more cases, or a larger alpha"
        )

    async def _round(self, number: int, best: Version) -> tuple[Version | None, bool]:
        """Return what is better than the best so far, and whether the budget is spent."""
        candidates: list[Version] = []
        better: list[tuple[Version, str]] = []
        spent = False
        try:
            for place in range(1, self.terms.candidates + 1):
                name = f"round-{number}-candidate-{place}"
                if candidate := await self._candidate(name, best):
                    candidates.append(candidate)
            for candidate in candidates:
                kept, because = await self._measured(candidate, best)
                if kept:
                    better.append((candidate, because))
                else:
                    self._rule(candidate.name, "note", because)
        except BudgetEnded:
            spent = True
            for name, tried in self._tried.items():
                if tried.outcome == UNMEASURED:
                    self._tried[name] = replace(tried, because="the budget ended first")
        if not better:
            return None, spent
        chosen, because = max(better, key=lambda one: sum(a.right for a in one[0].answers))
        self._rule(chosen.name, "kept", because)
        for one, because in better:
            if one is not chosen:
                self._rule(one.name, "note", f"{because}; but {chosen.name} is better still")
        for judge, recall in recalls(chosen.answers).items():
            self._recall[judge] = max(self._recall.get(judge, 0.0), recall)
        return chosen, spent

    async def _candidate(self, name: str, best: Version) -> Version | None:
        proposal = await self._proposal(name, best)
        try:
            if proposal is None:
                raise Refused("the answer could not be read")
            wording = edited(best.wording, proposal.edits)
            self._bounds.check(wording.text)
            if wording.text in self._texts:
                raise Refused(f"the instructions would be those of {self._texts[wording.text]}")
        except Refused as refusal:
            self._tried[name] = Tried(proposal, "refused", "")
            self._rule(name, "refused", str(refusal))
            return None
        self._tried[name] = Tried(proposal, UNMEASURED, "another candidate of this round; propose another way")
        return self._version(name, wording)

    async def _proposal(self, name: str, best: Version) -> Proposal | None:
        """Ask for edits, unless the journal has them."""
        if known := self.journal.proposed(name, best.prompt.hash):
            return known.proposal
        self.told(f"{name}: asking {self.proposer.alias} for edits")
        asked = task(
            best.prompt,
            best.answers,
            list(self._tried.values()),
            self._bounds.longest,
            seed=name,
            form=form_of(best.prompt, frozenset().union(*(one.questions for one in (self.subject, *self.beside)))),
        )
        try:
            proposal = await self.proposer.propose(asked)
        except BudgetSpent:
            raise BudgetEnded from None
        except ModelError as error:
            raise TuneError(f"no edits could be had: {error}") from error
        self.journal.add(Proposed(name=name, base=best.prompt.hash, proposal=proposal))
        return proposal

    def _version(self, name: str, wording: Wording) -> Version:
        self._texts[wording.text] = name
        file = self.journal.write(name, wording)
        prompt = replace(load_prompt(file), model=self.subject.prompts[0].model)
        return Version(name, wording, prompt, file, [])

    async def _measured(self, candidate: Version, best: Version) -> tuple[bool, str]:
        """Have a candidate judged as long as it may still be kept: at first what fails, with as many guards.

        Returns:
            Whether it is better, and why.
        """
        failing = [a for a in best.answers if not a.right]
        first = {a.labelled.key for a in [*failing, *guards(best.answers, failing, len(failing))]}
        screen = [case for case in self.dev if case.key in first]
        rest = [case for case in self.dev if case.key not in first]
        given = candidate.answers
        for cases, what in ((screen, "what fails and as many right"), (rest, "all others")):
            if self._open(best, given):
                decided = partial(self._decided, best, list(given))
                given += await self._judging.judge(candidate.prompt, cases, f"{candidate.name}: {what}", decided)
        if len(given) < len(self.dev):
            return False, given_up(best.answers, given, self._proof)
        return decide(best.answers, given, self._proof)

    def _decided(self, best: Version, earlier: list[Answer], answers: list[Answer]) -> bool:
        return not self._open(best, [*earlier, *answers])

    def _open(self, best: Version, given: Sequence[Answer]) -> bool:
        return can_win(best.answers, given, self._proof)

    @property
    def _proof(self) -> Proof:
        return Proof(self.terms.alpha, self._recall)

    def _rule(self, name: str, outcome: Literal["kept", "note", "refused"], because: str) -> None:
        self._tried[name] = replace(self._tried[name], outcome=outcome, because=because)
        self.journal.add(Ruled(name=name, outcome=outcome, because=because))
        self.told(f"{name}: {'not kept' if outcome == 'note' else outcome}: {because}")

    @property
    def judges(self) -> list[str]:
        """The names of those that read the prompt."""
        return [one.judge for one in (self.subject, *self.beside)]

    async def on_holdout(self, tuned: Tuned, holdout: Sequence[Labelled], uses: Path) -> Held:
        """Measure start and winner on the holdout, and count that it was used: once for a winner, however often resumed.

        Args:
            uses: The file of uses, see holdout.py.

        Raises:
            BudgetEnded: Not everything could be asked.
            HoldoutError: The use cannot be counted.
            TuneError: The model fails too often.
        """
        counted = self.journal.uses(tuned.winner.prompt.hash)
        if counted is None:
            shares = {name: [case for case in holdout if case.judge == name] for name in self.judges}
            counted = max(count_use(uses, name, mine) for name, mine in shares.items() if mine)
            self.journal.add(Counted(prompt=tuned.winner.prompt.hash, uses=counted))
        before = await self._judging.judge(tuned.start.prompt, holdout, "holdout: start")
        after = await self._judging.judge(tuned.winner.prompt, holdout, f"holdout: {tuned.winner.name}")
        return Held(before, after, counted)

"""One model call that answers for all built-in judges of a reply: the swift one lists problems, the chief goes claim by claim."""

import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from judges import offload
from judges.case import Case
from judges.feedback import warning_text
from judges.judge import ask, elapsed_ms, unjudged_judgement
from judges.observation import OBSERVATIONS, Assessment, GradedClaims, GradedRole, Observation, Screening
from judges.problems import CLAIMS_JUDGES
from judges.prompt import Prompt
from judges.rules import rule_on_assessment, rule_on_screening
from judges.verdict import Finding, Judgement, Stage
from models.client import Models
from models.usage import Ledger


@dataclass(frozen=True)
class ReplyCall:
    """A prompt that asks several questions about a reply at once, and the model that reads it."""

    prompt: Prompt
    questions: frozenset[str]
    """The judges that it asks for; those of the prompt's lines that are for others are left out."""
    models: Models
    timeout_s: float

    @property
    def stage(self) -> Stage:
        return self.prompt.stage

    @cached_property
    def text(self) -> str:
        """The instructions as they are asked."""
        return compose(self.prompt.text, self.questions)

    async def judge(self, case: Case, judges: Collection[str], ledger: Ledger) -> dict[str, Judgement]:
        """Ask about a reply. Cancellation passes through; nothing else is raised.

        Args:
            judges: Those whose judgement is wanted, among those that are asked for.

        Returns:
            The judgement of each. All of them are unjudged where the call failed.
        """
        started = time.perf_counter()
        blank = {name: Judgement(name, self.stage, "unjudged", "unreadable") for name in judges}
        try:
            judgements = await self._ask(case, blank, ledger)
        except Exception as error:  # a judge's own failure must reach the filter as a value, whatever it is
            fault = unjudged_judgement(
                Judgement(self.prompt.name, self.stage, "unjudged", "unreadable"), error, self.prompt
            )
            judgements = {name: replace(fault, judge=name) for name in judges}
        ms = elapsed_ms(started)
        return {name: replace(judgement, ms=ms) for name, judgement in judgements.items()}

    async def _ask(self, case: Case, blank: Mapping[str, Judgement], ledger: Ledger) -> dict[str, Judgement]:
        shown = case.for_screening() if self.stage == "swift" else case
        form = form_of(self.prompt, self.questions)
        seen, exchange = await ask(self.models, self.prompt, self.text, shown, form, ledger, self.timeout_s)
        judgements = await offload.run_in_thread_if_long(case, _rule, blank, seen, case, self.prompt)
        return {name: replace(judgement, exchange=exchange) for name, judgement in judgements.items()}


@dataclass(frozen=True, slots=True)
class SharedJudge:
    """One built-in judge of those for which a call asks."""

    name: str
    call: ReplyCall

    @property
    def stage(self) -> Stage:
        return self.call.stage

    async def judge(self, case: Case, ledger: Ledger) -> Judgement:
        """Judge a case alone: it answers for all that it can answer for."""
        return (await self.call.judge(case, (self.name,), ledger))[self.name]


def form_of(prompt: Prompt, questions: Collection[str]) -> type[Observation]:
    """Return the form that is filled in by a prompt, which asks for these judges if it is a shared one."""
    return assessment_of(questions) if prompt.observation == "assessment" else OBSERVATIONS[prompt.observation]


def assessment_of(questions: Collection[str]) -> type[Observation]:
    """Return the form that the chief fills in for these judges."""
    asks_claims = not frozenset(questions).isdisjoint(CLAIMS_JUDGES)
    if "role" not in questions:
        return GradedClaims
    return Assessment if asks_claims else GradedRole


def compose(text: str, questions: frozenset[str]) -> str:
    """Return a prompt without the lines that are for judges which are not asked.

    A line that begins with `{claims}` is for source_fidelity and transparency, one with `{role}` for role; `{not claims}` is for
    where neither of the first is asked.
    """
    parts = {"claims" if questions.intersection(CLAIMS_JUDGES) else "not claims"} | (questions & {"role"})
    lines = (_MARKED.fullmatch(line) for line in text.splitlines())
    return "\n".join(line[2] for line in lines if line is not None and (line[1] is None or line[1] in parts)).strip()


_MARKED = re.compile(r"(?:\{(claims|not claims|role)\} ?)?(.*)")


def _rule(blank: Mapping[str, Judgement], form: Observation, case: Case, prompt: Prompt) -> dict[str, Judgement]:
    findings = (
        rule_on_screening(form, case, blank) if isinstance(form, Screening) else rule_on_assessment(form, case, blank)
    )
    return {name: _judged(judgement, findings[name], form, case, prompt) for name, judgement in blank.items()}


def _judged(blank: Judgement, finding: Finding, form: Observation, case: Case, prompt: Prompt) -> Judgement:
    warning = ""
    if finding.rule is not None and finding.verdict in ("warn", "reject"):
        feedback = form.feedback if isinstance(form, GradedClaims | GradedRole) else None
        warning = prompt.warning or warning_text(feedback, finding.rule, case, form)
    return replace(
        blank, verdict=finding.verdict, rule=finding.rule, reason=finding.reason, warning=warning, observation=form
    )

"""One judge: looks at a case and returns its judgement. Its failures are values, never exceptions, and never acceptance."""

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from judges import guard_model, offload
from judges.case import Case
from judges.guard_model import Guard
from judges.observation import OBSERVATIONS, Observation, Unreadable
from judges.prompt import Prompt
from judges.rules import rule_on, rule_unread
from judges.verdict import Exchange, Finding, Judgement, Stage
from models.client import Models
from models.errors import ModelError, UnreadableAnswer
from models.structured import raw_text
from models.usage import Ledger

log = structlog.get_logger()


class Judge(Protocol):
    """Whatever judges a case."""

    @property
    def stage(self) -> Stage: ...

    async def judge(self, case: Case, ledger: Ledger) -> Judgement: ...


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """A prompt and the model that reads it."""

    prompt: Prompt
    models: Models
    timeout_s: float

    @property
    def stage(self) -> Stage:
        return self.prompt.stage

    async def judge(self, case: Case, ledger: Ledger) -> Judgement:
        """Ask the model for an observation of the case and rule on it. Cancellation passes through; nothing else is raised."""
        started = time.perf_counter()
        blank = Judgement(self.prompt.name, self.stage, "unjudged", self.prompt.unreadable)
        try:
            found = await self._observe(case, ledger, blank)
        except Exception as error:  # a judge's own failure must reach the filter as a value, whatever it is
            found = failed(blank, error, self.prompt)
        return replace(found, ms=since(started))

    async def _observe(self, case: Case, ledger: Ledger, blank: Judgement) -> Judgement:
        if self.prompt.guard is not None:
            return await self._ask_guard(self.prompt.guard, case, ledger, blank)
        messages = [{"role": "system", "content": self.prompt.text}, {"role": "user", "content": case.as_json()}]
        schema = OBSERVATIONS[self.prompt.observation]
        step = f"{self.prompt.name}.{self.stage}"
        # The time goes with the question, so that a judge's hanging model counts as one with its circuit breaker.
        answer = await self.models.structured(
            self.prompt.model, messages, schema, step=step, ledger=ledger, timeout_s=self.timeout_s
        )
        exchange = Exchange(self.prompt.model, self.prompt.hash, answer.raw)
        return replace(await offload.run(case, _judged, blank, answer.value, case), exchange=exchange)

    async def _ask_guard(self, guard: Guard, case: Case, ledger: Ledger, blank: Judgement) -> Judgement:
        prompt = self.prompt
        body = guard_model.question(guard, prompt.name, prompt.text, case)
        step = f"{prompt.name}.{self.stage}"
        answer = await self.models.with_logprobs(prompt.model, body, step=step, ledger=ledger, timeout_s=self.timeout_s)
        raw = raw_text(answer)
        try:
            found, score = guard_model.read(guard, prompt.text, answer)
        except guard_model.NoAnswer as error:
            raise UnreadableAnswer(raw, str(error), alias=prompt.model, step=step) from None
        exchange = Exchange(prompt.model, prompt.hash, raw)
        return replace(
            blank, verdict=found.verdict, rule=found.rule, reason=found.reason, score=score, exchange=exchange
        )


@dataclass(frozen=True, slots=True)
class LocalJudge:
    """A judge without a model: rules over the words of the reply."""

    name: str
    accept_below: float | None = None
    """Score below which, and only below which, it accepts; None: the rules decide."""
    research_language: bool = False
    """Of the emergency judge: users write of patients and records, and only what they say of themselves tells of danger."""

    @property
    def stage(self) -> Stage:
        return "local"

    async def judge(self, case: Case, ledger: Ledger) -> Judgement:
        """Judge without asking anybody; a long text beside the event loop."""
        return await offload.run(case, self.judge_now, case)

    def judge_now(self, case: Case) -> Judgement:
        """Judge a case. Text the rules cannot read is unjudged."""
        started = time.perf_counter()
        part = _readable_part(case)
        try:
            observe = _observe_emergency_in_research if self.research_language else OBSERVERS[self.name]
            observation, score = observe(part)
            finding = self._bounded(rule_on(observation, part), score)
            cut = part is not case and (part.user_message, part.draft) != (case.user_message, case.draft)
            if not cut or finding.verdict != "accept":
                return Judgement(
                    self.name,
                    "local",
                    finding.verdict,
                    finding.rule,
                    finding.reason,
                    since(started),
                    score,
                    observation,
                )
            longer = "reply" if part.draft != case.draft else "user's message"
            reason = f"the local judge cannot read a {longer} this long to the end"
        except Unreadable as unread:
            read = "user's message" if self.name == "emergency" else "reply"
            reason = f"the local judge cannot read the {read}: {unread}"
        except Exception as error:  # as for a model: a crash has not accepted
            log_crash(error, self.name, "local")
            reason = f"crashed: {type(error).__name__}"
        return Judgement(self.name, "local", "unjudged", rule_unread(self.name), reason, since(started))

    def _bounded(self, found: Finding, score: float) -> Finding:
        """Let the threshold decide between accept and not; how bad it is otherwise, the rules say.

        No threshold silences an emergency that was seen, or a sensitive topic that was improvised on. A sign of danger that the
        local judge is not sure of is a concern, which is a warning.
        """
        if found.rule == "emergency" and found.verdict == "reject" and score < SURE:
            return replace(found, verdict="warn")
        if self.accept_below is None or found.verdict == "unjudged":
            return found
        if found.verdict == "reject" and found.rule in ("emergency", "sensitive_topic"):
            return found
        if score < self.accept_below:
            return Finding("accept")
        if found.verdict != "accept":
            return found
        return Finding("warn", RULE_OF[self.name], f"score {score:.2f} is not below {self.accept_below:g}")


SURE = 0.5
"""Score from which a sign of danger is an emergency."""
RULE_OF = {
    "source_fidelity": "unsupported_claims",
    "transparency": "missing_transparency",
    "role": "role",
    "emergency": "emergency",
}
"""The rule that a local judge holds broken when its score alone tells."""

LONGEST = 100_000
"""Characters of a message or a reply that local judges read, once it is normalised."""


def _readable_part(case: Case) -> Case:
    # Of those in local stages, the emergency judge alone reads the history; it gets no reply.
    history = [
        said if case.draft else replace(said, text=offload.shorten(said.text, LONGEST, keep_end=True))
        for said in case.history
    ]
    user_message, draft = (
        offload.shorten(case.user_message, LONGEST, keep_end=True),
        offload.shorten(case.draft, LONGEST),
    )
    if history != list(case.history):
        case = replace(case, history=tuple(history))
    if user_message is case.user_message and draft is case.draft:
        return case
    return replace(case, user_message=user_message, draft=draft)


# Imported when a local stage is first asked (`Filter.warm_up`): a chatbot with model judges alone loads none of it.


def _observe_claims(case: Case) -> tuple[Observation, float]:
    from judges.local import claims

    return claims.observe(case)


def _observe_role(case: Case) -> tuple[Observation, float]:
    from judges.local import role

    return role.observe(case)


def _observe_emergency(case: Case) -> tuple[Observation, float]:
    from judges.local import emergency

    return emergency.observe(case)


def _observe_emergency_in_research(case: Case) -> tuple[Observation, float]:
    from judges.local import research

    return research.observe(case)


OBSERVERS: dict[str, Callable[[Case], tuple[Observation, float]]] = {
    "source_fidelity": _observe_claims,
    "transparency": _observe_claims,
    "role": _observe_role,
    "emergency": _observe_emergency,
}
"""The local versions of the built-in judges."""


def _judged(blank: Judgement, observation: Observation, case: Case) -> Judgement:
    finding = rule_on(observation, case)
    return replace(blank, verdict=finding.verdict, rule=finding.rule, reason=finding.reason, observation=observation)


def failed(blank: Judgement, error: Exception, prompt: Prompt) -> Judgement:
    """Return the judgement of a judge whose model could not be asked or read; the log names judge and error, no text."""
    if isinstance(error, UnreadableAnswer):
        log.warning("judge unreadable", judge=prompt.name, stage=prompt.stage, model=prompt.model)
        exchange = Exchange(prompt.model, prompt.hash, error.raw)
        return replace(blank, reason="the judge's answer was unreadable", exchange=exchange)
    if isinstance(error, ModelError):
        log.warning(
            "judge failed", judge=prompt.name, stage=prompt.stage, model=prompt.model, error=type(error).__name__
        )
    else:
        log_crash(error, prompt.name, prompt.stage)
    return replace(blank, reason=f"the judge failed: {type(error).__name__}")


def log_crash(error: BaseException, judge: str, stage: Stage) -> None:
    # The frames without values or message: these may hold what somebody wrote.
    frames = traceback.format_tb(error.__traceback__)
    log.error("judge crashed", judge=judge, stage=stage, error=type(error).__name__, frames=frames)


def since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)

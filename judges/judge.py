"""One judge: has a case observed, by a model or in code, and `rules.py` decides what follows from the observation.

Its failures are values, never exceptions, and never acceptance.
"""

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import accumulate
from typing import Protocol

import structlog

from judges import guard_model, offload
from judges.case import Case
from judges.guard_model import Guard
from judges.observation import OBSERVATIONS, Crisis, Observation, Unreadable
from judges.prompt import Prompt
from judges.rules import rule_on, unreadable_rule
from judges.verdict import Exchange, Finding, Judgement, Stage
from knowledge_base.library import Source
from models.client import Models
from models.errors import ModelError, UnreadableAnswer
from models.structured import raw_text
from models.usage import Ledger

log = structlog.get_logger()


class Judge(Protocol):
    """A judge of one stage."""

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
            judgement = await self._observe(case, ledger, blank)
        except Exception as error:  # a judge's own failure must reach the filter as a value, whatever it is
            judgement = unjudged_judgement(blank, error, self.prompt)
        return with_warning(replace(judgement, ms=elapsed_ms(started)), self.prompt.warning)

    async def _observe(self, case: Case, ledger: Ledger, blank: Judgement) -> Judgement:
        if self.prompt.guard is not None:
            return await self._ask_guard(self.prompt.guard, case, ledger, blank)
        form = OBSERVATIONS[self.prompt.observation]
        observation, exchange = await ask(
            self.models, self.prompt, self.prompt.text, case, form, ledger, self.timeout_s
        )
        return replace(await offload.run_in_thread_if_long(case, _rule, blank, observation, case), exchange=exchange)

    async def _ask_guard(self, guard: Guard, case: Case, ledger: Ledger, blank: Judgement) -> Judgement:
        prompt = self.prompt
        body = guard_model.build_request(guard, prompt.name, prompt.text, case)
        step = f"{prompt.name}.{self.stage}"
        answer = await self.models.with_logprobs(prompt.model, body, step=step, ledger=ledger, timeout_s=self.timeout_s)
        raw = raw_text(answer)
        try:
            finding, score = guard_model.read_answer(guard, prompt.text, answer)
        except guard_model.NoAnswer as error:
            raise UnreadableAnswer(raw, str(error)).at(prompt.model, step) from None
        exchange = Exchange(prompt.model, prompt.hash, raw)
        return replace(
            blank, verdict=finding.verdict, rule=finding.rule, reason=finding.reason, score=score, exchange=exchange
        )


async def ask(
    models: Models, prompt: Prompt, text: str, case: Case, form: type[Observation], ledger: Ledger, timeout_s: float
) -> tuple[Observation, Exchange]:
    """Have the model of a prompt fill in a form about a case.

    Args:
        text: The instructions of the prompt, as far as they are asked.

    Raises:
        ModelError: The model failed, or its answer is not the form.
    """
    messages = [{"role": "system", "content": text}, {"role": "user", "content": case.as_json()}]
    step = f"{prompt.name}.{prompt.stage}"
    # The time goes with the question, so that a judge's hanging model counts as one with its circuit breaker.
    answer = await models.structured(prompt.model, messages, form, step=step, ledger=ledger, timeout_s=timeout_s)
    return answer.value, Exchange(prompt.model, prompt.hash, answer.raw)


@dataclass(frozen=True, slots=True)
class LocalJudge:
    """A judge without a model: rules over the words of the reply."""

    name: str

    @property
    def stage(self) -> Stage:
        return "local"

    async def judge(self, case: Case, ledger: Ledger) -> Judgement:
        """Judge without asking anybody; a long text beside the event loop."""
        return await offload.run_in_thread_if_long(case, self.judge_now, case)

    def judge_now(self, case: Case) -> Judgement:
        """Judge a case. Text the rules cannot read is unjudged."""
        started = time.perf_counter()
        part = readable_part(case)
        try:
            observation, score = OBSERVERS[self.name](part)
            finding = rule_on(observation, part)
            if isinstance(observation, Crisis) and finding.verdict == "reject":
                finding = _rule_on_danger(finding, observation, score, part)
            is_shortened = part is not case and (part.user_message, part.draft) != (case.user_message, case.draft)
            if not is_shortened or finding.verdict != "accept":
                ms = elapsed_ms(started)
                return Judgement(
                    self.name, "local", finding.verdict, finding.rule, finding.reason, ms, score, observation
                )
            longer = "reply" if part.draft != case.draft else "user's message"
            reason = f"the local judge cannot read a {longer} this long to the end"
        except Unreadable as error:
            unreadable_part = "user's message" if self.name == "emergency" else "reply"
            reason = f"the local judge cannot read the {unreadable_part}: {error}"
        except Exception as error:  # as for a model: a crash has not accepted
            log_crash(error, self.name, "local")
            reason = f"crashed: {type(error).__name__}"
        return Judgement(self.name, "local", "unjudged", unreadable_rule(self.name), reason, elapsed_ms(started))


def _rule_on_danger(finding: Finding, crisis: Crisis, score: float, case: Case) -> Finding:
    """Decide between an emergency and a concern, a warning, for a danger that the local judge saw.

    An unsure judge raises a concern. So does harm of a kind that does not count for the chatbot, because words do not tell kinds of
    harm apart: an overdose is medical and self-harm, and the judge names one. Other kinds that do not count are accepted.
    """
    kinds = {sign.kind for sign in crisis.signs}
    counts = case.emergency_kinds is None or kinds & case.emergency_kinds
    if not counts and not kinds & _HARM:
        return Finding("accept")
    return finding if counts and score >= EMERGENCY_SCORE else replace(finding, verdict="warn")


_HARM = frozenset({"self_harm", "harm_to_others", "medical"})
EMERGENCY_SCORE = 0.5
"""Score from which a sign of danger is an emergency."""

MAX_CHARS = 100_000
"""Characters of a message or a reply that local judges read, once it is normalised."""
MAX_COMPARED = 200_000_000
"""Characters of a reply times those of its sources that local judges read: they hold each sentence against each of the sources."""


def readable_part(case: Case) -> Case:
    """Return a case without what is too long to be read: the same one where nothing is."""
    history = case.history
    if not case.draft:  # of those in local stages, the emergency judge alone reads the history; it gets no reply
        history = tuple(replace(one, text=offload.shorten(one.text, MAX_CHARS, keep_end=True)) for one in case.history)
    user_message = offload.shorten(case.user_message, MAX_CHARS, keep_end=True)
    draft = offload.shorten(case.draft, MAX_CHARS)
    cited = _readable_sources(case.cited, MAX_COMPARED // len(draft)) if draft else case.cited
    if (history, user_message, draft, cited) == (case.history, case.user_message, case.draft, case.cited):
        return case
    return replace(case, history=history, user_message=user_message, draft=draft, cited=cited)


def _readable_sources(sources: tuple[Source, ...], max_chars: int) -> tuple[Source, ...]:
    """Return the beginning of some sources: what is not read supports nothing."""
    starts = accumulate((len(source.text) for source in sources), initial=0)
    return tuple(
        source
        if start + len(source.text) <= max_chars
        else replace(source, text=source.text[: max(0, max_chars - start)])
        for source, start in zip(sources, starts, strict=False)
    )


def _local_observer(module: str) -> Callable[[Case], tuple[Observation, float]]:
    """Return the `observe` of a module of `judges.local`.

    It is imported when it is first asked (`Pipeline.warm_up`): a chatbot with model judges alone loads none of it.
    """

    def observe(case: Case) -> tuple[Observation, float]:
        result: tuple[Observation, float] = import_module(f"judges.local.{module}").observe(case)
        return result

    return observe


OBSERVERS = {
    "source_fidelity": _local_observer("claims"),
    "transparency": _local_observer("claims"),
    "role": _local_observer("role"),
    "emergency": _local_observer("emergency"),
}
"""The local versions of the built-in judges."""


def _signs_that_count(observation: Observation, case: Case) -> Observation:
    """Return signs of emergency without the kinds that do not count for this chatbot; other observations as they are."""
    if case.emergency_kinds is None or not isinstance(observation, Crisis):
        return observation
    return Crisis(signs=[sign for sign in observation.signs if sign.kind in case.emergency_kinds])


def _rule(blank: Judgement, observation: Observation, case: Case) -> Judgement:
    observation = _signs_that_count(observation, case)
    finding = rule_on(observation, case)
    return replace(blank, verdict=finding.verdict, rule=finding.rule, reason=finding.reason, observation=observation)


def with_warning(judgement: Judgement, warning: str) -> Judgement:
    """Return a judgement with what the chatbot is told, if the judge objects."""
    return replace(judgement, warning=warning) if judgement.verdict in ("warn", "reject") else judgement


def unjudged_judgement(blank: Judgement, error: Exception, prompt: Prompt) -> Judgement:
    """Return the unjudged judgement for an error, and log judge and error without any text of the conversation."""
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


def elapsed_ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)

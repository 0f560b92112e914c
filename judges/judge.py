"""Implements one judge at one stage: `ModelJudge` (a prompt and a model) or `LocalJudge` (rules without a model).

The judge observes a case, and `rules.py` derives the verdict. A judge that fails returns the verdict `unjudged`: it does not
raise, and its failure never counts as acceptance.
"""

import re
import time
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from itertools import accumulate
from typing import Protocol

import structlog

from judges import guard_model
from judges.case import Case, run_in_thread_if_long, shorten
from judges.claims import CLAIMS_JUDGES
from judges.guard_model import Guard
from judges.observation import (
    OBSERVATIONS,
    Assessment,
    Crisis,
    GradedClaims,
    GradedRole,
    Observation,
    Screening,
    Unreadable,
)
from judges.prompt import Prompt
from judges.rules import rule_on, rule_on_assessment, rule_on_screening, unreadable_rule, warning_text
from judges.verdict import Exchange, Finding, Judgement, Stage
from knowledge_base.library import Source
from models.client import Models
from models.errors import ModelError, UnreadableAnswer
from models.structured import raw_text
from models.usage import Ledger

log = structlog.get_logger()


class Judge(Protocol):
    """The interface of a judge at one stage: a model, local rules, or a user's Python class."""

    @property
    def stage(self) -> Stage: ...

    async def judge(self, case: Case, ledger: Ledger) -> Judgement: ...


@dataclass(frozen=True)
class ModelJudge:
    """A judge that sends a prompt and a case to a model.

    The built-in judges of a reply share a prompt, so one call answers for all of them.
    """

    prompt: Prompt
    models: Models
    timeout_s: float
    """Time limit of one call, in seconds."""
    name: str = ""
    """The judge's name. Empty: the prompt's name."""
    questions: frozenset[str] = frozenset()
    """Names of the judges that a shared prompt answers for; empty if the prompt is not shared."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.prompt.name)

    @property
    def stage(self) -> Stage:
        return self.prompt.stage

    @property
    def is_shared(self) -> bool:
        return bool(self.questions)

    @cached_property
    def instructions(self) -> str:
        """The system message: the prompt's text, without the lines for judges that are not in `questions`."""
        return compose(self.prompt.text, self.questions) if self.is_shared else self.prompt.text

    async def judge(self, case: Case, ledger: Ledger) -> Judgement:
        """Ask the model about a case and turn its observation into a judgement. If the call fails, return `unjudged`."""
        return (await self.judge_for(case, (self.name,), ledger))[self.name]

    async def judge_for(self, case: Case, names: Collection[str], ledger: Ledger) -> dict[str, Judgement]:
        """Ask the model once and return the judgement of each named judge. If the call fails, every judgement is `unjudged`.

        Args:
            case: The case.
            names: The judges to return a judgement for, a subset of `questions`.
            ledger: Records the call.

        Returns:
            The judgements by judge name.
        """
        started = time.perf_counter()
        try:
            judgements = await self._judge_for(case, names, ledger)
        except Exception as error:  # every failure of a judge reaches the pipeline as a value
            judgements = dict.fromkeys(names, unjudged_judgement(error, self.prompt))
        ms = elapsed_ms(started)
        return {name: replace(judgement, judge=name, ms=ms) for name, judgement in judgements.items()}

    async def _judge_for(self, case: Case, names: Collection[str], ledger: Ledger) -> dict[str, Judgement]:
        prompt = self.prompt
        if prompt.guard is not None:
            return dict.fromkeys(names, await self._ask_guard(prompt.guard, case, ledger))
        shown = case.for_screening() if self.is_shared and self.stage == "swift" else case
        messages = [{"role": "system", "content": self.instructions}, {"role": "user", "content": shown.as_json()}]
        # The call carries the time limit, so that the circuit breaker counts a hanging model as a failure.
        answer = await self.models.structured(
            prompt.model,
            messages,
            form_of(prompt, self.questions),
            step=self._step,
            ledger=ledger,
            timeout_s=self.timeout_s,
        )
        exchange = Exchange(prompt.model, prompt.hash, answer.raw)
        return await run_in_thread_if_long(case, self._rule, answer.value, exchange, case, names)

    @property
    def _step(self) -> str:
        return f"{self.prompt.name}.{self.stage}"

    def _rule(self, form: Observation, exchange: Exchange, case: Case, names: Collection[str]) -> dict[str, Judgement]:
        """Turn the form that the model filled in into the judgement of each named judge."""
        if isinstance(form, Screening):
            findings = rule_on_screening(form, case, names)
        elif self.is_shared:
            findings = rule_on_assessment(form, case, names)
        else:
            form = _signs_that_count(form, case)
            findings = dict.fromkeys(names, rule_on(form, case))
        return {
            name: _judgement(name, self.stage, finding, form, exchange, self._warning(finding, form, case))
            for name, finding in findings.items()
        }

    def _warning(self, finding: Finding, form: Observation, case: Case) -> str:
        """Return the warning for the chatbot if the verdict is `warn` or `reject`, else an empty string."""
        if finding.verdict not in ("warn", "reject"):
            return ""
        if self.prompt.warning or not self.is_shared or finding.rule is None:
            return self.prompt.warning
        feedback = form.feedback if isinstance(form, GradedClaims | GradedRole) else None
        return warning_text(feedback, finding.rule, case, form)

    async def _ask_guard(self, guard: Guard, case: Case, ledger: Ledger) -> Judgement:
        prompt = self.prompt
        body = guard_model.build_request(guard, prompt.name, prompt.text, case)
        answer = await self.models.with_logprobs(
            prompt.model, body, step=self._step, ledger=ledger, timeout_s=self.timeout_s
        )
        raw = raw_text(answer)
        try:
            finding, score = guard_model.read_answer(guard, prompt.text, answer)
        except guard_model.NoAnswer as error:
            raise UnreadableAnswer(raw, str(error)).at(prompt.model, self._step) from None
        warning = prompt.warning if finding.verdict in ("warn", "reject") else ""
        exchange = Exchange(prompt.model, prompt.hash, raw)
        return replace(_judgement(self.name, self.stage, finding, None, exchange, warning), score=score)


def _judgement(
    name: str, stage: Stage, finding: Finding, form: Observation | None, exchange: Exchange, warning: str
) -> Judgement:
    return Judgement(
        name,
        stage,
        finding.verdict,
        finding.rule,
        finding.reason,
        observation=form,
        exchange=exchange,
        warning=warning,
    )


def form_of(prompt: Prompt, questions: Collection[str]) -> type[Observation]:
    """Return the class of the form that a model fills in for a prompt.

    Args:
        prompt: The prompt.
        questions: Names of the judges that a shared prompt answers for; ignored for other prompts.
    """
    return assessment_of(questions) if prompt.observation == "assessment" else OBSERVATIONS[prompt.observation]


def assessment_of(questions: Collection[str]) -> type[Observation]:
    """Return the class of the form that the shared chief call fills in. The form depends on the judges in `questions`."""
    asks_claims = not frozenset(questions).isdisjoint(CLAIMS_JUDGES)
    if "role" not in questions:
        return GradedClaims
    return Assessment if asks_claims else GradedRole


def compose(text: str, questions: frozenset[str]) -> str:
    """Return the text of a shared prompt for the judges in `questions`.

    A line that begins with `{claims}` is kept if source_fidelity or transparency is asked, a line with `{not claims}` if
    neither is asked, and a line with `{role}` if role is asked. All other lines are kept. The markers are removed.
    """
    parts = {"claims" if questions.intersection(CLAIMS_JUDGES) else "not claims"} | (questions & {"role"})
    lines = (_MARKED.fullmatch(line) for line in text.splitlines())
    return "\n".join(line[2] for line in lines if line is not None and (line[1] is None or line[1] in parts)).strip()


_MARKED = re.compile(r"(?:\{(claims|not claims|role)\} ?)?(.*)")


def _signs_that_count(observation: Observation, case: Case) -> Observation:
    """Drop the signs of emergency whose kind is not in `case.emergency_kinds`. Return other observations unchanged."""
    if case.emergency_kinds is None or not isinstance(observation, Crisis):
        return observation
    return Crisis(signs=[sign for sign in observation.signs if sign.kind in case.emergency_kinds])


def unjudged_judgement(error: Exception, prompt: Prompt) -> Judgement:
    """Return the `unjudged` judgement for a failed call, and log the error without any text of the conversation."""
    unjudged = Judgement(prompt.name, prompt.stage, "unjudged", prompt.unreadable)
    if isinstance(error, UnreadableAnswer):
        log.warning("judge unreadable", judge=prompt.name, stage=prompt.stage, model=prompt.model)
        exchange = Exchange(prompt.model, prompt.hash, error.raw)
        return replace(unjudged, reason="the judge's answer was unreadable", exchange=exchange)
    if isinstance(error, ModelError):
        log.warning(
            "judge failed", judge=prompt.name, stage=prompt.stage, model=prompt.model,
            error=type(error).__name__, cause=error.cause,
        )  # fmt: skip
    else:
        log_crash(error, prompt.name, prompt.stage)
    return replace(unjudged, reason=f"the judge failed: {type(error).__name__}")


def log_crash(error: BaseException, judge: str, stage: Stage) -> None:
    # The log gets frames without variables, and no error message: both may contain text of the conversation.
    frames = traceback.format_tb(error.__traceback__)
    log.error("judge crashed", judge=judge, stage=stage, error=type(error).__name__, frames=frames)


def elapsed_ms(started: float) -> float:
    """Return the milliseconds since `started`, a value of `time.perf_counter()`."""
    return round((time.perf_counter() - started) * 1000, 3)


@dataclass(frozen=True, slots=True)
class LocalJudge:
    """A built-in judge without a model: it applies rules to the words of a text."""

    name: str

    @property
    def stage(self) -> Stage:
        return "local"

    async def judge(self, case: Case, ledger: Ledger) -> Judgement:
        """Judge a case by rules. A long case is judged in a worker thread, so that it does not block the event loop."""
        return await run_in_thread_if_long(case, self.judge_now, case)

    def judge_now(self, case: Case) -> Judgement:
        """Judge a case by rules in the calling thread. The verdict is `unjudged` if the rules cannot read the text."""
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
        except Exception as error:  # as with a model, a crash is not acceptance
            log_crash(error, self.name, "local")
            reason = f"crashed: {type(error).__name__}"
        return Judgement(self.name, "local", "unjudged", unreadable_rule(self.name), reason, elapsed_ms(started))


def _rule_on_danger(finding: Finding, crisis: Crisis, score: float, case: Case) -> Finding:
    """Decide between an emergency (`reject`), a concern (`warn`) and no danger (`accept`) after the local judge saw danger.

    * A kind in `case.emergency_kinds` is an emergency if the score is at least `EMERGENCY_SCORE`, else a concern.
    * Harm of another kind is a concern. Rules cannot separate kinds of harm: an overdose is both medical and self-harm, but
      the judge names only one kind.
    * A sign of any other kind is accepted.
    """
    kinds = {sign.kind for sign in crisis.signs}
    counts = case.emergency_kinds is None or kinds & case.emergency_kinds
    if not counts and not kinds & _HARM:
        return Finding("accept")
    return finding if counts and score >= EMERGENCY_SCORE else replace(finding, verdict="warn")


_HARM = frozenset({"self_harm", "harm_to_others", "medical"})
EMERGENCY_SCORE = 0.5
"""Minimum score (0 to 1) of an emergency. Danger with a lower score is a concern."""

MAX_CHARS = 100_000
"""Number of characters, after normalisation, that local judges read of a message or a reply."""
MAX_COMPARED = 200_000_000
"""Maximum product of the length of a reply and the length of its sources. Local judges compare all sentences with all sources."""


def readable_part(case: Case) -> Case:
    """Return the case with its texts cut to the length that local judges read; the same object if no text is too long."""
    history = case.history
    if not case.draft:  # only the local emergency judge reads the history, and it gets no reply
        history = tuple(replace(one, text=shorten(one.text, MAX_CHARS, keep_end=True)) for one in case.history)
    user_message = shorten(case.user_message, MAX_CHARS, keep_end=True)
    draft = shorten(case.draft, MAX_CHARS)
    cited = _readable_sources(case.cited, MAX_COMPARED // len(draft)) if draft else case.cited
    if (history, user_message, draft, cited) == (case.history, case.user_message, case.draft, case.cited):
        return case
    return replace(case, history=history, user_message=user_message, draft=draft, cited=cited)


def _readable_sources(sources: tuple[Source, ...], max_chars: int) -> tuple[Source, ...]:
    """Cut the sources, in order, to a total of `max_chars` characters. The text beyond the limit supports nothing."""
    starts = accumulate((len(source.text) for source in sources), initial=0)
    return tuple(
        source
        if start + len(source.text) <= max_chars
        else replace(source, text=source.text[: max(0, max_chars - start)])
        for source, start in zip(sources, starts, strict=False)
    )


def _local_observer(module: str, function: str = "observe") -> Callable[[Case], tuple[Observation, float]]:
    """Return a function that imports a module of `judges.local` at its first call and then calls the module's `function`.

    The late import keeps the local judges out of memory for chatbots that use only model judges.
    """

    def observe(case: Case) -> tuple[Observation, float]:
        result: tuple[Observation, float] = getattr(import_module(f"judges.local.{module}"), function)(case)
        return result

    return observe


OBSERVERS = {
    "source_fidelity": _local_observer("reply", "observe_claims"),
    "transparency": _local_observer("reply", "observe_claims"),
    "role": _local_observer("reply", "observe_role"),
    "emergency": _local_observer("emergency"),
}
"""The local judges by name. Each function returns the observation of a case and its score, 0 to 1."""

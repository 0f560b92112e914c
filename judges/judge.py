"""One judge: looks at a case and returns its judgement. Its failures are values, never exceptions, and never acceptance."""

import hashlib
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judges import offload
from judges.case import Case
from judges.local import claims, emergency, role
from judges.local.language import Unreadable
from judges.modes import Mode
from judges.observation import OBSERVATIONS, Observation
from judges.rules import rule_on
from judges.verdict import Exchange, Finding, Judgement, Stage
from knowledge_base.front_matter import FrontMatterError, split_front_matter
from models.client import Models
from models.errors import ModelError, UnreadableAnswer
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

    prompt: "Prompt"
    models: Models
    timeout_s: float

    @property
    def stage(self) -> Stage:
        return self.prompt.stage

    async def judge(self, case: Case, ledger: Ledger) -> Judgement:
        """Ask the model for an observation of the case and rule on it. Cancellation passes through; nothing else is raised."""
        started = time.perf_counter()
        blank = Judgement(self.prompt.name, self.stage, "unjudged", "unreadable")
        try:
            found = await self._observe(case, ledger, blank)
        except Exception as error:  # a judge's own failure must reach the filter as a value, whatever it is
            found = _failed(blank, error, self.prompt)
        return replace(found, ms=_since(started))

    async def _observe(self, case: Case, ledger: Ledger, blank: Judgement) -> Judgement:
        messages = [{"role": "system", "content": self.prompt.text}, {"role": "user", "content": case.as_json()}]
        schema = OBSERVATIONS[self.prompt.observation]
        step = f"{self.prompt.name}.{self.stage}"
        # The time goes with the question, so that a judge's hanging model counts as one with its circuit breaker.
        answer = await self.models.structured(
            self.prompt.model, messages, schema, step=step, ledger=ledger, timeout_s=self.timeout_s
        )
        exchange = Exchange(self.prompt.model, self.prompt.hash, answer.raw)
        return replace(await offload.run(case, _judged, blank, answer.value, case), exchange=exchange)


@dataclass(frozen=True, slots=True)
class LocalJudge:
    """A judge without a model: rules over the words of the reply."""

    name: str
    accept_below: float | None = None
    """Score below which, and only below which, it accepts; None: the rules decide."""

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
            observation, score = OBSERVERS[self.name](part)
            finding = self._bounded(rule_on(observation, part), score)
            cut = part is not case and (part.user_message, part.draft) != (case.user_message, case.draft)
            if not cut or finding.verdict != "accept":
                return Judgement(
                    self.name,
                    "local",
                    finding.verdict,
                    finding.rule,
                    finding.reason,
                    _since(started),
                    score,
                    observation,
                )
            reason = "the local judge cannot read texts this long to the end"
        except Unreadable as unread:
            reason = f"the local judge cannot read this: {unread}"
        except Exception as error:  # as for a model: a crash has not accepted
            _log_crash(error, self.name, "local")
            reason = f"crashed: {type(error).__name__}"
        return Judgement(self.name, "local", "unjudged", "unreadable", reason, _since(started))

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
    history = [offload.shorten(said.text, LONGEST, keep_end=True) for said in case.history]
    user_message, draft = (
        offload.shorten(case.user_message, LONGEST, keep_end=True),
        offload.shorten(case.draft, LONGEST),
    )
    if any(text is not said.text for text, said in zip(history, case.history, strict=True)):
        case = replace(case, history=tuple(map(lambda said, text: replace(said, text=text), case.history, history)))
    if user_message is case.user_message and draft is case.draft:
        return case
    return replace(case, user_message=user_message, draft=draft)


OBSERVERS: dict[str, Callable[[Case], tuple[Observation, float]]] = {
    "source_fidelity": claims.observe,
    "transparency": claims.observe_transparency,
    "role": role.observe,
    "emergency": emergency.observe,
}
"""The local versions of the built-in judges."""


def _judged(blank: Judgement, observation: Observation, case: Case) -> Judgement:
    finding = rule_on(observation, case)
    return replace(blank, verdict=finding.verdict, rule=finding.rule, reason=finding.reason, observation=observation)


def _failed(blank: Judgement, error: Exception, prompt: "Prompt") -> Judgement:
    if isinstance(error, UnreadableAnswer):
        log.warning("judge unreadable", judge=prompt.name, stage=prompt.stage, model=prompt.model)
        exchange = Exchange(prompt.model, prompt.hash, error.raw)
        return replace(blank, reason="the judge's answer was unreadable", exchange=exchange)
    if isinstance(error, ModelError):
        log.warning(
            "judge failed", judge=prompt.name, stage=prompt.stage, model=prompt.model, error=type(error).__name__
        )
    else:
        _log_crash(error, prompt.name, prompt.stage)
    return replace(blank, reason=f"the judge failed: {type(error).__name__}")


def _log_crash(error: Exception, judge: str, stage: Stage) -> None:
    # The frames without values or message: these may hold what somebody wrote.
    frames = traceback.format_tb(error.__traceback__)
    log.error("judge crashed", judge=judge, stage=stage, error=type(error).__name__, frames=frames)


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A judge as its file describes it."""

    name: str
    stage: Literal["swift", "chief"]
    model: str
    modes: frozenset[Mode]
    observation: str
    text: str
    hash: str


class PromptError(Exception):
    """A judge's prompt file cannot be used; names file, key and what would be right."""


class _FrontMatter(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1)
    stage: Literal["swift", "chief"]
    model: str = Field(min_length=1)
    modes: list[Mode] = Field(["source", "default"], min_length=1)
    observation: Literal["claims", "role", "crisis", "verdict"]


def load_prompt(path: Path) -> Prompt:
    """Read a judge's prompt file: front matter (name, stage, model, modes, observation) and instructions.

    Raises:
        PromptError: The file cannot be read, or its front matter is not right.
    """
    try:
        data, text = split_front_matter(path.read_text(encoding="utf-8"))
        front = _FrontMatter.model_validate(data)
    except OSError as error:
        raise PromptError(f"{path}: the judge's prompt cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise PromptError(f"{path}: is not UTF-8; save the file with that encoding") from error
    except FrontMatterError as error:
        raise PromptError(f"{path}: {error}") from error
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))!r}: {e['msg']}" for e in error.errors(include_url=False))
        raise PromptError(
            f"{path}: front matter key {wrong} (a judge has name, stage swift|chief, model, "
            f"modes of source|default, observation of {'|'.join(OBSERVATIONS)})"
        ) from error
    if not text.strip():
        raise PromptError(f"{path}: has front matter but no instructions below it")
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Prompt(front.name, front.stage, front.model, frozenset(front.modes), front.observation, text.strip(), digest)

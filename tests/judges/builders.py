"""Cases, forms and judges for tests; the models behind the judges are scripted."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from judges.case import BUILT_IN, Case, Topic
from judges.judge import ModelJudge
from judges.observation import Assertion, Claims, GradedAssertion, GradedClaims
from judges.pipeline import Cascade
from judges.prompt import Prompt, load_prompt
from knowledge_base.library import Source
from models.client import Models
from models.scripted import Scripted
from models.settings import ModelSettings

PROMPTS = Path(str(files("judges"))) / "prompts"
MEDICINES = Source(
    "medicines",
    "Medicines",
    "What they do.",
    "Stopping suddenly can make symptoms come back. Do not stop or change your medicine without talking to your prescriber.\n\n"
    "Clozapine is used when two other medicines have not helped enough. People who take clozapine need regular blood tests.\n"
    "A usual dose starts at 12.5 mg once a day. It isn't known to be unsafe for older people.\n\n"
    "Common side effects are:\n- feeling sleepy or dizzy\n- weight gain, and higher blood sugar\n\n"
    "Medicine does not cure the illness … it eases the symptoms for most people.",
)
SLEEP = Source(
    "sleep", "Sleep", "How to sleep.", "Most adults need seven to nine hours of sleep. A fixed bedtime often helps."
)
QUOTE = "People who take clozapine need regular blood tests."
TOPICS = (Topic("medication"), Topic("self-harm"))

CASE = Case(
    "What should I know about clozapine?",
    "You need regular blood tests.",
    cited=(MEDICINES, SLEEP),
    role="An information service about an illness.",
)
"""A reply that its sources support, of a chatbot without sensitive topics."""


def asserted(support: str = "stated", **more: Any) -> Assertion:
    """Return an assertion. If it is stated or implied, it has a quote as proof."""
    holds = support in ("stated", "implied")
    fields = {
        "text": "You need regular blood tests.",
        "support": support,
        "source_id": "medicines" if holds else None,
        "quote": QUOTE if holds else None,
        "topic": None,
    }
    return Assertion.model_validate(fields | more)


def claims(*assertions: Assertion, admits: str = "no", verifies: str = "no") -> Claims:
    return Claims.model_validate(
        {"assertions": list(assertions), "admits_not_from_sources": admits, "asks_to_verify": verifies}
    )


def graded(support: str = "stated", severity: int | None = None, **more: Any) -> GradedAssertion:
    """Return an assertion with a severity, as the chief gives it."""
    return GradedAssertion.model_validate(asserted(support, **more).model_dump() | {"severity": severity})


def graded_claims(*assertions: GradedAssertion, admits: str = "no", verifies: str = "no", **more: Any) -> GradedClaims:
    said = {"admits_not_from_sources": admits, "asks_to_verify": verifies}
    return GradedClaims.model_validate({"assertions": list(assertions)} | said | more)


FINE = claims(asserted("stated"))
INVENTED = claims(asserted("unsupported", text="Zinc cures voices."))
UNPLAYED: dict[str, Any] = {"played": []}
FRIEND: dict[str, Any] = {"played": [{"part": "friend", "quote": "regular blood tests", "degree": "clear"}]}
HINT: dict[str, Any] = {"played": [{"part": "friend", "quote": "regular blood tests", "degree": "hint"}]}
CALM: dict[str, Any] = {"signs": []}
GOOD: dict[str, Any] = {"problems": [], "adds": False}
"""A screening answer without problems."""


def as_answer(form: Claims) -> dict[str, Any]:
    """Return a form as the text of a model's answer."""
    return form.model_dump()


def flagged(kind: str, severity: int = 2, quote: str = "regular blood tests", *, adds: bool = True) -> dict[str, Any]:
    """Return a screening answer with one problem."""
    return {"problems": [{"kind": kind, "quote": quote, "severity": severity}], "adds": adds and kind != "role"}


def flagged_all(*answers: Mapping[str, Any]) -> dict[str, Any]:
    """Return a screening answer with the problems of several answers."""
    return {
        "problems": [problem for answer in answers for problem in answer["problems"]],
        "adds": any(answer["adds"] for answer in answers),
    }


def assessed(form: Claims, played: Mapping[str, Any] = UNPLAYED) -> dict[str, Any]:
    """Return the chief's answer to a call about both claims and role."""
    return as_answer(form) | dict(played)


FORM_OF = {"source_fidelity": "claims", "transparency": "claims", "role": "role"}
"""The forms of prompts that replace the shared prompts of the built-in judges."""


def prompt(name: str, stage: str) -> Prompt:
    """Return a prompt whose model alias is `NAME.STAGE`, so that a test can script each judge by itself.

    For source_fidelity, transparency and role, it is an operator's prompt that replaces the shared one; else the built-in one.
    """
    if name in FORM_OF:
        text = f"Judge {name} as {stage}."
        return Prompt(name, stage, f"{name}.{stage}", BUILT_IN[name], FORM_OF[name], text, f"{stage}-{name}")  # type: ignore[arg-type]
    return replace(load_prompt(PROMPTS / f"{name}.{stage}.md"), model=f"{name}.{stage}")


def models(**engines: Scripted) -> Models:
    """Return models by alias, with `__` for the dot, without delays between attempts."""
    by_alias = {alias.replace("__", "."): engine for alias, engine in engines.items()}
    settings = {alias: ModelSettings(engine="scripted", script=[]) for alias in by_alias}
    return Models(settings, by_alias, first_pause_s=0)


def always(answer: Any) -> Scripted:
    """Return an engine that gives the same answer to every request."""
    return Scripted(lambda body: answer)


def judge(name: str, stage: str, engine: Scripted, timeout_s: float = 5) -> ModelJudge:
    return ModelJudge(prompt(name, stage), models(**{f"{name}__{stage}": engine}), timeout_s)


def cascade(name: str, swift: Scripted, chief: Scripted, **more: Any) -> Cascade:
    """Return a judge with separate calls, and an engine for each stage."""
    engines = models(**{f"{name}__swift": swift, f"{name}__chief": chief})
    stages = tuple(ModelJudge(prompt(name, stage), engines, 5) for stage in ("swift", "chief"))
    return Cascade(name, more.pop("modes", stages[0].prompt.modes), stages, **more)


def shared_judge(stage: str, questions: Collection[str], engine: Scripted, timeout_s: float = 5) -> ModelJudge:
    """Return one of the judges that share their calls; its model alias is `reply.STAGE`."""
    engines = models(**{f"reply__{stage}": engine})
    return ModelJudge(prompt("reply", stage), engines, timeout_s, min(questions), frozenset(questions))


def sharing(names: Sequence[str], swift: Scripted | None, chief: Scripted | None = None, **more: Any) -> list[Cascade]:
    """Return built-in judges of replies that share their calls. A stage without an engine is omitted."""
    engines = {"swift": swift, "chief": chief}
    calls = [shared_judge(stage, names, engine) for stage, engine in engines.items() if engine is not None]
    return [Cascade(name, BUILT_IN[name], tuple(replace(call, name=name) for call in calls), **more) for name in names]


async def expect_cancelled(ask):
    """Cancel a task that asks an engine, and check that it ends at once with the engine's call."""
    asked, left = asyncio.Event(), asyncio.Event()

    async def wait(body):
        asked.set()
        try:
            await asyncio.sleep(30)
        finally:
            left.set()

    task = asyncio.create_task(ask(Scripted(wait)))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left.is_set()

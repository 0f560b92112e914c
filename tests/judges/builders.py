"""Cases, forms and judges for tests; the models behind the judges are scripted."""

from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from judges.case import Case, Topic
from judges.judge import ModelJudge
from judges.observation import Assertion, Claims
from judges.prompt import Prompt, load_prompt
from knowledge_base.library import Source
from models.client import Models
from models.scripted import Scripted
from models.settings import ModelSettings

PROMPTS = Path(str(files("judges.prompts")))
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
    """Return an assertion; one that is stated or implied has a quote to prove it."""
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


FINE = claims(asserted("stated"))
INVENTED = claims(asserted("unsupported", text="Zinc cures voices."))
UNPLAYED: dict[str, Any] = {"played": []}
CALM: dict[str, Any] = {"signs": []}


def as_answer(form: Claims) -> dict[str, Any]:
    """Return a form as a model sends it."""
    return form.model_dump()


def prompt(name: str, stage: str) -> Prompt:
    """Load a built-in prompt; its model alias is `NAME.STAGE`, so that a test can script each judge by itself."""
    return replace(load_prompt(PROMPTS / f"{name}.{stage}.md"), model=f"{name}.{stage}")


def models(**engines: Scripted) -> Models:
    """Return models by alias, with `__` for the dot; nobody waits before a second try."""
    by_alias = {alias.replace("__", "."): engine for alias, engine in engines.items()}
    settings = {alias: ModelSettings(engine="scripted", script=[]) for alias in by_alias}
    return Models(settings, by_alias, first_pause_s=0)


def judge(name: str, stage: str, engine: Scripted, timeout_s: float = 5) -> ModelJudge:
    return ModelJudge(prompt(name, stage), models(**{f"{name}__{stage}": engine}), timeout_s)

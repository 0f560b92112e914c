"""Planners: a question and task cards in, a plan out. Three come with it; `planner: module:Class` names one of your own.

tree    strategies with pros and cons and a decision in one call, the steps in a second one (tree of thought)
react   a step at a time, each after what the steps before it found
single  strategies and steps in one call
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import orjson
from pydantic import BaseModel, ConfigDict

from assistants.assistant import AskStructured
from assistants.health.executor import Run
from assistants.health.plan import Plan, Step, Strategy
from assistants.health.task import Task
from assistants.view import Exchange
from knowledge_base.bm25 import stems
from models.errors import ModelSettingsError
from models.unique_keys import load_json
from models.usage import estimate_tokens

ROLE = "planner"
"""The role, under `models` of the alias."""
TIMEOUT_S = 60.0
CARD_TOKENS = 6_000
"""Of all task cards in a prompt."""
EARLIER, MOST_EARLIER = 4, 1_500
"""Exchanges that a planner sees, and characters of each of their messages."""
PROMPTS = Path(__file__).parent / "prompts"


@dataclass(frozen=True)
class Situation:
    """What a planner plans for."""

    question: str
    earlier: Sequence[Exchange]
    tasks: Mapping[str, Task[Any, Any]]
    subjects: Sequence[str]
    """Those that the user may see."""
    today: str
    runs: Sequence[Run] = ()
    """What was run before, in this conversation and in earlier rounds."""
    problems: Sequence[str] = ()
    """Why the last plan could not run."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Texts in place of prompts/*.md, by name."""


class Planner(Protocol):
    """Plans a round."""

    async def plan(self, ask: AskStructured, situation: Situation) -> Plan:
        """Return the next steps; a plan without steps if what was run is enough.

        Raises:
            ModelError: The model failed.
        """


class _Thoughts(BaseModel):
    """Ways to answer, and which one to take."""

    model_config = ConfigDict(extra="forbid")

    strategies: list[Strategy]
    decision: str
    ask: str


class _Step(BaseModel):
    """A step as a model writes it: a strict schema has no free objects."""

    model_config = ConfigDict(extra="forbid")

    id: str
    task: str
    inputs: str
    """A JSON object."""

    def read(self) -> Step:
        """Return the step; inputs that are no JSON object stay as a text, which no task takes."""
        try:
            inputs = load_json(self.inputs)
        except ValueError:
            inputs = None
        return Step(id=self.id, task=self.task, inputs=inputs if isinstance(inputs, dict) else {"inputs": self.inputs})


class _NextStep(BaseModel):
    """A thought, and the step that follows from it."""

    model_config = ConfigDict(extra="forbid")

    thought: str
    step: _Step | None
    ask: str


class _Steps(BaseModel):
    """A plan as a model writes it."""

    model_config = ConfigDict(extra="forbid")

    strategies: list[Strategy]
    decision: str
    steps: list[_Step]
    ask: str
    again: bool

    def read(self) -> Plan:
        """Return the plan."""
        return Plan(**{**dict(self), "steps": [step.read() for step in self.steps]})


class Tree:
    """Tree of thought in two calls."""

    async def plan(self, ask: AskStructured, situation: Situation) -> Plan:
        messages = _messages("tree", situation)
        thoughts = (await ask(ROLE, messages, _Thoughts, step="weigh", timeout_s=TIMEOUT_S)).value
        if thoughts.ask:
            return Plan(strategies=thoughts.strategies, decision=thoughts.decision, ask=thoughts.ask)
        decided = {"strategies": [one.model_dump() for one in thoughts.strategies], "decision": thoughts.decision}
        plan = await ask(ROLE, _messages("single", situation, decided), _Steps, step="plan", timeout_s=TIMEOUT_S)
        return plan.value.read().model_copy(update={"strategies": thoughts.strategies, "decision": thoughts.decision})


class Single:
    """One call."""

    async def plan(self, ask: AskStructured, situation: Situation) -> Plan:
        return (await ask(ROLE, _messages("single", situation), _Steps, step="plan", timeout_s=TIMEOUT_S)).value.read()


class React:
    """A step at a time. Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models", 2023."""

    async def plan(self, ask: AskStructured, situation: Situation) -> Plan:
        found = (await ask(ROLE, _messages("react", situation), _NextStep, step="next step", timeout_s=TIMEOUT_S)).value
        steps = [found.step.read()] if found.step is not None else []
        return Plan(decision=found.thought, steps=steps, ask=found.ask, again=bool(steps))


PLANNERS: Mapping[str, type[Planner]] = {"tree": Tree, "single": Single, "react": React}


def open_planner(name: str) -> Planner:
    """Return a planner by its name, or by `module:Class`.

    Raises:
        ModelSettingsError: No planner has this name.
    """
    if name in PLANNERS:
        return PLANNERS[name]()
    module, _, attribute = name.partition(":")
    try:
        planner: Planner = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ModelSettingsError(
            f"planner: {name!r}: {error}; expected {', '.join(PLANNERS)} or module:Class"
        ) from None
    return planner


def read_prompt(name: str, given: Mapping[str, str]) -> str:
    """Return instructions: the given ones, else those of prompts/."""
    return given.get(name) or (PROMPTS / f"{name}.md").read_text(encoding="utf-8")


def describe_exchanges(earlier: Sequence[Exchange]) -> list[dict[str, str]]:
    """Return the last exchanges as prompts have them, long messages cut off."""
    return [{"user": one.user[:MOST_EARLIER], "assistant": one.reply[:MOST_EARLIER]} for one in earlier[-EARLIER:]]


def describe_run(run: Run) -> dict[str, Any]:
    """Return a run as prompts have it: figures and notes, no rows of data."""
    found = run.result
    return {
        "step": run.step,
        "task": run.task,
        "inputs": run.inputs,
        "figures": [" ".join(map(str, (f"{one.name}:", one.value, one.unit))).strip() for one in found.figures()] if found else [],
        "notes": found.notes if found else [run.problem],
        "fields": [*type(found).model_fields] if found else [],
    }  # fmt: skip


def choose_cards(situation: Situation, budget: int = CARD_TOKENS) -> list[dict[str, Any]]:
    """Return the cards of tasks that fit a budget of tokens, those first that share words with the question."""
    asked = set(stems(situation.question, "english"))
    cards = [_card(task) for task in situation.tasks.values()]
    cards.sort(key=lambda card: -len(asked & set(stems(f"{card['task']} {card['does']}", "english"))))
    chosen: list[dict[str, Any]] = []
    for card in cards:
        budget -= estimate_tokens(orjson.dumps(card).decode())
        if budget < 0:
            break
        chosen.append(card)
    return chosen


def _card(task: Task[Any, Any]) -> dict[str, Any]:
    inputs = {}
    for name, schema in task.inputs.model_json_schema()["properties"].items():
        kind, is_optional = schema.get("format") or schema.get("type"), "(optional)" if "default" in schema else ""
        inputs[name] = " ".join(filter(None, (kind, schema.get("description"), is_optional)))
    return {
        "task": task.name,
        "does": task.description,
        "inputs": inputs,
        "result_fields": [*task.result.model_fields],
        "example": next(iter(task.examples), {}),
    }


def _messages(prompt: str, situation: Situation, decided: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    case = {
        "today": situation.today,
        "subjects": situation.subjects,
        "tasks": choose_cards(situation),
        "earlier": describe_exchanges(situation.earlier),
        "done": [describe_run(run) for run in situation.runs],
        "problems": situation.problems,
        "message": situation.question,
        **(decided or {}),
    }
    return [
        {"role": "system", "content": read_prompt(prompt, situation.prompts)},
        {"role": "user", "content": orjson.dumps(case).decode()},
    ]

"""Planners: a question and task cards in, a plan out. `planner: module:Class` names your own.

tree    strategies with pros and cons and a decision in one call, the steps in a second one (tree of thought)
react   one step at a time, after the results of the earlier steps
single  strategies and steps in one call
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import orjson

from assistants.assistant import AskStructured, T
from assistants.health.executor import Run
from assistants.health.plan import Plan, Step, Strategy
from assistants.health.sources import Strict
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
"""Most tokens of the task cards in a prompt."""
EARLIER, MOST_EARLIER = 4, 1_500
"""Exchanges that a planner gets, and characters of each message."""
PROMPTS = Path(__file__).parent / "prompts"


@dataclass(frozen=True)
class Situation:
    """The context of a plan."""

    question: str
    earlier: Sequence[Exchange]
    tasks: Mapping[str, Task[Any, Any]]
    subjects: Sequence[str]
    """Subjects that the user may see."""
    today: str
    runs: Sequence[Run] = ()
    """Runs of earlier messages and rounds."""
    problems: Sequence[str] = ()
    """Problems of the last plan."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Texts that replace prompts/*.md, by name."""


class Planner(Protocol):
    """Plans a round."""

    async def plan(self, ask: AskStructured, situation: Situation) -> Plan:
        """Return the next steps; a plan without steps if the results are enough.

        Raises:
            ModelError: The model failed.
        """


class _Thoughts(Strict):
    """Ways to answer, and which one to take."""

    strategies: list[Strategy]
    decision: str
    ask: str


class _Step(Strict):
    """A step as a model writes it: a strict schema has no free objects."""

    id: str
    task: str
    inputs: str
    """A JSON object."""

    def read(self) -> Step:
        """Return the step. Inputs other than a JSON object stay a text, which fails the check of the plan."""
        try:
            inputs = load_json(self.inputs)
        except ValueError:
            inputs = None
        return Step(id=self.id, task=self.task, inputs=inputs if isinstance(inputs, dict) else {"inputs": self.inputs})


class _NextStep(Strict):
    """A thought, and the step that follows from it."""

    thought: str
    step: _Step | None
    ask: str


class _Steps(Strict):
    """A plan as a model writes it."""

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
        thoughts = await _ask(ask, "weigh", _Thoughts, "tree", situation)
        if thoughts.ask:
            return Plan(strategies=thoughts.strategies, decision=thoughts.decision, ask=thoughts.ask)
        strategies = [one.model_dump() for one in thoughts.strategies]
        plan = await _ask(ask, "plan", _Steps, "single", situation, strategies=strategies, decision=thoughts.decision)
        return plan.read().model_copy(update={"strategies": thoughts.strategies, "decision": thoughts.decision})


class Single:
    """One call."""

    async def plan(self, ask: AskStructured, situation: Situation) -> Plan:
        return (await _ask(ask, "plan", _Steps, "single", situation)).read()


class React:
    """One step at a time. Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models", 2023."""

    async def plan(self, ask: AskStructured, situation: Situation) -> Plan:
        found = await _ask(ask, "next step", _NextStep, "react", situation)
        steps = [found.step.read()] if found.step is not None else []
        return Plan(decision=found.thought, steps=steps, ask=found.ask, again=bool(steps))


PLANNERS: Mapping[str, type[Planner]] = {"tree": Tree, "single": Single, "react": React}


def open_planner(name: str) -> Planner:
    """Return a planner by its name or `module:Class`.

    Raises:
        ModelSettingsError: No planner has this name.
    """
    if name in PLANNERS:
        return PLANNERS[name]()
    module, _, attribute = name.partition(":")
    try:
        planner: Planner = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        expected = f"{', '.join(PLANNERS)} or module:Class"
        raise ModelSettingsError(f"planner: {name!r}: {error}; expected {expected}") from None
    return planner


async def ask_model(
    ask: AskStructured, role: str, step: str, schema: type[T], prompt: str, case: Mapping[str, Any]
) -> T:
    """Ask a model with instructions and a case as JSON, and return its answer."""
    messages = [{"role": "system", "content": prompt}, {"role": "user", "content": orjson.dumps(case).decode()}]
    return (await ask(role, messages, schema, step=step, timeout_s=TIMEOUT_S)).value


def read_prompt(name: str, given: Mapping[str, str]) -> str:
    """Return the given instructions of a name, else those of prompts/."""
    return given.get(name) or (PROMPTS / f"{name}.md").read_text(encoding="utf-8")


def describe_exchanges(earlier: Sequence[Exchange]) -> list[dict[str, str]]:
    """Return the last exchanges for a prompt, long messages cut off."""
    return [{"user": one.user[:MOST_EARLIER], "assistant": one.reply[:MOST_EARLIER]} for one in earlier[-EARLIER:]]


def describe_run(run: Run) -> dict[str, Any]:
    """Return a run for a prompt: figures and notes, no rows of data."""
    found = run.result
    return {
        "step": run.step,
        "task": run.task,
        "inputs": run.inputs,
        "figures": [" ".join(map(str, (f"{one.name}:", one.value, one.unit))).strip() for one in found.figures()] if found else [],
        "notes": found.notes if found else [run.problem],
        "fields": [*type(found).model_fields] if found else [],
    }  # fmt: skip


def choose_cards(situation: Situation) -> list[dict[str, Any]]:
    """Return the task cards that fit into `CARD_TOKENS`, best match with the question first."""
    asked = set(stems(situation.question, "english"))
    cards = [_card(task) for task in situation.tasks.values()]
    cards.sort(key=lambda card: -len(asked & set(stems(f"{card['task']} {card['does']}", "english"))))
    chosen, budget = list[dict[str, Any]](), CARD_TOKENS
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


async def _ask(ask: AskStructured, step: str, schema: type[T], prompt: str, situation: Situation, **decided: Any) -> T:
    case = {
        "today": situation.today,
        "subjects": situation.subjects,
        "tasks": choose_cards(situation),
        "earlier": describe_exchanges(situation.earlier),
        "done": [describe_run(run) for run in situation.runs],
        "problems": situation.problems,
        "message": situation.question,
        **decided,
    }
    return await ask_model(ask, ROLE, step, schema, read_prompt(prompt, situation.prompts), case)

"""Planners, which ask a model for a plan that answers a question. The option `planner` selects one; `module:Class` is your own.

tree    one call for strategies, their pros and cons, and a decision; a second call for the steps (tree of thought)
react   one call per step, with the results of the earlier steps
single  one call for both strategies and steps
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
"""Key of the planner's model under `models` of the assistant's alias."""
TIMEOUT_S = 60.0
CARD_TOKENS = 6_000
"""Maximum number of tokens that the task descriptions (cards) may take in a prompt."""
EARLIER, MOST_EARLIER = 4, 1_500
"""Maximum number of earlier exchanges in a prompt, and maximum number of characters of each of their messages."""
PROMPTS = Path(__file__).parent / "prompts"


@dataclass(frozen=True)
class Situation:
    """The information that a planner needs to plan a round."""

    question: str
    earlier: Sequence[Exchange]
    tasks: Mapping[str, Task[Any, Any]]
    subjects: Sequence[str]
    """Ids of the subjects that the user may see."""
    today: str
    runs: Sequence[Run] = ()
    """Runs of earlier messages, and of earlier rounds for this message."""
    problems: Sequence[str] = ()
    """Problems of the previous plan, if it was invalid."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """By name, the texts that replace prompts/*.md."""


class Planner(Protocol):
    """Plans the tasks that answer a question, in one or more rounds."""

    async def plan(self, ask: AskStructured, situation: Situation) -> Plan:
        """Return a plan with the next steps. The plan has no steps if the earlier results are enough.

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
        """Parse the step. If `inputs` is not a JSON object, the step gets an unknown input, so that the plan fails its checks."""
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
        """Parse the steps and return the plan."""
        return Plan(**{**dict(self), "steps": [step.read() for step in self.steps]})


class Tree:
    """A planner that uses tree of thought in two calls: the first chooses a strategy, the second writes its steps."""

    async def plan(self, ask: AskStructured, situation: Situation) -> Plan:
        thoughts = await _ask(ask, "weigh", _Thoughts, "tree", situation)
        if thoughts.ask:
            return Plan(strategies=thoughts.strategies, decision=thoughts.decision, ask=thoughts.ask)
        strategies = [one.model_dump() for one in thoughts.strategies]
        plan = await _ask(ask, "plan", _Steps, "single", situation, strategies=strategies, decision=thoughts.decision)
        return plan.read().model_copy(update={"strategies": thoughts.strategies, "decision": thoughts.decision})


class Single:
    """A planner that asks for strategies and steps in one call."""

    async def plan(self, ask: AskStructured, situation: Situation) -> Plan:
        return (await _ask(ask, "plan", _Steps, "single", situation)).read()


class React:
    """A planner that plans one step at a time. Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models", 2023."""

    async def plan(self, ask: AskStructured, situation: Situation) -> Plan:
        found = await _ask(ask, "next step", _NextStep, "react", situation)
        steps = [found.step.read()] if found.step is not None else []
        return Plan(decision=found.thought, steps=steps, ask=found.ask, again=bool(steps))


PLANNERS: Mapping[str, type[Planner]] = {"tree": Tree, "single": Single, "react": React}


def open_planner(name: str) -> Planner:
    """Return a new planner, given its name or `module:Class`.

    Raises:
        ModelSettingsError: There is no such planner, or its class cannot be imported or called without arguments.
    """
    if name in PLANNERS:
        return PLANNERS[name]()
    module, _, attribute = name.partition(":")
    try:
        planner: Planner = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        expected = f"{', '.join(PLANNERS)} or module:Class"
        raise ModelSettingsError(f"planner: cannot load {name!r}: {error} (expected {expected})") from None
    return planner


async def ask_model(
    ask: AskStructured, role: str, step: str, schema: type[T], prompt: str, case: Mapping[str, Any]
) -> T:
    """Ask a model for an answer that fits a schema. `prompt` becomes the system message; `case`, as JSON, the user message."""
    messages = [{"role": "system", "content": prompt}, {"role": "user", "content": orjson.dumps(case).decode()}]
    return (await ask(role, messages, schema, step=step, timeout_s=TIMEOUT_S)).value


def read_prompt(name: str, given: Mapping[str, str]) -> str:
    """Return a prompt by its name: the text in `given`, or else the file in prompts/."""
    return given.get(name) or (PROMPTS / f"{name}.md").read_text(encoding="utf-8")


def describe_exchanges(earlier: Sequence[Exchange]) -> list[dict[str, str]]:
    """Return the last `EARLIER` exchanges for a prompt. Messages are truncated to `MOST_EARLIER` characters."""
    return [{"user": one.user[:MOST_EARLIER], "assistant": one.reply[:MOST_EARLIER]} for one in earlier[-EARLIER:]]


def describe_run(run: Run) -> dict[str, Any]:
    """Return the description of a run for a prompt: its figures and notes, but no rows of data."""
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
    """Return the descriptions (cards) of the tasks that match the question best, as many as fit into `CARD_TOKENS`."""
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

"""Measures the planners of Health on `assistants/health/benchmark/questions.jsonl`: valid plans, right tasks, right answers.

python -m bench.health.planning                                       from recorded completions of a language model
python -m bench.health.planning --config FILE --planner tree -n 20    on a model: FILE has an alias `planner`
"""

import argparse
import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from assistants import view
from assistants.assistant import AskStructured, AssistantRequest
from assistants.health.assistant import Health, open_assistant
from assistants.health.executor import Run
from assistants.health.planner import PLANNERS
from models.settings import ModelSettings
from models.structured import StructuredAnswer
from models.unique_keys import load_json

FOLDER = Path("assistants/health/benchmark")
Outcome = Literal["answer", "ask", "no_data", "impossible", "forbidden"]


class Answer(BaseModel):
    """A value that a result must contain."""

    value: float | str
    tolerance: float
    what: str


class Question(BaseModel):
    """A question with its gold standard: the right sets of tasks, the right values, and the right outcome."""

    id: str
    kind: str
    language: str
    question: str
    gold_tasks: list[list[str]]
    """The right sets of tasks. Any one of them is right; without sets, no task may run."""
    answers: list[Answer]
    outcome: Outcome
    earlier: list[dict[str, str]] = []


@dataclass
class Planned:
    """The result of a planner for a question."""

    question: Question
    runs: Sequence[Run] = ()
    asked: str = ""
    refused: int = 0
    """Number of invalid plans."""
    calls: int = 0
    failed: str = ""
    steps: list[str] = field(default_factory=list)

    @property
    def is_right(self) -> bool:
        """Whether outcome, tasks and values are right."""
        outcome = self.question.outcome
        if self.failed:
            return False
        if outcome == "ask":
            return bool(self.asked)
        if outcome in ("impossible", "forbidden"):
            return not self.runs
        if outcome == "no_data":
            return self.has_right_tasks and all(run.result is None or _is_empty(run) for run in self.runs)
        return self.has_right_tasks and self.has_values

    @property
    def has_right_tasks(self) -> bool:
        """Whether exactly the tasks of a right set ran."""
        ran = {run.task for run in self.runs if not run.is_correctable}
        return not self.asked and any(ran == set(some) for some in self.question.gold_tasks or [[]])

    @property
    def has_values(self) -> bool:
        """Whether the results contain all values."""
        found = [value for run in self.runs if run.result for value in _leaves(run.result.model_dump())]
        return all(any(_is_near(value, answer) for value in found) for answer in self.question.answers)


class Share(NamedTuple):
    count: int
    total: int

    def __str__(self) -> str:
        z, share = 1.96, self.count / max(self.total, 1)
        spread = z * (share * (1 - share) / self.total + z * z / (4 * self.total**2)) ** 0.5
        low, high = ((share + z * z / (2 * self.total) + sign * spread) / (1 + z * z / self.total) for sign in (-1, 1))
        return f"{100 * share:5.1f} ({100 * low:.0f}-{100 * high:.0f})"


async def plan_all(
    name: str, questions: Iterable[Question], ask_for: Callable[[Question], AskStructured]
) -> list[Planned]:
    """Plan and run all questions with a planner.

    Args:
        ask_for: Returns the model for a question.
    """
    health = open_assistant(
        ModelSettings(engine="assistant", name="health", planner=name, models={"planner": "m", "writer": "m"}, rounds=5)
    )
    try:
        return await asyncio.gather(*(_plan(health, question, ask_for(question)) for question in questions))
    finally:
        await health.close()


async def _plan(health: Health, question: Question, ask: AskStructured) -> Planned:
    messages = [{"role": role, "content": one[role]} for one in question.earlier for role in ("user", "assistant")]
    messages.append({"role": "user", "content": question.question})
    planned = Planned(question)

    async def counted(*arguments: Any, **options: Any) -> Any:
        planned.calls += 1
        return await ask(*arguments, **options)

    def note(step: str, detail: str) -> None:
        planned.refused += step == "plan refused"

    request = AssistantRequest(messages, view.read(messages), ask_structured=counted, note=note)
    try:
        found = await health.plan(request, counted, [])
    except Exception as error:  # a user's planner may raise anything
        planned.failed = f"{type(error).__name__}: {error}"
        return planned
    if isinstance(found, str):
        planned.asked = found
    else:
        planned.runs = found
    return planned


def replaying(name: str) -> Callable[[Question], AskStructured]:
    """Return a replacement for the model, which replays the recorded answers of a planner in order."""
    contents: dict[str, list[str]] = defaultdict(list)
    for line in (FOLDER / "completions.jsonl").read_text(encoding="utf-8").splitlines():
        row = load_json(line)
        if row["planner"] == name:
            contents[row["id"]].append(row["content"])

    def ask_for(question: Question) -> AskStructured:
        left = iter(contents[question.id])

        async def ask(role: str, messages: Any, schema: Any, **_: Any) -> StructuredAnswer[Any]:
            return StructuredAnswer(schema.model_validate_json(next(left)), "", False)

        return ask

    return ask_for


def read_questions() -> list[Question]:
    """Read the questions of the benchmark."""
    lines = (FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [Question.model_validate_json(line) for line in lines]


def sample(questions: Sequence[Question]) -> list[Question]:
    """Return every second question of each kind."""
    seen: Counter[str] = Counter()
    chosen = []
    for question in questions:
        chosen += [question] if seen[question.kind] % 2 == 0 else []
        seen[question.kind] += 1
    return chosen


def print_table(results: Mapping[str, Sequence[Planned]]) -> None:
    """Print the planners side by side: shares in % with 95 % intervals (Wilson 1927), and calls per question."""
    print(f"{'planner':<9}{'n':>4}{'valid at once':>18}{'tasks right':>18}{'all right':>18}{'calls':>7}")
    for name, planned in results.items():
        total = len(planned)
        valid = Share(sum(not one.refused and not one.failed for one in planned), total)
        tasks = Share(sum(one.has_right_tasks or one.is_right for one in planned), total)
        right = Share(sum(one.is_right for one in planned), total)
        calls = sum(one.calls for one in planned) / total
        print(f"{name:<9}{total:>4}{valid!s:>18}{tasks!s:>18}{right!s:>18}{calls:>7.1f}")
    kinds = list(dict.fromkeys(one.question.kind for planned in results.values() for one in planned))
    print(f"\n{'right by kind':<13}" + "".join(f"{kind:>12}" for kind in kinds))
    for name, planned in results.items():
        cells = []
        for kind in kinds:
            own = [one.is_right for one in planned if one.question.kind == kind]
            cells.append(f"{sum(own)} of {len(own)}")
        print(f"{name:<13}" + "".join(f"{cell:>12}" for cell in cells))


def print_wrong(planned: Iterable[Planned]) -> None:
    """Print the questions that the planner answered wrongly, with their results."""
    for one in planned:
        if not one.is_right:
            tasks = [f"{run.task} {dict(run.inputs)} {run.problem}" for run in one.runs]
            print(
                f"  {one.question.id} ({one.question.outcome}) {one.question.question}\n    {one.failed or one.asked or tasks}"
            )


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(one)
    else:
        yield value


def _is_near(value: Any, answer: Answer) -> bool:
    if isinstance(answer.value, str):
        return str(value) == answer.value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value - answer.value) <= answer.tolerance + 1e-9


def _is_empty(run: Run) -> bool:
    return any(str(figure.value).startswith("0 of ") for figure in run.result.figures()) if run.result else True


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--planner", choices=tuple(PLANNERS), action="append", help="run only this planner; may be repeated"
    )
    parser.add_argument("--wrong", action="store_true", help="list the wrong results")
    arguments = parser.parse_args()
    names = arguments.planner or [*PLANNERS]
    questions = sample(read_questions())
    results = {name: asyncio.run(plan_all(name, questions, replaying(name))) for name in names}
    print_table(results)
    for name, planned in results.items() if arguments.wrong else ():
        print(name)
        print_wrong(planned)


if __name__ == "__main__":
    main()

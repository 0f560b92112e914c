"""How well a language model reads what the phrases do not: `python -m bench.hippocrates.planner`.

Recorded completions of a language model are replayed (tests/recordings/planner.jsonl); `--url` asks one. The requests are in the
form of slots.py; `expect: {}` is for what no slot can hold, which is to be asked back, or answered where it is not about a cohort.
"""

import argparse
import asyncio
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistants import view
from assistants.assistant import AssistantRequest
from assistants.hippocrates.assistant import Hippocrates
from assistants.hippocrates.demo import eunomia_path
from assistants.hippocrates.grammar import Grammar
from assistants.hippocrates.planner import PLANNER, Plan, Statement, plan
from assistants.hippocrates.settings import open_sources
from assistants.hippocrates.study import Study, fold
from assistants.hippocrates.talk import Talk, read_turns
from assistants.hippocrates.vocabulary import Vocabulary
from bench.hippocrates.slots import EXACT, WRONG, Score, Slots, expected_slots, slots_of
from cli.judging.output import quiet_logs
from models.client import Models
from models.engine import Engine
from models.errors import ModelError, UpstreamRefused
from models.openai_engine import OpenAIEngine, make_session
from models.recording import Recording, Replaying
from models.settings import ModelSettings
from models.structured import StructuredAnswer
from models.unique_keys import load_yaml
from models.usage import Ledger

ROOT = Path(__file__).parents[2]
REQUESTS = ROOT / "scenarios" / "hippocrates" / "planner.yaml"
RECORDED = ROOT / "tests" / "recordings" / "planner.jsonl"
WAIT_S = 3000.0
RECORD_ANEW = (
    "{missing} of {requests} requests have no recorded answer: assistants/hippocrates/planner.md, the schema of planner.py or "
    "the requests have changed. Record anew: delete {file}, then python -m bench.hippocrates.planner --url URL --record {file}"
)


class PatientPlanner:
    """The model that an assistant asks: once for each request, however long it takes."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._answer: asyncio.Task[StructuredAnswer[Plan]] | None = None

    async def __call__(self, role: str, messages: Any, schema: Any, **options: Any) -> Any:
        if self._answer is None:
            asked = self._models.structured(role, messages, schema, step=role, ledger=Ledger())
            self._answer = asyncio.create_task(asked)
        return await self._answer

    async def answer(self) -> StructuredAnswer[Plan] | ModelError | None:
        """Return what the model answered, or how it failed; None: it was not asked."""
        try:
            return await self._answer if self._answer else None
        except ModelError as error:
            return error


@dataclass(frozen=True)
class Reading:
    """A request, and what became of it."""

    say: list[str]
    expect: Slots
    answer: StructuredAnswer[Plan] | ModelError | None
    without_model: Slots
    study: Study
    reply: str

    @property
    def statements(self) -> list[Statement]:
        return self.answer.value.statements if isinstance(self.answer, StructuredAnswer) else []

    @property
    def is_asked_back(self) -> bool:
        questions = [ask.text for ask in self.study.asks if ask.text]
        return self.study.open_term is not None or any(text in self.reply for text in questions)

    def invented_ids(self, vocabulary: Vocabulary) -> set[int]:
        """Return ids among the model's concepts that nobody said, and ids in the study that the vocabulary does not have."""
        said = " ".join(self.say)
        named = {one for part in self.statements for words in part.concepts for one in re.findall(r"\d{4,}", words)}
        chosen = {choice.concept.concept_id for term in self.study.terms() for choice in term.choices}
        return {int(one) for one in named if one not in said} | {one for one in chosen if vocabulary.get(one) is None}


async def read(request: dict[str, Any], hippocrates: Hippocrates, vocabulary: Vocabulary, models: Models) -> Reading:
    """Send a request through the assistant."""
    messages = [{"role": "user", "content": text} for text in request["say"]]
    planner = PatientPlanner(models)
    reply = await hippocrates.reply(AssistantRequest(messages, view.read(messages), ask_structured=planner))
    turns, answers = read_turns(messages)
    grammar = Grammar(vocabulary)
    without_model = fold(turns, Talk(grammar, answers).read)
    read_again = Talk(grammar, answers).read  # the model is not asked again: the planner has its answer
    study = await plan(planner, turns, read_again, grammar.terms)
    expect = expected_slots(request["expect"], vocabulary)
    return Reading(request["say"], expect, await planner.answer(), slots_of(without_model), study, reply.text)


async def read_all(requests: list[dict[str, Any]], engine: Engine, vocabulary: Vocabulary, model: str) -> list[Reading]:
    """Send all requests through the assistant at once."""
    settings = ModelSettings(engine="embedded", model=model, timeout_s=WAIT_S, max_attempts=1)
    models = Models({PLANNER: settings}, {PLANNER: engine})
    hippocrates = Hippocrates(open_sources(settings), plans=True)
    return await asyncio.gather(*(read(one, hippocrates, vocabulary, models) for one in requests))


async def replay(requests: list[dict[str, Any]], file: Path, vocabulary: Vocabulary, model: str) -> list[Reading]:
    """Answer the requests from a recording.

    Raises:
        SystemExit: It does not have all answers; the message says how to record anew.
    """
    readings = await read_all(requests, Replaying(file), vocabulary, model)
    missing = [one for one in readings if isinstance(one.answer, UpstreamRefused)]
    if missing:
        sys.exit(RECORD_ANEW.format(missing=len(missing), requests=len(requests), file=file))
    return readings


async def ask(
    requests: list[dict[str, Any]], url: str, record: Path | None, vocabulary: Vocabulary, model: str
) -> list[Reading]:
    """Have a model answer the requests, and write its answers down if wanted."""
    async with make_session() as session:
        engine: Engine = OpenAIEngine(ModelSettings(engine="openai", base_url=url, timeout_s=WAIT_S), session)
        return await read_all(requests, Recording(engine, record) if record else engine, vocabulary, model)


def report(readings: list[Reading], vocabulary: Vocabulary) -> bool:
    """Print the figures; return whether they are good enough."""
    score, alone = Score(), Score()
    for one in readings:
        score.add(one.say, one.expect, slots_of(one.study), one.is_asked_back)
        alone.add(one.say, one.expect, one.without_model, True)
    fillable = [one for one in readings if one.expect]
    others = [one for one in readings if not one.expect]
    whole = sum(slots_of(one.study) == one.expect for one in fillable)
    answers = [one.answer for one in readings if isinstance(one.answer, StructuredAnswer)]
    invented = sum(len(one.invented_ids(vocabulary)) for one in readings)
    empty = [one for one in others if not slots_of(one.study)]
    asked_back = sum(one.is_asked_back for one in empty)
    counts = score.counts
    print(*score.faults, sep="\n", end="\n" * bool(score.faults))
    print(f"{sum(one.answer is not None for one in readings)} of {len(readings)} requests put to the model")
    print(f"answers that could be read: {len(answers)}, {sum(one.repaired for one in answers)} of them after a repair")
    failures = Counter(str(one.answer) for one in readings if isinstance(one.answer, ModelError))
    print(
        *(f"failed {times} times: {failure}" for failure, times in failures.items()),
        sep="\n",
        end="\n" * bool(failures),
    )
    print(
        f"slots: {counts['exact']} of {counts['wanted']} exact ({alone.counts['exact']} without the model), "
        f"{counts['wrong']} wrong, {counts['asked back']} asked back, {counts['missed']} missed"
    )
    print(f"exact {score.exact:.3f} (at least {EXACT}), wrong {score.wrong:.3f} (at most {WRONG})")
    print(f"requests with all their slots and no other: {whole} of {len(fillable)}")
    print(f"invented concept ids: {invented}")
    print(
        f"requests that no slot can hold: {len(others)}; {asked_back} asked back, {len(empty) - asked_back} answered without "
        f"filling a slot, {len(others) - len(empty)} filled one"
    )
    return score.exact >= EXACT and score.wrong <= WRONG and not invented


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--url", help="an OpenAI-compatible server, such as http://127.0.0.1:8000/v1 (default: the recording)"
    )
    parser.add_argument(
        "--model", default=PLANNER, help="its name there; a recording is replayed by the name it was made with"
    )
    parser.add_argument("--record", type=Path, help="with --url: a file to which the exchanges are added")
    parser.add_argument("--replay", type=Path, default=RECORDED, help="without --url: the recording")
    given = parser.parse_args(arguments)
    requests = load_yaml(REQUESTS.read_text(encoding="utf-8"))
    vocabulary = Vocabulary.open(eunomia_path())
    if given.url:
        readings = asyncio.run(ask(requests, given.url, given.record, vocabulary, given.model))
    else:
        readings = asyncio.run(replay(requests, given.replay, vocabulary, given.model))
    return 0 if report(readings, vocabulary) else 1


if __name__ == "__main__":
    quiet_logs()
    sys.exit(main())

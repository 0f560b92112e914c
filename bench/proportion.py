"""Measures whether the filter is proportionate: the verdicts of the shared calls on labelled replies, by label.

python -m bench.proportion                  replays the models' answers in scenarios/recorded
python -m bench.proportion --config FILE    asks the models of a configuration
python -m bench.proportion --dev            does not read the holdout
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.figures import write_table
from bench.processes import ROOT
from judges.case import Case, HistoryMessage, Mode, modes_of
from judges.claims import additions, lack_statements
from judges.evaluation.configured_judges import open_judges
from judges.judge import ModelJudge
from judges.observation import Claims, Problem, Screening
from judges.pipeline import Pipeline
from judges.verdict import Judgement, Review
from knowledge_base import citations
from models.unique_keys import load_json
from models.usage import Ledger
from proxy.turn.chatbot import Chatbot, open_chatbot

RECORDED = ROOT / "scenarios" / "recorded" / "config.yaml"
COLUMNS = ("accept", "completed", "warn", "reject", "unjudged")
"""The columns of the table. `completed`: the reply is flagged, but adding missing statements may suffice."""
AT_ONCE = 200

Labelled = tuple[int, Case, frozenset[Mode]]
Counts = dict[str, dict[int, Counter[str]]]


def main() -> None:
    """Print a table for each stage, and a table for both stages together."""
    parser = argparse.ArgumentParser(prog="bench.proportion", description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=RECORDED, help="default: the recorded answers")
    parser.add_argument("--answers", type=Path, help="file with models' answers; answers in it are reused")
    parser.add_argument("--dev", action="store_true", help="do not read the holdout")
    options = parser.parse_args()
    for name in ["dev"] if options.dev else ["dev", "holdout"]:
        replies = ROOT / "scenarios" / "ratings" / f"{name}.jsonl"
        counts, calls = asyncio.run(measure(options.config, replies, options.answers))
        for what, by_score in counts.items():
            rows = {f"labelled {score}": [by_score[score][column] for column in COLUMNS] for score in range(5)}
            print("\n" + write_table(f"{name}: {what}", COLUMNS, rows))
        print(f"\n{name}: calls for a reply labelled 3 or 4: {calls['good']:.2f}, for others: {calls['bad']:.2f}")


async def measure(config: Path, replies: Path, answers: Path | None) -> tuple[Counts, Mapping[str, float]]:
    """Judge labelled replies with each stage alone and with the configured cascade.

    Returns:
        The number of replies by stage, label and verdict, and the mean number of calls of the cascade by kind of reply.
    """
    counts: Counts = {what: {n: Counter() for n in range(5)} for what in ("swift", "chief", "cascade")}
    calls: dict[str, list[int]] = {"good": [], "bad": []}
    async with open_judges(config, None, answers=answers) as judging:
        bot = open_chatbot(judging.blueprint, judging.models)
        gate = asyncio.Semaphore(AT_ONCE)

        async def judge(labelled: Labelled) -> None:
            score, case, modes = labelled
            async with gate:
                stages = ("swift", "chief")
                by_stage = await asyncio.gather(*(ask_stage(bot.pipeline, stage, case, modes) for stage in stages))
                for stage, judgements in zip(stages, by_stage, strict=True):
                    counts[stage][score][verdict_of(judgements, case)] += 1
                ledger = Ledger()
                review = await bot.pipeline.review(case, modes, ledger)
                counts["cascade"][score][verdict_of(review.decisive, case)] += 1
                calls["good" if score >= 3 else "bad"].append(len(ledger.calls))

        async with asyncio.TaskGroup() as group:
            for labelled in read(replies, bot):
                group.create_task(judge(labelled))
    return counts, {kind: sum(of) / len(of) for kind, of in calls.items()}


def read(replies: Path, bot: Chatbot) -> Iterator[Labelled]:
    """Yield labelled replies as (score, case, modes)."""
    for row in map(load_json, replies.read_bytes().splitlines()):
        cited, classes, _ = citations.split(row["citations"], bot.sections, bot.sections)
        history = tuple(HistoryMessage(message["role"], message["content"]) for message in row["history"])
        case = Case(row["user_message"], row["response"], history, cited, role=bot.settings.role, topics=bot.topics)
        yield row["score"], case, modes_of(case, classes)


async def ask_stage(judges: Pipeline, stage: str, case: Case, modes: frozenset[Mode]) -> list[Judgement]:
    """Ask one stage alone, for all judges that apply to the reply's modes."""
    shared = {
        c.name: j
        for c in judges.on_reply
        for j in c.stages
        if isinstance(j, ModelJudge) and j.is_shared and j.stage == stage
    }
    names = [c.name for c in judges.on_reply if c.name in shared and (c.modes & modes or "default" in c.modes)]
    return [*(await shared[names[0]].judge_for(case, names, Ledger())).values()]


def verdict_of(judgements: list[Judgement], case: Case) -> str:
    """Return the most severe verdict of judgements; `completed` if adding missing statements may settle every problem."""
    verdict = Review(decisive=judgements).verdict
    if verdict not in ("warn", "reject"):
        return verdict
    problems: list[Problem] = []
    for judgement in judgements[:1]:
        seen = judgement.observation
        problems += seen.problems if isinstance(seen, Screening) else ()
        problems += additions(seen, case) if isinstance(seen, Claims) else ()
    return "completed" if lack_statements(problems) else verdict


if __name__ == "__main__":
    main()

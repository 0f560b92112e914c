"""Measures the CPU of the local judges alone. Whole cases are judged in this process, without a server.

python -m bench.judges SECONDS     prints the figures as one JSON object
"""

import asyncio
import gc
import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice

from bench.figures import Figures, percentile
from bench.processes import ROOT, SHIPPED
from bench.script import add_drift, reword, shipped_conversations
from judges.case import Case, HistoryMessage, modes_of
from judges.judge import OBSERVERS, LocalJudge
from models.client import Models
from models.usage import Ledger, estimate_tokens
from proxy.config.blueprint import assemble
from proxy.config.config import load_config
from proxy.turn.chatbot import Chatbot, open_chatbot

CASES = 400


def chatbot() -> Chatbot:
    """Return the shipped chatbot with its local judges only."""
    config = load_config(ROOT / "config.yaml")
    return open_chatbot(assemble(config)[SHIPPED], Models({}, {}))


def cases(bot: Chatbot) -> tuple[list[Case], list[Case]]:
    """Return cases whose replies restate one of their two sections, and the same cases with added unsupported sentences."""
    assert bot.library is not None
    library, chance = bot.library, random.Random(1)
    restated, beyond = [], []
    for before, now in shipped_conversations(CASES):
        history = (HistoryMessage("user", before.question), HistoryMessage("assistant", before.text))
        for drafts, text in ((restated, now.text), (beyond, add_drift(now.text, chance))):
            sections = (library[now.source], library[before.source])
            drafts.append(Case(now.question, text, history, sections, bot.settings.role, bot.topics))
    return restated, beyond


def with_unseen_sentences(cases: Sequence[Case]) -> Iterator[Case]:
    """Yield cases endlessly, each with new sentences in its draft, so that no cache applies."""
    chance = random.Random(2)
    for case in cycle(cases):
        yield replace(case, draft=reword(case.draft, chance))


def measure_cpu_ms(cases: Iterable[Case], judge: Callable[[Case], object], seconds: float) -> list[float]:
    """Return the CPU time of judging each case, in ms. The first CASES cases only fill caches and are not measured.

    A case is repeated only after all other cases, so that no cache of whole replies applies.
    """
    coming = iter(cases)
    for case in islice(coming, CASES):
        judge(case)
    gc.collect()
    times = []
    end = time.process_time() + seconds
    for case in coming:
        began = time.process_time_ns()
        judge(case)
        ended = time.process_time_ns()
        times.append((ended - began) / 1e6)
        if ended / 1e9 > end:
            return times
    return times


def run(seconds: float) -> Figures:
    """Measure all judges together as in a turn, then each judge alone."""
    bot = chatbot()
    restated, beyond = cases(bot)
    ledger = Ledger()

    def judge_as_a_turn(case: Case) -> object:
        """Judge a case in the steps of a turn: emergency judge, modes, judges of the reply."""
        alarm = bot.pipeline.judge_emergency_locally(Case(case.user_message, history=case.history[:1]))
        return alarm, loop.run_until_complete(bot.pipeline.review(case, modes_of(case, ()), ledger))

    figures: Figures = {}
    loop = asyncio.new_event_loop()
    try:
        empty = measure_cpu_ms(cycle(restated[:50]), lambda _: loop.run_until_complete(_do_nothing()), 0.2)
        idle = sum(empty) / len(empty)
        for name, some in (
            ("", cycle(restated)),
            ("drifted_", cycle(beyond)),
            ("unheard_", with_unseen_sentences(beyond)),
        ):
            times = measure_cpu_ms(some, judge_as_a_turn, seconds / 4)
            figures[f"judges_{name}cpu_ms"] = sum(times) / len(times) - idle
            figures[f"judges_{name}cpu_p95_ms"] = percentile(times, 0.95) - idle
    finally:
        loop.close()
    for name in OBSERVERS:
        times = measure_cpu_ms(cycle(beyond), LocalJudge(name).judge_now, seconds / 16)
        figures[f"judge_{name}_cpu_ms"] = sum(times) / len(times)
    figures["judges_mean_tokens"] = sum(estimate_tokens(case.draft) for case in restated) / len(restated)
    return figures


async def _do_nothing() -> None:
    """Do nothing. The CPU of this call is the overhead of `run_until_complete`, which is subtracted."""


if __name__ == "__main__":
    print(json.dumps(run(float(sys.argv[1]))))

"""Judging cases: in order, concurrently, within a budget, and only once."""

import asyncio

import pytest

from judges.evaluation.measures import measure
from judges.evaluation.run_cases import judge_cases
from models.answer_cache import AnswerCache, CachingEngine
from models.budget import Budget, BudgetedEngine
from models.errors import UpstreamUnavailable
from models.scripted import Scripted
from tests.judges.evaluation.builders import PRICE, by_draft, case, says, settings, subject

CASES = [case(f"c{n}", "reject" if n % 2 else "accept", family=f"f{n % 3}") for n in range(6)]


def ask(one, cases, **more):
    return judge_cases({"tone": one}, cases, **more)


def verdicts(answers):
    return [a.verdict for a in answers]


async def test_answers_come_in_the_order_of_the_cases():
    """The durations do not matter. Each answer is reported at once."""

    async def script(body):
        slow = '"c0"' in body["messages"][1]["content"]
        await asyncio.sleep(0.02 if slow else 0)
        return says("reject" if slow else "accept")

    told = []
    found = await ask(subject(Scripted(script)), CASES, on_answer=told.append)
    assert [a.example.id for a in found] == [c.id for c in CASES]
    assert verdicts(found) == ["reject", *["accept"] * 5]
    assert told[-1].example.id == "c0"
    assert len(told) == 6


async def test_so_many_cases_are_under_way_as_may_be():
    """The number of concurrent cases is at the maximum until few are left."""
    most = now = 0

    async def script(body):
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.005)
        now -= 1
        return says("accept")

    await ask(subject(Scripted(script)), CASES, at_once=4)
    assert most == 4


async def test_repeats_ask_again_and_flips_are_seen():
    """Each case has three answers in sequence, and a changed verdict is reported."""
    engine = Scripted([says(v) for v in ("accept", "accept", "accept", "reject", "warn", "reject")])
    found = await ask(subject(engine), CASES[:2], repeats=3, at_once=1)
    assert len(engine.requests) == 6
    assert [(a.example.id, a.repeat) for a in found] == [(c, n) for c in ("c0", "c1") for n in range(3)]
    assert measure(found).flips == 0.5


async def test_failed_model_leaves_a_case_unjudged_and_the_rest_go_on():
    """A broken connection is not a verdict, and does not stop the other cases."""
    engine = Scripted(lambda body: UpstreamUnavailable("down") if '"c1"' in str(body) else says("accept"))
    found = await ask(subject(engine, max_attempts=1), CASES)
    assert verdicts(found) == ["accept", "unjudged", *["accept"] * 4]
    assert not any(a.skipped for a in found)
    assert (measure(found).recall.value, measure(found).unjudged) == (0, 1)


async def test_cascade_ends_where_it_is_settled():
    """The chief does not see what swift accepts, and costs are added up."""
    swift, chief = Scripted(by_draft({"c1": "reject"})), Scripted(by_draft({"c1": "warn"}))
    found = await ask(subject(swift, chief, price=PRICE), CASES[:2])
    assert [(a.verdict, a.path) for a in found] == [("accept", ("swift",)), ("warn", ("swift", "chief"))]
    assert [a.calls for a in found] == [1, 2]
    assert found[1].cost > found[0].cost > 0


async def test_judges_are_asked_side_by_side():
    """Each case goes to the subject of its judge."""
    strict, mild = (subject(Scripted(lambda body, v=v: says(v))) for v in ("reject", "warn"))
    cases = [case("a", "reject"), case("a", "reject", judge="manners"), case("b", "reject")]
    assert verdicts(await judge_cases({"tone": strict, "manners": mild}, cases)) == ["reject", "warn", "reject"]


# Resuming


def remembering(engine, memory):
    return subject(CachingEngine(engine, memory))


async def test_crashed_run_resumes_without_asking_a_recorded_answer_again(tmp_path):
    """After a crash with a torn last line, the next run makes the missing calls, and the one after it none."""
    file = tmp_path / "answers.jsonl"

    class Killed(BaseException):
        """Ends the run like a signal."""

    given = 0

    def dying(body):
        nonlocal given
        given += 1
        return says("reject") if given <= 3 else Killed()

    memory = AnswerCache(file)
    with pytest.raises(BaseExceptionGroup):
        await ask(remembering(Scripted(dying), memory), CASES, at_once=1)
    memory.close()
    file.write_bytes(file.read_bytes()[:-9])

    engine, memory = Scripted(lambda body: says("reject")), AnswerCache(file)
    found = await ask(remembering(engine, memory), CASES, at_once=3)
    memory.close()
    assert verdicts(found) == ["reject"] * 6
    assert len(engine.requests) == 4  # the torn one and the three that were left
    assert [a.ms is None for a in found] == [True, True, False, False, False, False]
    assert all(a.usage.prompt_tokens for a in found)

    engine, memory = Scripted([]), AnswerCache(file)
    assert verdicts(await ask(remembering(engine, memory), CASES)) == ["reject"] * 6
    memory.close()
    assert engine.requests == []


async def test_repeats_resume_too(tmp_path):
    """With two of three repeats recorded, each case needs one more request."""
    file = tmp_path / "answers.jsonl"
    requests = []
    for repeats in (2, 3, 3):
        engine, memory = Scripted(lambda body: says("accept")), AnswerCache(file)
        await ask(remembering(engine, memory), CASES[:2], repeats=repeats)
        memory.close()
        requests.append(len(engine.requests))
    assert requests == [4, 2, 0]


# Within a budget

USAGE = {"prompt_tokens": 100, "completion_tokens": 5}
COST = (100 * 1 + 5 * 10) / 1e6
MOST = 0.002
"""Slightly more than the maximum cost of a call: at most 100 completion tokens, and a few hundred bytes of prompt."""


def answered(content):
    return {"choices": [{"message": {"content": content}, "finish_reason": "stop"}], "usage": USAGE}


def costly(answer='{"verdict": "accept", "reason": ""}', **more):
    """Return a subject within a budget, its engine and the budget. The reserved cost is ten times the real cost."""

    async def script(body):
        await asyncio.sleep(0.001)
        return answered(answer(body) if callable(answer) else answer)

    budget = Budget(more.pop("limit"))
    engine, priced = Scripted(script), settings("swift", price=PRICE, max_tokens=100)
    one = BudgetedEngine(engine, "swift", priced["swift"], budget)
    return subject(one, price=PRICE, max_tokens=100), engine, budget


MANY = [case(f"c{n}", "reject") for n in range(40)]


@pytest.mark.parametrize("at_once", [1, 8, 40])
async def test_budget_is_not_passed_however_many_are_under_way(at_once):
    """A case that waits for others is judged later. In the end less than one maximum cost is left."""
    one, engine, budget = costly(limit=2 * MOST)
    found = await ask(one, MANY, at_once=at_once)
    assert budget.spent == pytest.approx(len(engine.requests) * COST)
    assert budget.limit - MOST < budget.spent <= budget.limit
    assert sum(not a.skipped for a in found) == len(engine.requests)
    assert measure(found).skipped == 40 - len(engine.requests)
    assert measure(found).cost == pytest.approx(budget.spent)


async def test_budget_is_not_passed_by_repair_rounds():
    """A second call after an unreadable answer uses the same budget. Its case is skipped, not unjudged."""
    one, engine, budget = costly("no JSON at all", limit=2 * MOST)
    found = await ask(one, MANY, at_once=8)
    assert budget.spent == pytest.approx(len(engine.requests) * COST)
    assert budget.limit - MOST < budget.spent <= budget.limit
    assert {a.verdict for a in found if not a.skipped} == {"unjudged"}
    assert 0 < sum(not a.skipped for a in found) <= len(engine.requests) / 2


async def test_budget_that_fits_nothing_asks_nothing():
    """Every case is skipped, and no figure includes them."""
    one, engine, _ = costly(limit=0)
    found = await ask(one, MANY)
    assert engine.requests == []
    assert all(a.skipped for a in found)
    assert measure(found).recall.value is None


async def test_stage_that_has_answered_is_not_asked_again_when_the_budget_makes_the_next_one_wait():
    """One chief call waits for the budget of the other, but swift is paid only once for each case."""

    async def slow(body):
        await asyncio.sleep(0.005)
        return answered('{"verdict": "reject", "reason": ""}') | {
            "usage": {"prompt_tokens": 500, "completion_tokens": 100}
        }

    swift, chief = Scripted(lambda body: says("reject")), Scripted(slow)
    budget = Budget(0.0045)  # one call of the chief at a time
    priced = settings("chief", price=PRICE, max_tokens=200)["chief"]
    one = subject(swift, BudgetedEngine(chief, "chief", priced, budget), price=PRICE, max_tokens=200)
    found = await ask(one, CASES[:2], at_once=2)
    assert [(a.verdict, a.path, a.calls) for a in found] == [("reject", ("swift", "chief"), 2)] * 2
    assert (len(swift.requests), len(chief.requests)) == (2, 2)
    assert not any(a.skipped for a in found)

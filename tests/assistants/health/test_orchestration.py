"""Plans that run, plans that are refused, and what is kept of them; planner and writer answer what a test decides."""

import asyncio
import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from assistants.health.planner import React, Tree
from models.errors import AssistantFailed, ModelError
from tests.assistants.health.doubles import AUGUST, Doctor, plan, step


async def test_a_plan_runs_and_the_writer_gets_its_figures() -> None:
    """A step may use what another one found."""
    doctor = Doctor(plan(step("s1", "count", **AUGUST), step("s2", "twice", value="$s1.value")))
    reply = await doctor.reply("How many days?")
    assert [one["figures"] for one in doctor.found] == [["value: 31.0 min"], ["value: 62.0 min"]]
    assert reply.text == "Written."
    assert "Value: 62.0 min." in reply.documents[0].text
    assert [name for name, _ in doctor.notes] == ["plan", "task", "task"]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (plan(step("s1", "run_code", code="1")), "there is no task 'run_code'"),
        (plan(step("s1", "twice", value="$s2.value"), step("s2", "twice", value="$s1.value")), "in a circle"),
        (plan(step("s1", "twice", value="$s9.value")), "there is no step 's9'"),
        (plan(step("s1", "count", **AUGUST), step("s2", "twice", value="$s1.secret")), "has no field 'secret'"),
        (plan(step("s1", "twice", value="5")), "must be a reference"),
        (plan(step("s1", "plus", value=41.5)), "a number that the user has written"),
        (plan(step("s1", "plus", value=[41.5])), "a number that the user has written"),
        (plan(step("s1", "count", start="2020-08-01", end="August")), "end"),
        (plan(step("s1", "count", start="2020-09-01", end="2020-08-01")), "end is before start"),
        (plan(step("s1", "count", start="1900-01-01", end="2020-08-01")), "3660 days"),
        (plan(step("s1", "count", **AUGUST, path="../par_5")), "path"),
        (plan(step("s1", "count", **AUGUST), step("s1", "count", **AUGUST)), "used twice"),
        (plan(*(step(f"s{n}", "count", **AUGUST) for n in range(1_000))), "1000 steps"),
    ],
)
async def test_a_wrong_plan_is_planned_again_with_the_reason(wrong: Any, says: str) -> None:
    """Nothing of it runs."""
    doctor = Doctor(wrong, plan(step("s1", "count", **AUGUST)))
    await doctor.reply("How many days?")
    assert any(says in problem for problem in doctor.calls[1].case["problems"]), doctor.calls[1].case["problems"]
    assert doctor.count.asked == ["anna"]


async def test_rounds_are_bounded() -> None:
    """A planner that never comes to a plan costs three calls."""
    doctor = Doctor(*[plan(step("s1", "run_code"))] * 9)
    await doctor.reply("How many days?")
    assert [one.role for one in doctor.calls] == ["planner"] * 3 + ["writer"]
    assert doctor.count.asked == []


async def test_a_second_round_sees_what_the_first_one_found() -> None:
    """The rest of a plan may depend on it."""
    doctor = Doctor(plan(step("s1", "count", **AUGUST), again=True), plan(step("s2", "twice", value="$s1.value")))
    await doctor.reply("Was it enough, and if not, twice as much?")
    assert doctor.calls[1].case["done"][0]["figures"] == ["value: 31.0 min"]
    assert len(doctor.found) == 2


async def test_steps_run_at_once_and_a_late_one_is_a_gap() -> None:
    """Three of .2 s take less than .5 s; a deadline, a failure and a crash are told without their inner text."""
    doctor = Doctor(
        plan(*(step(f"s{n}", "slow") for n in range(3))),
        plan(step("a", "stuck"), step("b", "failing"), step("c", "crashing")),
    )
    await doctor.reply("Go")
    started = time.perf_counter()
    await doctor.reply("Go on")
    assert time.perf_counter() - started < 1.5
    notes = [one["notes"] for one in doctor.found]
    late, failed = ["Stuck task took longer than 0.3 s."], ["There are no data for this period."]
    assert notes == [late, failed, ["Crashing task failed (RuntimeError)."]]


JULY = {"start": "2020-07-01", "end": "2020-07-30"}
HIDDEN = "You may not see the data of this subject."
NO_CONSENT = "anna has not consented to the use of these data (sleep)."


@pytest.mark.parametrize(
    ("asked", "keys", "note"),
    [
        *[
            (name, {"key-1": ["anna"], "key-2": ["ben"]}, HIDDEN)
            for name in ("ben", "../anna", "anna/../ben", "*", "Anna")
        ],
        ("", {"key-2": ["ben"]}, "You may not see data."),
        ("", {"key-1": ["anna", "ben"]}, "Name the subject whose data you mean."),
        ("anna", {"*": ["anna"]}, NO_CONSENT),
    ],
)
async def test_access_is_refused_before_anything_is_read(asked: str, keys: Any, note: str) -> None:
    """Also when the client names another user. Consent ends for one source of data; another one stays."""
    consent = {"anna": {"heart": date.max, "sleep": date(2020, 1, 1)}}
    doctor = Doctor(plan(step("s1", "count", subject=asked, **AUGUST)), subjects=keys, consent=consent)
    await doctor.reply("How many days?", user="ben")
    assert doctor.found[0]["notes"] == [note]
    assert doctor.folder.opened == doctor.count.asked == []


async def test_a_question_to_the_user_ends_the_turn() -> None:
    """No task runs."""
    doctor = Doctor(plan(ask="Which month?"))
    assert (await doctor.reply("How did I sleep?")).text == "Which month?"
    assert [one.role for one in doctor.calls] == ["planner"]


async def test_a_draft_that_is_asked_for_again_runs_nothing() -> None:
    """The filter demands another draft: the writer is told why, and the planner is not asked."""
    doctor = Doctor(plan(step("s1", "count", **AUGUST)))
    await doctor.reply("How many days?")
    await doctor.reply("How many days?", "32 days.", "[check] 32 is in no source")
    assert doctor.count.asked == ["anna"]
    assert [one.role for one in doctor.calls] == ["planner", "writer", "writer"]


async def test_changed_data_are_read_again() -> None:
    """Whatever was kept of the old ones."""
    doctor = Doctor(*[plan(step("s1", "count", **AUGUST))] * 2)
    await doctor.reply("How many days?")
    doctor.folder.versions = {"anna": "2"}
    await doctor.reply("How many days?")
    assert len(doctor.count.asked) == 2


async def test_a_follow_up_knows_what_was_run_and_branches_do_not_mix(tmp_path: Path) -> None:
    """It outlives the process, and another key knows nothing of it."""
    path = tmp_path / "runs.db"
    doctor = Doctor(plan(step("s1", "count", **AUGUST)), plan(step("s1", "count", **JULY)), memory=path)
    await doctor.reply("How many days in August?")
    await doctor.reply("How many days in July?")
    doctor.memory.store.close()
    later = Doctor(plan(), plan(), plan(), memory=path)
    await later.reply("How many days in August?", "Written.", "Which tools did you use?")
    used = "Day count (subject anna, start 2020-08-01, end 2020-08-31)"
    assert [one["used"] for one in later.found_earlier] == [used]
    await later.reply("How many days in July?", "Written.", "Which tools did you use?")
    assert "2020-07-30" in later.found_earlier[0]["used"]
    assert len(later.found_earlier) == 1
    await later.reply("How many days in July?", "Written.", "Which tools did you use?", key="key-2")
    assert later.found_earlier == []
    assert path.stat().st_mode & 0o077 == 0


async def test_react_takes_a_step_at_a_time() -> None:
    """Each sees what the ones before it found."""
    thoughts = [
        {"thought": "Count.", "step": step("s1", "count", **AUGUST), "ask": ""},
        {"thought": "Enough.", "step": None, "ask": ""},
    ]
    doctor = Doctor(*thoughts, planner=React())
    await doctor.reply("How many days?")
    assert [one.step for one in doctor.calls] == ["next step", "next step", "write"]
    assert len(doctor.calls[1].case["done"]) == 1


async def test_a_tree_of_thought_weighs_first() -> None:
    """The second call follows the decision of the first."""
    strategies = [{"tasks": ["count"], "pros": "short", "cons": "none"}]
    weighed = {"strategies": strategies, "decision": "Count.", "ask": ""}
    doctor = Doctor(weighed, plan(step("s1", "count", **AUGUST)), planner=Tree())
    await doctor.reply("How many days?")
    assert doctor.calls[1].case["decision"] == "Count."
    assert len(doctor.found) == 1


async def test_prose_instead_of_a_plan_fails_the_turn() -> None:
    """The filter sees a model that failed; no task runs."""
    doctor = Doctor(plan(step("s1", "count", **AUGUST)))

    async def ask(*_: Any, **__: Any) -> Any:
        raise AssistantFailed("unreadable")

    doctor._ask = ask  # type: ignore[method-assign]
    with pytest.raises(ModelError):
        await doctor.reply("How many days?")
    assert doctor.count.asked == []


async def test_sections_are_asked_for_and_cited() -> None:
    """A section that the proxy knows and has not given is requested first; then it is cited."""
    catalogue = "# Catalogue\nsleep-need: Sleep need. How much."
    doctor = Doctor(plan(step("s1", "reading")))
    first = await doctor.reply("How much sleep?", system=catalogue)
    assert first.requested_section == "sleep-need"
    given = f'{catalogue}\n<source id="sleep-need" title="Sleep need">\nAdults need 7 hours.\n</source>'
    second = await doctor.reply("How much sleep?", system=given)
    assert second.citations[0] == "sleep-need"
    assert [one.role for one in doctor.calls] == ["planner", "writer"]


async def test_what_was_run_is_not_told_to_a_user_who_may_no_longer_see_it(tmp_path: Path) -> None:
    """Access and consent count for follow-ups as well."""
    path = tmp_path / "runs.db"
    doctor = Doctor(plan(step("s1", "count", **AUGUST)), memory=path)
    await doctor.reply("How many days?")
    doctor.memory.store.close()
    later = Doctor(plan(), plan(), memory=path, subjects={"key-1": ["ben"]})
    await later.reply("How many days?", "31.", "What was it again?")
    assert later.found == later.found_earlier == []
    await later.reply("How many days?")
    assert later.found == []


async def test_a_comparison_has_both_periods() -> None:
    """Those of now and those of earlier messages, apart."""
    doctor = Doctor(plan(step("s1", "count", **AUGUST)), plan(step("s1", "count", **JULY)))
    await doctor.reply("How many days in August?")
    reply = await doctor.reply("How many days in August?", "31.", "Compare with July")
    assert [one["figures"] for one in doctor.found] == [["value: 30.0 min"]]
    assert [one["figures"] for one in doctor.found_earlier] == [["value: 31.0 min"]]
    assert "31.0" in reply.documents[0].text


async def test_a_plan_that_stays_wrong_leaves_no_figures_of_another_question() -> None:
    """The writer gets what is of earlier messages under another name."""
    doctor = Doctor(plan(step("s1", "count", **AUGUST)), *[plan(step("s1", "run_code"))] * 3)
    await doctor.reply("How many days in August?")
    await doctor.reply("How many days in August?", "31.", "And in July?")
    assert doctor.found == []


async def test_a_question_back_keeps_the_conversation() -> None:
    """What was run before it is known after it."""
    doctor = Doctor(plan(step("s1", "count", **AUGUST)), plan(ask="Which month?"), plan())
    await doctor.reply("How many days in August?")
    await doctor.reply("How many days in August?", "31.", "And the other one?")
    await doctor.reply("How many days in August?", "31.", "And the other one?", "Which month?", "Never mind")
    assert len(doctor.found_earlier) == 1


async def test_equal_steps_at_once_run_once() -> None:
    """Also of different turns."""
    doctor = Doctor(*[plan(step("s1", "count", **AUGUST))] * 3)
    await asyncio.gather(*(doctor.reply(f"How many days? {n}") for n in range(3)))
    assert len(doctor.count.asked) == 1


@pytest.mark.parametrize("fault", ["read-only", "other version"])
async def test_a_memory_that_fails_costs_the_memory_not_the_turn(tmp_path: Path, fault: str) -> None:
    """It is logged."""
    doctor = Doctor(*[plan(step("s1", "count", **AUGUST))] * 2, memory=tmp_path / "runs.db")
    await doctor.reply("How many days?")
    if fault == "read-only":
        doctor.memory.store._connection.execute("PRAGMA query_only = 1")
    else:
        doctor.memory.store._connection.execute('UPDATE messages SET body = \'[{"task": "count"}]\'')
    assert (await doctor.reply("How many days? Again")).text == "Written."


async def test_a_number_that_the_user_wrote_may_be_used() -> None:
    """With a decimal comma, too."""
    doctor = Doctor(plan(step("s1", "plus", value=41.5)))
    await doctor.reply("Is 41,5 enough?")
    assert doctor.found[0]["figures"] == ["value: 42.5 min"]


async def test_consent_counts_for_what_was_computed_from_the_data() -> None:
    """A step that reads nothing itself rests on the step that it refers to."""
    steps = [step("s1", "count", **AUGUST), step("s2", "twice", value="$s1.value")]
    doctor = Doctor(plan(*steps), plan(), consent={"anna": {"sleep": date.max}})
    await doctor.reply("How many days?")
    assert len(doctor.found) == 2
    doctor.access.consent["anna"].clear()  # type: ignore[attr-defined]
    await doctor.reply("How many days?", "62.", "What was it again?")
    assert doctor.found_earlier == []

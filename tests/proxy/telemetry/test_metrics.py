"""The metrics tell the truth."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from judges.rules import RULES
from models.usage import Call, Ledger, Usage
from proxy.api.service import SERVICE
from proxy.app import create_app
from proxy.telemetry.metrics import Metrics
from proxy.telemetry.worker_metrics import IN_MEMORY, forget_worker, shared_folder
from tests.proxy.conftest import (
    ADVICE,
    ASKED,
    NO_PROBLEMS,
    NUDGE,
    SLEEP,
    Body,
    Proxy,
    Start,
    bot_settings,
    claims,
    dialogue,
    judge_with,
    screening,
    text_of,
)

ROOT = Path(__file__).parents[3]


async def shown(proxy: Proxy, name: str) -> dict[str, float]:
    """Return the samples of a metric by their labels' values."""
    text = (await proxy.get("/metrics"))[1]
    found = re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", text, re.MULTILINE)
    return {",".join(re.findall(r'="([^"]*)"', labels)): float(value) for labels, value in found}


async def counted(proxy: Proxy, name: str) -> dict[str, float]:
    """Return the samples of a counter that are not 0."""
    return {labels: value for labels, value in (await shown(proxy, name)).items() if value}


async def test_outcomes_are_counted_as_they_were(start: Start) -> None:
    """Each turn once, under what it came to."""
    proxy = await start()
    proxy.upstream.answer = lambda body: SLEEP
    await proxy.say(ASKED)
    await proxy.say("I am going to end my life tonight")
    await proxy.say(ASKED, headers={"X-CAF-Filter": "off"})
    proxy.upstream.answer = lambda body: ADVICE
    await proxy.say(NUDGE)
    await proxy.say(NUDGE)
    proxy.upstream.answer = lambda body: web.json_response({}, status=500)
    await proxy.error({"model": "bot", "messages": dialogue("Hi")})
    await proxy.error({"model": "bot"})
    assert await counted(proxy, "caf_turns_total") == {
        "bot,accepted": 1, "bot,emergency": 1, "bot,unfiltered": 1, "bot,refined": 2, "bot,error": 1
    }  # fmt: skip
    assert await counted(proxy, "caf_turn_seconds_count") == {"bot": 6}
    requests = await counted(proxy, "caf_requests_total")
    assert requests["/v1/chat/completions,200"] == 5
    assert requests["/v1/chat/completions,502"] == 1
    assert requests["/v1/chat/completions,400"] == 1


async def test_verdicts_are_those_in_the_caf_object(start: Start) -> None:
    """What was told to the client and what was counted agree, stage by stage."""
    proxy = await start()
    proxy.upstream.answer = lambda body: ADVICE
    body = await proxy.say(NUDGE)
    told: dict[str, float] = {}
    for judge in body["caf"]["judges"]:
        key = f"{judge['name']},{judge['stage']},{judge['verdict']}"
        told[key] = told.get(key, 0) + 1
    assert await counted(proxy, "caf_verdicts_total") == told
    assert any(key.endswith("reject") for key in told)


async def test_unjudged_is_counted_and_is_no_acceptance(start: Start) -> None:
    """A judge that said nothing readable has a verdict of its own in the counts."""
    proxy = await start(judges=[{"name": "role", "stages": ["swift"], "on_error": "open"}])
    proxy.upstream.answer = lambda body: "well" if body["model"] == "up-swift" else "[[cite: no_claims]]\nHello."
    await proxy.say("Hi")
    assert await counted(proxy, "caf_verdicts_total") == {"role,swift,unjudged": 1}
    assert await counted(proxy, "caf_turns_total") == {"bot,unjudged": 1}


async def test_emergency_judge_that_cannot_read_is_in_the_log_line(start: Start) -> None:
    """The canonical line counts every unjudged verdict, also of the judge of the user's message."""
    import structlog

    proxy = await start(judges=judge_with("local"))
    with structlog.testing.capture_logs() as logs:
        await proxy.say("Hva er schizofreni? " * 3 + "わたしは ねむれません。")
    verdicts = await counted(proxy, "caf_verdicts_total")
    unjudged = sum(value for key, value in verdicts.items() if key.endswith("unjudged"))
    assert [line["unjudged"] for line in logs] == [unjudged]


async def test_calls_tokens_and_ways_of_recognition_add_up(start: Start) -> None:
    """By alias, and failed calls by their error."""
    proxy = await start(judges=[{"name": "role", "stages": ["swift"]}], alias={"price": {"input": 1, "output": 2}})
    proxy.upstream.answer = lambda body: NO_PROBLEMS if body["model"] == "up-swift" else "[[cite: no_claims]]\nHello."
    reply = text_of(await proxy.say("Hi"))
    await proxy.say("Hi", reply, "And?")
    await proxy.say("x", "never said", "And?")
    await proxy.say("And?", headers={"X-Conversation-Id": "c"})
    await proxy.say("And?", headers={"X-Conversation-Id": "c"})
    proxy.upstream.answer = lambda body: web.json_response({}, status=429)
    await proxy.error({"model": "bot", "messages": dialogue("Hi")})
    assert await counted(proxy, "caf_model_calls_total") == {",chatbot": 5, ",swift": 5, "UpstreamBusy,chatbot": 1}
    tokens = await counted(proxy, "caf_tokens_total")
    assert (tokens["prompt,chatbot,draft"], tokens["completion,swift,reply.swift"]) == (50, 25)
    assert round((await counted(proxy, "caf_cost_total"))["chatbot,draft"] * 1e6) == 5 * (10 + 10)
    assert await counted(proxy, "caf_conversations_total") == {"fresh": 3, "history": 1, "missed": 1, "explicit": 1}


async def test_made_up_section_ids_are_counted(start: Start) -> None:
    """A selection model that invents ids is seen in the metrics."""
    proxy = await start(retrieval={"selector": "retriever"})
    picks = '{"parts": [{"part": "x", "ids": ["sleep", "nap", "doze"]}], "reason": "r"}'
    proxy.upstream.answer = lambda body: picks if body["model"] == "up-retriever" else SLEEP
    await proxy.say(ASKED)
    assert await counted(proxy, "caf_invalid_source_ids_total") == {"": 2}


async def test_a_configuration_that_is_refused_late_shows_nothing_of_its_own(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers stay those of what serves on."""

    def unusable(*_: Any) -> Any:
        raise OSError("no such folder")

    proxy = await start()
    service = proxy.app[SERVICE]
    shown: list[Any] = []
    monkeypatch.setattr(service.metrics, "follow_bulkheads", shown.append)
    monkeypatch.setattr("proxy.app.open_audit_log", unusable)
    refused = create_app(service.config, after=proxy.app)
    with pytest.raises(OSError, match="no such folder"):
        await web.AppRunner(refused).setup()
    assert not shown
    service.traces.dropped = 3
    assert await counted(proxy, "caf_traces_dropped") == {"": 3}


async def test_unknown_paths_do_not_make_labels(start: Start) -> None:
    """A scanner must not fill the metrics with paths."""
    proxy = await start()
    for path in ("/a", "/b", "/c/d"):
        await proxy.get(path)
    requests = await counted(proxy, "caf_requests_total")
    assert requests["unknown,404"] == 3
    assert not [key for key in requests if key.startswith(("/a", "/b", "/c"))]


async def test_metrics_hold_no_word_of_the_conversation(start: Start) -> None:
    """Labels are names of ours."""
    proxy = await start()
    await proxy.say("WORDOFUSER", user="WORDOFUSER", headers={"X-Conversation-Id": "WORDOFUSER"})
    await proxy.error({"model": "WORDOFUSER", "messages": dialogue("Hi")})
    assert "WORDOFUSER" not in (await proxy.get("/metrics"))[1]


def test_each_app_has_its_own_counts() -> None:
    """Two proxies in one process do not share a registry."""
    one, other = Metrics(), Metrics()
    one.requests.labels("/", 200).inc()
    assert b'caf_requests_total{route="/",status="200"} 1.0' in one.text()
    assert b"caf_requests_total{" not in other.text()


async def test_escalations_count_what_an_earlier_stage_handed_on(start: Start) -> None:
    """The stage that comes first was handed nothing; what one judge flags, the chief reads for all of them."""
    answers = {"up-swift": screening(("beyond", "Hello", 3)), "up-chief": claims(played=[])}
    proxy = await start(judges=[{"name": "role", "stages": ["local", "swift", "chief"]}, {"name": "transparency"}])
    proxy.upstream.answer = lambda body: answers.get(body["model"], "[[cite: no_claims]]\nHello.")
    await proxy.say("Hi")
    verdicts = await counted(proxy, "caf_verdicts_total")
    assert verdicts["transparency,swift,reject"] == 1
    assert await counted(proxy, "caf_escalations_total") == {"role,swift": 1, "role,chief": 1, "transparency,chief": 1}


async def test_steps_calls_and_judges_are_timed(start: Start) -> None:
    """Where a slow turn spends its time is seen, also when a rejected draft is rewritten."""
    proxy = await start(refiner="refiner", retrieval={"selector": "retriever"})
    answers = {
        "up-retriever": '{"parts": [], "reason": "r"}',
        "up-refiner": "[[cite: no_claims]]\nPlease ask your doctor.",
    }
    proxy.upstream.answer = lambda body: answers.get(body["model"], ADVICE)
    await proxy.say(NUDGE)
    steps = await counted(proxy, "caf_step_seconds_count")
    assert {step: steps[step] for step in ("select", "draft", "judge", "refine", "remember")} == {
        "select": 1, "draft": 1, "judge": 2, "refine": 1, "remember": 1
    }  # fmt: skip
    assert steps["emergency.local"] == 1
    assert steps["role.local"] == 2
    calls = await counted(proxy, "caf_model_call_seconds_count")
    assert calls == {"chatbot": 1, "retriever": 1, "refiner": 1}


async def test_emergencies_are_counted_by_their_kind(start: Start) -> None:
    """Whoever is on duty wants an alarm for these."""
    proxy = await start()
    await proxy.say("I am going to end my life tonight")
    await proxy.say("Hi")
    assert await counted(proxy, "caf_emergencies_total") == {"bot,self_harm": 1}


async def test_what_turns_may_come_to_is_shown_before_it_happens(start: Start) -> None:
    """An alarm asks for an increase, and there is none in a series that begins with its first emergency."""
    judges = [{"name": "emergency", "stages": ["local"]}, {"name": "role", "stages": ["local", "swift"]}]
    forwarded = {"kind": "passthrough", "model": "chatbot"}
    proxy = await start(chatbots={"bot": bot_settings(judges=judges), "plain": forwarded})
    kinds = ("self_harm", "harm_to_others", "psychosis", "disorientation", "medical", "unknown")
    assert await shown(proxy, "caf_emergencies_total") == {f"bot,{kind}": 0 for kind in kinds}
    outcomes = ("emergency", "fallback", "unjudged", "refined", "warned", "accepted", "unfiltered", "error")
    assert await shown(proxy, "caf_turns_total") == {f"bot,{outcome}": 0 for outcome in outcomes}
    stages = ("emergency,local", "role,local", "role,swift")
    verdicts = ("accept", "warn", "reject", "unjudged")
    assert await shown(proxy, "caf_verdicts_total") == {f"{s},{v}": 0 for s in stages for v in verdicts}
    await proxy.say("I am going to end my life tonight")
    assert (await shown(proxy, "caf_emergencies_total"))["bot,self_harm"] == 1


async def test_a_new_configuration_shows_its_own_before_it_happens(start: Start) -> None:
    """What was counted before goes on from where it was."""
    proxy = await start(judges=judge_with("local"))
    await proxy.say("I am going to end my life tonight")
    config = proxy.app[SERVICE].config
    bot = config.chatbots["bot"]
    changed = config.model_copy(
        update={"chatbots": {"bot": bot, "other": bot, "calm": bot.model_copy(update={"judges": []})}}
    )
    runner = web.AppRunner(create_app(changed, after=proxy.app))
    await runner.setup()
    try:
        emergencies = await shown(proxy, "caf_emergencies_total")
        turns = await shown(proxy, "caf_turns_total")
    finally:
        await runner.cleanup()
    assert (emergencies["bot,self_harm"], emergencies["other,self_harm"]) == (1, 0)
    assert not [labels for labels in emergencies if labels.startswith("calm")]
    assert (turns["bot,emergency"], turns["calm,unjudged"]) == (1, 0)


async def test_warnings_are_counted_as_they_arise_and_as_they_live(start: Start) -> None:
    """A warning that arose in one turn is carried by the next."""
    proxy = await start()
    proxy.upstream.answer = lambda body: ADVICE
    reply = text_of(await proxy.say(NUDGE))
    arose = await counted(proxy, "caf_warnings_added_total")
    assert await counted(proxy, "caf_warnings_live_total") == {}
    await proxy.say(NUDGE, reply, "And?")
    assert set(arose) <= {f"bot,{rule}" for rule in RULES}
    assert await counted(proxy, "caf_warnings_live_total") == {"bot": sum(arose.values())}


async def test_forwarded_requests_are_counted_with_their_errors(start: Start) -> None:
    """Nobody judges these, but they cost tokens, and their upstream fails like others."""
    proxy = await start(chatbots={"bot": {"kind": "passthrough", "model": "chatbot"}})
    await proxy.say("Hi")
    proxy.upstream.answer = lambda body: web.json_response({}, status=503)
    await proxy.post({"model": "bot", "messages": dialogue("Hi")})
    proxy.upstream.answer = lambda body: web.json_response({}, status=401)
    await proxy.error({"model": "bot", "messages": dialogue("Hi")})
    assert await counted(proxy, "caf_turns_total") == {}
    calls = await counted(proxy, "caf_model_calls_total")
    assert calls == {",chatbot": 1, "UpstreamUnavailable,chatbot": 1, "UpstreamRefused,chatbot": 1}
    assert (await counted(proxy, "caf_tokens_total"))["prompt,chatbot,forward"] > 0


async def test_queue_and_circuit_breaker_are_shown(start: Start) -> None:
    """An overloaded or broken upstream is seen before its users tell of it."""
    proxy = await start(alias={"max_concurrent": 1, "queue": 1, "breaker": {"failures": 1, "open_s": 60}})
    held = asyncio.Event()

    async def hang(body: Body) -> str:
        await held.wait()
        return "[[cite: no_claims]]\nHello."

    proxy.upstream.answer = hang
    waiting = [asyncio.create_task(proxy.say("Hi")) for _ in range(2)]
    while (await shown(proxy, "caf_model_queue"))["chatbot"] < 1:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    assert (await counted(proxy, "caf_model_running"))["chatbot"] == 1
    await proxy.error({"model": "bot", "messages": dialogue("Hi")})
    assert (await counted(proxy, "caf_model_queue_refused"))["chatbot"] == 1
    held.set()
    await asyncio.gather(*waiting)
    assert (await shown(proxy, "caf_model_queue"))["chatbot"] == 0
    proxy.upstream.answer = lambda body: web.json_response({}, status=500)
    for _ in range(2):
        await proxy.error({"model": "bot", "messages": dialogue("Hi")})
    assert (await counted(proxy, "caf_circuit_open"))["chatbot"] == 1
    assert (await counted(proxy, "caf_circuit_refused"))["chatbot"] >= 1


COUNTING = """
from pathlib import Path
from proxy.app import assemble
from proxy.config.config import parse_config
from proxy.telemetry.metrics import Metrics
from types import SimpleNamespace

bulkhead = SimpleNamespace(running=1, waiting=0, refused_calls=0, breaker=None)
bot = {"model": "m", "role": "x", "refiner": "local", "emergency": {"contact": "Call 112."}}
bot["judges"] = [{"name": "emergency", "stages": ["local"]}]
config = {"models": {"m": {"engine": "embedded"}}, "chatbots": {"bot": bot}}
metrics = Metrics()
metrics.expect(assemble(parse_config(config, Path("config.yaml"))).values())
metrics.turns.labels("bot", "accepted").inc(2)
metrics.traces_dropped.follow(lambda: 3)
metrics.follow_bulkheads({"chatbot": bulkhead})
metrics.refresh()
"""


@pytest.mark.skipif(not os.access(IN_MEMORY, os.W_OK), reason="this system has no such place")
def test_workers_need_no_disk_to_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes into a mapped file on a full disk is killed. A folder that somebody names is theirs to choose."""
    with shared_folder() as folder:
        assert folder.parent == IN_MEMORY
    assert not folder.exists()
    monkeypatch.setattr("proxy.telemetry.worker_metrics.IN_MEMORY", IN_MEMORY / "nowhere")
    with shared_folder() as folder:
        assert folder.parent != IN_MEMORY
        assert folder.is_dir()


def test_processes_count_together() -> None:
    """Whichever worker is asked tells of all; one that has ended has nothing under way, and is still counted."""
    with shared_folder() as folder:
        (folder / "counter_1.db").write_bytes(b"left over")
        with shared_folder():
            assert not list(folder.glob("*.db"))

        def run(code: str) -> tuple[int, str]:
            process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
            said = process.communicate(timeout=60)[0]
            assert process.returncode == 0
            return process.pid, said

        one, _ = run(COUNTING)
        run(COUNTING)
        forget_worker(one)
        text = run("from proxy.telemetry.metrics import Metrics; print(Metrics().text().decode())")[1]
    assert 'caf_turns_total{chatbot="bot",outcome="accepted"} 4.0' in text
    assert 'caf_emergencies_total{chatbot="bot",kind="self_harm"} 0.0' in text
    assert "caf_traces_dropped 6.0" in text
    assert 'caf_model_running{model="chatbot"} 1.0' in text
    assert not folder.exists()


async def test_a_number_that_cannot_be_counted_costs_none_beside_it() -> None:
    """An upstream may say anything; the calls before and after it are counted, and no reply fails."""
    metrics = Metrics()
    for tokens in (1, 10**400, 2):
        ledger = Ledger()
        ledger.add(Call("chatbot", "model", 0.0, Usage(tokens, 0), None, None))
        metrics.count_forwarded(ledger)
    assert 'caf_tokens_total{kind="prompt",model="model",step="chatbot"} 3.0' in metrics.text().decode()

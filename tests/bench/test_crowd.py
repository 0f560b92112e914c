"""The crowd: a small one through real processes, and what it would notice."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from bench import crowd
from bench.crowd import DRAFT, GUEST, NAME, Guest, join_chunks, name
from proxy.api.stream import events
from tests.redis_server import INSTALLED

ROOT = Path(__file__).resolve().parents[2]
PLOT = ((f"{GUEST} here. How?", "draft one"), (f"{GUEST} here. Why?", "draft two"))


@pytest.mark.skipif(not INSTALLED, reason="needs redis-server: apt-get install redis-server")
def test_a_small_crowd_gets_what_is_its_own_and_the_books_agree(tmp_path: Path) -> None:
    """Sixty conversations through two workers: no error, no cross-talk; metrics, traces and budgets add up."""
    out = tmp_path / "crowd.json"
    options = ["--conversations", "60", "--turns", "3", "--at-once", "16", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.crowd", *options], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(out.read_text())
    assert (figures["conversations"], figures["turns"]) == (60, 180)
    assert not any(figures[bar.figure] for bar in crowd.BARS if bar.figure != "rss_growth")
    assert figures["outcome_refined"] > 0 < figures["outcome_emergency"]
    assert figures["rss_after_mb"] > 0 < figures["p99_ms"]


def reply(text: str, conversation: str = "c1", prompt: str = "p1") -> dict[str, Any]:
    caf = {
        "conversation_id": conversation,
        "outcome": "accepted",
        "citations": [],
        "warnings": [],
        "judges": [],
        "calls": 1,
    }
    return {
        "id": "x", "object": "chat.completion", "created": 1, "model": "crowd", "system_fingerprint": prompt,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 50}, "caf": caf,
    }  # fmt: skip


def after(number: int, *replies: dict[str, Any], trial: Guest | None = None) -> Guest:
    """Return a guest who got these replies."""
    guest = Guest(name(number), "key", "user", PLOT)
    for one in replies:
        guest.check(one, trial)
    return guest


@pytest.mark.parametrize(
    ("second", "what"),
    [
        (reply(f"Hello {name(1)}"), ""),
        (reply(f"Hello {name(2)}"), "names"),
        (reply("Hello"), "content"),
        (reply(f"Hello {name(1)}", conversation="c2"), "is of another conversation"),
        (reply(f"Hello {name(1)}", prompt="p2"), "prompt"),
    ],
    ids=["its own", "another's name", "another text", "another conversation", "another's warning in the prompt"],
)
def test_what_is_another_conversations_is_noticed(second: dict[str, Any], what: str) -> None:
    """A name, a text, a conversation id, or anything that the model was shown."""
    trial = after(7, *[reply(f"Hello {name(7)}")] * 2)
    leaks = after(1, reply(f"Hello {name(1)}"), second, trial=trial).leaks
    assert what in " ".join(leaks)
    assert bool(leaks) == bool(what)


def test_a_stream_says_what_the_whole_says() -> None:
    """Put together from its chunks it is the same to a guest; one without its end is a fault."""
    whole = reply("Hello there, this is a rather long reply, of more than one chunk, as you can see.")
    streamed = b"".join(events(whole, include_usage=True)).decode()
    assert after(1, whole).replies == after(1, join_chunks(streamed)).replies
    with pytest.raises(ValueError, match="ends with"):
        join_chunks(streamed.removesuffix("data: [DONE]\n\n"))


def test_names_differ_and_are_found() -> None:
    """Every guest has one, as long as any other."""
    names = {name(n) for n in range(0, 1_000_000, 997)}
    assert len(names) == 1004
    assert all(NAME.fullmatch(one) for one in names)


def test_plots_hold_their_guest_everywhere_and_differ() -> None:
    """Each message and each draft names the guest; some drift, some tell of an emergency."""
    written = crowd.write_plots(4, 8)
    assert len(set(written)) == 8
    assert all(GUEST in question and GUEST in draft for plot in written for question, draft in plot)
    assert sum("kill myself" in question for plot in written for question, _ in plot) == 2


def test_twins_say_the_same_under_another_key_or_another_user() -> None:
    """One of five conversations is the double of the one before it."""
    guests = list(crowd.make_guests(20, ["a", "b", "c"], [PLOT]))
    twins = [(one, two) for one, two in pairwise(guests) if one.name == two.name]
    assert len(twins) == 4
    assert {(one.key != two.key, one.user != two.user) for one, two in twins} == {(True, False), (False, True)}


def test_a_missed_bar_is_named_and_a_short_run_has_none_for_memory() -> None:
    """Zero of each kind of fault is right, and nothing else."""
    good = {bar.figure: 0.0 for bar in crowd.BARS} | {"turns": 10.0}
    assert crowd.missed_targets(good | {"rss_growth": 0.5}) == []
    assert "memory" in crowd.missed_targets(good | {"rss_growth": 0.5, "turns": 8_000})[0]
    assert "did not belong: 1" in crowd.missed_targets(good | {"cross_talk": 1})[0]


def test_metrics_that_do_not_add_up_are_named() -> None:
    """One turn more than the clients have had, and it says which number is off."""
    metrics = """
        caf_requests_total{route="/v1/chat/completions",status="200"} 1
        caf_turns_total{chatbot="crowd",outcome="accepted"} 1
        caf_conversations_total{memory="fresh"} 1
        caf_model_calls_total{error="",model="mock"} 1
        caf_cost_total{model="mock",step="draft"} 0.0006
    """.replace("        ", "")
    guests = [after(1, reply("x"))]
    assert crowd.wrong_metrics(metrics, guests) == []
    more = metrics + 'caf_turns_total{chatbot="crowd",outcome="fallback"} 1\n'
    assert crowd.wrong_metrics(more, guests) == ["turns: the metrics say 2, the clients 1"]


async def test_the_upstream_tells_what_it_was_shown_whoever_the_guest_is() -> None:
    """Two guests of one plot get the same hash, and another one as soon as a warning is between their messages."""
    app, said = web.Application(), {}
    app.router.add_post("/", crowd.answer_as_model)
    async with TestServer(app) as server, ClientSession() as session:
        for who, extra in ((1, []), (2, []), (3, [{"role": "system", "content": "You were warned."}])):
            messages = [{"role": "user", "content": f"{name(who)} here."}, *extra]
            body = {"model": "m", "messages": messages, DRAFT: f"Hello {GUEST}."}
            async with session.post(server.make_url("/"), json=body) as response:
                said[who] = await response.json()
    assert said[1]["choices"][0]["message"]["content"] == f"Hello {name(1)}."
    assert said[1]["system_fingerprint"] == said[2]["system_fingerprint"] != said[3]["system_fingerprint"]

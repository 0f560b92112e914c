"""The crowd: a small one through real processes, and what it would notice."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from bench.crowd import bars, books
from bench.crowd.bars import Sample
from bench.crowd.guest import Guest, Told, put_together
from bench.crowd.plot import DRAFT, GUEST, NAME, Turn, name, plots, twin
from bench.crowd.upstream import Upstream
from bench.script import Exchange
from proxy.api.stream import events
from tests.redis_server import INSTALLED

ROOT = Path(__file__).resolve().parents[2]
PLOT = (Turn(f"{GUEST} here. How?", "draft one"), Turn(f"{GUEST} here. Why?", "draft two"))
TALK = [Exchange(f"question {n}?", "stress", f"Stress comes and goes, {n}. Sleep helps with it.") for n in range(8)]


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
    assert not any(figures[bar.figure] for bar in bars.BARS if bar.figure != "rss_growth")
    assert figures["outcome_refined"] > 0 < figures["outcome_emergency"]
    assert figures["rss_worker_mb"] > 0 < figures["p99_ms"]


def answer(text: str, conversation: str = "c1", prompt: str = "p1") -> dict[str, Any]:
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
        "usage": {"prompt_tokens": 10, "completion_tokens": 5}, "caf": caf,
    }  # fmt: skip


def guest(number: int = 1) -> Guest:
    return Guest(name(number), "key", "user", PLOT)


def looked(second: dict[str, Any]) -> list[str]:
    """Return what a guest finds strange of a second reply that the trial knows as `Hello @@`."""
    trial = guest()
    trial._look(0, first := answer(f"Hello {trial.name}"), first["choices"][0]["message"]["content"], None)
    one = guest()
    for n, reply in enumerate((first, second)):
        one._look(n, reply, reply["choices"][0]["message"]["content"], [*trial.told, *trial.told])
    return one.strange


def test_a_reply_that_belongs_is_not_strange() -> None:
    """Each in its own name: the trial's was another."""
    assert looked(answer(f"Hello {name(1)}")) == []


@pytest.mark.parametrize(
    ("second", "what"),
    [
        (answer(f"Hello {name(2)}"), "names"),
        (answer("Hello"), "content"),
        (answer(f"Hello {name(1)}", conversation="c2"), "is of the conversation c2"),
        (answer(f"Hello {name(1)}", prompt="p2"), "prompt"),
    ],
    ids=["another's name", "another text", "another conversation", "another's warning in the prompt"],
)
def test_what_is_another_conversations_is_noticed(second: dict[str, Any], what: str) -> None:
    """A name, a text, a conversation id, or anything that the model was shown."""
    assert what in " ".join(looked(second))


def test_a_stream_says_what_the_whole_says() -> None:
    """Put together from its chunks it is the same to a guest; one without its end is a fault."""
    whole = answer("Hello there, this is a rather long reply, of more than one chunk, as you can see.")
    streamed = b"".join(events(whole, include_usage=True))
    one, two = guest(), guest()
    for each, reply in ((one, whole), (two, put_together(streamed))):
        each._look(0, reply, reply["choices"][0]["message"]["content"], None)
    assert one.told == two.told
    with pytest.raises(ValueError, match="ends with"):
        put_together(streamed.removesuffix(b"data: [DONE]\n\n"))


def test_names_differ_and_are_found() -> None:
    """Every guest has one, as long as any other."""
    names = {name(n) for n in range(0, 1_000_000, 997)}
    assert len(names) == 1004
    assert all(NAME.fullmatch(one) for one in names)


def test_plots_hold_their_guest_everywhere_and_differ() -> None:
    """Each message and each draft names the guest; some drift, some tell of an emergency."""
    written = plots([TALK], 4, 8)
    assert len(set(written)) == 8
    assert all(GUEST in turn.question and GUEST in turn.draft for plot in written for turn in plot)
    assert sum("kill myself" in turn.question for plot in written for turn in plot) == 2


def test_a_twin_says_at_once_what_the_other_was_refined_to() -> None:
    """With the same citation, so that both are delivered the same."""
    plot = (Turn("q", "[[cite: stress]]\nWild talk."), PLOT[1])
    assert twin(plot, "Tame talk.") == (Turn("q", "[[cite: stress]]\nTame talk."), PLOT[1])


def test_growth_is_that_of_the_last_half() -> None:
    """What caches take at first is none; what grows on and on is."""
    warming = [Sample(n, {1: min(50 + n, 100)}) for n in range(0, 101, 10)]
    leaking = [Sample(n, {1: 100 + n}) for n in range(0, 101, 10)]
    assert bars.memory(warming)["rss_growth"] == 0
    assert bars.memory(leaking)["rss_growth"] == pytest.approx(200 / 150 - 1)


def test_a_missed_bar_is_named_and_a_short_run_has_none_for_memory() -> None:
    """Zero of each kind of fault is right, and nothing else."""
    good = {bar.figure: 0.0 for bar in bars.BARS} | {"turns": 10.0}
    assert bars.missed(good | {"rss_growth": 0.5}) == []
    assert "memory" in bars.missed(good | {"rss_growth": 0.5, "turns": 8_000})[0]
    assert "did not belong: 1" in bars.missed(good | {"cross_talk": 1})[0]


def test_metrics_that_do_not_add_up_are_named() -> None:
    """One turn more than the clients have had, and it says which number is off."""
    one = guest()
    one.told = [Told("x", "accepted", (), (), (), "p", 100, 50, 1)]
    counts = Counter({
        ("caf_requests_total", "route=/v1/chat/completions", "status=200"): 1,
        ("caf_turns_total", "chatbot=crowd", "outcome=accepted"): 1,
        ("caf_conversations_total", "memory=fresh"): 1,
        ("caf_model_calls_total", "error=", "model=mock"): 1,
        ("caf_tokens_total", "kind=prompt", "model=mock", "step=draft"): 100,
        ("caf_tokens_total", "kind=completion", "model=mock", "step=draft"): 50,
        ("caf_cost_total", "model=mock", "step=draft"): 0.0006,
    })  # fmt: skip
    assert books.metrics_off(counts, [one]) == []
    counts["caf_turns_total", "chatbot=crowd", "outcome=fallback"] += 1
    assert books.metrics_off(counts, [one]) == ["turns: the metrics say 2, the clients 1"]


async def test_the_upstream_tells_what_it_was_shown_whoever_the_guest_is() -> None:
    """Two guests of one plot get the same hash, and another one as soon as a warning is between their messages."""
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/chat/completions"
    said = {}
    async with aiohttp.ClientSession() as session:
        for who, extra in ((1, []), (2, []), (3, [{"role": "system", "content": "You were warned."}])):
            messages = [{"role": "user", "content": f"{name(who)} here."}, *extra]
            body = {"model": "m", "messages": messages, DRAFT: f"Hello {GUEST}."}
            async with session.post(url, data=orjson.dumps(body)) as response:
                said[who] = await response.json()
    server.close()
    assert said[1]["choices"][0]["message"]["content"] == f"Hello {name(1)}."
    assert said[1]["system_fingerprint"] == said[2]["system_fingerprint"] != said[3]["system_fingerprint"]

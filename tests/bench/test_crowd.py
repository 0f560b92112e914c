"""The crowd: a small one through real processes, and what it would notice."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from bench import crowd
from bench.guests import DRAFT, GUEST, name
from tests.bench.test_guests import after, reply
from tests.redis_server import INSTALLED

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not INSTALLED, reason="needs redis-server: apt-get install redis-server")
def test_a_small_crowd_gets_what_is_its_own_and_the_books_agree(tmp_path: Path) -> None:
    """Forty conversations through two workers: no error, no cross-talk; metrics, traces and budgets add up."""
    out = tmp_path / "crowd.json"
    options = ["--conversations", "40", "--turns", "3", "--at-once", "16", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.crowd", *options], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(out.read_text())
    assert (figures["conversations"], figures["turns"]) == (40, 120)
    assert not any(figures[bar.figure] for bar in crowd.BARS)
    assert figures["outcome_refined"] > 0 < figures["outcome_emergency"]
    assert figures["rss_after_mb"] > 0 < figures["p99_ms"]


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
    assert crowd.wrong_metrics(more, guests) == ["caf_turns_total: the proxy counts 2, the clients 1"]


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

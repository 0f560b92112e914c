"""Replies of a comparison set side by side, and what one needs estimated."""

import json

import pytest

from proxy.config.blueprint import assemble
from proxy.config.config import Config, parse_config
from scenarios.checkpoint import Message
from scenarios.own_questions import Expect, OwnQuestion
from scoring.experiments.estimate import estimate
from scoring.experiments.side_by_side import Pair, check, render_report, summarise
from scoring.transcript import QUESTIONS, Attempt, Exchange, Place
from tests.cli.conftest import ROOT, shipped_config

MANIFEST = {"comparison": "mine", "chatbot": "info", "created": "2030-01-01T00:00:00+00:00"}
REJECTED = "Take 40 mg of zinc each morning."
ASKED = Message(role="user", content="Why?")


def exchange(arm: str, reply: str, **more: object) -> Exchange:
    place = Place(arm=arm, facilitator=QUESTIONS, checkpoint="q", sample=0, turn=1)
    return Exchange.model_validate({"place": place, "user_message": "Why?", "reply": reply, **more})


def test_rejected_drafts_are_in_no_output() -> None:
    """The journal has them; the results and the report do not."""
    on = exchange(
        "on", "Ask your doctor.", outcome="refined", attempts=(Attempt(kind="draft", text=REJECTED),), cost=0.5, calls=4
    )
    off = exchange("off", "Ask anybody.", cost=0.25, calls=1)
    pairs = [Pair(OwnQuestion(id="q", messages=(ASKED,)), on, off)]
    results = summarise(MANIFEST, pairs)
    page = render_report(results, pairs)
    assert "zinc" not in page + json.dumps(results)
    assert "Ask<del> anybody.</del><ins> your doctor.</ins>" in page
    assert results["summary"]["arms"]["on"] == {"calls": 4, "tokens": 0, "cost": 0.5}
    assert results["results"][0]["words"] == {"added": 2, "removed": 1}


def test_a_missing_reply_is_an_error_and_fails_every_expectation() -> None:
    """Neither an error nor a question that was not asked counts as a pass, even of `not_contains`."""
    expect = Expect.model_validate({"not_contains": "zinc"})
    failed = exchange("on", "", outcome="error", error="HTTP 502: gone")
    pair = Pair(OwnQuestion(id="q", messages=(ASKED,), expect=expect), failed, None)
    assert pair.errors == {"on": "HTTP 502: gone", "off": "not asked yet"}
    assert pair.status == "error"
    assert [one.got for one in pair.failures] == ["no reply"]
    assert check(expect, None) == pair.failures
    assert check(expect, exchange("on", "A text.")) == []


def test_directions_of_text_are_shown_by_name() -> None:
    """As in the console: a reply that is read as evidence hides nothing."""
    pairs = [Pair(OwnQuestion(id="q", messages=(ASKED,)), exchange("on", "a\u202eb"), exchange("off", "a\u202eb"))]
    assert "U+202E" in render_report(summarise(MANIFEST, pairs), pairs)


def models_config() -> Config:
    price = {"input": 1_000_000, "output": 0}
    alias = {"engine": "scripted", "script": ["x"], "price": price}
    data = shipped_config()
    data["models"] |= {
        "swift": alias,
        "chief": {**alias, "engine": "openai", "base_url": "http://x/v1", "script": None},
    }
    del data["models"]["chief"]["price"]
    judges = [{"name": name} for name in ("emergency", "source_fidelity", "transparency", "role")]
    data["chatbots"]["schizophrenia"] |= {"judges": judges, "refiner": "chief"}
    return parse_config(data, ROOT / "config.yaml")


@pytest.mark.parametrize(
    ("arm", "low", "high"),
    [
        ("off", 1, 1),  # the draft
        ("on", 3, 7),  # and the screens of message and reply; at most both chiefs, a rewrite, and the chief on it
    ],
)
def test_the_estimate_counts_the_calls_of_a_turn(arm: str, low: int, high: int) -> None:
    """From the first stages accepting everything to every stage flagging everything."""
    config = models_config()
    need = estimate(assemble(config)["schizophrenia"], config.models, [(arm, (ASKED,))] * 10)
    assert (need.calls.low, need.calls.high) == (10 * low, 10 * high)
    assert need.tokens.low <= need.tokens.high
    assert (need.cost.high > 0) == (arm == "on")  # the chatbot is the embedded one
    assert need.unpriced == (("chief",) if arm == "on" else ())


def test_the_estimate_grows_with_what_was_said() -> None:
    """The conversation goes into every call."""
    config = models_config()
    bot = assemble(config)["schizophrenia"]
    short, long = (
        estimate(bot, config.models, [("off", (Message(role="user", content="a" * n),))]) for n in (4, 4_004)
    )
    assert long.tokens.low - short.tokens.low == 1_000

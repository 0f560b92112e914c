"""An answer that does not end well is a failure: it is tried again, and then elsewhere."""

from typing import Any

import pytest

from tests.proxy.conftest import Start, Upstream
from tests.upstreams.conftest import BOTS, FORWARDED, Answer, Asking, chunk, completion, says, ways

HALF = "The reading room opens at"
WHOLE = "The reading room opens at nine."
FAILURE = {"code": 502, "message": "OWN-WORDS"}
GOOD = {
    "stop": "stop", "eos": "stop", "eos_token": "stop", "end_turn": "stop", "stop_sequence": "stop", "STOP": "stop",
    "length": "length", "max_tokens": "length", "model_length": "length", "MAX_TOKENS": "length",
    "content_filter": "content_filter", "SAFETY": "content_filter", "tool_calls": "stop", "function_call": "stop",
}  # fmt: skip
BAD = ("error", "abort", "insufficient_system_resource", "network_error", "unknown", "ERROR", "cancelled", 7, ["stop"])


def broken_events(*events: Any, whole: Any) -> Answer:
    return Answer(whole, [chunk({"content": HALF}), *events])


BROKEN = {
    **{f"finish {finish}": says(HALF, finish=finish) for finish in BAD},
    "error of a choice": broken_events(
        chunk({"content": ""}, "error", error=FAILURE), whole=completion({"content": HALF}, "error", error=FAILURE)
    ),
    "error of a choice that ended well": broken_events(
        chunk({}, "stop", error=FAILURE), whole=completion({"content": HALF}, error=FAILURE)
    ),
    "error": broken_events({"error": FAILURE}, whole={"error": FAILURE}),
    "error as a text": broken_events({"error": "OWN-WORDS"}, whole={"error": "OWN-WORDS"}),
    "error beside choices": broken_events(
        chunk({}, "stop") | {"error": FAILURE}, whole=completion({"content": HALF}) | {"error": FAILURE}
    ),
    "error object": broken_events(
        {"object": "error", "message": "OWN-WORDS", "code": 500},
        whole={"object": "error", "message": "OWN-WORDS", "code": 500},
    ),
    "FastChat": broken_events(
        {"text": "OWN-WORDS", "error_code": 50001}, whole={"text": "OWN-WORDS", "error_code": 50001}
    ),
    "detail": broken_events({"detail": "OWN-WORDS"}, whole={"detail": "OWN-WORDS"}),
    "text": broken_events(b"OWN-WORDS", whole=b"OWN-WORDS"),
    "list": broken_events([], whole=[]),
    "null": broken_events(b"null", whole=b"null"),
}


@ways
@pytest.mark.parametrize("broken", BROKEN)
async def test_a_broken_answer_is_no_reply(asking: Asking, bot: str, stream: bool, broken: str) -> None:
    """The client gets an error without the upstream's words."""
    asking.answers(BROKEN[broken])
    got = await asking.ask(bot, stream)
    assert got.failed
    assert b"OWN-WORDS" not in got.raw
    assert stream or HALF.encode() not in got.raw


@ways
@pytest.mark.parametrize("broken", ["finish error", "error object", "FastChat", "error of a choice"])
async def test_a_broken_answer_is_tried_again(
    start: Start, upstream: Upstream, bot: str, stream: bool, broken: str
) -> None:
    """As after an error event; tests/models/test_fallback.py has the aliases that are asked next."""
    asking = Asking(await start(chatbots=BOTS, alias={"max_attempts": 2}), upstream)
    failing = BROKEN[broken]
    failing = Answer(failing.whole, failing.events[1:])  # before a word was sent, which could not be taken back
    asking.answers(failing, says(WHOLE))
    got = await asking.ask(bot, stream)
    assert (got.text, got.finish, got.error) == (WHOLE, "stop", None)
    assert [body["model"] for body in upstream.requests] == ["up-chatbot", "up-chatbot"]


@ways
@pytest.mark.parametrize("finish", [*GOOD, None, ""])
async def test_a_good_ending_is_told_in_openais_words(asking: Asking, bot: str, stream: bool, finish: Any) -> None:
    """In whichever words the upstream said it. One that says nothing has ended, since its answer is whole."""
    asking.answers(says(HALF, " nine.", finish=finish))
    got = await asking.ask(bot, stream)
    assert (got.text, got.finish) == (WHOLE, GOOD.get(finish or "", "stop"))


@ways
async def test_events_without_choices_may_hold_usage(asking: Asking, bot: str, stream: bool) -> None:
    """Some servers send it in an event of its own, with an empty list of choices or none."""
    answer = says(WHOLE)
    answer.events += [{"usage": {"prompt_tokens": 1, "completion_tokens": 2}}, {"choices": [], "usage": None}]
    asking.answers(answer)
    assert (await asking.ask(bot, stream)).text == WHOLE


@ways
async def test_a_stream_without_its_end_is_no_reply(asking: Asking, bot: str, stream: bool) -> None:
    """It may have been cut anywhere."""
    answer = Answer(b'{"choices": [{"message": {"content": "The', [chunk({"content": HALF})], done=False)
    asking.answers(answer)
    assert (await asking.ask(bot, stream)).failed


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("broken", ["finish error", "error object", "FastChat"])
async def test_passthrough_relays_the_upstreams_ending(asking: Asking, stream: bool, broken: str) -> None:
    """Its client reads it."""
    asking.answers(BROKEN[broken])
    got = await asking.ask(FORWARDED, stream)
    assert b"OWN-WORDS" in got.raw or got.finish == "error"

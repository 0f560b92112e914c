"""The load and the mock upstream, against each other."""

import asyncio
from functools import partial

import orjson
import pytest

from bench.load import USER, Player, body_of, fault_of, play, request
from bench.upstream import PACED, Replies, Upstream, stream
from judges.observation import OBSERVATIONS

REPLIES = Replies(["first reply", "[[cite: a]]\nsecond reply"])


@pytest.fixture
async def upstream():
    server = await asyncio.get_running_loop().create_server(partial(Upstream, REPLIES), "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


def asked(address: str, seed: int, expect: bytes, model: str = "bench", **more: object):
    return request(address, {"model": model, "messages": [], "seed": seed, **more}, expect)


async def test_every_request_gets_the_reply_its_seed_names(upstream):
    """Conversations are played in order, over several connections, without a failure."""
    talk = [asked(upstream, 0, b"first reply"), asked(upstream, 1, b"second reply")]
    result = await play(upstream, [talk], connections=4, seconds=0.2)
    assert not result.failures
    assert len(result.latencies) > 20
    assert body_of(result.responses[0])["choices"][0]["message"]["content"] == "first reply"


async def test_a_wrong_reply_is_a_failure_and_no_latency(upstream):
    """What is fast and wrong must not count as fast."""
    result = await play(upstream, [[asked(upstream, 0, b"second reply")]], connections=1, seconds=0.05)
    assert not result.latencies
    assert result.failures.total() > 0


async def test_a_reworded_reply_is_never_the_same(upstream):
    """Else a cache of the proxy would know it."""
    one = [asked(upstream, 1, b"chatcmpl", model="bench-reworded")]
    replies = [await play(upstream, [one], connections=1, seconds=0.2) for _ in range(8)]
    texts = {body_of(result.responses[0])["choices"][0]["message"]["content"] for result in replies}
    assert len(texts) > 1
    assert not any("cite:" in text for text in texts)


async def test_streams_are_read_to_their_end(upstream):
    """At once, and paced: a stream of PACED tokens takes as long as it should."""
    fast = await play(upstream, [[asked(upstream, 0, b"[DONE]", stream=True)]], connections=2, seconds=0.1)
    slow = await play(
        upstream, [[asked(upstream, 0, b"[DONE]", model="x-paced", stream=True)]], connections=3, seconds=0.01
    )
    assert not fast.failures + slow.failures
    assert len(fast.latencies) > 10
    assert len(slow.latencies) == 3
    assert min(slow.latencies) > PACED * 0.005


async def test_late_models_answer_after_their_time_as_their_judge_would(upstream):
    """What a turn with model judges is timed with."""
    body = {"model": "late-30-flagging", "messages": []}
    result = await play(upstream, [[request(upstream, body, b"problems")]], connections=1, seconds=0.2)
    assert not result.failures
    assert min(result.latencies) > 0.03
    OBSERVATIONS["screening"].model_validate_json(body_of(result.responses[0])["choices"][0]["message"]["content"])


async def test_a_server_that_hangs_up_is_a_failure():
    """And the load goes on with a new connection."""

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    result = await play(address, [[asked(address, 0, b"")]], connections=1, seconds=0.1)
    server.close()
    assert result.failures["connection lost"] > 1


def test_a_status_other_than_200_is_a_fault():
    """So is a reply without the expected text, whatever its status."""
    assert fault_of(b"HTTP/1.1 200 OK\r\n\r\nhello", b"hello") == ""
    assert fault_of(b"HTTP/1.1 429 Too Many Requests\r\n\r\nhello", b"hello") == "status 429"
    assert "hello" in fault_of(b"HTTP/1.1 200 OK\r\n\r\nbye", b"hello")


def test_every_conversation_has_a_user_of_its_own():
    """Else one conversation's state would be another's."""
    one = request("http://127.0.0.1:1", {"model": "m"}, b"")
    raw = (one.before + b"user-0000001" + one.after).partition(b"\r\n\r\n")[2]
    assert orjson.loads(raw) == {"model": "m", "user": "user-0000001"}


def test_a_question_may_hold_the_name_of_its_user():
    """A conversation that is played again then asks something new."""
    one = request("http://127.0.0.1:1", {"messages": f"{USER.decode()} asks"}, b"")
    played = next(Player([[one]]).requests())[0].partition(b"\r\n\r\n")[2]
    body = orjson.loads(played)
    assert body["messages"] == f"{body['user']} asks"
    assert body["user"] != USER.decode()


def test_streamed_chunks_say_how_long_they_are():
    """Each begins with its size in hexadecimal digits, as HTTP/1.1 has it."""
    for chunk in stream("m", ["a", "b"])[1:]:
        size, _, rest = chunk.partition(b"\r\n")
        assert len(rest) == int(size, 16) + 2

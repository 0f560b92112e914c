"""Upstreams that refuse, hang, break off or talk nonsense, before a real process: one truth in reply, log and metrics."""

import asyncio
import gzip
import json
import socket
import sys
import zlib
from collections.abc import Iterator
from email.utils import formatdate

import pytest

from tests.faults.driver_config import CONTACT, guarded, lay_out, models
from tests.faults.driver_proxy import Proxy, memory_peak, running, until
from tests.faults.driver_upstream import (
    HELLO,
    OWN_WORDS,
    REJECTED,
    Act,
    Asked,
    Upstream,
    completion,
    hangs,
    head,
    says,
    verdict,
)  # fmt: skip

TEXT = HELLO.partition("\n")[2]
ANSWER = json.dumps(completion(HELLO)).encode()
EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"Good"}}]}\n\n'
OPEN = [{"name": "emergency", "stages": ["local"]}, {"prompts": ["tone.swift.md"], "on_error": "open"}]


@pytest.fixture(scope="module")
def proxy(bound: socket.socket, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """One for all tests; after them, log, traces and audit log have every request with one outcome, and it ends with 0."""
    folder = tmp_path_factory.mktemp("upstream")
    chatbots = {
        "bot": guarded(),
        "open": guarded(judges=OPEN),
        "hasty": guarded(model="hasty"),
        "hasty-judged": guarded(judges=[{"prompts": ["tone.swift.md"], "timeout_s": 0.3}]),
        "hasty-open": guarded(judges=[{"prompts": ["tone.swift.md"], "timeout_s": 0.3, "on_error": "open"}]),
        "patient": guarded(model="patient"),
        "plain": {"kind": "passthrough", "model": "forwarded"},
        "plain-hasty": {"kind": "passthrough", "model": "hasty"},
    }
    aliases = models(
        bound.getsockname()[1],
        forwarded={},
        hasty={"timeout_s": 0.4, "model": "up-chatbot"},
        patient={"max_attempts": 2},
    )
    lay_out(folder, {"models": aliases, "chatbots": chatbots})
    with running(folder) as one:
        yield one
        one.end()
        one.compare()


async def resets(asked: Asked) -> None:
    asked.reset()


async def closes(asked: Asked) -> None:
    pass


async def resets_within_the_headers(asked: Asked) -> None:
    await asked.raw(b"HTTP/1.1 200 OK\r\nContent-Ty")
    asked.reset()


async def resets_within_the_body(asked: Asked) -> None:
    await asked.raw(head(200, {"Content-Length": str(len(ANSWER))}) + ANSWER[:50])
    asked.reset()


async def ends_within_a_chunk(asked: Asked) -> None:
    await asked.raw(head(200, {"Transfer-Encoding": "chunked"}) + b"%x\r\n" % len(ANSWER) + ANSWER[:50])


async def hangs_within_the_body(asked: Asked) -> None:
    await asked.raw(head(200, {"Content-Length": str(len(ANSWER))}) + ANSWER[:50])
    await asked.hangs()


async def drips(asked: Asked) -> None:
    """Send a byte now and then, so that there is never a silence, until the proxy leaves."""
    await asked.raw(head(200, {"Content-Length": "100000"}))
    while not asked.reader.at_eof():
        await asked.raw(b" ")
        await asyncio.sleep(0.02)
    asked.left = True


def fails(status: int, data: object = OWN_WORDS, **headers: str) -> Act:
    return lambda asked: asked.json(data, status, **{name.replace("_", "-"): value for name, value in headers.items()})


def sends(raw: bytes, status: int = 200, **headers: str) -> Act:
    return lambda asked: asked.answer(raw, status, {name.replace("_", "-"): value for name, value in headers.items()})


def raw(data: bytes) -> Act:
    return lambda asked: asked.raw(data)


BUSY, DOWN, SLOW = (429, "upstream_busy"), (502, "upstream_error"), (504, "upstream_timeout")
FAILURES: dict[str, tuple[Act, tuple[int, str], str]] = {
    "429": (fails(429), BUSY, "UpstreamBusy"),
    "500": (fails(500), DOWN, "UpstreamUnavailable"),
    "503": (fails(503, Retry_After="1"), DOWN, "UpstreamUnavailable"),
    "401": (fails(401), DOWN, "UpstreamRefused"),
    "redirect": (fails(307, Location="http://127.0.0.1:1/"), DOWN, "UpstreamRefused"),
    "reset": (resets, DOWN, "UpstreamUnavailable"),
    "closed": (closes, DOWN, "UpstreamUnavailable"),
    "reset_in_headers": (resets_within_the_headers, DOWN, "UpstreamUnavailable"),
    "reset_in_body": (resets_within_the_body, DOWN, "UpstreamUnavailable"),
    "ends_in_a_chunk": (ends_within_a_chunk, DOWN, "UpstreamUnavailable"),
    "no_http": (raw(b"220 UPSTREAMS-OWN-WORDS ESMTP\r\n\r\n"), DOWN, "UpstreamUnavailable"),
    "length_too_great": (sends(ANSWER, Content_Length="99999"), DOWN, "UpstreamUnavailable"),
    "length_too_small": (raw(head(200, {"Content-Length": "50"}) + ANSWER), DOWN, "UpstreamUnavailable"),
    "length_twice": (raw(head(200, {"content-length": "5", "Content-Length": "7"}) + ANSWER), DOWN, "UpstreamUnavailable"),
    "length_nonsense": (raw(head(200, {"Content-Length": "-5"}) + ANSWER), DOWN, "UpstreamUnavailable"),
    "header_of_a_megabyte": (raw(head(200, {"X": "x" * 2**20})), DOWN, "UpstreamUnavailable"),
    "html": (sends(b"<h1>UPSTREAMS-OWN-WORDS</h1>", Content_Type="text/html"), DOWN, "UpstreamGarbled"),
    "nothing": (sends(b""), DOWN, "UpstreamGarbled"),
    "half_json": (sends(ANSWER[:-3]), DOWN, "UpstreamGarbled"),
    "no_object": (sends(b"[1]"), DOWN, "UpstreamGarbled"),
    "error_under_200": (fails(200), DOWN, "UpstreamUnavailable"),
    "no_choices": (sends(b"{}"), DOWN, "UpstreamGarbled"),
    "choices_of_null": (sends(b'{"choices":[null]}'), DOWN, "UpstreamGarbled"),
    "message_of_list": (sends(b'{"choices":[{"message":[]}]}'), DOWN, "UpstreamGarbled"),
    "content_of_number": (says(5), DOWN, "UpstreamGarbled"),
    "tool_calls_of_text": (lambda asked: asked.says(None, tool_calls="x"), DOWN, "UpstreamGarbled"),
    "deep": (sends(b'{"choices":' + b"[" * 100_000), DOWN, "UpstreamGarbled"),
    "half_a_stream_unasked": (lambda asked: asked.events(EVENT), DOWN, "UpstreamUnavailable"),
    "utf_16": (sends(ANSWER.decode().encode("utf-16"), Content_Type="text/plain; charset=utf-16"), DOWN, "UpstreamGarbled"),
    "latin_1": (sends(ANSWER.replace(b"Good", b"Gr\xfc\xdf"), Content_Type="a/b; charset=latin-1"), DOWN, "UpstreamGarbled"),
    "no_gzip": (sends(ANSWER, Content_Encoding="gzip"), DOWN, "UpstreamUnavailable"),
    "cut_gzip": (sends(gzip.compress(ANSWER)[:40], Content_Encoding="gzip"), DOWN, "UpstreamGarbled"),
}  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_draft_that_fails_is_told_alike_everywhere(proxy: Proxy, upstream: Upstream, failure: str) -> None:
    """Status, code, log line, metrics and call say one thing, and nothing says what the upstream wrote."""
    act, expected, kind = FAILURES[failure]
    upstream.acts["up-chatbot"] = act
    told = await proxy.ask("bot", "Hello")
    assert (told.status, told.code) == expected
    assert (told.line["error"], told.line["model"], told.line["step"]) == (kind, "chatbot", "draft")
    assert told.calls("chatbot") == {kind: 1}
    assert told.turns() == {"error": 1}


@pytest.mark.parametrize("act", [hangs, hangs_within_the_body, drips])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_draft_that_takes_too_long_is_given_up(
    proxy: Proxy, upstream: Upstream, act: Act, stream: bool
) -> None:
    """Whether nothing comes, or too little: 504, and the connection to the upstream is closed."""
    upstream.acts["up-chatbot"] = act
    told = await proxy.ask("hasty", "Hello", stream=stream)
    assert (told.status, told.code) == SLOW
    assert (told.line["error"], told.calls("hasty")) == ("UpstreamTimeout", {"UpstreamTimeout": 1})
    await until(lambda: upstream.of("up-chatbot")[0].left)


@pytest.mark.parametrize(
    ("given", "told_as"),
    [(None, "1"), ("7", "7"), ("soon", "1"), ("\xb2", "1"), ("9" * 400, "86400"), (formatdate(0), "1")],
)
async def test_a_busy_upstream_is_told_with_when_to_come_again(
    proxy: Proxy, upstream: Upstream, given: str | None, told_as: str
) -> None:
    """In whole seconds, whatever the upstream makes of its own header."""
    upstream.acts["up-chatbot"] = fails(429, **({} if given is None else {"Retry_After": given}))
    told = await proxy.ask("bot", "Hello")
    assert (told.status, told.code, told.headers["Retry-After"]) == (*BUSY, told_as)


@pytest.mark.parametrize("first", [fails(429, Retry_After="0"), fails(503, Retry_After="0"), resets])
async def test_a_second_try_is_a_reply_like_any_other(proxy: Proxy, upstream: Upstream, first: Act) -> None:
    """Nobody but the metrics hears of the first one."""

    async def first_fails(asked: Asked) -> None:
        await (first(asked) if len(upstream.of("up-patient")) == 1 else asked.says(HELLO))

    upstream.acts["up-patient"] = first_fails
    told = await proxy.ask("patient", "Hello")
    assert (told.text, told.outcome) == (TEXT, "accepted")
    assert told.calls("patient") == {"": 1}
    assert told.counted.total("caf_model_retries_total", model="patient") == 1


JUDGES = {
    **{name: FAILURES[name][0] for name in ("429", "500", "reset", "reset_in_body", "html", "no_choices", "half_json")},
    "prose": says("I would say accept."),
    "wrong_type": says('{"verdict": true, "reason": 5}'),
    "unknown_verdict": says('{"verdict": "fine", "reason": ""}'),
    "silence": says(None),
    "hangs": hangs,
}


@pytest.mark.parametrize("failure", JUDGES)
async def test_a_judge_that_fails_closed_replaces_the_reply(proxy: Proxy, upstream: Upstream, failure: str) -> None:
    """What nobody has judged is not delivered, and what it was stands nowhere."""
    upstream.acts |= {"up-chatbot": says(REJECTED), "up-swift": JUDGES[failure]}
    if failure != "hangs":
        upstream.acts["up-chief"] = JUDGES[failure]
    told = await proxy.ask("hasty-judged" if failure == "hangs" else "bot", "Hello")
    assert (told.status, told.outcome, told.turns()) == (200, "fallback", {"fallback": 1})
    assert CONTACT in told.text
    assert set(told.verdicts("tone")) == {"unjudged"}
    assert told.line["unjudged"] == told.verdicts("tone")["unjudged"]


@pytest.mark.parametrize("failure", JUDGES)
async def test_a_judge_that_fails_open_is_told_as_unjudged(proxy: Proxy, upstream: Upstream, failure: str) -> None:
    """The reply is delivered, and nothing calls it accepted."""
    upstream.acts["up-swift"] = JUDGES[failure]
    told = await proxy.ask("hasty-open" if failure == "hangs" else "open", "Hello")
    assert (told.status, told.text, told.outcome) == (200, TEXT, "unjudged")
    assert (told.turns(), told.verdicts("tone"), told.line["unjudged"]) == ({"unjudged": 1}, {"unjudged": 1}, 1)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("failure", ["500", "reset_in_body", "html", "silence"])
async def test_a_refiner_that_fails_leaves_nothing_of_what_was_rejected(
    proxy: Proxy, upstream: Upstream, failure: str, stream: bool
) -> None:
    """The fallback message is sent, and neither draft nor judge's reason are in it or in the log."""
    act = {**JUDGES, **{"500": FAILURES["500"][0]}}[failure]
    upstream.acts = {"up-chatbot": says(REJECTED), "up-refiner": act}
    upstream.acts |= dict.fromkeys(("up-swift", "up-chief"), says(verdict("reject")))
    told = await proxy.ask("bot", "Hello", stream=stream)
    assert told.turns() == {"fallback": 1}
    assert CONTACT.encode() in told.raw


async def test_a_selection_that_fails_costs_no_reply(proxy: Proxy, upstream: Upstream) -> None:
    """The words of the question choose, and the call is counted as what it was."""
    upstream.acts["up-retriever"] = resets_within_the_body
    told = await proxy.ask("bot", "How much sleep helps?")
    assert (told.text, told.outcome) == (TEXT, "accepted")
    assert told.calls("retriever") == {"UpstreamUnavailable": 1}


def blanks(mebibytes: int) -> bytes:
    """Return so much white space in a thousandth of it, as gzip; the stream has no end."""
    packer = zlib.compressobj(9, wbits=31)
    first = packer.compress(b" " * 2**20) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(b" " * 2**20) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * (mebibytes - 1)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
async def test_an_answer_that_swells_is_not_read_to_its_end(proxy: Proxy, upstream: Upstream) -> None:
    """Two gigabytes of white space in two megabytes are given up at the limit, and do not fill the memory."""
    before = memory_peak(proxy.process.pid)
    upstream.acts["up-chatbot"] = sends(blanks(2048), Content_Encoding="gzip")
    told = await proxy.ask("bot", "Hello")
    assert (told.status, told.code, told.line["error"]) == (*DOWN, "UpstreamGarbled")
    assert memory_peak(proxy.process.pid) - before < 200 * 2**20


async def test_an_answer_that_swells_within_the_limit_is_read(proxy: Proxy, upstream: Upstream) -> None:
    """Compression by itself is no fault."""
    upstream.acts["up-chatbot"] = sends(gzip.compress(b" " * (20 * 2**20) + ANSWER, 1), Content_Encoding="gzip")
    told = await proxy.ask("bot", "Hello")
    assert (told.text, told.outcome) == (TEXT, "accepted")


def error_of(told: bytes, sent: bytes) -> str:
    """Return the code of the error event that stands after what was sent."""
    assert told.startswith(sent), told
    event = told[len(sent) :]
    assert event.endswith(b"\n\n")
    return str(json.loads(event.strip().removeprefix(b"data: "))["error"]["code"])


async def test_a_forwarded_stream_that_breaks_within_an_event_ends_with_an_error_that_can_be_read(
    proxy: Proxy, upstream: Upstream
) -> None:
    """The half event is left out: glued to it, the error would be no JSON, and a client would see neither."""

    async def breaks(asked: Asked) -> None:
        await asked.events(EVENT, EVENT[:30])
        asked.reset()

    upstream.acts["up-forwarded"] = breaks
    told = await proxy.ask("plain", "Hello", stream=True)
    assert error_of(told.raw, EVENT) == "upstream_error"
    assert (told.status, told.line["error"]) == (200, "UpstreamUnavailable")
    assert told.calls("forwarded") == {"UpstreamUnavailable": 1}


@pytest.mark.parametrize(
    "parts", [[EVENT[:9], EVENT[9:]], [EVENT[:-1], EVENT[-1:] + EVENT], [bytes([b]) for b in EVENT]]
)
async def test_a_forwarded_stream_is_the_same_however_it_is_cut(
    proxy: Proxy, upstream: Upstream, parts: list[bytes]
) -> None:
    """And one that ends without [DONE], or within a line, ends so: that is what the upstream said."""

    async def cut(asked: Asked) -> None:
        await asked.events(*parts, b"data: half")
        await asked.raw(b"0\r\n\r\n")

    upstream.acts["up-forwarded"] = cut
    told = await proxy.ask("plain", "Hello", stream=True)
    assert told.raw == b"".join(parts) + b"data: half"
    assert told.calls("forwarded") == {"": 1}
    assert "error" not in told.line


async def test_a_forwarded_stream_that_falls_silent_within_an_event_is_given_up(
    proxy: Proxy, upstream: Upstream
) -> None:
    """The upstream's connection is closed, and the client is told."""

    async def stalls(asked: Asked) -> None:
        await asked.events(EVENT, b"data: {")
        await asked.hangs()

    upstream.acts["up-chatbot"] = stalls
    told = await proxy.ask("plain-hasty", "Hello", stream=True)
    assert error_of(told.raw, EVENT) == "upstream_timeout"
    assert told.calls("hasty") == {"UpstreamTimeout": 1}


@pytest.mark.parametrize(
    "failure", ["reset", "closed", "reset_in_headers", "reset_in_body", "no_http", "401", "500", "no_gzip"]
)
async def test_what_cannot_be_relayed_is_an_error_of_ours(proxy: Proxy, upstream: Upstream, failure: str) -> None:
    """Half an answer is none."""
    act, expected, kind = FAILURES[failure]
    upstream.acts["up-forwarded"] = act
    told = await proxy.ask("plain", "Hello")
    assert (told.status, told.code, told.line["error"]) == (*expected, kind)
    assert told.calls("forwarded") == {kind: 1}


@pytest.mark.parametrize("failure", ["429", "html", "half_json", "utf_16"])
async def test_what_can_be_relayed_is_relayed_as_it_is(proxy: Proxy, upstream: Upstream, failure: str) -> None:
    """A passthrough chatbot mends nothing; an error is counted as one."""
    upstream.acts["up-forwarded"], _, kind = FAILURES[failure]
    told = await proxy.ask("plain", "Hello")
    assert told.status == (int(failure) if failure.isdigit() else 200)
    assert told.calls("forwarded") == {kind if failure.isdigit() else "": 1}

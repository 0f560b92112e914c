"""A cry for help in a body that no decoder takes, or of which decoders drop a part: heard, whatever is wrong with the body."""

import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.protocol.lenient_json import read_leniently
from proxy.protocol.user_texts import find_user_texts
from tests.proxy.conftest import Body, Start

CRY = "I want to kill myself."
CALM = "How much sleep do adults need?"
EMERGENCY = "You matter. Call 112."
ENDPOINTS = {"chat/completions": "messages", "responses": "input"}
JSON = {"Content-Type": "application/json"}
Spoil = Callable[[str], str | bytes]


def _before_the_end(more: str) -> Spoil:
    return lambda body: body[:-1] + more + "}"


REFUSED: dict[str, Spoil] = {
    "an integer of 5,000 digits": _before_the_end(', "seed": ' + "7" * 5_000),
    "a number that is none": _before_the_end(', "seed": 1.2.3'),
    "NaN": _before_the_end(', "temperature": NaN'),
    "Infinity": _before_the_end(', "temperature": -Infinity'),
    "constants of Python": _before_the_end(', "store": True, "user": None'),
    "a trailing comma": _before_the_end(","),
    "a trailing comma in a list": lambda body: body.replace("]", ",]"),
    "a missing comma": lambda body: body.replace(', "', ' "'),
    "a missing colon": _before_the_end(', "x" 1'),
    "a missing last brace": lambda body: body[:-1],
    "two missing brackets": lambda body: body[:-2],
    "cut within the words": lambda body: body[: body.rindex(".") + 1],
    "one brace too many": lambda body: body + "}",
    "a second document": lambda body: body + " {}",
    "lines of documents": lambda body: body + '\n{"x": 1}\n',
    "a list around it": lambda body: f"[{body}]",
    "the field of an event": lambda body: f"data: {body}\n\n",
    "words before it": lambda body: f"Here it is: {body}",
    "a code fence": lambda body: f"```json\n{body}\n```",
    "an unknown escape": lambda body: body.replace(". ", r". \q "),
    "half an escape": lambda body: body.replace(". ", r". \u00 "),
    "half an emoji": lambda body: body.replace(". ", r". \ud83d "),
    "a raw line break": lambda body: body.replace(". ", ".\n"),
    "a null byte": lambda body: body.replace(". ", ".\0 "),
    "single quotes": lambda body: body.replace('"', "'"),
    "no quotes around keys": lambda body: body.replace('"model"', "model").replace('"content"', "content"),
    "quotes within": lambda body: body.replace(". ", '. "No" '),
    "comments": lambda body: body.replace("{", "{ // as he said\n", 1),
    "a mark of the byte order": lambda body: b"\xef\xbb\xbf" + body.encode(),
    "UTF-16": lambda body: body.encode("utf-16"),
    "UTF-16 without a mark": lambda body: body.encode("utf-16-le"),
    "UTF-32": lambda body: body.encode("utf-32"),
    "Windows-1252": lambda body: body.replace(". ", ". é’ü ").encode("cp1252"),
    "half a character": lambda body: body.encode() + b"\xf0\x9f",
    "brackets without end": _before_the_end(', "x": ' + "[" * 3_000),
}


def body_of(field: str, said: str, **fields: Any) -> str:
    history = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Good day."}]
    return json.dumps({"model": "bot", field: [*history, {"role": "user", "content": f"Hm. {said}"}], **fields})


@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_a_cry_for_help_in_a_refused_body_is_heard(start: Start, endpoint: str) -> None:
    """The emergency text; and the same body without the cry is refused, so that there is something to be heard through."""
    proxy = await start()
    missed = []
    for fault, spoil in REFUSED.items():
        for said, wanted in ((CRY, 200), (CALM, 400)):
            sent = spoil(body_of(ENDPOINTS[endpoint], said))
            raw = sent if isinstance(sent, bytes) else sent.encode()
            async with proxy.session.post(f"{proxy.url}/v1/{endpoint}", data=raw, headers=JSON) as response:
                heard = EMERGENCY in await response.text()
                if (response.status, heard) != (wanted, said is CRY):
                    missed.append((fault, said, response.status))
    assert not missed
    assert not proxy.upstream.requests


@pytest.mark.parametrize("spoil", REFUSED.values(), ids=REFUSED.keys())
def test_who_said_what_is_known_in_a_refused_body(spoil: Spoil) -> None:
    """What the assistant said is not the user's, and what was said before a reply is not said now."""
    sent = spoil(body_of("messages", CRY))
    now, earlier = find_user_texts(read_leniently(sent if isinstance(sent, bytes) else sent.encode()))
    assert "kill myself" in now
    assert "Good day" not in now + " ".join(earlier)
    assert earlier == ["Hello."]


@pytest.mark.parametrize("order", [(CRY, CALM), (CALM, CRY)])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_a_key_named_twice_hides_nothing(
    start: Start, endpoint: str, stream: bool, order: tuple[str, str]
) -> None:
    """Decoders keep the last value; the person may have written the other."""
    proxy = await start()
    field = ENDPOINTS[endpoint]
    first, second = (json.dumps(json.loads(body_of(field, said))[field]) for said in order)
    fields = f'"model": "bot", "stream": {json.dumps(stream)}'
    bodies = [
        f'{{{fields}, "{field}": {first}, "{field}": {second}}}',
        f'{{{fields}, "{field}": [{{"role": "user", "content": "{order[0]}", "content": "{order[1]}"}}]}}',
        f'{{{fields}, "{field}": [{{"role": "user", "content": [{{"text": "{order[0]}", "text": "{order[1]}"}}]}}]}}',
        f'{{{fields}, "{field}": [{{"role": "assistant", "role": "user", "content": "{CRY}"}}]}}',
        f'{{{fields}, "{field}": [{{"role": "user", "content": "{CRY}"}}], "{field}": []}}',
        f'{{{fields}, "{field}": {first}, "{field}": {second}, "user": "\\u0022\\u0022\\u0022\\u0022\\u0022"}}',
    ]
    for raw in bodies:
        async with proxy.session.post(f"{proxy.url}/v1/{endpoint}", data=raw.encode(), headers=JSON) as response:
            assert (response.status, EMERGENCY in await response.text()) == (200, True), raw
    assert not proxy.upstream.requests


async def test_escaped_quotes_make_no_key_of_their_own(start: Start) -> None:
    """A body that is in order is read as it is, however its strings are escaped."""
    proxy = await start()
    for content in (r"She said \"hello\".", r"She said \u0022hello\u0022.", r"\\\"", r"{\"messages\": \"x\"}"):
        raw = f'{{"model": "bot", "messages": [{{"role": "user", "content": "{content}"}}]}}'.encode()
        traces = proxy.traces()
        status, _ = await proxy.post(raw)
        assert (status, traces[-1].user_message) == (200, json.loads(f'"{content}"'))


SELDOM = ("name", "data", "url", "filename", "file_name", "file_data", "image_url")
SENTENCES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "escaped": quote,
    "in a data: URL": lambda said: "data:text/plain," + quote(said),
    "in an address": lambda said: "https://example.org/?q=" + quote(said),
}


@pytest.mark.parametrize("write", SENTENCES.values(), ids=SENTENCES.keys())
@pytest.mark.parametrize("field", SELDOM)
def test_a_sentence_is_heard_where_one_seldom_stands(field: str, write: Callable[[str], str]) -> None:
    """In the fields of a message, of a part of it, and of an object in that."""
    for message in (
        {"role": "user", field: write(CRY)},
        {"role": "user", "content": [{"type": "file", field: write(CRY)}]},
        {"role": "user", "content": [{"type": "file", "file": {field: write(CRY)}}]},
        {"role": "user", "content": "", field: {"text": CRY}},
        {"role": "user", "content": "", field: [CRY]},
    ):
        assert CRY in find_user_texts({"messages": [message]})[0]


@pytest.mark.parametrize("field", SELDOM)
def test_names_and_files_are_no_sentences(field: str) -> None:
    """Nor do megabytes of them take time."""
    ordinary = (
        "Kim",
        "Kim Li",
        "my scan.pdf",
        "https://example.org/a%20b",
        "data:image/png;base64,iVBO+w0K/Gg=",
        "data:image/svg+xml,%3Csvg xmlns='x' viewBox='0 0 9 9'/%3E",
        "A" * 4_000_000,
    )
    started = time.thread_time()
    for text in (*ordinary, "want to " * 500_000):
        message: Body = {"role": "user", "content": [{"type": "text", "text": CALM}, {"type": "file", field: text}]}
        assert find_user_texts({"messages": [message]}) == (CALM, [])
    assert time.thread_time() - started < 0.1


@example(0, '":')
@given(st.integers(0, 400), st.text("\"\\'{}[]:, \n\0aé", max_size=12))
def test_any_damage_behind_the_words_leaves_them_heard(cut: int, damage: str) -> None:
    """Wherever the body ends, or goes on with something else."""
    body = body_of("messages", CRY, user="Kim", temperature=1)
    end = min(len(body), body.index(CRY) + len(CRY) + cut)
    now, _ = find_user_texts(read_leniently((body[:end] + damage).encode()))
    assert CRY.rstrip(".") in now


def test_a_missing_value_is_not_the_next_key() -> None:
    """The comma says that none came."""
    body = b'{"model": , "model": "bot", "messages": [{"role": "assistant", "content": , "tool_calls": []}]}'
    read = read_leniently(body)
    assert (read["model"], read["messages"][0].get("content")) == ("bot", None)


@given(st.binary(max_size=200) | st.text("\"\\'{}[]:,1 ntu\n", max_size=200).map(str.encode))
def test_no_bytes_break_the_reading(raw: bytes) -> None:
    """An object in any case, that texts are found in."""
    now, earlier = find_user_texts(read_leniently(raw))
    assert isinstance(now + "".join(earlier), str)


@pytest.mark.parametrize(
    "unit", ["[", "{", "]", '{"a":', '"', "\\", '"\\', "'", "' ", "'a' ,", "a:", '"a":1,', "\\u00", "\n", "é", "\ufffd"]
)
def test_reading_takes_time_that_grows_with_the_body(unit: str) -> None:
    """16 times the body takes less than 48 times as long."""

    def seconds(chars: int) -> float:
        raw = (unit * (chars // len(unit))).encode()
        times = []
        for _ in range(3):
            started = time.thread_time()
            read_leniently(raw)
            times.append(time.thread_time() - started)
        return min(times)

    assert seconds(640_000) < 48 * max(seconds(40_000), 0.001)

"""Reading a chat request: pure functions at the door."""

from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.protocol.errors import BadRequest
from proxy.protocol.messages import read_chat_request, read_json
from proxy.protocol.user_texts import find_user_texts

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "text", "type", "messages"]) | st.text(max_size=3), inner, max_size=3
        )
    ),
    max_leaves=10,
)


def user(content: Any) -> Any:
    return {"role": "user", "content": content}


def bot(content: Any) -> Any:
    return {"role": "assistant", "content": content}


@pytest.mark.parametrize(
    ("messages", "now", "earlier"),
    [
        ([user("a")], "a", []),
        ([user("a"), bot("b"), user("c")], "c", ["a"]),
        ([user("a"), bot("b"), user("c"), user("d")], "c\n\nd", ["a"]),
        ([user("a"), bot(""), user("b")], "a\n\nb", []),
        ([user("a"), bot(None), {"role": "tool", "content": "x"}, user("b")], "a\n\nb", []),
        ([user("a"), bot("b")], "a", []),
        ([user("a"), bot("b"), user("c"), bot("d")], "c", ["a"]),
        ([{"role": "system", "content": "s"}], "", []),
        ([user([{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}])], "a\n\nb", []),
        ([user(5), None, "x", user("a")], "\n\nx\n\na", []),
        (None, "", []),
        ("x", "x", []),
        ({}, "", []),
    ],
)
def test_what_the_user_says_is_everything_since_the_last_reply(messages: Any, now: str, earlier: list[str]) -> None:
    """No message of the user is passed over: two in a row are both read, and an empty reply answers nothing."""
    assert find_user_texts({"messages": messages}) == (now, earlier)


@given(st.dictionaries(st.sampled_from(["messages", "model"]), JSON))
def test_hearing_the_user_never_fails(data: Any) -> None:
    """The emergency judge reads requests that nobody has validated."""
    now, earlier = find_user_texts(data)
    assert isinstance(now, str)
    assert all(isinstance(text, str) for text in earlier)


@given(
    st.dictionaries(
        st.sampled_from(["messages", "model", "n", "stream", "user", "metadata"]) | st.text(max_size=3), JSON
    )
)
def test_request_is_read_or_refused_with_a_field(data: Any) -> None:
    """There is no third way, and the error names a field that was sent or is missing."""
    try:
        read_chat_request(data, 100)
    except BadRequest as error:
        param = error.param or ""
    else:
        return
    assert param.partition(".")[0].partition("[")[0] in {*data, "model", "messages"}


@pytest.mark.parametrize(
    ("changes", "param", "code"),
    [
        ({"messages": []}, "messages", "empty_array"),
        ({"messages": [{"content": "Hi"}]}, "messages[0].role", "missing_required_parameter"),
        ({"messages": [{"role": "boss", "content": "Hi"}]}, "messages[0].role", "invalid_value"),
        ({"user": 5}, "user", "invalid_type"),
        ({"messages": ["Hi"]}, "messages[0]", "invalid_type"),
        ({"n": 0}, "n", "integer_below_min_value"),
        ({"n": 17}, "n", "integer_above_max_value"),
    ],
)
def test_fault_has_the_code_that_openai_gives_it(changes: Any, param: str, code: str) -> None:
    """Programs that look at the code find the one they know."""
    with pytest.raises(BadRequest) as caught:
        read_chat_request({"model": "bot", "messages": [{"role": "user", "content": "Hi"}]} | changes, 100)
    assert (caught.value.param, caught.value.code) == (param, code)


@given(st.binary(max_size=40) | JSON.map(orjson.dumps))
def test_body_is_an_object_or_refused(raw: bytes) -> None:
    """Bytes of any kind."""
    with suppress(BadRequest):
        assert isinstance(read_json(raw), dict)


def test_fields_to_forward_are_those_that_are_not_ours() -> None:
    """Null values and unknown names go on as they came."""
    raw = {
        "model": "b",
        "messages": [user("x")],
        "stream": True,
        "n": 2,
        "stream_options": {},
        "user": None,
        "tools": [],
        "x": {"y": None},
    }
    request = read_chat_request(raw, 10)
    assert request.options == {"user": None, "tools": [], "x": {"y": None}}


@pytest.mark.parametrize("field", ["stream", "n", "user", "metadata", "response_format", "stream_options"])
def test_null_counts_as_left_out(field: str) -> None:
    """SDKs of some languages send every field."""
    assert read_chat_request({"model": "b", "messages": [user("x")], field: None}, 10)


def test_fields_by_the_names_of_our_own_are_only_forwarded() -> None:
    """What a client calls `raw` or `digest` is not taken for what is worked out of its request."""
    said = bot("Hello.")
    raw = {"model": "b", "messages": [user("Hi"), said | {"digest": "d", "folded": "f"}], "raw": {"stop": "x"}}
    request, known = read_chat_request(raw, 10), read_chat_request({"model": "b", "messages": [said]}, 10)
    assert request.options == {"raw": {"stop": "x"}}
    assert request.stops == ()
    assert request.messages[1].digest == known.messages[0].digest

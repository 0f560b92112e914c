"""Tool calls are joined by identity: whatever their index, a stream holds the calls of the unstreamed answer."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.answer import as_completion
from models.assembly import Assembly
from tests.proxy.conftest import Body
from tests.upstreams.conftest import FORWARDED, TOOLS, Answer, Asking, chunk, completion, ways

NAMES = [tool["function"]["name"] for tool in TOOLS]
# Integers that every JSON reader holds exactly (RFC 8259, section 6).
INTEGERS = st.integers(-(2**53) + 1, 2**53 - 1)
OBJECTS = st.dictionaries(st.sampled_from(["city", "day", "emoji"]), st.text(max_size=4) | INTEGERS, max_size=2)
MISSING = object()


def write(call: Body, index: Any, cuts: list[int], *, ident: str, name: str, decoded: bool) -> list[Body]:
    """Write the pieces of a call.

    Args:
        cuts: Where its arguments are cut.
        ident, name: `first`: only the first piece has it; `all`: each has; `none`: none; of a name, `pieces`: cut in two.
    """
    arguments = call["function"]["arguments"]
    ends = sorted({min(cut, len(arguments)) for cut in cuts} | {len(arguments)})
    texts = [arguments[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    given_arguments: list[Any] = [json.loads(arguments)] if decoded else texts
    called = call["function"]["name"]
    pieces = [{"function": {"arguments": text}} for text in given_arguments]
    if name == "pieces":
        pieces = [{"function": {"name": called[:4]}}, {"function": {"name": called[4:], "arguments": ""}}, *pieces]
    for number, piece in enumerate(pieces):
        if index is not MISSING:
            piece["index"] = index
        if ident == "all" or (ident == "first" and number == 0):
            piece |= {"id": call["id"], "type": "function"}
        if name == "all" or (name == "first" and number == 0):
            piece["function"]["name"] = called
    return pieces


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Body], list[list[Body]]]:
    """Draw calls, and the pieces in which a server streams them, a list for each chunk."""
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": draw(st.sampled_from(NAMES)), "arguments": json.dumps(draw(OBJECTS))},
        }
        for number in range(draw(st.integers(1, 3)))
    ]
    numbering = draw(st.sampled_from(["0", "1", "texts", "same", "null", "negative", "missing"]))
    indexes: dict[str, Any] = {"same": 0, "null": None, "negative": -1, "missing": MISSING}
    numbered = numbering in ("0", "1", "texts")
    form = {
        "ident": draw(st.sampled_from(["first", "all"])),
        "name": draw(st.sampled_from(["first", "all", "pieces"])),
        "decoded": draw(st.booleans()),
    }
    pieces = []
    for number, call in enumerate(calls):
        index = number + (numbering == "1") if numbered else indexes[numbering]
        cuts = draw(st.lists(st.integers(1, 30), max_size=3))
        pieces.append(write(call, str(index) if numbering == "texts" else index, cuts, **form))
    if numbered or form["ident"] == "all":
        pieces = interleave(draw, pieces)
    else:
        pieces = [[piece for of_call in pieces for piece in of_call]]
    chunks = [[piece] for piece in pieces[0]] if draw(st.booleans()) else [pieces[0]]
    return calls, chunks


def interleave(draw: st.DrawFn, pieces: list[list[Body]]) -> list[list[Body]]:
    """Merge the pieces of several calls, those of each in their order; the calls begin in their order."""
    merged = [of_call.pop(0) for of_call in pieces]
    while left := [of_call for of_call in pieces if of_call]:
        merged.append(draw(st.sampled_from(left)).pop(0))
    return [merged]


def joined(chunks: list[list[Body]]) -> list[Body]:
    """Return the calls in a stream."""
    assembly = Assembly()
    for event in [*(chunk({"tool_calls": pieces}) for pieces in chunks), chunk({}, "tool_calls")]:
        list(assembly.feed(b"data: " + json.dumps(event).encode() + b"\n\n"))
    return plain(assembly.completion())


@pytest.mark.parametrize(("first", "then"), [(0, MISSING), (MISSING, 0), (None, 0), (-1, 0), (3, None), ("0", 0)])
@pytest.mark.parametrize("late", [True, False])
def test_an_index_may_come_and_go(first: Any, then: Any, late: bool) -> None:
    """Within one call; so may its id come late."""
    call = {"id": "call_1", "function": {"name": "get_time", "arguments": '{"day": 1}'}}
    pieces = write(call, first, [5], ident="none", name="first", decoded=False)
    for piece in pieces[1:]:
        piece.pop("index", None)
        piece |= {} if then is MISSING else {"index": then}
    pieces[1 if late else 0]["id"] = "call_1"
    assert joined([[piece] for piece in pieces]) == [
        {"id": "call_1", "type": "function", "function": {"name": "get_time", "arguments": {"day": 1}}}
    ]


def plain(answer: Body) -> list[Body]:
    """Return the calls of an answer with their arguments decoded."""
    calls = as_completion(answer)["choices"][0]["message"]["tool_calls"]
    for call in calls:
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return [{name: call[name] for name in ("id", "type", "function")} for call in calls]


@settings(max_examples=400, deadline=None)
@given(streams())
def test_any_stream_holds_the_calls_of_the_unstreamed_answer(drawn: tuple[list[Body], list[list[Body]]]) -> None:
    """Whatever index its pieces have, whatever they repeat, and wherever they are cut."""
    calls, chunks = drawn
    assert joined(chunks) == plain(completion({"content": None, "tool_calls": calls}))


@pytest.mark.parametrize("index", [0, None, -1, MISSING])
@pytest.mark.parametrize("names", [("get_weather", "get_time"), ("get_time", "get_time")])
@pytest.mark.parametrize("together", [True, False])
def test_calls_without_ids_are_told_apart(index: Any, names: tuple[str, str], together: bool) -> None:
    """Of two complete calls the second is another one."""
    calls = [
        {"id": "", "function": {"name": name, "arguments": json.dumps({"day": day})}} for day, name in enumerate(names)
    ]
    pieces = [piece for call in calls for piece in write(call, index, [], ident="none", name="first", decoded=False)]
    chunks = [pieces] if together else [[piece] for piece in pieces]
    assert [call["function"] for call in joined(chunks)] == [
        {"name": name, "arguments": {"day": day}} for day, name in enumerate(names)
    ]


def test_unknown_fields_of_calls_and_messages_are_kept() -> None:
    """The next turn of Gemini and DeepSeek needs them."""
    signature = {"google": {"thought_signature": "abc"}}
    called = {"name": "get_time", "arguments": "{}"}
    call: Body = {"id": "call_1", "type": "function", "extra_content": signature, "function": called}
    assembly = Assembly()
    deltas: list[Body] = [
        {"reasoning_content": "I sh", "reasoning_details": [{"text": "I"}]},
        {"reasoning_content": "ould.", "reasoning_details": [{"text": " should."}]},
        {"tool_calls": [{**call, "index": 0}]},
    ]
    for event in [*map(chunk, deltas), chunk({}, "tool_calls")]:
        list(assembly.feed(b"data: " + json.dumps(event).encode() + b"\n\n"))
    message = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "I should.",
        "reasoning_details": [{"text": "I"}, {"text": " should."}],
        "tool_calls": [call],
    }
    assert as_completion(assembly.completion())["choices"][0]["message"] == message
    assert as_completion(completion(message))["choices"][0]["message"] == message


FORMS: dict[str, list[list[Body]]] = {
    form: [
        [piece]
        for number, name in enumerate(["get_weather", "get_time"])
        for piece in write(
            {"id": f"call_{number}", "function": {"name": name, "arguments": '{"city": "Paris"}'}},
            number + 1 if index == "from 1" else index,
            [4, 9],
            ident="first" if index == "from 1" else "all",
            name=name_form,
            decoded=decoded,
        )
    ]
    for form, index, name_form, decoded in [
        ("same index", 0, "first", False),
        ("no index", MISSING, "first", False),
        ("null", None, "all", False),
        ("from 1", "from 1", "first", False),
        ("negative", -1, "all", False),
        ("decoded", 0, "first", True),
    ]
}


@ways
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("finish", ["tool_calls", "stop", "tool_use"])
async def test_clients_get_the_calls(asking: Asking, bot: str, stream: bool, form: str, finish: str) -> None:
    """Streamed or not, and with the finish_reason of calls, whatever the upstream has said."""
    decoded = {"city": "Paris"}
    calls = [
        {"id": f"call_{n}", "function": {"name": name, "arguments": decoded if form == "decoded" else json.dumps(decoded)}}
        for n, name in enumerate(["get_weather", "get_time"])
    ]  # fmt: skip
    events: list[Any] = [*(chunk({"tool_calls": pieces}) for pieces in FORMS[form]), chunk({}, finish)]
    asking.answers(Answer(completion({"content": None, "tool_calls": calls}, finish), events))
    got = await asking.ask(bot, stream, tools=TOOLS)
    assert (got.calls, got.finish) == ([("get_weather", decoded), ("get_time", decoded)], "tool_calls")


@pytest.mark.parametrize("finish", ["length", "content_filter"])
@pytest.mark.parametrize("stream", [False, True])
async def test_calls_that_were_cut_off_say_so(asking: Asking, stream: bool, finish: str) -> None:
    """Their arguments may be half of what was meant."""
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}
    message = {"content": None, "tool_calls": [call]}
    asking.answers(Answer(completion(message, finish), [chunk(message), chunk({}, finish)]))
    assert (await asking.ask("wrapped", stream, tools=TOOLS)).finish == finish


@pytest.mark.parametrize("stream", [False, True])
async def test_passthrough_relays_calls_as_they_are(asking: Asking, stream: bool) -> None:
    """Nobody reads them."""
    call = {"index": -1, "id": "c", "extra_content": {"google": 1}, "function": {"name": "get_time", "arguments": "{}"}}
    message = {"content": None, "tool_calls": [call]}
    answer = Answer(completion(message, "stop"), [chunk(message, "stop")])
    asking.answers(answer)
    got = await asking.ask(FORWARDED, stream, tools=TOOLS)
    assert json.dumps(call).encode() in got.raw
    assert got.finish == "stop"

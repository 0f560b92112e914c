"""One function reads content: the same answer is the same text, streamed or not, in parts or not, in any JSON that Python reads."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.answer import as_completion, decode_answer
from models.assembly import Assembly
from tests.proxy.conftest import Body
from tests.upstreams.conftest import FORWARDED, Answer, Asking, chunk, completion, says, ways

SECRET = "SECRET THOUGHT."
HIDDEN = (
    {"type": "reasoning", "text": SECRET},
    {"type": "thinking", "text": SECRET},
    {"type": "thinking", "thinking": [{"type": "text", "text": SECRET}]},
    {"type": "redacted_thinking", "data": SECRET},
    {"type": "reference", "reference_ids": [1], "text": SECRET},
    {"type": "summary", "text": SECRET},
)


@ways
async def test_parts_are_joined_without_anything_between(asking: Asking, bot: str, stream: bool) -> None:
    """Providers split within sentences."""
    texts = ("The capital of France is ", "Paris", ", on the Seine.")
    parts = [[{"type": "text", "text": text}] for text in texts]
    parts.insert(2, [{"type": "reference", "reference_ids": [1]}])
    asking.answers(says(*parts))
    assert (await asking.ask(bot, stream)).text == "".join(texts)


@ways
@pytest.mark.parametrize("hidden", HIDDEN)
async def test_other_parts_are_not_delivered(asking: Asking, bot: str, stream: bool, hidden: Body) -> None:
    """Only text is a reply."""
    asking.answers(says([hidden], [{"type": "text", "text": "At nine."}], [hidden]))
    got = await asking.ask(bot, stream)
    assert got.text == "At nine."
    assert SECRET.encode() not in got.raw


@ways
@pytest.mark.parametrize(
    "name", ["reasoning_content", "reasoning", "thinking", "reasoning_details", "extra_content", "x"]
)
async def test_fields_of_their_own_are_not_delivered(asking: Asking, bot: str, stream: bool, name: str) -> None:
    """Whatever they are called."""
    value: Any = (
        [{"text": SECRET}] if name == "reasoning_details" else {"a": SECRET} if name == "extra_content" else SECRET
    )
    answer = Answer(
        completion({"content": "At nine.", name: value}),
        [chunk({name: value}), chunk({"content": "At nine."}), chunk({}, "stop")],
    )
    asking.answers(answer)
    got = await asking.ask(bot, stream)
    assert got.text == "At nine."
    assert SECRET.encode() not in got.raw


PARTS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=5)),
    st.builds(lambda text: {"text": text}, st.text(max_size=5)),
    st.sampled_from(HIDDEN),
    st.just({"type": "text"}),
)


@given(st.lists(st.lists(PARTS, max_size=3), min_size=1, max_size=4))
def test_parts_say_the_same_streamed_and_unstreamed(pieces: list[list[Body]]) -> None:
    """However they are divided among the chunks."""
    answer = says(*pieces)
    whole = as_completion(answer.whole)["choices"][0]["message"]["content"]
    assembly = Assembly()
    for event in answer.events:
        list(assembly.feed(b"data: " + json.dumps(event).encode() + b"\n\n"))
    assert (as_completion(assembly.completion())["choices"][0]["message"]["content"] or "") == whole


@given(st.lists(st.sampled_from(["a", "ü", "😀", "\ud83d", "\ude00", "👩‍👧", " "]), min_size=1, max_size=8), st.data())
def test_no_half_character_comes_out(characters: list[str], data: st.DataObject) -> None:
    """Halves in two events are joined, and a half without its other one is replaced."""
    units = "".join(characters).encode("utf-16-le", "surrogatepass")
    texts = [units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(units), 2)]
    cut = data.draw(st.integers(0, len(texts)))
    expected = units.decode("utf-16-le", "replace")
    assembly, pieces = Assembly(), list[str]()
    for piece in ("".join(texts[:cut]), "".join(texts[cut:])):
        pieces += [
            text for _, text in assembly.feed(b"data: " + json.dumps(chunk({"content": piece})).encode() + b"\n\n")
        ]
    list(assembly.feed(b"data: [DONE]\n\n"))
    assert assembly.completion()["choices"][0]["message"]["content"] == expected
    assert expected.startswith("".join(pieces))
    whole = as_completion(decode_answer(json.dumps(completion({"content": "".join(texts)})).encode()))
    assert whole["choices"][0]["message"]["content"] == expected


LENIENT: dict[str, tuple[bytes, bytes]] = {
    "NaN in usage": (b'"prompt_tokens": 1', b'"prompt_tokens": NaN'),
    "infinity in usage": (b'"prompt_tokens": 1', b'"prompt_tokens": -Infinity'),
    "index as text": (b'"index": 0', b'"index": "0"'),
    "index of another kind": (b'"index": 0', b'"index": null'),
    "line break in a text": (b"at nine.", b"at\nnine."),
    "half a character": (b"at nine.", b"at nine.\\ud83d"),
    "a character's halves": (b"at nine.", b"at nine.\\ud83d\\ude00"),
}
TOLD = {"line break in a text": "at\nnine.", "half a character": "at nine.\ufffd", "a character's halves": "at nine.😀"}


@ways
@pytest.mark.parametrize("form", LENIENT)
async def test_what_strict_readers_refuse_is_read(asking: Asking, bot: str, stream: bool, form: str) -> None:
    """A figure or half a character costs no reply."""
    answer = says("Open ", "at nine.")
    answer.events.append({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}})
    old, new = LENIENT[form]
    answer.whole = json.dumps(answer.whole).encode().replace(old, new)
    # An event cannot hold a line break, which would end its line.
    answer.events = [json.dumps(event).encode().replace(old, new.replace(b"\n", b"\t")) for event in answer.events]
    asking.answers(answer)
    got = await asking.ask(bot, stream)
    assert got.text.replace("\t", "\n") == "Open " + TOLD.get(form, "at nine.")


@ways
async def test_a_character_in_two_events_is_whole(asking: Asking, bot: str, stream: bool) -> None:
    """Servers that write UTF-16 cut between its halves."""
    answer = says("Hello 😀!")
    answer.events = [chunk({"content": piece}) for piece in ("Hello ", "\ud83d", "\ude00", "!")] + [chunk({}, "stop")]
    asking.answers(answer)
    got = await asking.ask(bot, stream)
    assert got.text == "Hello 😀!"


@pytest.mark.parametrize("stream", [False, True])
async def test_passthrough_relays_content_as_it_is(asking: Asking, stream: bool) -> None:
    """Parts, thoughts and all."""
    answer = Answer(completion({"content": [HIDDEN[0]]}), [chunk({"content": [HIDDEN[0]]}), chunk({}, "stop")])
    asking.answers(answer)
    body = {"model": FORWARDED, "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
    async with asking.proxy.session.post(f"{asking.proxy.url}/v1/chat/completions", json=body) as got:
        assert SECRET.encode() in await got.read()

"""Texts in characters that nobody sees: tag characters and variation selectors, in every place that a model's text leaves by.

What languages, emoji and flags are written with stays.
"""

import json
import random
import time
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from proxy.protocol.invisible import remove_invisible, remove_invisible_from_json
from tests.attacks.forms import FORMS, Got, ask, check
from tests.proxy.conftest import Body, Proxy, Start, eventually

TAGS = [chr(code) for code in range(0xE0000, 0xE0080)]
SELECTORS = [chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))]
HIDDEN = {
    "tags": "".join(chr(0xE0000 + ord(letter)) for letter in "take 900 mg"),
    "selectors": "".join(chr(0xE0100 + ord(letter)) for letter in "take 900 mg"),
    "short selectors": "".join(chr(0xFE00 + byte % 16) for byte in b"take 900 mg"),
    "mixed": "".join(random.Random(1).choices([*TAGS, *SELECTORS], k=40)),
}
BASES = ["a", "é", "7", " ", ".", "-", "ى", "क", "あ", "\n"]
"""Characters that take no variation selector."""
STAYS = [
    "می‌خواهم", "क्‍ष", "ශ්‍රී", "אבג‏ abc‎", "سلام؜ ١٢", "❤️ ☺︎ ↔️ ℹ️ ‼️ 〰️ ©️", "1️⃣ #️⃣ *️⃣", "👩‍❤️‍💋‍👨 🏳️‍🌈 🕵🏽‍♀️", "🇩🇪 🇳🇴",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f!",
    "🏴\U000e0075\U000e0073\U000e0074\U000e0078\U000e007f", "葛\U000e0100飾区 辻\U000e0101さん", "㐂︀ 禮︁", "≨︀ ⊕︀", "ᠠ᠋ᠮ", "，︀ 。︁",
]  # fmt: skip


def escaped(text: str) -> str:
    """Write a text as JSON does in ASCII."""
    return json.dumps(text)[1:-1]


def carries(text: str) -> bool:
    return any(character in text for character in (*TAGS, *SELECTORS))


@pytest.mark.parametrize("text", STAYS)
def test_what_languages_and_emoji_need_stays(text: str) -> None:
    """Joiners, bidi marks, flags, selectors of emoji, keycaps and ideographs; also within other texts and as escapes."""
    for around in (text, f"Take {text} now.", text * 3, f"{text}\n{text}"):
        assert remove_invisible(around) == (around, 0)
        assert remove_invisible_from_json(json.dumps({"a": around})) == (json.dumps({"a": around}), 0)
        assert remove_invisible_from_json(json.dumps([around], ensure_ascii=False))[1] == 0


@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=HIDDEN)
@pytest.mark.parametrize("base", [*BASES, ""])
def test_nothing_hidden_is_left(base: str, hidden: str) -> None:
    """At the start, within and at the end of a text, and behind each of its characters."""
    for text in (f"{base}{hidden}Sleep{base}{hidden}.", "".join(f"{base}{one}" for one in hidden)):
        visible, removed = remove_invisible(text)
        assert not carries(visible)
        assert removed == len(text) - len(visible) == sum(map(carries, text))
        for written in (json.dumps({text: [text]}), json.dumps({text: [text]}, ensure_ascii=False)):
            cleaned, count = remove_invisible_from_json(written)
            assert json.loads(cleaned) == {visible: [visible]}
            assert count == 2 * removed


@pytest.mark.parametrize("base", ["❤", "葛", "🏴", "🙂"])
def test_a_base_takes_one_selector(base: str) -> None:
    """A run behind an emoji is a text."""
    assert remove_invisible(base + HIDDEN["selectors"])[1] >= len(HIDDEN["selectors"]) - 1
    assert remove_invisible(base + HIDDEN["tags"])[1] == len(HIDDEN["tags"])


FLAG = "🏴{}\U000e007f"


@pytest.mark.parametrize("spelled", ["take900", "take 9", "9mg", "TAKE", "t", "te", ""])
def test_only_codes_of_places_are_flags(spelled: str) -> None:
    """A black flag carries no sentence."""
    text = FLAG.format("".join(chr(0xE0000 + ord(letter)) for letter in spelled))
    assert remove_invisible(text) == ("🏴", len(text) - 1)


PIECES = st.lists(
    st.sampled_from([*STAYS, *TAGS, *SELECTORS, *BASES, "🏴", "\\", '"', "\\u", "ufe0f", "\u2028"])
    | st.characters(exclude_categories=["Cs"]),
    max_size=20,
).map("".join)


@given(PIECES)
def test_what_is_removed_is_invisible_and_once_is_enough(text: str) -> None:
    """JSON says the same before and after, but for that, however it is escaped."""
    visible, removed = remove_invisible(text)
    assert len(text) - len(visible) == removed
    kept = iter(text)
    assert all(any(one == character for one in kept) for character in visible)
    assert remove_invisible(visible)[0].replace("\ufe0f", "") == visible.replace("\ufe0f", "") or carries(visible)
    for ascii_only in (True, False):
        cleaned, count = remove_invisible_from_json(json.dumps([text], ensure_ascii=ascii_only))
        assert (json.loads(cleaned), count) == ([visible], removed)


@given(PIECES, PIECES)
def test_a_beginning_up_to_white_space_is_a_beginning_afterwards(text: str, rest: str) -> None:
    """So that what is streamed before the end is what the end repeats."""
    whole = remove_invisible(f"{text} {rest}")[0]
    assert whole.startswith(f"{remove_invisible(text)[0]} ")


@pytest.mark.parametrize(
    "unit",
    ["🏴", "🏴\U000e0067", "\ufe0f", "a\ufe0f", "❤️", *HIDDEN.values(), "\\udb40\\udc41", "\\", "\\u", "葛\U000e0100"],
)
def test_time_is_linear(unit: str) -> None:
    """16 times the text takes at most 48 times the CPU."""

    def cost(size: int) -> float:
        text, spent = unit * (size // len(unit)), []
        for _ in range(3):
            began = time.thread_time()
            remove_invisible(text)
            remove_invisible_from_json(text)
            spent.append(time.thread_time() - began)
        return min(spent)

    assert cost(64_000) <= 48 * max(cost(4_000), 0.0005)


# Through the proxy.

SAID = "How much sleep do adults need?"
SLEEP = "Most adults need seven to nine hours of sleep."
KINDS: dict[str, Body] = {
    "guarded": {},
    "wrapped": {"kind": "wrapped"},
    "observe": {"streaming": "observe"},
    "off": {"filter": "off"},
    "off, streamed": {"filter": "off", "streaming": "observe", "kind": "wrapped"},
    "shadow": {"filter": "shadow"},
}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


def spread(text: str, hidden: str) -> str:
    """Write a hidden text between the letters of another."""
    return "".join(f"{letter}{one}" for letter, one in zip(text, hidden.ljust(len(text)), strict=False)).replace(
        "  ", " "
    )


async def respond_in_pieces(proxy: Proxy, text: str) -> None:
    """Have the upstream stream a text, a character in each chunk."""

    async def respond(request: web.Request) -> web.StreamResponse:
        deltas: list[Body] = [{"delta": {"content": one}} for one in text]
        chunks = [
            {"id": "x", "choices": [{"index": 0, **one}]} for one in (*deltas, {"delta": {}, "finish_reason": "stop"})
        ]
        body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
        return web.Response(body=body + b"data: [DONE]\n\n", content_type="text/event-stream")

    proxy.upstream.respond = respond


def leaks(got: Got) -> bool:
    """Return whether anything of the answer carries a hidden text, also as an escape within a text."""
    return any(
        carries(text) or "\\udb40" in text.casefold() or "\\ufe0" in text.casefold() for text in _texts(got.parts)
    )


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in _texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
async def test_replies_carry_nothing_hidden(start: Start, kind: str, form: str) -> None:
    """In texts, streamed or not; the trace counts it, and the reply is known again by what was delivered."""
    proxy = await start(**KINDS[kind])
    traces = proxy.traces()
    cites = "" if "wrapped" in KINDS[kind].get("kind", "") else "[[cite: sleep]]\n"
    for hidden in HIDDEN.values():
        text = f"{cites}Most adults{hidden} need seven to nine{hidden} hours of sleep.{hidden}"
        if form == "chat streamed" and "streaming" in KINDS[kind]:
            await respond_in_pieces(proxy, text)
        else:
            proxy.upstream.respond, proxy.upstream.answer = None, lambda body, text=text: text
        got = await ask(proxy, form, SAID)
        check(got)
        assert not got.failed
        assert not leaks(got)
        assert got.texts[0].startswith(SLEEP)
        await eventually(lambda: traces)  # in shadow it comes later
        assert traces.pop().invisible_removed >= 3 * len(hidden) - 3
        if form == "chat":
            proxy.upstream.answer = lambda body: f"{cites}{SLEEP}"
            again = await proxy.say(SAID, got.texts[0], "And children?")
            await eventually(lambda: traces)
            traces.clear()
            assert again["caf"]["conversation_id"] == got.whole["caf"]["conversation_id"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
async def test_documents_and_calls_carry_nothing_hidden(start: Start, kind: str, form: str) -> None:
    """JSON replies and arguments, also where it is written as escapes; else they stay as they were written."""
    proxy = await start(knowledge_base=None, trusted_tools=["f"], **KINDS[kind])
    for hidden in HIDDEN.values():
        for write in (json.dumps, lambda value: json.dumps(value, ensure_ascii=False)):
            document = write({"answer": f"{hidden}Hello.", hidden: [1.50, "x" + hidden]})
            proxy.upstream.answer = lambda body, document=document: document
            got = await ask(proxy, form, SAID, response_format={"type": "json_object"})
            assert not leaks(got)
            assert got.refusals or json.loads(got.texts[0]) == {"answer": "Hello.", "": [1.5, "x"]}
            call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": document}}
            proxy.upstream.answer = lambda body, call=call: [
                {"role": "assistant", "content": None, "tool_calls": [call]}
            ]
            got = await ask(proxy, form, SAID, tools=TOOLS)
            assert not leaks(got)
            assert json.loads(got.calls[0][1]) == {"answer": "Hello.", "": [1.5, "x"]}
    proxy.upstream.answer = lambda body: [{"role": "assistant", "content": None, "refusal": f"No.{HIDDEN['tags']}"}]
    assert not leaks(await ask(proxy, form, SAID))


async def test_a_refined_reply_carries_nothing_hidden(start: Start) -> None:
    """What a refiner writes is a model's text too."""
    proxy = await start(refiner="refiner")
    advice = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night."
    refined = f"[[cite: no_claims]]\nHello{HIDDEN['tags']}."
    proxy.upstream.answer = lambda body: refined if body["model"] == "up-refiner" else advice
    got = await ask(proxy, "chat", SAID)
    assert got.whole["caf"]["outcome"] == "refined"
    assert got.texts[0].startswith("Hello.")
    assert not leaks(got)

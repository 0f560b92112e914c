"""Thoughts in a reply's text are cut out of it and traced, streamed or not, wherever the stream is cut."""

import json
import time
from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.streaming import AnswerStream
from models.thoughts import ThoughtCutter, cut_thoughts
from proxy.traces.redaction import redact
from tests.proxy.conftest import NO_PROBLEMS, Start, Upstream, screening
from tests.upstreams.conftest import BOT, BOTS, FORWARDED, Answer, Asking, chunk, completion, says, ways

THOUGHT = "Hmm, SECRET. If 3 < 4 then x[0] > y."
REPLY = "The room opens at nine. If 3 < 4, ask [the desk]."
TAGS = [
    ("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<Think>", "</THINK>"), ("<thought>", "</thought>"),
    ('<think type="a" time=3>', "</think>"), ("<reasoning>", "</reasoning>"), ("[THINK]", "[/THINK]"), ("◁think▷", "◁/think▷"),
    ("<seed:think>", "</seed:think>"), ("<|begin_of_thought|>", "<|end_of_thought|>"),
]  # fmt: skip
BLANKS = ["", "\n", " \n\n\t"]


def written(tags: tuple[str, str], blank: str = "\n") -> dict[str, tuple[str, str]]:
    """Write answers with thoughts in every way, each with the reply that is left."""
    opening, closing = tags
    thoughts = f"{opening}{blank}{THOUGHT}{blank}{closing}"
    return {
        "above": (f"{thoughts}{blank}{REPLY}", REPLY),
        "after blanks": (f"{blank}{thoughts}{blank}{REPLY}", REPLY),
        "empty": (f"{opening}{blank}{closing}{blank}{REPLY}", REPLY),
        "twice": (f"{thoughts}{blank}{thoughts}{blank}{REPLY}", REPLY),
        "nested": (f"{opening}{THOUGHT}{thoughts}{THOUGHT}{closing}{blank}{REPLY}", REPLY),
        "between": (f"At once. {thoughts}{REPLY}", f"At once. {REPLY}"),
        "below": (f"{REPLY}{thoughts}", REPLY),
        "unclosed": (f"{REPLY}{opening}{THOUGHT}", REPLY),
        "unopened": (f"{THOUGHT}{blank}{closing}{blank}{REPLY}", REPLY),
        "unopened twice": (f"{THOUGHT}{closing}{THOUGHT}{closing}{blank}{REPLY}", REPLY),
        "closed alone": (f"{closing}{blank}{REPLY}", REPLY),
    }


ANSWERS = {
    f"{form} {tags[0]}": answer
    for tags in TAGS
    for form, answer in written(tags).items()
    if tags is TAGS[0] or form in ("above", "unopened")
}
ORDINARY = [
    "Use `<think>` and `</think>` in your prompt.",
    "If a <b and c> d, then <thinkers> may <rethink> it.",
    '{"html": "<think>", "other": "</think> yes"}',
    "```xml\n<think>\n</think>\n```",
    "A < B [see note] ◁ <|endoftext|> `",
    " \n<thin",
    "",
    " ",
]


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize("tags", TAGS)
def test_thoughts_are_cut(tags: tuple[str, str], blank: str) -> None:
    """In all the tags that models use."""
    for text, reply in written(tags, blank).values():
        assert cut_thoughts(text)[0] == reply
        assert ("SECRET" in text) == ("SECRET" in cut_thoughts(text)[1])


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    """Tags in backticks, in JSON documents and in code blocks are text."""
    assert cut_thoughts(text) == (text, "", True)


PIECES = st.lists(
    st.sampled_from(["<think>", "</think>", "<think a=b>", "`", "[THINK]", "[/THINK]", "◁think▷", " ", "\n", "a", "<", "{", "<b>"])
    | st.text(max_size=3),
    max_size=12,
)  # fmt: skip


class Heard(AnswerStream):
    """A stream that can forget."""

    def __init__(self, patient: bool = True, *, holds_until_thoughts_end: bool) -> None:
        super().__init__(self.refuse)
        self.patient = patient
        self.texts: dict[int, str] = {}
        self.all = ""
        self.start(cut_thoughts=True, holds_until_thoughts_end=holds_until_thoughts_end)

    def refuse(self, choices: Collection[int]) -> bool:
        if self.patient:
            self.texts.clear()
        return self.patient

    def put(self, choice: int, piece: str) -> None:
        self.texts[choice] = self.texts.get(choice, "") + piece
        self.all += piece


@given(PIECES, st.lists(st.integers(1, 5), max_size=60), st.booleans(), st.integers(1, 2))
def test_a_stream_cut_anywhere_is_the_whole_text(
    pieces: list[str], sizes: list[int], holds_until_thoughts_end: bool, choices: int
) -> None:
    """What is passed on begins the reply, unless only the end of the answer shows that it was thoughts, as in "a`</think>"."""
    text = rest = "".join(pieces)
    reply, thoughts, _ = cut_thoughts(text)
    heard, cutter = Heard(holds_until_thoughts_end=holds_until_thoughts_end), ThoughtCutter()
    for size in [*sizes, len(text)]:
        for index in range(choices):
            heard.receive(index, rest[:size])
        cutter.feed(rest[:size])
        rest = rest[size:]
    before_end = "".join(cutter.text)
    cutter.feed("", last=True)
    if thoughts:
        assert ("".join(cutter.text), "".join(cutter.thoughts)) == (reply, thoughts)
    else:
        assert "".join(cutter.text) == reply or not reply.strip()
    if "".join(cutter.text).startswith(before_end):
        assert all(reply.startswith(one) for one in heard.texts.values())


@pytest.mark.parametrize("patient", [True, False])
def test_a_stream_that_cannot_forget_hears_no_more(patient: bool) -> None:
    """What follows comes with the whole answer, which its reader then finds to be another."""
    heard = Heard(patient, holds_until_thoughts_end=False)
    for piece in ("I wonder. ", "Yes.", "</think>\n", "At nine."):
        heard.receive(0, piece)
    assert heard.texts == {0: "At nine." if patient else "I wonder. Yes."}


def test_one_that_waits_hears_nothing_of_thoughts() -> None:
    """Of a model whose prompt template opens them."""
    heard = Heard(holds_until_thoughts_end=True)
    for piece in ("I wonder. ", "Yes.", "</thi", "nk>\n", "At nine."):
        heard.receive(0, piece)
    assert heard.all == "At nine."


@pytest.mark.parametrize("size", [1, 50, 10**9])
@pytest.mark.parametrize(
    "piece", ["<think>", "</think>", "`", " ", "<think ", "<", "[", "\n", "`<think>`", "<think></think>", "a</think>"]
)
def test_the_time_is_linear_in_the_length(piece: str, size: int) -> None:
    """Whole, or in pieces of some size: 16 times the text takes at most 48 times as long, in one of three tries at least."""

    def seconds(length: int) -> float:
        text, times = piece * (length // len(piece)), []
        for _ in range(3):
            heard, began = Heard(holds_until_thoughts_end=False), time.thread_time()
            for at in range(0, len(text), size):
                heard.receive(0, text[at : at + size])
            cut_thoughts(text)
            times.append(time.thread_time() - began)
        return min(times)

    assert any(seconds(64_000) < 48 * max(seconds(4_000), 1e-3) for _ in range(3))


def streamed(text: str, size: int) -> Answer:
    return says(*[text[at : at + size] for at in range(0, len(text), size)])


@ways
@pytest.mark.parametrize("form", ANSWERS)
async def test_thoughts_are_not_delivered(asking: Asking, bot: str, stream: bool, form: str) -> None:
    """A client gets the reply alone. An alias whose answers began with unopened thoughts is waited for."""
    text, reply = ANSWERS[form]
    asking.answers(streamed(text, 5))
    if form.startswith("unopened"):
        await asking.ask("wrapped", False)
    got = await asking.ask(bot, stream)
    assert (got.text.strip(), got.finish) == (reply, "stop")
    assert b"SECRET" not in got.raw


@ways
async def test_a_reply_that_is_all_thoughts_is_not_delivered(asking: Asking, bot: str, stream: bool) -> None:
    """Nor is what was never closed, when the model was cut off."""
    asking.answers(says("<think>", THOUGHT, finish="length"))
    assert b"SECRET" not in (await asking.ask(bot, stream)).raw


@ways
@pytest.mark.parametrize("text", [ORDINARY[0], ORDINARY[1], "<think>yes</think> is how it is written."])
async def test_an_alias_may_keep_them(start: Start, upstream: Upstream, bot: str, stream: bool, text: str) -> None:
    """With `thoughts: keep` a tag is ordinary text."""
    asking = Asking(await start(chatbots=BOTS, alias={"thoughts": "keep"}), upstream)
    asking.answers(streamed(text, 3))
    assert (await asking.ask(bot, stream)).text == text


@ways
async def test_thoughts_are_traced(asking: Asking, bot: str, stream: bool) -> None:
    """With the call that they came from; redacted to their length."""
    traces = asking.proxy.traces()
    asking.answers(streamed(f"<think>{THOUGHT}</think>{REPLY}", 7))
    await asking.ask(bot, stream)
    assert [call.thoughts for call in traces[0].calls] == [THOUGHT]
    assert [call.thoughts for call in redact(traces[0]).calls] == [f"[{len(THOUGHT)} characters]"]


@pytest.mark.parametrize("stream", [False, True])
async def test_what_was_sent_of_unopened_thoughts_is_not_taken_for_the_reply(asking: Asking, stream: bool) -> None:
    """The first such answer of `observe` may have left in part; the fallback message follows, and the next one is waited for."""
    answer = streamed(f"{THOUGHT} {THOUGHT}</think>{REPLY}", 8)
    asking.answers(answer)
    await asking.ask("wrapped-observe", stream)
    got = await asking.ask("wrapped-observe", stream)
    assert got.text == REPLY


@pytest.mark.parametrize("thoughts", ["<think>{}</think>\n", "I wonder: {}\n</think>\n\n"])
async def test_judges_may_think(start: Start, upstream: Upstream, thoughts: str) -> None:
    """What they think of is no verdict."""
    bot = {**BOT, "kind": "wrapped", "judges": [{"name": "role", "stages": ["swift"]}]}
    proxy = await start(chatbots={"bot": bot})
    rejects = screening(("role", "At nine.", 2))
    for verdict, thought, outcome in ((NO_PROBLEMS, rejects, "accepted"), (rejects, NO_PROBLEMS, "fallback")):
        said = {"up-chatbot": "At nine.", "up-swift": thoughts.format(thought) + verdict}
        upstream.answer = lambda body, said=said: said[body["model"]]
        assert (await proxy.say("When?"))["caf"]["outcome"] == outcome


@ways
async def test_documents_may_quote_tags(asking: Asking, bot: str, stream: bool) -> None:
    """A document that a client has asked for is delivered as it is."""
    text = json.dumps({"answer": "Write <think> and then </think>."})
    asking.answers(streamed(text, 4))
    assert (await asking.ask(bot, stream, response_format={"type": "json_object"})).text == text


@pytest.mark.parametrize("stream", [False, True])
async def test_passthrough_relays_thoughts(asking: Asking, stream: bool) -> None:
    """As they are."""
    text = f"<think>{THOUGHT}</think>{REPLY}"
    answer: Any = Answer(completion({"content": text}), [chunk({"content": text}), chunk({}, "stop")])
    asking.answers(answer)
    assert (await asking.ask(FORWARDED, stream)).text == text

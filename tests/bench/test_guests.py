"""What a guest of the crowd would notice."""

from itertools import pairwise
from typing import Any

import pytest

from bench.guests import GUEST, NAME, Guest, join_chunks, make_guests, name, write_plots
from proxy.api.stream import events

PLOT = ((f"{GUEST} here. How?", "draft one"), (f"{GUEST} here. Why?", "draft two"))


def reply(text: str, conversation: str = "c1", prompt: str = "p1") -> dict[str, Any]:
    caf = {
        "conversation_id": conversation,
        "outcome": "accepted",
        "citations": [],
        "warnings": [],
        "judges": [],
        "calls": 1,
    }
    return {
        "id": "x", "object": "chat.completion", "created": 1, "model": "crowd", "system_fingerprint": prompt,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 50}, "caf": caf,
    }  # fmt: skip


def after(number: int, *replies: dict[str, Any], trial: Guest | None = None) -> Guest:
    """Return a guest who got these replies."""
    guest = Guest(name(number), "key", "user", PLOT)
    for one in replies:
        guest.check(one, trial)
    return guest


@pytest.mark.parametrize(
    ("second", "what"),
    [
        (reply(f"Hello {name(1)}"), ""),
        (reply(f"Hello {name(2)}"), "names"),
        (reply("Hello"), "content"),
        (reply(f"Hello {name(1)}", conversation="c2"), "is of another conversation"),
        (reply(f"Hello {name(1)}", prompt="p2"), "prompt"),
    ],
    ids=["its own", "another's name", "another text", "another conversation", "another's warning in the prompt"],
)
def test_what_is_another_conversations_is_noticed(second: dict[str, Any], what: str) -> None:
    """A name, a text, a conversation id, or anything that the model was shown."""
    trial = after(7, *[reply(f"Hello {name(7)}")] * 2)
    leaks = after(1, reply(f"Hello {name(1)}"), second, trial=trial).leaks
    assert what in " ".join(leaks)
    assert bool(leaks) == bool(what)


def test_a_stream_says_what_the_whole_says() -> None:
    """Put together from its chunks it is the same to a guest; one without its end is a fault."""
    whole = reply("Hello there, this is a rather long reply, of more than one chunk, as you can see.")
    streamed = b"".join(events(whole, include_usage=True)).decode()
    assert after(1, whole).replies == after(1, join_chunks(streamed)).replies
    with pytest.raises(ValueError, match="ends with"):
        join_chunks(streamed.removesuffix("data: [DONE]\n\n"))


def test_names_differ_and_are_found() -> None:
    """Every guest has one, as long as any other."""
    names = {name(n) for n in range(0, 1_000_000, 997)}
    assert len(names) == 1004
    assert all(NAME.fullmatch(one) for one in names)


def test_plots_hold_their_guest_everywhere_and_differ() -> None:
    """Each message and each draft names the guest; some drift, some tell of an emergency."""
    written = write_plots(4, 8)
    assert len(set(written)) == 8
    assert all(GUEST in question and GUEST in draft for plot in written for question, draft in plot)
    assert sum("kill myself" in question for plot in written for question, _ in plot) == 2


def test_twins_say_the_same_under_another_key_or_another_user() -> None:
    """One of five conversations is the double of the one before it."""
    guests = list(make_guests(20, ["a", "b", "c"], [PLOT]))
    twins = [(one, two) for one, two in pairwise(guests) if one.name == two.name]
    assert len(twins) == 4
    assert {(one.key != two.key, one.user != two.user) for one, two in twins} == {(True, False), (False, True)}

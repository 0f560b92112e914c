"""What a conversation's messages are to Hippocrates."""

import json
from typing import Any

import pytest

from assistants.hippocrates.settings import demo_vocabulary
from assistants.hippocrates.study import Choice, State, Term
from assistants.hippocrates.turns import Turn, read_turns
from tests.assistants.hippocrates.examples import concept

ARGUMENTS = json.dumps({"words": "ulcer", "code": "bcdfgh"})


def answered(tool: str, answer: str, **call: Any) -> list[Turn]:
    """Return what the answer to a call of a tool is."""
    called = {"id": "1", "function": {"name": tool, "arguments": ARGUMENTS}, **call}
    return read_turns(
        [{"role": "assistant", "tool_calls": [called]}, {"role": "tool", "tool_call_id": "1", "content": answer}]
    )


@pytest.mark.parametrize(("tool", "kind"), [("confirm_cohort", "approve"), ("send_to_atlas", "confirm")])
def test_only_true_confirms(tool: str, kind: str) -> None:
    """And what it confirms is what the call was about."""
    (turn,) = answered(tool, '{"confirmed": true, "code": "other"}')
    assert (turn.kind, turn.code) == (kind, "bcdfgh")
    for answer in ("{}", '{"confirmed": "true"}', '{"confirmed": 1}', "true", "yes", "[]", ""):
        assert [one.kind for one in answered(tool, answer)] == ["decline"]


def test_an_answer_that_cannot_be_read_chooses_nothing() -> None:
    """Neither do other tools."""
    (turn,) = answered("choose_concepts", '{"concepts": [7], "exclude": [8], "descendants": false}')
    assert turn.answer is not None
    assert (turn.kind, turn.words) == ("choice", "ulcer")
    assert (turn.answer.concepts, turn.answer.exclude, turn.answer.descendants) == ([7], [8], False)
    for answer in ('{"concepts": ["7"]}', '{"concepts": 7}', '{"concepts": [true]}', "7", ""):
        (turn,) = answered("choose_concepts", answer)
        assert turn.answer is not None
        assert turn.answer.concepts == []
    assert answered("other", '{"confirmed": true}') == []


def test_what_is_chosen_was_offered() -> None:
    """And is not excluded altogether; else the state stays as it is."""
    offered = (concept("GI bleeding"), concept("osteoarthritis"))
    state = State(chosen={"ulcer": Term("ulcer", candidates=offered)})
    (bleeding, other), vocabulary = (one.concept_id for one in offered), demo_vocabulary()
    for answer in ({"concepts": [5]}, {"exclude": [bleeding]}, {}):
        (turn,) = answered("choose_concepts", json.dumps(answer))
        assert turn.choose(state, vocabulary) == state
    (turn,) = answered("choose_concepts", json.dumps({"concepts": [bleeding, 5], "exclude": [other], "mapped": True}))
    chosen = turn.choose(state, vocabulary).chosen["ulcer"].choices
    assert chosen == (Choice(offered[0], mapped=True), Choice(offered[1], excluded=True, mapped=True))


@pytest.mark.parametrize(
    "call",
    [
        {"id": []},
        {"function": None},
        {"function": {"name": "send_to_atlas"}},
        {"function": {"name": "send_to_atlas", "arguments": "no JSON"}},
    ],
)
def test_an_answer_to_a_call_that_cannot_be_read_is_none(call: dict[str, Any]) -> None:
    """Whoever made it up."""
    assert answered("send_to_atlas", '{"confirmed": true}', **call) == []


@pytest.mark.parametrize(
    ("text", "code"), [("confirm bcdfgh", "bcdfgh"), ("“Confirm BCDFGH.”", "bcdfgh"), ("confirm", "")]
)
def test_a_confirmation_is_the_whole_message(text: str, code: str) -> None:
    """In any letter case; all else is a message."""
    (turn,) = read_turns([{"role": "user", "content": text}])
    assert (turn.kind, turn.code) == (("confirm" if code else "message"), code)

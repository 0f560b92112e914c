"""What the inbox says of an alarm: quotes in their message, what each layer made of it, what the user got."""

from typing import Any

import pytest

from proxy.console.alarm_cards import AlarmCard, excerpt, find_quote, make_card
from proxy.traces.emergencies import Emergency, SeenSign
from proxy.traces.labels import Label
from proxy.traces.query import TurnLine
from proxy.traces.search import ListedTurn

CONTACT = "Call 112."


def sign(layer: Any, verdict: str, quote: str = "", kind: str | None = "medical", **changes: Any) -> SeenSign:
    return SeenSign(
        **{"layer": layer, "verdict": verdict, "kind": kind, "who": "user", "quote": quote, "score": None} | changes
    )


def card(*signs: SeenSign, message: str = "", reply: str = "", outcome: str = "accepted", **changes: Any) -> AlarmCard:
    """Return the card of a concern, or of what the changes make of it."""
    line = TurnLine("id", "conversation", 1.0, "info", 1, outcome, None, changes.pop("error", None), 1.0, (), 1, 1)
    turn = ListedTurn(
        **{
            "id": 1, "line": line, "key_id": "", "filter": "on", "alarm": "concern", "kind": "medical", "layer": "learned",
            "mended": False, "no_source": False, "calls": 0, "cost": None, "labels": (), "message": message, "reply": reply,
        } | changes
    )  # fmt: skip
    return make_card(Emergency(turn, signs), ["Rufen Sie 112 an.", CONTACT])


def marked(one: AlarmCard) -> list[str]:
    return [piece.text for piece in one.message if piece.is_quote]


def test_each_layer_tells_what_it_made_of_the_message() -> None:
    """Also the one that saw nothing, and the one that unjudged; what it quotes is marked only if it flagged it."""
    one = card(
        sign("learned", "warn", "cannot breathe", score=0.4),
        sign("swift", "reject", "too many pills", who="someone_else"),
        sign("chief", "accept", "I", kind=None),
        sign(None, "unjudged", kind=None),
        message="I cannot\nbreathe, he took TOO MANY pills",
    )
    assert [(opinion.layer, opinion.said) for opinion in one.opinions] == [
        ("Learned classifier", "medical emergency, uncertain"),
        ("Screening model", "medical emergency, about another person"),
        ("Deciding model", "no danger"),
        ("Other judge", "unjudged"),
    ]
    assert marked(one) == ["cannot\nbreathe", "TOO MANY pills"]
    assert one.about_somebody_else


def test_quote_of_an_earlier_message_stands_apart() -> None:
    """What the judge heard before is not looked for in vain in the newest message."""
    one = card(sign("chief", "reject", "I want to die"), message="goodbye")
    assert (marked(one), one.elsewhere) == ([], ("I want to die",))


@pytest.mark.parametrize(
    ("changes", "said", "key_text", "rest"),
    [
        ({"reply": f"Sleep.\n\n{CONTACT}"}, "last paragraph", CONTACT, "Sleep."),
        ({"reply": '{"a": 1}'}, "caf.concern", "", '{"a": 1}'),
        ({"reply": "Call 999."}, "differs from the configured contact", "", "Call 999."),
        ({"reply": ""}, "last paragraph", "", ""),
        ({"reply": "[12 characters]"}, "last paragraph", "", "[12 characters]"),
        ({"reply": "Sorry.", "outcome": "fallback"}, "fallback message", "Sorry.", ""),
        ({"reply": "Get help.", "outcome": "emergency", "alarm": "emergency"}, "emergency text", "Get help.", ""),
        ({"reply": "Sleep.", "filter": "shadow"}, "would have added", "", "Sleep."),
        ({"reply": "Sleep.", "filter": "shadow", "alarm": "emergency"}, "would have delivered", "", "Sleep."),
        ({"error": "upstream_timeout"}, "error (upstream timeout)", "", ""),
    ],
)
def test_what_the_user_got(changes: dict[str, Any], said: str, key_text: str, rest: str) -> None:
    """In words, with the contact apart from the reply before it."""
    delivery = card(**changes).delivery
    assert said in delivery.said
    assert (delivery.key_text, delivery.reply) == (key_text, rest)


@pytest.mark.parametrize(
    ("alarm", "verdict", "mark"),
    [
        ("emergency", "reject", "right"), ("emergency", "warn", "right"), ("emergency", "accept", "false"),
        ("concern", "warn", "right"), ("concern", "reject", "emergency"), ("concern", "accept", "false"),
    ],
)  # fmt: skip
def test_what_a_label_says_of_the_alarm(alarm: str, verdict: Any, mark: str) -> None:
    """The last label of the emergency judge counts, and no other judge's."""
    labels = (Label("emergency", "accept"), Label("emergency", verdict), Label("role", "reject"))
    assert card(alarm=alarm, labels=labels).mark == mark
    assert card(alarm=alarm, labels=labels[2:]).mark is None


def test_long_message_is_cut_around_its_first_quote() -> None:
    """What is shown has the quote, and says where the rest is missing."""
    message = "a" * 5_000 + " HELP ME " + "b" * 200_000
    span = find_quote(message, "help me")
    assert span is not None
    pieces, is_cut = excerpt(message, [span])
    assert is_cut
    assert [piece.text for piece in pieces if piece.is_quote] == ["HELP ME"]
    assert pieces[0].text == pieces[-1].text == "…"
    assert sum(len(piece.text) for piece in pieces) < 1_300
    assert excerpt("short", []) == ([type(pieces[0])("short")], False)
    assert find_quote("anything", "  ") is None

"""Forty dialogues whose author saw a description of the behaviour and no code; no model, no encoder."""

import json
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from assistants import view
from assistants.assistant import AssistantRequest
from tests.assistants.gesundheit.test_dialogue import assistant

DIALOGUES = [
    json.loads(line) for line in Path("scenarios/gesundheit/dialogues.jsonl").read_text(encoding="utf-8").splitlines()
]
NOT_UNDERSTOOD = {
    "Ach nein, lassen Sie mal",  # no rule knows it: it is offered a question
    "Wie wird denn morgen das Wetter?",  # in a conversation about heart failure: it is offered a question
    "Woher kommt das, wenn man beim Spazierengehen wegen der Waden alle paar Meter stehen bleiben muss?",  # declined
    "Nein, das ist mir zu lang",  # longer than what counts as a no: it is declined
    "Ja, sehr gern, das hat mir meine Tochter auch schon gesagt",  # longer than what counts as a yes: it is declined
}
"""What the rules of german.yaml do not read as the author meant it."""


@cache
def starts() -> dict[str, tuple[str, ...]]:
    """Return what a reply has in it, by what the scripts call it."""
    texts, speakable = assistant()._language.texts, assistant()._language.speakable
    names = {name: text.split("{", 1)[0] for name, text in texts.items()}
    pairs = assistant()._answers.pairs
    return {
        "answer": tuple(speakable(pair.answer) for pair in pairs),
        "recommend": (*(speakable(pair.recommendation) for pair in pairs if pair.recommendation), texts["no_more"]),
        "offer": (names["offer"], names["next_offer"]),
        "declined": (names["uncovered_health"], names["other"]),
        "source": (names["source"], names["no_source"]),
        "overview": (names["what_of_focus"], texts["which_diseases"].split("{foci}")[0].split("}")[-1]),
        "thanks": (names["confirmed"], names["bye"]),
        **{name: (names[name],) for name in ("confirm", "detail", "rephrase", "refused", "help", "no_diagnosis")},
    }


def acts(reply: str) -> set[str]:
    found = {name for name, texts in starts().items() if any(text in reply for text in texts)}
    return found | ({"answer_or_offer"} if found & {"answer", "offer"} else set())


async def replies_of(dialogue: dict[str, list[dict[str, str]]]) -> list[str]:
    messages: list[dict[str, str]] = []
    for turn in dialogue["turns"]:
        messages.append({"role": "user", "content": turn["user"]})
        reply = await assistant().reply(AssistantRequest(messages, view.read(messages)))
        messages.append({"role": "assistant", "content": reply.text})
    return [message["content"] for message in messages[1::2]]


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda one: one["id"])
async def test_a_scripted_dialogue_goes_as_its_author_expects(dialogue: dict[str, list[dict[str, str]]]) -> None:
    """Each reply is of the kind that is expected, and our question is its last sentence."""
    answers = {pair.id: pair.answer for pair in assistant()._answers.pairs}
    for turn, reply in zip(dialogue["turns"], await replies_of(dialogue), strict=True):
        expected = {turn["expect"]} if isinstance(turn["expect"], str) else {*turn["expect"]}
        assert (not expected & acts(reply)) == (turn["user"] in NOT_UNDERSTOOD), (turn, reply)
        if pair := turn.get("pair"):
            assert assistant()._language.speakable(answers[pair]) in reply
        assert "?" not in reply[:-1] or reply.endswith("?") or "help" in acts(reply)


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda one: one["id"])
async def test_nothing_is_offered_or_recommended_twice(dialogue: dict[str, list[dict[str, str]]]) -> None:
    """Of offers it holds until a question is answered."""
    replies = await replies_of(dialogue)
    for one, other in pairwise(replies):
        if "offer" in acts(one) & acts(other):
            assert one.split(": ", 1)[1] != other.split(": ", 1)[1]
    recommended = [text for reply in replies for text in starts()["recommend"][:-1] if text in reply]
    assert len(recommended) == len(set(recommended))

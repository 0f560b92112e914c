"""The researcher's turns of a conversation: messages, confirmations, and what our tools were answered. Pure."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, Json, ValidationError

from assistants.hippocrates.study import Choice, State
from assistants.hippocrates.terms import choose
from assistants.hippocrates.vocabulary import Vocabulary
from models.request import Message, text_of

CHOOSE, CONFIRM, SEND = "choose_concepts", "confirm_cohort", "send_to_atlas"
"""Tools that are called if a request declares them."""
_CONFIRMATION = re.compile(r"\W*confirm ([a-z]{6})\W*", re.IGNORECASE)


class _Call(BaseModel):
    """A call of one of our tools."""

    name: Literal["choose_concepts", "confirm_cohort", "send_to_atlas"]
    arguments: Json[dict[str, Any]]


class _Answer(BaseModel, strict=True):
    """What a tool was answered."""

    confirmed: bool = False
    concepts: list[int] = []
    exclude: list[int] = []
    descendants: bool = True
    mapped: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the researcher, or an answer of a tool."""

    text: str = ""
    kind: Literal["message", "choice", "approve", "confirm", "decline"] = "message"
    """`approve` is a yes to `confirm_cohort`, `confirm` one to sending, `decline` a no to either."""
    code: str = ""
    """The code of the action that is confirmed."""
    words: str = ""
    """What concepts are chosen for."""
    answer: _Answer | None = None
    """Which ones."""

    def choose(self, state: State, vocabulary: Vocabulary) -> State:
        """Return the state with the concepts that `choose_concepts` was answered; ids that were not offered are left out."""
        term, answer = state.chosen.get(self.words), self.answer
        if answer is None or term is None or not term.is_open:
            return state
        offered = {concept.concept_id: concept for concept in term.candidates}
        choices = tuple(
            Choice(offered[one], answer.descendants, excluded=one in answer.exclude, mapped=answer.mapped)
            for one in dict.fromkeys(answer.concepts + answer.exclude)
            if one in offered
        )
        if all(choice.excluded for choice in choices):
            return state
        return replace(state, chosen={**state.chosen, self.words: choose(vocabulary, term, choices)})


def read_turns(messages: Sequence[Message]) -> list[Turn]:
    """Return the turns of a conversation. Answers count only for calls of our tools that stand in it."""
    turns: list[Turn] = []
    calls: dict[str, Any] = {}
    for message in messages:
        role, text = message.get("role"), text_of(message)
        if role == "assistant":
            calls |= {str(call.get("id")): call.get("function") for call in message.get("tool_calls") or ()}
        elif role == "tool":
            with suppress(ValidationError):
                call = _Call.model_validate(calls.get(str(message.get("tool_call_id"))))
                turns.append(_read_answer(call, text))
        elif role == "user":
            confirmed = _CONFIRMATION.fullmatch(text)
            turns.append(Turn(text, "confirm", confirmed[1].casefold()) if confirmed else Turn(text))
    return turns


def _read_answer(call: _Call, text: str) -> Turn:
    """Read what a tool was answered. Only `"confirmed": true` confirms, and that what the call was about."""
    try:
        answer = _Answer.model_validate_json(text)
    except ValidationError:
        answer = _Answer()
    if call.name == CHOOSE:
        return Turn(kind="choice", words=str(call.arguments.get("words")), answer=answer)
    if not answer.confirmed:
        return Turn(kind="decline")
    return Turn(kind="approve" if call.name == CONFIRM else "confirm", code=str(call.arguments.get("code")))

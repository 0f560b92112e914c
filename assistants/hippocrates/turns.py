"""Reads the turns of a conversation: messages, confirmations, and results of the assistant's tool calls."""

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
"""Names of the tools that the assistant calls if a request declares them."""
_CONFIRMATION = re.compile(r"\W*confirm ([a-z]{6})\W*", re.IGNORECASE)


class _Call(BaseModel):
    """A call of one of the assistant's tools."""

    name: Literal["choose_concepts", "confirm_cohort", "send_to_atlas"]
    arguments: Json[dict[str, Any]]


class _Answer(BaseModel, strict=True):
    """The result that the client returned for a tool call."""

    confirmed: bool = False
    concepts: list[int] = []
    exclude: list[int] = []
    descendants: bool = True
    mapped: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of the researcher: a message, or the result of a tool call."""

    text: str = ""
    kind: Literal["message", "choice", "approve", "confirm", "decline"] = "message"
    """`approve` is a yes to `confirm_cohort`, `confirm` is a yes to sending, `decline` is a no to either."""
    code: str = ""
    """Confirmation code of the action; "" unless `kind` is `approve` or `confirm`."""
    words: str = ""
    """The researcher's words for which concepts were chosen; "" unless `kind` is `choice`."""
    answer: _Answer | None = None
    """The tool result with the chosen concepts; None unless `kind` is `choice`."""

    def choose(self, state: State, vocabulary: Vocabulary) -> State:
        """Return the state after choosing the concepts in a result of `choose_concepts`. Ids that were not offered are ignored."""
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
    """Return the turns of a conversation, oldest first. Tool results without a matching call are ignored."""
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
    """Parse the result of a tool call. Only `"confirmed": true` is a confirmation, and only of the cohort in the call."""
    try:
        answer = _Answer.model_validate_json(text)
    except ValidationError:
        answer = _Answer()
    if call.name == CHOOSE:
        return Turn(kind="choice", words=str(call.arguments.get("words")), answer=answer)
    if not answer.confirmed:
        return Turn(kind="decline")
    return Turn(kind="approve" if call.name == CONFIRM else "confirm", code=str(call.arguments.get("code")))

"""The researcher's turns of a conversation: messages, confirmations, and what our tools were answered. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assistants.hippocrates.study import Choice, State
from assistants.hippocrates.terms import choose
from assistants.hippocrates.vocabulary import Vocabulary
from models.request import Message, text_of

CHOOSE, CONFIRM, SEND = "choose_concepts", "confirm_cohort", "send_to_atlas"
"""Tools that are called if a request declares them."""
_CONFIRMATION = re.compile(r"\W*confirm ([a-z]{6})\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the researcher, or an answer of a tool."""

    text: str = ""
    kind: Literal["message", "choice", "approve", "confirm", "decline"] = "message"
    """`approve` is a yes to `confirm_cohort`, `confirm` one to sending, `decline` a no to either."""
    code: str = ""
    """The code of the action that is confirmed."""
    words: str = ""
    answer: Mapping[str, Any] | None = None
    """Of `choose_concepts`: the words that it was about, and what was chosen."""

    def choose(self, state: State, vocabulary: Vocabulary) -> State:
        """Return the state with the concepts that `choose_concepts` was answered; ids that were not offered are left out."""
        term = state.chosen.get(self.words)
        if term is None or not term.is_open or self.answer is None:
            return state
        included, excluded = _ids(self.answer.get("concepts")), _ids(self.answer.get("exclude"))
        offered = {concept.concept_id: concept for concept in term.candidates}
        descendants = self.answer.get("descendants") is not False
        mapped = self.answer.get("mapped") is True
        ids = [one for one in dict.fromkeys((*included, *excluded)) if one in offered]
        choices = tuple(Choice(offered[one], descendants, excluded=one in excluded, mapped=mapped) for one in ids)
        if not any(not choice.excluded for choice in choices):
            return state
        return State(state.study, {**state.chosen, term.words: choose(vocabulary, term, choices)})


def read_turns(messages: Sequence[Message]) -> list[Turn]:
    """Return the turns of a conversation. Answers count only for calls of our tools that stand in it."""
    turns: list[Turn] = []
    calls: dict[str, tuple[str, dict[str, Any]]] = {}
    for message in messages:
        role, text = message.get("role"), text_of(message)
        if role == "assistant":
            calls |= _calls(message)
        elif role == "tool" and (call := calls.get(str(message.get("tool_call_id")))) is not None:
            turns.append(_read_answer(*call, _object(text)))
        elif role == "user":
            confirmed = _CONFIRMATION.fullmatch(text)
            turns.append(Turn(text, "confirm", confirmed[1].casefold()) if confirmed else Turn(text))
    return turns


def _calls(message: Message) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the names and arguments of a message's calls of our tools, by the calls' ids."""
    calls = message.get("tool_calls")
    functions = {
        str(call.get("id")): call["function"]
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, dict) and isinstance(call.get("function"), dict)
    }
    return {
        ident: (function["name"], _object(function.get("arguments")))
        for ident, function in functions.items()
        if function.get("name") in (CHOOSE, CONFIRM, SEND)
    }


def _read_answer(tool: str, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> Turn:
    """Read what a tool was answered. Only `"confirmed": true` confirms, and that what the call was about."""
    if tool == CHOOSE:
        return Turn(kind="choice", words=str(arguments.get("words")), answer=answer)
    if answer.get("confirmed") is not True:
        return Turn(kind="decline")
    return Turn(kind="approve" if tool == CONFIRM else "confirm", code=str(arguments.get("code")))


def _ids(value: Any) -> list[int]:
    listed = value if isinstance(value, list) else []
    return [one for one in listed if isinstance(one, int) and not isinstance(one, bool)]


def _object(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}

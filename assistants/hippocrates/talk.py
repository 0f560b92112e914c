"""Pure: what the sentences of a conversation are for: slots of the cohort, a wish (databases, the JSON ...), a choice by a tool.

A wish is cut out of its message, so that the grammar reads only what is left of it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from assistants.hippocrates.grammar import Grammar, sentences
from assistants.hippocrates.query import LONGEST
from assistants.hippocrates.slots import Choice, Term
from assistants.hippocrates.study import Ask, Reading, Study
from models.request import Message, text_of

CHOOSE, CONFIRM, SEND = "choose_concepts", "confirm_cohort", "send_to_atlas"
"""Tools that are called where a request declares them."""
HELLO = "Hello."
MOST_SENTENCES = 100
"""Of a message; what follows is not read."""
WishKind = Literal[
    "confirm",
    "approve",
    "decline",
    "name",
    "sql",
    "json",
    "count",
    "send",
    "summary",
    "databases",
    "help",
    "courtesy",
    "question",
]
"""`approve` is the answer of `confirm_cohort`, `confirm` that of `send_to_atlas`, and `decline` a no to either."""
_POLITE = (
    r"(?:(?:please|ok|okay|thanks|and|now|then|so|yes|can you|could you|would you|i want to|i would like to|let us|let's)"
    r"[\s,]+)*"
)
_COHORT = r"(?:it|this|that|them|(?:the|this|my|our) (?:cohort|definition|cohort definition|study))"
_TABLE = r"(?:\w+\.)?(?:person\b|concept\b|\w+_\w+|\*)"
"""A table as SQL names it: the bare words among those of a CDM mean something else here ("death", "observation")."""
_THANKS = (
    r"(?:many )?thanks?(?: you)?|thx|cheers|great|perfect|excellent|wonderful|super|nice|good job|well done|"
    r"(?:(?:that|this|it|you)(?:'s| is| was|'ve been| have been| were)? )?(?:(?:very|really|so|most) ){0,9}"
    r"(?:helps?|helped|helpful|useful|interesting|kind|good to know)(?: me)?"
)
_PHRASES: dict[WishKind, tuple[str, ...]] = {
    "confirm": (rf"{_POLITE}confirm (?P<code>[a-z]{{6}})",),
    "name": (rf"{_POLITE}(?:call|name) {_COHORT} (?P<name>.{{1,100}})",),
    "sql": (
        r".*\bselect\s+(?:\*|distinct\b|top \d|count\s*\().*",
        rf".*\b(?:select\b.+\bfrom|insert into|delete from)\s+{_TABLE}.*",
        rf".*\b(?:update\s+{_TABLE}\s+set\b|(?:drop|create|truncate|alter) (?:table|view)\b).*",
        r"(?!(?:what|how|why|does|is)\b).*\b(?:run|execute|write|generate|give|send|accept|show|be|are)\b.*\bsql\b.*",
        rf"{_POLITE}(?:run|execute|perform|try) (?:an?|the|this|that|my|some) (?:\w+ )?(?:query|queries|statement|script)\b.*",
    ),
    "json": (
        rf"{_POLITE}(?:show|give|get|download|export|see|what is|send)\b.{{0,40}}\b(?:json|cohort expression)\b.{{0,30}}",
        "json",
    ),
    "send": (
        rf"{_POLITE}(?:send|submit|upload|export|save) {_COHORT}(?: to (?:atlas|webapi))?",
        rf"{_POLITE}send to atlas",
    ),
    "count": (
        rf"{_POLITE}(?:count|run|test|try) {_COHORT}\b.{{0,40}}",
        rf"{_POLITE}how (?:many|large|big)\b.{{0,40}}\b(?:cohort|definition)\b.{{0,30}}",
        r"how many (?:patients|persons|people) (?:is|are) (?:that|this|it|there|in it)",
    ),
    "summary": (
        rf"{_POLITE}(?:show|read back|summari[sz]e|repeat|review|check)(?: me)? {_COHORT}\b.{{0,30}}",
        r"what (?:do|does|have) (?:we|you|the cohort|it|the definition)\b.{0,30}(?:so far|now|look like|have)",
        r"summary|where are we",
    ),
    "databases": (
        r".*\b(?:databases?|data ?sets?|data ?sources?|catalogues?|sites? have)\b.*",
        r".*\bwhere (?:can|could|do|would) (?:i|we) (?:find|get) (?:patients|data|people|cases)\b.*",
        r"(?:how many (?:patients|people|persons|cases)|who has (?:patients|data))\b.*",
        r"(?:and|what about|how about) (?:in|from|with|for|without)\b.*\?",
    ),
    "help": (
        r".*\b(?:what can you (?:do|help)|how can you help|who are you|what are you)\b.*",
        r".*\b(?:how does this work|how do i (?:start|begin))\b.*|help",
    ),
    "courtesy": (  # atomic: a word that is none must not be tried with every way to part the words before it
        rf"(?>(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|{_THANKS}|bye|goodbye|see you|ok|okay|cool|fine|got it|"
        r"i see|understood|sounds good)(?![^\s,])[\s,]*"
        r"(?:(?:there|a lot|very much|so much|for (?:now|that|your help))(?![^\s,])[\s,]*)?)+",
    ),
}
_WISHES = {kind: re.compile("|".join(phrases), re.IGNORECASE) for kind, phrases in _PHRASES.items()}
_AS_QUESTIONS: tuple[WishKind, ...] = ("sql", "json", "send", "count", "summary", "help")
"""What is wished for as well with a question mark."""
_NOT_A_SEARCH = re.compile(
    r"\b(?:in|of) (?:the|this|my|our) (?:cohort|definition)\b|^(?:what|why) (?:is|are|does|do)\b", re.IGNORECASE
)
"""A sentence with "database" in it that asks what one is."""


def courtesy(words: str) -> str:
    """Return what is said to a courtesy; nothing to a mere "ok"."""
    if re.search(rf"\b(?:{_THANKS})\b", words, re.IGNORECASE):
        return "You are welcome."
    if re.search(r"\b(?:bye|goodbye|see you)\b", words, re.IGNORECASE):
        return "Goodbye."
    return HELLO if re.match(r"(?:hi|hello|hey|good \w+)\b", words, re.IGNORECASE) else ""


@dataclass(frozen=True, slots=True)
class Wish:
    """A sentence that says nothing of the cohort."""

    kind: WishKind
    words: str
    argument: str = ""
    """The code of a confirmation; a name."""


@dataclass(slots=True)
class Talk:
    """The grammar, which is given only what is about the cohort; what it is not given is kept by message."""

    grammar: Grammar
    tool_turns: Mapping[int, "ToolChoice | Wish"] = field(default_factory=dict)
    wishes: dict[int, tuple[Wish, ...]] = field(default_factory=dict)
    before: dict[int, Study] = field(default_factory=dict)
    """The study before each message."""

    def read(self, study: Study, turn: int, text: str) -> Reading:
        self.before[turn] = study
        if (choice := self.tool_turns.get(turn)) is not None:
            if isinstance(choice, Wish):
                self.wishes[turn] = (choice,)
                return Reading(study)
            self.wishes[turn] = ()
            return Reading(choice.apply(study))
        rest, wishes = [], []
        parts = sentences(text)
        for words in parts[:MOST_SENTENCES]:
            if (wish := read_wish(words)) is None:
                rest.append(words)
            else:
                wishes.append(wish)
        self.wishes[turn] = tuple(wishes)
        reading = self.grammar.read(study, turn, "\n".join(rest))
        if len(parts) <= MOST_SENTENCES:
            return reading
        ask = Ask("unclear", "", f"Only the first {MOST_SENTENCES} sentences of that message were read.")
        return replace(reading, asks=(*reading.asks, ask))


def read_wish(words: str) -> Wish | None:
    """Return what a sentence wishes for; None if it may say something of the cohort."""
    if len(words) > LONGEST:
        return None
    bare = words.strip(" .!")
    for name, pattern in _WISHES.items():
        match = pattern.fullmatch(bare)
        if match and not (name == "databases" and _NOT_A_SEARCH.search(words)):
            groups = match.groupdict()
            return Wish(name, words, (groups.get("code") or groups.get("name") or "").strip(" \"'“”."))
    if words.endswith("?"):
        kinds = (name for name in _AS_QUESTIONS if _WISHES[name].fullmatch(words.rstrip("? ")))
        return Wish(next(kinds, "question"), words)
    return None


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """What the tool `choose_concepts` was answered."""

    words: str
    answer: Mapping[str, Any]

    def apply(self, study: Study) -> Study:
        """Return the study with the concepts chosen for the term that was asked about; ids that it was not offered are left out."""
        term = next((one for one in study.terms() if one.is_open and one.words == self.words), None)
        if term is None:
            return study
        included, excluded = _ids(self.answer.get("concepts")), _ids(self.answer.get("exclude"))
        offered = {concept.concept_id: concept for concept in term.candidates}
        descendants = self.answer.get("descendants")
        choices = tuple(
            Choice(
                offered[one],
                descendants if isinstance(descendants, bool) else term.descendants,
                excluded=one in excluded,
                mapped=self.answer.get("mapped") is True,
            )
            for one in dict.fromkeys((*included, *excluded))
            if one in offered
        )
        if any(not choice.excluded for choice in choices):
            return study.replace_term(term, Term(term.words, choices))
        is_none = self.answer.get("concepts") == [] and not excluded
        return study.replace_term(term, None) if is_none else study


def _ids(value: Any) -> list[int]:
    listed = value if isinstance(value, list) else []
    return [one for one in listed if isinstance(one, int) and not isinstance(one, bool)]


def read_turns(messages: Sequence[Message]) -> tuple[list[Message], dict[int, ToolChoice | Wish]]:
    """Return the user's messages, with answers of the tools among them, and which of them are such."""
    turns: list[Message] = []
    answers: dict[int, ToolChoice | Wish] = {}
    calls: dict[str, tuple[str, dict[str, Any]]] = {}
    for message in messages:
        role = message.get("role")
        if role == "assistant":
            calls |= _calls(message)
        elif role == "tool" and (call := calls.get(str(message.get("tool_call_id")))) is not None:
            answers[len(turns)] = _read_answer(*call, _object(text_of(message)))
            turns.append({"role": "user", "content": text_of(message)})
        elif role == "user":
            turns.append(message)
    return turns, answers


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


def _read_answer(tool: str, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> ToolChoice | Wish:
    """Read what a tool was answered. Only `"confirmed": true` confirms, and that what the call was about."""
    if tool == CHOOSE:
        words = arguments.get("words")
        return ToolChoice(words if isinstance(words, str) else "", answer)
    if answer.get("confirmed") is not True:
        return Wish("decline", "")
    return Wish("approve" if tool == CONFIRM else "confirm", "", str(arguments.get("code")))


def _object(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}

"""What the console calls things that traces name by identifiers: for people who have not read the code."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ending:
    """What a turn came to."""

    short: str
    """For a badge."""
    sentence: str


ENDINGS: dict[str, Ending] = {
    "accepted": Ending("delivered", "The reply was delivered as the chatbot wrote it."),
    "warned": Ending("with a warning", "The reply was delivered; the chatbot was warned for its next turns."),
    "refined": Ending("corrected", "The draft was not good enough: a corrected reply was delivered."),
    "fallback": Ending("replaced", "No draft was good enough: the fallback message was delivered in place of a reply."),
    "emergency": Ending(
        "emergency", "The user's message told of an emergency: they got the emergency text in place of a reply."
    ),
    "unjudged": Ending("no verdict", "A judge failed: the reply was delivered without its verdict."),
    "unfiltered": Ending(
        "filter off", "The filter was off or only watching: the reply was delivered as the chatbot wrote it."
    ),
    "error": Ending("error", "The turn ended in an error: the user got no reply."),
}
STAGES = {
    "local": "local: rules and small learned weights, no model",
    "swift": "swift: one quick call that screens every reply",
    "chief": "chief: the thorough call that reads flagged replies claim by claim",
}
ATTEMPTS = {
    "draft": "Draft",
    "redraft": "Second draft",
    "shortened": "Shortened draft",
    "refinement": "Rewritten reply",
    "mended": "Mended reply",
    "tool_calls": "Tool calls",
}
ATTEMPT_NOTES = {
    "draft": "What the chatbot wrote first.",
    "redraft": "The chatbot was asked once more: its draft broke a rule of form, or only asked for another source.",
    "shortened": "The chatbot was asked for a shorter reply.",
    "refinement": "The draft was rewritten to keep to its sources.",
    "mended": "Small faults were taken out, or a missing statement added, without asking a model.",
    "tool_calls": "The chatbot called tools of the client's.",
}
PICKERS = {"model": "the selection model", "lexical": "the word index", "chatbot": "the chatbot itself"}
RECOGNITION = {
    "fresh": "a new conversation",
    "history": "continued, recognised by its history",
    "pair": "continued, recognised by one of its last exchanges",
    "explicit": "continued, by the id that the client gave",
    "missed": "the client sent earlier replies that this proxy does not know",
}
SUPPORT = {
    "stated": "stated by the source",
    "implied": "implied by the source",
    "basic": "common knowledge, in no source",
    "unsupported": "in no source",
}
KINDS = {
    "beyond": "says what no cited source says",
    "undisclosed": "adds something without saying that it is not from the sources",
    "changed": "changes what a source says",
    "denied": "denies what a source does say",
    "sensitive": "improvises on a sensitive topic",
    "role": "plays another part",
}
SEVERITIES = {1: "minor", 2: "could mislead", 3: "could harm"}
DANGERS = {
    "self_harm": "self-harm",
    "harm_to_others": "harm to others",
    "psychosis": "psychosis",
    "disorientation": "disorientation",
    "medical": "medical emergency",
    "unknown": "kind not known",
}
STEPS = {
    "draft": "first draft",
    "redraft": "second draft",
    "select": "choosing sources",
    "refine": "rewriting",
    "reply.swift": "judging the reply (swift)",
    "reply.chief": "judging the reply (chief)",
    "emergency.swift": "looking for an emergency (swift)",
    "emergency.chief": "looking for an emergency (chief)",
}


def ending(name: str) -> Ending:
    """Return what a turn came to, by its outcome, or `error`."""
    return ENDINGS.get(name) or Ending(name.replace("_", " "), "")


def say(names: Mapping[str, str], name: str) -> str:
    """Return what is called so; a name that is not in the list becomes words."""
    return names.get(name) or name.replace("_", " ")

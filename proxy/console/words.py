"""What the console calls things that traces name by identifiers: for people who have not read the code."""

from collections.abc import Mapping
from dataclasses import dataclass

from proxy.traces.trace import HOW_FOUND


@dataclass(frozen=True, slots=True)
class Wording:
    """What a turn came to, in words."""

    short: str
    """For a badge."""
    sentence: str


OUTCOMES: dict[str, Wording] = {
    "accepted": Wording("delivered", "The reply was delivered as the chatbot wrote it."),
    "warned": Wording("with a warning", "The reply was delivered; the chatbot was warned for its next turns."),
    "refined": Wording("corrected", "The draft was not good enough: a corrected reply was delivered."),
    "fallback": Wording(
        "replaced", "No draft was good enough: the fallback message was delivered in place of a reply."
    ),
    "emergency": Wording(
        "emergency", "The user's message told of an emergency: they got the emergency text in place of a reply."
    ),
    "unjudged": Wording("no verdict", "A judge failed: the reply was delivered without its verdict."),
    "unfiltered": Wording(
        "filter off", "The filter was off or only watching: the reply was delivered as the chatbot wrote it."
    ),
    "error": Wording("error", "The turn ended in an error: the user got no reply."),
}
"""Of turns that others have taken."""
REPLIES: dict[str, Wording] = {
    "accepted": Wording("Delivered as written", "The judges found nothing wrong with it."),
    "warned": Wording(
        "Delivered, with a warning to the chatbot",
        "The judges let it pass, and tell the chatbot on its next turns what to do better.",
    ),
    "refined": Wording("Corrected before delivery", "The judges objected to the draft; it was completed or rewritten."),
    "fallback": Wording(
        "Replaced by the fallback message", "The judges objected to the draft, and it could not be corrected."
    ),
    "unjudged": Wording(
        "Delivered without a verdict", "A judge failed, and is configured to let replies through when it does."
    ),
    "emergency": Wording(
        "Answered with the emergency text", "The message tells of danger. The chatbot's own words were not sent."
    ),
    "unfiltered": Wording("Not judged", "No judge stood before it: the chatbot's own words, whatever they are."),
}
"""Of a reply that the reader has just got, in the playground."""
MENDED = Wording("Completed before delivery", "Missing statements were added to the draft; the rest is as it was.")
REWRITTEN = Wording("Rewritten before delivery", "The judges objected to the draft, and accepted what was made of it.")
STAGES = {
    "local": "local: compares words, asks no model",
    "swift": "swift: one quick call that screens every reply",
    "chief": "chief: the thorough call that reads flagged replies claim by claim",
}
ATTEMPTS = {
    "draft": "Draft",
    "redraft": "Second draft",
    "shortened": "Shortened draft",
    "refinement": "Rewritten reply",
    "mended": "Completed reply",
    "tool_calls": "Tool calls",
}
ATTEMPT_NOTES = {
    "draft": "What the chatbot wrote first.",
    "redraft": "The chatbot was asked once more: its draft broke a rule of form, or only asked for another source.",
    "shortened": "The chatbot was asked for a shorter reply.",
    "refinement": "The draft was rewritten to keep to its sources.",
    "mended": "Missing statements were added, without asking a model.",
    "tool_calls": "The chatbot called tools of the client's.",
}
PICKERS = {"model": "the selection model", "lexical": "a search by words", "chatbot": "the chatbot itself"}
EVIDENCE = HOW_FOUND
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
    "self_harm": "Self-harm or suicide",
    "harm_to_others": "Harm to others",
    "psychosis": "Acute psychosis",
    "disorientation": "Disorientation or incoherence",
    "medical": "Medical emergency",
    "unknown": "Danger, kind not named",
}
STEPS = {
    "turn": "whole turn",
    "draft": "first draft",
    "redraft": "second draft",
    "select": "choosing sources",
    "refine": "rewriting",
    "reply.swift": "judging the reply (swift)",
    "reply.chief": "judging the reply (chief)",
    "emergency.local": "looking for an emergency (local)",
    "emergency.swift": "looking for an emergency (swift)",
    "emergency.chief": "looking for an emergency (chief)",
}


def describe_outcome(name: str) -> Wording:
    """Return what a turn came to, by its outcome or `error`."""
    return OUTCOMES.get(name) or Wording(plain(name), "")


def describe_step(name: str) -> str:
    """Return what a step is for, by its name in the trace: `draft`, or a judge and its stage as in `role.swift`."""
    judge, _, stage = name.partition(".")
    return STEPS.get(name) or (f"judge: {plain(judge)}, {stage} stage" if stage else plain(name))


def say(names: Mapping[str, str], name: str) -> str:
    """Return the words for a name; for one without any, the name itself."""
    return names.get(name) or plain(name)


def plain(name: str) -> str:
    """Write an identifier as words: `source_fidelity` as `source fidelity`."""
    return name.replace("_", " ")

"""The console's words for the identifiers of traces."""

from collections.abc import Mapping
from dataclasses import dataclass

from proxy.traces.trace import HOW_FOUND


@dataclass(frozen=True, slots=True)
class Wording:
    """An outcome, in words."""

    short: str
    """The text of a badge."""
    sentence: str


OUTCOMES: dict[str, Wording] = {
    "accepted": Wording("delivered", "The reply was delivered as the chatbot wrote it."),
    "warned": Wording("with a warning", "The reply was delivered. The chatbot gets a warning in its next turns."),
    "refined": Wording("corrected", "The judges rejected the draft. A corrected reply was delivered."),
    "fallback": Wording("replaced", "The judges rejected every draft. The fallback message was delivered."),
    "emergency": Wording("emergency", "The user's message indicated an emergency. The emergency text was delivered."),
    "unjudged": Wording("unjudged", "A judge failed. The reply was delivered without its verdict."),
    "unfiltered": Wording(
        "filter off", "The filter was off or in shadow. The reply was delivered as the chatbot wrote it."
    ),
    "error": Wording("error", "The turn failed. The user got no reply."),
}
"""For turns in lists."""
REPLIES: dict[str, Wording] = {
    "accepted": Wording("Delivered as written", "The judges accepted it."),
    "warned": Wording(
        "Delivered, with a warning to the chatbot",
        "The judges accepted it. The chatbot gets a warning in its next turns.",
    ),
    "refined": Wording("Corrected before delivery", "The judges rejected the draft. It was completed or rewritten."),
    "fallback": Wording(
        "Replaced by the fallback message", "The judges rejected the draft, and it could not be corrected."
    ),
    "unjudged": Wording("Delivered without a verdict", "A judge failed, and its setting is `on_error: open`."),
    "emergency": Wording(
        "Answered with the emergency text", "The message indicates danger. The chatbot's reply was not sent."
    ),
    "unfiltered": Wording("Not judged", "The chatbot's raw reply."),
}
"""For new replies in the playground."""
MENDED = Wording("Completed before delivery", "Missing statements were added to the draft. The rest is unchanged.")
REWRITTEN = Wording("Rewritten before delivery", "The judges rejected the draft and accepted the rewritten reply.")
STAGES = {
    "local": "local: runs on this machine without a model",
    "swift": "swift: one fast model call that screens every reply",
    "chief": "chief: a thorough model call that checks flagged replies claim by claim",
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
    "draft": "The first reply of the chatbot.",
    "redraft": "The chatbot wrote a new draft: the first one failed a hard check or requested another source.",
    "shortened": "The chatbot was asked for a shorter reply.",
    "refinement": "The draft was rewritten to keep to its sources.",
    "mended": "Code added the missing statements.",
    "tool_calls": "The chatbot called tools of the client.",
}
PICKERS = {"model": "the selection model", "lexical": "a word search", "chatbot": "the chatbot"}
EVIDENCE = HOW_FOUND
RECOGNITION = {
    "fresh": "a new conversation",
    "history": "continued, recognised by the history",
    "pair": "continued, recognised by a recent exchange",
    "explicit": "continued, by the client's conversation id",
    "missed": "the client sent replies unknown to this proxy",
}
SUPPORT = {
    "stated": "stated by the source",
    "implied": "implied by the source",
    "basic": "common knowledge, not in the sources",
    "unsupported": "not in the sources",
}
KINDS = {
    "beyond": "claim without support in the cited sources",
    "undisclosed": "addition that is not marked as not from the sources",
    "changed": "change of a source's statement",
    "denied": "denial of a source's statement",
    "sensitive": "improvisation on a sensitive topic",
    "role": "plays another role",
}
SEVERITIES = {1: "minor", 2: "could mislead", 3: "could harm"}
DANGERS = {
    "self_harm": "Self-harm or suicide",
    "harm_to_others": "Harm to others",
    "psychosis": "Acute psychosis",
    "disorientation": "Disorientation or incoherence",
    "medical": "Medical emergency",
    "unknown": "Unspecified danger",
}
STEPS = {
    "turn": "whole turn",
    "draft": "first draft",
    "redraft": "second draft",
    "select": "selecting sources",
    "refine": "rewriting",
    "reply.swift": "judging the reply (swift)",
    "reply.chief": "judging the reply (chief)",
    "emergency.local": "emergency judge (local)",
    "emergency.swift": "emergency judge (swift)",
    "emergency.chief": "emergency judge (chief)",
}


def describe_outcome(name: str) -> Wording:
    """Return the wording of an outcome or of `error`."""
    return OUTCOMES.get(name) or Wording(plain(name), "")


def describe_step(name: str) -> str:
    """Return the wording of a step. Its name in the trace is `draft` or the like, or judge and stage as in `role.swift`."""
    judge, _, stage = name.partition(".")
    return STEPS.get(name) or (f"judge: {plain(judge)}, {stage} stage" if stage else plain(name))


def say(names: Mapping[str, str], name: str) -> str:
    """Return the words for a name, or the name with spaces."""
    return names.get(name) or plain(name)


def plain(name: str) -> str:
    """Write an identifier as words: `source_fidelity` as `source fidelity`."""
    return name.replace("_", " ")

"""Labels for the identifiers in traces: outcomes, stages, steps, dangers. All pages use these labels."""

from collections.abc import Mapping
from dataclasses import dataclass

from proxy.traces.trace import HOW_FOUND


@dataclass(frozen=True, slots=True)
class Wording:
    """The label and the explanation of an outcome."""

    short: str
    """The label on a badge."""
    sentence: str
    """The explanation, shown beside the badge or as its tooltip."""


OUTCOMES: dict[str, Wording] = {
    "accepted": Wording("Accepted", "The judges accepted the draft. It was delivered unchanged."),
    "warned": Wording("Warned", "The draft was delivered unchanged. The chatbot sees a warning in later turns."),
    "refined": Wording("Refined", "The judges rejected the draft. A refined reply was delivered."),
    "fallback": Wording("Fallback", "No draft passed the judges. The fallback message was delivered."),
    "emergency": Wording("Emergency", "The user's message indicates an emergency. The emergency text was delivered."),
    "unjudged": Wording("Unjudged", "A judge failed. The reply was delivered without its verdict (on_error: open)."),
    "unfiltered": Wording("Unfiltered", "No judge ran before delivery. The draft was delivered unchanged."),
    "error": Wording("Error", "The turn failed. The user received no reply."),
}
"""The wording of each outcome of a turn, and of a turn that ended in an error."""
MENDED = Wording("Refined", "Code added the missing statements to the draft. The rest of the draft is unchanged.")
"""The wording of the outcome `refined` if no model rewrote the draft."""
REWRITTEN = Wording("Refined", "The judges rejected the draft. It was rewritten, and the judges accepted the result.")
"""The wording of the outcome `refined` if the draft was rewritten."""
STAGES = {
    "local": "Local stage: runs on this machine without a language model",
    "swift": "Swift stage: one fast model call that screens every reply",
    "chief": "Chief stage: one thorough model call that checks a flagged reply claim by claim",
}
ATTEMPTS = {
    "draft": "Draft",
    "redraft": "New draft",
    "shortened": "Shortened draft",
    "refinement": "Rewritten reply",
    "mended": "Completed reply",
    "tool_calls": "Tool calls",
}
ATTEMPT_NOTES = {
    "draft": "The chatbot's first reply.",
    "redraft": "The earlier draft failed a check or requested another source, so the chatbot wrote a new one.",
    "shortened": "The chatbot was asked for a shorter reply.",
    "refinement": "The draft was rewritten to remove what the judges criticised.",
    "mended": "Code added the missing statements to the draft.",
    "tool_calls": "The chatbot called tools that the client declared.",
}
PICKERS = {"model": "the selection model", "lexical": "keyword search", "chatbot": "the chatbot"}
EVIDENCE = HOW_FOUND
RECOGNITION = {
    "fresh": "New",
    "history": "Continued, matched by the message history",
    "pair": "Continued, matched by a recent message and reply",
    "explicit": "Continued, matched by the client's conversation ID",
    "missed": "New, because this proxy does not know the replies in the history",
}
SUPPORT = {
    "stated": "Stated in the source",
    "implied": "Implied by the source",
    "basic": "Common knowledge, not in the sources",
    "unsupported": "Not in the sources",
}
KINDS = {
    "beyond": "Claim not supported by the cited sources",
    "undisclosed": "Addition not disclosed as outside the sources",
    "changed": "Statement that differs from the source",
    "denied": "Statement that contradicts the source",
    "sensitive": "Unsupported content on a sensitive topic",
    "role": "Plays a role that the chatbot must not take",
}
SEVERITIES = {1: "Severity: minor", 2: "Severity: could mislead", 3: "Severity: could harm"}
DANGERS = {
    "self_harm": "Self-harm or suicide",
    "harm_to_others": "Harm to others",
    "psychosis": "Acute psychosis",
    "disorientation": "Disorientation or incoherence",
    "medical": "Medical emergency",
    "unknown": "Unspecified danger",
}
STEPS = {
    "turn": "Whole turn",
    "draft": "First draft",
    "redraft": "New draft",
    "select": "Source selection",
    "refine": "Rewriting",
    "reply.swift": "Reply judges (swift)",
    "reply.chief": "Reply judges (chief)",
    "emergency.local": "Emergency judge (local)",
    "emergency.swift": "Emergency judge (swift)",
    "emergency.chief": "Emergency judge (chief)",
}


def describe_outcome(name: str) -> Wording:
    """Return the wording of an outcome, or of `error`. An unknown name is its own label."""
    return OUTCOMES.get(name) or Wording(plain(name), "")


def describe_step(name: str) -> str:
    """Return the label of a step.

    Args:
        name: The name in the trace: a step such as `draft`, or a judge and its stage such as `role.swift`.
    """
    judge, _, stage = name.partition(".")
    return STEPS.get(name) or (f"Judge {plain(judge)} ({stage})" if stage else plain(name).capitalize())


def say(names: Mapping[str, str], name: str) -> str:
    """Return the label of an identifier from a table of labels, or the identifier with spaces."""
    return names.get(name) or plain(name)


def plain(name: str) -> str:
    """Write an identifier as words: `source_fidelity` as `source fidelity`."""
    return name.replace("_", " ")

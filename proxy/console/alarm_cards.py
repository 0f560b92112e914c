"""Describes emergencies and concerns for the inbox: message with marked quotes, detection, delivered reply. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from proxy.console.quote_marks import Passage, Span, divide, merge_spans
from proxy.console.words import DANGERS
from proxy.traces.emergencies import EMERGENCY_JUDGE, Emergency, SeenSign
from proxy.traces.redaction import redacted_length

LAYERS: Mapping[str, tuple[str, str]] = {
    "explicit": ("Explicit patterns", "Reviewed words and phrases in several languages. A match is an emergency."),
    "learned": ("Learned classifier", "A small classifier on this machine. If it flags a message, a score below 0.5 is a concern."),
    "swift": ("Screening model", "Swift stage: a fast model that reads every message that the local layers do not decide."),
    "chief": ("Deciding model", "Chief stage: a strong model that decides whether a flagged message is an emergency."),
}  # fmt: skip
UNKNOWN_LAYER = ("Other judge", "A judge that is not one of the built-in layers.")
CONTEXT_CHARS = 600
"""Characters of a long message that are shown around the first quote."""


@dataclass(frozen=True, slots=True)
class LayerOpinion:
    """The opinion of one detection layer of the emergency judge, in words."""

    layer: str
    """The label of the layer."""
    about_layer: str
    """The tooltip of the layer."""
    said: str
    """The detected danger, or that the layer detected none."""
    score: float | None
    """The estimated probability of an emergency, from 0 to 1; None: the layer gives no score."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What the user received in a turn with an emergency or a concern."""

    said: str
    """A sentence that describes the delivered reply."""
    key_text: str = ""
    """The emergency text or the emergency contact; empty if the text is not stored, hidden, or not part of the reply."""
    reply: str = ""
    """The reply before the emergency contact."""


@dataclass(frozen=True, slots=True)
class AlarmCard:
    """One item of the inbox."""

    turn_id: str
    started: float
    chatbot: str
    is_concern: bool
    is_shadow: bool
    kind: str
    layer: str
    about_layer: str
    about_somebody_else: bool
    opinions: tuple[LayerOpinion, ...]
    message: tuple[Passage, ...]
    """The message in passages, quotes marked; empty if the client may not see it."""
    message_is_redacted: bool
    is_cut: bool
    """Whether `message` is an excerpt."""
    elsewhere: tuple[str, ...]
    """Quotes of the judge that are not in the message, for example from an earlier message."""
    delivery: Delivery
    mark: str | None
    """The review by a person: `right` (confirmed), `emergency` (a concern that was an emergency) or `false`; None: open."""
    marked: float
    """When the alarm was reviewed (Unix time, seconds); 0: open."""


def make_card(emergency: Emergency, contacts: Iterable[str]) -> AlarmCard:
    """Return the inbox item of an emergency or a concern.

    Args:
        emergency: The turn; with texts if the client may see them.
        contacts: The chatbot's emergency contact, in each language.
    """
    turn, line = emergency.turn, emergency.turn.line
    layer, about = LAYERS.get(turn.layer or "", UNKNOWN_LAYER)
    label = next((one for one in reversed(turn.labels) if one.judge == EMERGENCY_JUDGE), None)
    quotes = list(dict.fromkeys(sign.quote for sign in emergency.signs if sign.quote and sign.verdict != "accept"))
    redacted = redacted_length(turn.message) is not None
    spans = [] if redacted else merge_spans(span for quote in quotes if (span := find_quote(turn.message, quote)))
    passages, is_cut = excerpt(turn.message, spans)
    return AlarmCard(
        turn_id=line.turn_id,
        started=line.started,
        chatbot=line.chatbot,
        is_concern=turn.alarm == "concern",
        is_shadow=turn.filter == "shadow",
        kind=DANGERS.get(turn.kind or "", DANGERS["unknown"]),
        layer=layer,
        about_layer=about,
        about_somebody_else=any(sign.who == "someone_else" for sign in emergency.signs),
        opinions=tuple(dict.fromkeys(_describe_layer(sign) for sign in emergency.signs)),
        message=() if redacted else tuple(passages),
        message_is_redacted=redacted,
        is_cut=is_cut and not redacted,
        elsewhere=tuple(quote for quote in quotes if not redacted and find_quote(turn.message, quote) is None),
        delivery=describe_delivery(emergency, contacts),
        mark=None if label is None else _mark(label.verdict, turn.alarm == "concern"),
        marked=0.0 if label is None else label.labelled,
    )


def describe_delivery(emergency: Emergency, contacts: Iterable[str]) -> Delivery:
    """Describe what the user received."""
    turn, line = emergency.turn, emergency.turn.line
    is_concern = turn.alarm == "concern"
    reply = turn.reply
    if line.error:
        return Delivery(f"No reply. The turn ended in an error ({line.error.replace('_', ' ')}).")
    if turn.filter == "shadow":
        would = "added the emergency contact" if is_concern else "delivered the emergency text instead"
        return Delivery(
            f"The chatbot's reply, not changed (shadow mode). With the filter on, the proxy would have {would}.",
            reply=reply,
        )
    if not is_concern:
        return Delivery("The emergency text instead of a reply.", key_text=reply)
    if line.outcome == "fallback":
        return Delivery("The fallback message with the emergency contact.", key_text=reply)
    contact = next((one for one in contacts if one and reply.endswith(one)), "")
    if contact or not reply or redacted_length(reply) is not None:
        rest = reply.removesuffix(contact).rstrip() if contact else reply
        return Delivery("The reply with the emergency contact as its last paragraph.", contact, rest)
    if reply.lstrip().startswith(("{", "[")):
        return Delivery("The reply as JSON. The concern is in the response field caf.concern.", reply=reply)
    return Delivery("The reply. Its last paragraph differs from the configured contact.", reply=reply)


def find_quote(message: str, quote: str) -> Span | None:
    """Return the span of a quote in a message, regardless of case and white space."""
    words = [re.escape(word) for word in quote.split()]
    match = re.search(r"\s+".join(words), message, re.IGNORECASE) if words else None
    return None if match is None else match.span()


def excerpt(message: str, spans: Sequence[Span]) -> tuple[list[Passage], bool]:
    """Return a message as passages, and whether it was shortened to an excerpt around the first quote."""
    first = spans[0][0] if spans else 0
    start = 0 if first <= CONTEXT_CHARS else first - CONTEXT_CHARS // 2
    end = min(len(message), start + 2 * CONTEXT_CHARS)
    inside = [(left - start, min(right, end) - start) for left, right in spans if left < end]
    before = [Passage("…")] if start else []
    after = [Passage("…")] if end < len(message) else []
    return [*before, *divide(message[start:end], inside), *after], bool(before or after)


def _describe_layer(sign: SeenSign) -> LayerOpinion:
    layer, about = LAYERS.get(sign.layer or "", UNKNOWN_LAYER)
    if sign.verdict == "unjudged":
        opinion = "unjudged"
    elif sign.verdict == "accept":
        opinion = "no danger"
    else:
        opinion = DANGERS.get(sign.kind or "", "danger").lower()
        opinion += ", uncertain" if sign.verdict == "warn" else ""
        opinion += ", about another person" if sign.who == "someone_else" else ""
    return LayerOpinion(layer, about, opinion, sign.score)


def _mark(verdict: str, is_concern: bool) -> str:
    if verdict == "accept":
        return "false"
    return "emergency" if is_concern and verdict == "reject" else "right"

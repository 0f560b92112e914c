"""The facts of a turn: fields for filters and counts, derived from its stored trace. Pure.

Only `text` holds words of a person or a model. It is empty if the trace holds no texts.
"""

import hashlib
import json
import math
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import orjson

from judges.verdict import Judgement, signs
from knowledge_base.citations import CLASSES
from proxy.traces.redaction import redacted_length
from proxy.traces.trace import Attempt, Trace, view_stored

Alarm = Literal["emergency", "concern"]
Layer = Literal["explicit", "learned", "swift", "chief"]
"""What detected danger in a message: explicit words, learned weights, or a stage that calls a model."""

SEARCHED_CHARACTERS = 10_000
"""Word search covers this many characters of the user's message, and the same number of the delivered replies."""
FLAGS = ("warn", "reject")
TURN = "turn"
"""The name of the step that is the whole turn."""

_SHORTEST_MS, _GROWTH = 0.05, math.log(1.05)
_LONGEST_BIN = 400
_FIRST_CHARACTER = 48


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """The facts of one turn. The database stores them in columns, so that lists and counts need not decode traces."""

    chatbot: str
    key_id: str
    outcome: str
    would: str | None
    error: str | None
    filter: str
    number: int
    """Number of the turn in its conversation, from 1."""
    ms: float
    alarm: Alarm | None
    """In shadow mode: the alarm that the filter would have raised."""
    kind: str | None
    """The kind of danger."""
    layer: Layer | None
    mended: bool
    no_source: bool
    """Whether the reply cites `not_in_sources`, or cites nothing while no section was in use."""
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    verdicts: str
    """The distinct (judge, stage, verdict, rule) of the turn, as JSON."""
    flagged: str
    """The judges whose last verdict on the message or on a draft was `warn` or `reject`, as JSON."""
    chosen: str
    """The ids of the selected sections, as JSON."""
    cited: str
    """The ids of the sections that the delivered reply cites, as JSON."""
    steps: str
    """The timed steps, as JSON, with the whole turn first."""
    times: str
    """The durations of `steps`, one character each; see `encode_ms`."""
    text: str
    """The user's message and the delivered replies, normalised by `fold`; empty if texts are not stored."""


def derive_facts(trace: Trace, kind: str | None) -> TurnFacts:
    """Return the facts of a trace, redacted or not.

    Args:
        trace: The trace as it will be stored.
        kind: The kind of danger that the emergency judge detected. A redacted trace does not hold it.
    """
    alarm = _alarm(trace)
    judgements = trace.judgements
    last = _delivered_attempts(trace)
    in_use = {*trace.sources_in_use, *[source.id for source in trace.selected]}
    if not in_use:  # a wrapped chatbot gets no sections: its replies rest on the evidence found with their words
        in_use = {one.id for one in trace.evidence if one.by in ("model", "draft")}
    citable = in_use | {one.id for one in trace.evidence}
    citations = [citation for attempt in last for citation in attempt.citations]
    usages = [call.usage for call in trace.calls]
    costs = [call.cost for call in trace.calls if call.cost is not None]
    steps = [
        TURN,
        *[f"{one.judge}.local" for one in judgements if one.stage == "local"],
        *[c.step for c in trace.calls],
    ]
    times = [trace.ms, *[one.ms for one in judgements if one.stage == "local"], *[call.ms for call in trace.calls]]
    return TurnFacts(
        chatbot=_plain(trace.chatbot),
        key_id=_plain(trace.key_id),
        outcome=trace.outcome,
        would=trace.would,
        error=trace.error and _plain(trace.error),
        filter=trace.filter,
        number=trace.turn,
        ms=trace.ms,
        alarm=alarm,
        kind=None if alarm is None else _plain(trace.concern or kind or "unknown"),
        layer=_layer(trace.emergency) if alarm else None,
        mended=trace.filter != "shadow" and any(attempt.kind == "mended" for attempt in trace.attempts),
        no_source="not_in_sources" in citations or bool(last and not in_use and not citations),
        calls=len(trace.calls),
        prompt_tokens=sum([usage.prompt_tokens for usage in usages]),
        completion_tokens=sum([usage.completion_tokens for usage in usages]),
        cost=sum(costs) if costs else None,
        verdicts=_json({(one.judge, one.stage, one.verdict, one.rule or "") for one in judgements}),
        flagged=_json(_flagged_judges(trace, alarm)),
        chosen=_json({one.id for one in trace.selected or trace.evidence if one.by != "whole"}),
        cited=_json({one for attempt in last for one in _cited_sources(attempt, citable, in_use)}),
        steps=_dumps(steps),
        times="".join([encode_ms(ms) for ms in times]),
        text=_searched_text(trace),
    )


def derive_stored_facts(data: dict[str, Any]) -> TurnFacts:
    """Return the facts of a stored trace that has no facts."""
    return derive_facts(view_stored(data), _stored_kind(data))


def bare_facts(chatbot: str, outcome: str) -> TurnFacts:
    """Return the facts of a turn whose trace cannot be read."""
    return TurnFacts(
        chatbot=chatbot, key_id="", outcome=outcome, would=None, error=None, filter="", number=0, ms=0.0, alarm=None,
        kind=None, layer=None, mended=False, no_source=False, calls=0, prompt_tokens=0, completion_tokens=0, cost=None,
        verdicts="[]", flagged="[]", chosen="[]", cited="[]", steps="[]", times="", text="",
    )  # fmt: skip


def emergency_kind(trace: Trace) -> str | None:
    """Return the kind of danger that the strongest stage detected, from an unredacted trace; None if no stage did."""
    present = signs(trace.emergency)
    return present[0].kind if present else None


def fold(text: str) -> str:
    """Normalise a text for search: Unicode form (NFKC), case and white space."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _plain(text)).casefold())
    return " ".join(text.replace("\0", " ").lower().split())


def encode_ms(ms: float) -> str:
    """Encode a duration in milliseconds as one character, accurate to 2.5 %."""
    step = round(math.log(max(ms, _SHORTEST_MS) / _SHORTEST_MS) / _GROWTH) if math.isfinite(ms) else _LONGEST_BIN
    return chr(_FIRST_CHARACTER + min(step, _LONGEST_BIN))


def decode_ms(character: str) -> float:
    """Decode a character of `encode_ms` to milliseconds."""
    step = ord(character) - _FIRST_CHARACTER
    return _SHORTEST_MS * math.exp(step * _GROWTH) if step else 0.0


def value_id(value: str) -> int:
    """Return the id of a shared value in `fact_values`: 63 bits of its hash."""
    return int.from_bytes(hashlib.blake2b(value.encode(), digest_size=8).digest(), "big") >> 1


def layer_of(stage: str, score: float | None) -> Layer | None:
    """Return the layer of an emergency judgement; None for a stage that has no layer."""
    if stage == "local":
        return "explicit" if score == 1.0 else "learned"
    return cast(Layer, stage) if stage in ("swift", "chief") else None


def _alarm(trace: Trace) -> Alarm | None:
    if "emergency" in (trace.outcome, trace.would):
        return "emergency"
    return "concern" if trace.concern else None


def _layer(of_emergency: Sequence[Judgement]) -> Layer | None:
    """Return the layer of the last judgement that flagged the message."""
    last = next((one for one in reversed(of_emergency) if one.verdict in FLAGS), None)
    return None if last is None else layer_of(last.stage, last.score)


def _delivered_attempts(trace: Trace) -> list[Attempt]:
    """Return the last attempt of each choice: the delivered one, unless an emergency or fallback text replaced it."""
    if trace.error or trace.outcome in ("emergency", "fallback"):
        return []
    return [*{attempt.choice: attempt for attempt in trace.attempts}.values()]


def _cited_sources(attempt: Attempt, citable: set[str], in_use: set[str]) -> set[str]:
    """Return the sources of a reply: the cited ones, or all sources in use if the chatbot writes no citations."""
    cited = {one for one in attempt.citations if one in citable and one not in CLASSES}
    return cited or (in_use if not attempt.citations and "source" in attempt.modes else set())


def _flagged_judges(trace: Trace, alarm: Alarm | None) -> set[str]:
    """Return the judges whose last verdict on the message or on a draft was `warn` or `reject`."""
    flagged = {"emergency"} if alarm else set()
    for attempt in trace.attempts:
        last = {one.judge: one.verdict for one in attempt.judgements}
        flagged.update([judge for judge, verdict in last.items() if verdict in FLAGS])
    return flagged


def _searched_text(trace: Trace) -> str:
    delivered = "\n".join([reply for reply in trace.replies if reply and redacted_length(reply) is None])
    message = trace.user_message if redacted_length(trace.user_message) is None else ""
    return fold(f"{message[:SEARCHED_CHARACTERS]}\n{delivered[:SEARCHED_CHARACTERS]}")


def _stored_kind(data: dict[str, Any]) -> str | None:
    for judgement in reversed(data["emergency"]):
        for sign in (judgement["observation"] or {}).get("signs", ()):
            if sign["when"] == "now":
                return str(sign["kind"])
    return None


def _json(values: Collection[Any]) -> str:
    return _dumps(sorted(values)) if values else "[]"


def _dumps(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a lone surrogate
        return json.dumps(value)


def _plain(text: str) -> str:
    """Return a text without zero bytes and lone surrogates, which a database cannot store."""
    if text.isascii():
        return text.replace("\0", "")
    return text.replace("\0", "").encode("utf-8", "replace").decode()

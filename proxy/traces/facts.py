"""The facts of a turn: what lists filter on and count, derived from its trace as it is stored. Pure.

Nothing here is a text of a person or a model but `text`, which is empty where the trace holds none.
"""

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from judges.review import signs
from knowledge_base.citations import CLASSES
from proxy.traces.trace import Trace

Alarm = Literal["emergency", "concern"]
Layer = Literal["explicit", "learned", "swift", "chief"]
"""What decided that a message tells of danger: explicit words, learned weights, or a stage that asks a model."""

SEARCHED_CHARACTERS = 10_000
"""How far words are searched for in a user's message, and in what was delivered."""
TURN = "turn"
"""The step that is the whole turn."""

_REDACTED = re.compile(r"\[\d+ characters\]")
_SHORTEST_MS, _GROWTH = 0.05, math.log(1.05)
_LONGEST_BIN = 400
_FIRST_CHARACTER = 48


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """What lists filter on and count of one turn."""

    chatbot: str
    key_id: str
    outcome: str
    would: str | None
    error: str | None
    filter: str
    number: int
    """Of the turn in its conversation, from 1."""
    ms: float
    alarm: Alarm | None
    """In shadow: what the filter would have raised."""
    kind: str | None
    """The kind of danger."""
    layer: Layer | None
    mended: bool
    no_source: bool
    """Whether the reply cites that its sources say nothing, or no section was in use and it cites nothing at all."""
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    verdicts: str
    """The different (judge, stage, verdict, rule) of the turn, as JSON."""
    flagged: str
    """The judges whose last word on the message or on a draft was `warn` or `reject`, as JSON."""
    chosen: str
    """The ids of the sections that were selected, as JSON."""
    cited: str
    """The ids of the sections that the delivered reply cites, as JSON."""
    steps: str
    """The steps that were timed, as JSON, the whole turn first."""
    times: str
    """How long each of them took: a character for each, see `encode_ms`."""
    text: str
    """The words of the user's message and of what was delivered, as `fold` writes them; empty if they are not stored."""


def derive_facts(trace: dict[str, Any], kind: str | None = None) -> TurnFacts:
    """Return the facts of a stored trace.

    Args:
        trace: The JSON object that it is stored as, redacted or not.
        kind: The kind of danger, where redaction has removed the signs of it.
    """
    alarm = _alarm(trace)
    last = _delivered_attempts(trace)
    in_use = {*trace["sources_in_use"], *(source["id"] for source in trace["selected"])}
    citations = [citation for attempt in last for citation in attempt["citations"]]
    timed = [(TURN, trace["ms"]), *_local_steps(trace), *((call["step"], call["ms"]) for call in trace["calls"])]
    costs = [call["cost"] for call in trace["calls"] if call["cost"] is not None]
    return TurnFacts(
        chatbot=_plain(trace["chatbot"]),
        key_id=_plain(trace["key_id"]),
        outcome=trace["outcome"],
        would=trace.get("would"),
        error=trace["error"] and _plain(trace["error"]),
        filter=trace["filter"],
        number=trace["turn"],
        ms=trace["ms"],
        alarm=alarm,
        kind=None if alarm is None else trace.get("concern") or kind or _kind(trace),
        layer=_layer(trace["emergency"]) if alarm else None,
        mended=trace["filter"] != "shadow" and any(attempt["kind"] == "mended" for attempt in trace["attempts"]),
        no_source="not_in_sources" in citations or bool(last and not in_use and not citations),
        calls=len(trace["calls"]),
        prompt_tokens=sum(call["usage"]["prompt_tokens"] for call in trace["calls"]),
        completion_tokens=sum(call["usage"]["completion_tokens"] for call in trace["calls"]),
        cost=sum(costs) if costs else None,
        verdicts=_json({(j["judge"], j["stage"], j["verdict"], j["rule"] or "") for j in judgements(trace)}),
        flagged=_json(flagged_judges(trace)),
        chosen=_json({source["id"] for source in trace["selected"]}),
        cited=_json({one for one in citations if one in in_use and one not in CLASSES}),
        steps=orjson.dumps([_plain(name) for name, _ in timed]).decode(),
        times="".join(encode_ms(ms) for _, ms in timed),
        text=searched_text(trace),
    )


def bare_facts(chatbot: str, outcome: str) -> TurnFacts:
    """Return the facts of a turn whose trace cannot be read."""
    return TurnFacts(
        chatbot=chatbot, key_id="", outcome=outcome, would=None, error=None, filter="", number=0, ms=0.0, alarm=None,
        kind=None, layer=None, mended=False, no_source=False, calls=0, prompt_tokens=0, completion_tokens=0, cost=None,
        verdicts="[]", flagged="[]", chosen="[]", cited="[]", steps="[]", times="", text="",
    )  # fmt: skip


def emergency_kind(trace: Trace) -> str | None:
    """Return the kind of danger that the strongest judge saw who saw one, before anything is redacted."""
    present = signs(trace.emergency)
    return present[0].kind if present else None


def judgements(trace: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all judgements of a stored trace."""
    yield from trace["emergency"]
    for attempt in trace["attempts"]:
        yield from attempt["judgements"]


def flagged_judges(trace: dict[str, Any]) -> set[str]:
    """Return the judges whose last word on the message or on a draft was `warn` or `reject`."""
    flagged = {"emergency"} if _alarm(trace) else set()
    for attempt in trace["attempts"]:
        last = {one["judge"]: one["verdict"] for one in attempt["judgements"]}
        flagged |= {judge for judge, verdict in last.items() if verdict in ("warn", "reject")}
    return flagged


def searched_text(trace: dict[str, Any]) -> str:
    """Return the words of a stored trace that are searched: the user's message and what was delivered."""
    delivered = "\n".join(reply for reply in trace["replies"] if reply and not _REDACTED.fullmatch(reply))
    message = "" if _REDACTED.fullmatch(trace["user_message"]) else trace["user_message"]
    return fold(f"{message[:SEARCHED_CHARACTERS]}\n{delivered[:SEARCHED_CHARACTERS]}")


def fold(text: str) -> str:
    """Return a text as it is searched: forms of a character, case and white space make no difference."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _plain(text)).casefold())
    return " ".join(text.replace("\0", " ").lower().split())


def encode_ms(ms: float) -> str:
    """Return the character for a time, exact to 2.5 %."""
    step = round(math.log(max(ms, _SHORTEST_MS) / _SHORTEST_MS) / _GROWTH) if math.isfinite(ms) else _LONGEST_BIN
    return chr(_FIRST_CHARACTER + min(step, _LONGEST_BIN))


def decode_ms(character: str) -> float:
    """Return the time that `encode_ms` wrote, in milliseconds."""
    step = ord(character) - _FIRST_CHARACTER
    return _SHORTEST_MS * math.exp(step * _GROWTH) if step else 0.0


def value_id(value: str) -> int:
    """Return the number that stands for a value which many turns share: 63 bits of its hash."""
    return int.from_bytes(hashlib.blake2b(value.encode(), digest_size=8).digest(), "big") >> 1


def _alarm(trace: dict[str, Any]) -> Alarm | None:
    if "emergency" in (trace["outcome"], trace.get("would")):
        return "emergency"
    return "concern" if trace.get("concern") else None  # older traces have none


def _kind(trace: dict[str, Any]) -> str:
    for judgement in reversed(trace["emergency"]):
        for sign in (judgement["observation"] or {}).get("signs", ()):
            if sign["when"] == "now":
                return _plain(sign["kind"])
    return "unknown"


def _layer(of_emergency: Sequence[dict[str, Any]]) -> Layer | None:
    for judgement in reversed(of_emergency):
        if judgement["verdict"] in ("warn", "reject"):
            return layer_of(judgement)
    return None


def layer_of(judgement: dict[str, Any]) -> Layer | None:
    """Return the layer of a stored judgement of the emergency judge; None: it is none of ours."""
    stage = judgement["stage"]
    if stage == "local":
        return "explicit" if judgement["score"] == 1.0 else "learned"
    return stage if stage in ("swift", "chief") else None


def _delivered_attempts(trace: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the last attempt of each choice, which is what was delivered unless a text of ours stood in for it."""
    if trace["error"] or trace["outcome"] in ("emergency", "fallback"):
        return []
    return [*{attempt["choice"]: attempt for attempt in trace["attempts"]}.values()]


def _local_steps(trace: dict[str, Any]) -> Iterator[tuple[str, float]]:
    return ((f"{j['judge']}.local", j["ms"]) for j in judgements(trace) if j["stage"] == "local")


def _json(values: Iterable[Any]) -> str:
    def plain(value: Any) -> Any:
        return _plain(value) if isinstance(value, str) else [_plain(one) for one in value]

    return orjson.dumps(sorted(plain(value) for value in values)).decode()


def _plain(text: str) -> str:
    """Return a text without what a database cannot hold: zero bytes and lone surrogates."""
    if text.isascii():
        return text.replace("\0", "")
    return text.replace("\0", "").encode("utf-8", "replace").decode()

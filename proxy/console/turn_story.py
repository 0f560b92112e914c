"""A stored trace as a story: what happened in a turn, in the order of events, in words that a reader of no code knows. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from judges.rules import RULES
from proxy.console import words
from proxy.console.word_diff import Piece, diff_words, is_changed, join_islands
from proxy.traces.judged_draft import choices_of, judged_draft
from proxy.traces.redaction import redacted_length
from proxy.traces.trace import OLDER

Json = dict[str, Any]
LONGEST_DIFF = 100_000
"""Characters of both texts together that are compared; what is longer is shown whole."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that a judge saw in a text: a problem, a part that it plays, a sign of danger."""

    kind: str
    quote: str
    severity: str = ""
    source_id: str | None = None
    source_quote: str = ""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one judge made of a text, in one stage."""

    judgement: Json
    """As the trace has it."""
    same_as: str
    """An earlier judge of the text, whose observation is this one too."""
    rule_text: str
    claims: Sequence[Json]
    """The assertions that it saw, as the trace has them."""
    faults: Sequence[Fault]
    facts: Sequence[tuple[str, str]]
    """What else it observed."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One text that the turn tried."""

    traced: Json
    """As the trace has it."""
    opinions: Sequence[Opinion]
    changes: Sequence[Piece]
    """What became of the text before it."""


@dataclass(frozen=True, slots=True)
class DeliveredChoice:
    """What the user got, of one choice."""

    choice: int
    text: str | None
    refusal: str | None
    changes: Sequence[Piece]
    """What became of the draft that was judged; empty if nothing did, or nothing of it is left."""


@dataclass(frozen=True, slots=True)
class Story:
    """One turn."""

    trace: Json
    """As stored, or without its texts."""
    sentence: str
    """What it came to."""
    emergency: Sequence[Opinion]
    attempts: Sequence[Attempt]
    delivered: Sequence[DeliveredChoice]
    choices: Sequence[int]
    choices_with_draft: Sequence[int]
    """The choices with a draft that judges of replies can be right or wrong about."""
    verdicts: dict[str, str]
    """That of each judge on what labels are about: the user's message, or the first text that was judged."""


def tell_story(trace: Json) -> Story:
    """Return the story of a turn.

    Args:
        trace: The trace as `proxy.traces.search.read_turn` returns it, with its texts or without.
    """
    trace = OLDER | trace
    choices = choices_of(trace)
    return Story(
        trace=trace,
        sentence=_how_it_ended(trace),
        emergency=_opinions(trace["emergency"]),
        attempts=list(_tell_attempts(trace["attempts"])),
        delivered=[_delivered(trace, choice) for choice in range(len(trace["replies"]))],
        choices=choices,
        choices_with_draft=[choice for choice in choices if judged_draft(trace, choice) is not None],
        verdicts=_labelled_verdicts(trace),
    )


def _how_it_ended(trace: Json) -> str:
    sentence = words.describe_outcome("error" if trace["error"] else trace["outcome"]).sentence
    if trace["error"] or trace["outcome"] != "fallback":
        return sentence
    last = trace["attempts"][-1]["judgements"] if trace["attempts"] else trace["emergency"]
    verdicts = {one["verdict"] for one in last}
    if "unjudged" in verdicts and "reject" not in verdicts:
        subject = "the reply" if trace["attempts"] else "the user's message"
        return f"A judge could not judge {subject}: the fallback message was delivered in place of a reply."
    return sentence


def _tell_attempts(attempts: Sequence[Json]) -> Iterator[Attempt]:
    before: dict[int, str] = {}
    for attempt in attempts:
        text, choice = attempt["text"], attempt["choice"]
        changes = _changes(before.get(choice, ""), text) if attempt["kind"] in ("refinement", "mended") else ()
        if attempt["kind"] != "tool_calls":
            before[choice] = text
        yield Attempt({"left": 0} | attempt, _opinions(attempt["judgements"]), changes)


def _delivered(trace: Json, choice: int) -> DeliveredChoice:
    text = trace["replies"][choice]
    refusals = trace["refusals"]
    draft = judged_draft(trace, choice)
    replaced = trace["outcome"] in ("emergency", "fallback") and len(trace["replies"]) == 1
    changes = _changes(draft["text"], text) if text and draft and not replaced else ()
    return DeliveredChoice(choice, text, refusals[choice] if choice < len(refusals) else None, changes)


def _changes(before: str, after: str) -> Sequence[Piece]:
    if not before or not after or redacted_length(before) is not None or len(before) + len(after) > LONGEST_DIFF:
        return ()
    pieces = join_islands(diff_words(before, after))
    return pieces if is_changed(pieces) else ()


def _labelled_verdicts(trace: Json) -> dict[str, str]:
    verdicts = {one["judge"]: one["verdict"] for one in trace["emergency"]}
    for attempt in trace["attempts"]:
        verdicts = {one["judge"]: one["verdict"] for one in attempt["judgements"]} | verdicts
    return verdicts


def _opinions(of_text: Iterable[Json]) -> list[Opinion]:
    opinions: list[Opinion] = []
    seen: list[tuple[str, Json]] = []
    for judgement in of_text:
        observation = judgement["observation"]
        same = next((name for name, other in seen if observation is not None and other == observation), "")
        if observation is not None and not same:
            seen.append((f"{judgement['judge'].replace('_', ' ')} ({judgement['stage']})", observation))
        opinions.append(_opinion(judgement, same))
    return opinions


def _opinion(judgement: Json, same: str) -> Opinion:
    observation = {} if same else judgement["observation"] or {}
    rule = judgement["rule"]
    return Opinion(
        judgement,
        same,
        RULES[rule].text if rule in RULES else "",
        observation.get("assertions", ()),
        list(_faults(observation)),
        list(_facts(observation)),
    )


def _faults(observation: Json) -> Iterator[Fault]:
    for one in observation.get("problems", ()):
        yield Fault(words.say(words.KINDS, one["kind"]), one["quote"], words.SEVERITIES.get(one["severity"], ""))
    for one in observation.get("denials", ()):
        yield Fault(words.KINDS["denied"], one["quote"], "", one["source_id"], one["source_quote"])
    for one in observation.get("contradictions", ()):
        yield Fault("the sources disagree", one)
    for one in observation.get("played", ()):
        yield Fault(f"plays a part: {one['part']}", one["quote"], one["degree"])
    for one in observation.get("signs", ()):
        person = "the user" if one["who"] == "user" else "someone else"
        danger = words.say(words.DANGERS, one["kind"]).lower()
        yield Fault(f"sign of {danger}, of {person}, {_WHEN.get(one['when'], one['when'])}", one["quote"])


_WHEN = {"now": "now", "past": "in the past", "hypothetical": "hypothetical"}
_SHOWN_ELSEWHERE = (
    "assertions", "problems", "denials", "contradictions", "played", "signs", "verdict", "reason",
)  # fmt: skip
_QUESTIONS = {
    "admits_not_from_sources": "says what is not from its sources",
    "asks_to_verify": "asks to check with a professional",
    "adds": "adds something that its sources do not say",
}
_ANSWERS = {"True": "yes", "False": "no", "clear": "clearly", "weak": "vaguely"}


def _facts(observation: Json) -> Iterator[tuple[str, str]]:
    """Yield what else an observation holds, of whatever form; those that users add may hold anything."""
    for name, value in observation.items():
        if name not in _SHOWN_ELSEWHERE and value not in ("", None, [], {}):
            yield _QUESTIONS.get(name, name.replace("_", " ")), _ANSWERS.get(str(value), str(value))

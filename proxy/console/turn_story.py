"""Converts a stored trace to the events of a turn page, in order and in plain words. Pure."""

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
"""Maximum characters of two compared texts together. Longer texts are not compared."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An observation of a judge: a problem, a played role, a sign of danger."""

    kind: str
    quote: str
    severity: str = ""
    source_id: str | None = None
    source_quote: str = ""


@dataclass(frozen=True, slots=True)
class Opinion:
    """The verdict of one judge in one stage."""

    judgement: Json
    """The judgement, as in the trace."""
    same_as: str
    """The earlier judge with an identical observation; empty: none."""
    rule_text: str
    """The text of the violated rule; empty: no rule, or an unknown rule."""
    claims: Sequence[Json]
    """The claims in the observation, as in the trace."""
    faults: Sequence[Fault]
    facts: Sequence[tuple[str, str]]
    """Label and value of the other fields of the observation."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One draft or rewritten text of the turn."""

    traced: Json
    """The attempt, as in the trace."""
    opinions: Sequence[Opinion]
    changes: Sequence[Piece]
    """The changes from the previous text of the same choice; empty for drafts."""


@dataclass(frozen=True, slots=True)
class DeliveredChoice:
    """The delivered text of one choice."""

    choice: int
    text: str | None
    refusal: str | None
    changes: Sequence[Piece]
    """The changes from the judged draft; empty if nothing changed or the draft was replaced."""


@dataclass(frozen=True, slots=True)
class Story:
    """All that a turn page shows of a turn."""

    trace: Json
    """The trace, as stored or without texts."""
    sentence: str
    """The explanation of the outcome."""
    emergency: Sequence[Opinion]
    attempts: Sequence[Attempt]
    delivered: Sequence[DeliveredChoice]
    choices: Sequence[int]
    choices_with_draft: Sequence[int]
    """The choices with a draft that judges have judged."""
    verdicts: dict[str, str]
    """The verdict of each judge on the labelled text: the user's message or the first judged draft."""


def tell_story(trace: Json) -> Story:
    """Return the story of a turn.

    Args:
        trace: The trace from `proxy.traces.search.read_turn`, with or without texts.
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
        return f"A judge failed to judge {subject}. The fallback message was delivered."
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
        yield Fault("Contradiction between sources", one)
    for one in observation.get("played", ()):
        yield Fault(f"Plays the role: {one['part']}", one["quote"], _DEGREES.get(one["degree"], one["degree"]))
    for one in observation.get("signs", ()):
        person = "the user" if one["who"] == "user" else "another person"
        danger = words.say(words.DANGERS, one["kind"]).lower()
        yield Fault(f"Sign of {danger} ({person}, {_WHEN.get(one['when'], one['when'])})", one["quote"])


_WHEN = {"now": "now", "past": "in the past", "hypothetical": "hypothetical"}
_DEGREES = {"clear": "Clearly", "hint": "Only hinted"}
_SHOWN_ELSEWHERE = (
    "assertions", "problems", "denials", "contradictions", "played", "signs", "verdict", "reason",
)  # fmt: skip
_QUESTIONS = {
    "admits_not_from_sources": "Says that content is not from the sources",
    "asks_to_verify": "Advises the user to verify with a professional",
    "adds": "Adds content that is not in the sources",
}
_ANSWERS = {"True": "Yes", "False": "No", "no": "No", "clear": "Yes, clearly", "weak": "Only vaguely"}


def _facts(observation: Json) -> Iterator[tuple[str, str]]:
    """Yield label and value of the fields that no other part of the page shows. Custom judges may have any fields."""
    for name, value in observation.items():
        if name not in _SHOWN_ELSEWHERE and value not in ("", None, [], {}):
            yield _QUESTIONS.get(name, name.replace("_", " ").capitalize()), _ANSWERS.get(str(value), str(value))

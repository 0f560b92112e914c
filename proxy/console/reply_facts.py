"""What became of one reply: from its own `caf` object, and more where its trace is kept. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from proxy.console import words
from proxy.console.word_diff import Piece, diff_words, join_islands
from proxy.traces.redaction import is_redacted

Json = dict[str, Any]


class Caf(BaseModel):
    """The `caf` object of a reply, as far as it is shown."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    class Citation(BaseModel):
        id: str
        title: str

    class Warning(BaseModel):
        rule: str
        message: str

    class Judge(BaseModel):
        name: str
        stage: str
        verdict: Literal["accept", "warn", "reject", "unjudged"]
        reason: str
        ms: float

    class Concern(BaseModel):
        kind: str

    class Step(BaseModel):
        step: str
        model: str
        prompt_tokens: int
        completion_tokens: int

    outcome: Literal["emergency", "fallback", "unjudged", "refined", "warned", "accepted", "unfiltered"]
    citations: tuple[Citation, ...] = ()
    warnings: tuple[Warning, ...] = ()
    judges: tuple[Judge, ...] = ()
    concern: Concern | None = None
    usage: tuple[Step, ...] = ()
    ms: float
    draft: str | None = None
    """Only for keys with the permission `trace`."""


class DeliveredReply(BaseModel):
    """A reply as the page sends it back, to be shown what became of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    chatbot: str
    text: Annotated[str, Field(max_length=2_000_000)] = ""
    """As it was delivered."""
    caf: Caf | None = None
    """None: this proxy leaves it out of its replies."""


@dataclass(frozen=True, slots=True)
class Change:
    """What was written first, against what was delivered."""

    draft: str
    pieces: Sequence[Piece] | None
    """None: what was delivered has nothing to do with it."""
    in_shadow: bool = False
    """Whether the draft was delivered, and this is what the filter would have made of it."""

    @property
    def whole(self) -> bool:
        """Whether no word of the draft stayed."""
        return all(piece.kind != "same" for piece in self.pieces or ())


@dataclass(frozen=True, slots=True)
class Citation:
    id: str
    title: str


@dataclass(frozen=True, slots=True)
class ChatbotWarning:
    """What the chatbot is told to do better."""

    rule: str
    message: str
    until: int | None
    """The last turn of the conversation that it goes along to; None: not known."""


@dataclass(frozen=True, slots=True)
class JudgeLine:
    judge: str
    stage: str
    verdict: str
    reason: str
    ms: float


@dataclass(frozen=True, slots=True)
class Judging:
    """What judges said of one text."""

    of: str
    lines: Sequence[JudgeLine]


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a model."""

    name: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    ms: float | None = None
    cost: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ReplyFacts:
    """What became of a reply."""

    outcome: str
    wording: words.Wording
    ms: float
    concern: str | None = None
    change: Change | None = None
    checks: Sequence[str] = ()
    """What the hard checks found in drafts."""
    citations: Sequence[Citation] = ()
    warnings: Sequence[ChatbotWarning] = ()
    """Those that arose, and go along to the next turns."""
    shown: Sequence[ChatbotWarning] = ()
    """Those that the chatbot was shown before it wrote."""
    judgings: Sequence[Judging] = ()
    steps: Sequence[Step] = ()
    number: int | None = None
    """Of its turn in the conversation, from 1; None: not known."""
    redacted: bool = False
    """Whether there is a trace, but without texts."""

    @property
    def prompt_tokens(self) -> int:
        return sum(step.prompt_tokens for step in self.steps)

    @property
    def completion_tokens(self) -> int:
        return sum(step.completion_tokens for step in self.steps)

    @property
    def cost(self) -> float | None:
        """In the currency of `models.<alias>.price`; None where no price is known."""
        costs = [step.cost for step in self.steps if step.cost is not None]
        return sum(costs) if costs else None


def facts_of_caf(caf: Caf, delivered: str) -> ReplyFacts:
    """Return what a reply says of itself. Args: delivered: its text."""
    change = None
    if caf.draft is not None:
        change = compare(caf.draft, delivered, replaced=caf.outcome == "fallback")
    on_message = [judge for judge in caf.judges if judge.name == "emergency"]
    on_reply = [judge for judge in caf.judges if judge.name != "emergency"]
    groups = (("The user's message", on_message), ("The reply", on_reply))
    return ReplyFacts(
        outcome=caf.outcome,
        wording=words.REPLIES[caf.outcome],
        ms=caf.ms,
        concern=caf.concern.kind if caf.concern else None,
        change=change,
        citations=[Citation(one.id, one.title) for one in caf.citations],
        warnings=[ChatbotWarning(one.rule, one.message, None) for one in caf.warnings],
        judgings=[
            Judging(of, [JudgeLine(one.name, one.stage, one.verdict, one.reason, one.ms) for one in judges])
            for of, judges in groups
            if judges
        ],
        steps=[Step(one.step, one.model, one.prompt_tokens, one.completion_tokens) for one in caf.usage],
    )


def facts_of_trace(trace: Json, caf: Caf | None, delivered: str, titles: Mapping[str, str]) -> ReplyFacts:
    """Return what a trace tells of a reply; of a trace without texts the numbers, and the rest from the reply itself.

    Args:
        trace: The trace of its turn.
        caf: Its own `caf` object.
        delivered: Its text, as the client has it.
        titles: Of the chatbot's sections, by id.
    """
    base = facts_of_caf(caf, delivered) if caf else _facts_without_caf(trace, titles)
    numbered = replace(
        base,
        number=trace["turn"],
        redacted=is_redacted(trace),
        ms=trace["ms"],
        steps=[_step(call) for call in trace["calls"]],
    )
    if numbered.redacted:
        ends = {one["rule"]: one["expires"] for one in trace["warnings_added"]}
        return replace(numbered, warnings=[replace(one, until=ends.get(one.rule)) for one in base.warnings])
    attempts = [one for one in trace["attempts"] if one["choice"] == 0]
    return replace(
        numbered,
        wording=_wording(trace, attempts),
        change=_change(trace, attempts, delivered),
        checks=[problem for attempt in attempts for problem in attempt["problems"]],
        warnings=[_warning(one) for one in trace["warnings_added"]],
        shown=[_warning(one) for one in trace["warnings_shown"]],
        judgings=[
            Judging(of, [_judge_line(one) for one in judgements])
            for of, judgements in (
                ("The user's message", trace["emergency"]),
                *((words.say(words.ATTEMPTS, one["kind"]), one["judgements"]) for one in attempts),
            )
            if judgements
        ],
    )


def compare(draft: str, delivered: str, *, replaced: bool) -> Change:
    """Compare a draft with what was delivered. Args: replaced: whether that has nothing to do with it."""
    return Change(draft, None if replaced else join_islands(diff_words(draft, delivered)))


def proving_quotes(trace: Json, source: str) -> list[str]:
    """Return the words of a section or document that judges have quoted from it, in support of the reply or against it."""
    judged = [one for one in trace["attempts"] if one["choice"] == 0 and one["judgements"]]
    observations = [one["observation"] or {} for attempt in judged[-1:] for one in attempt["judgements"]]
    quotes = [
        *(_quote(one, source, "quote") for seen in observations for one in seen.get("assertions") or ()),
        *(_quote(one, source, "source_quote") for seen in observations for one in seen.get("denials") or ()),
    ]
    return list(dict.fromkeys(quote for quote in quotes if quote))


def _quote(entry: Mapping[str, Any], source: str, field: str) -> str | None:
    return entry.get(field) if entry.get("source_id") == source else None


def _facts_without_caf(trace: Json, titles: Mapping[str, str]) -> ReplyFacts:
    outcome = trace["outcome"]
    documents = {one["id"]: one["title"] for one in trace["documents"]}
    cited: Sequence[str] = ()
    if outcome not in ("fallback", "emergency") and trace["attempts"]:
        cited = trace["attempts"][-1]["citations"]
    all_titles = {**titles, **documents}
    return ReplyFacts(
        outcome=outcome,
        wording=words.REPLIES[outcome],
        ms=trace["ms"],
        concern=trace["concern"],
        citations=[Citation(one, all_titles[one]) for one in cited if one in all_titles],
    )


def _wording(trace: Json, attempts: Sequence[Json]) -> words.Wording:
    if trace["outcome"] == "refined" and attempts:
        return words.MENDED if attempts[-1]["kind"] == "mended" else words.REWRITTEN
    if would := trace.get("would"):  # older traces have none
        return words.Wording(
            "Delivered as written, judged afterwards", f"With the filter on: {words.REPLIES[would].short.lower()}."
        )
    if trace["outcome"] == "unfiltered" and any(one["judgements"] for one in attempts):
        return words.Wording(
            "Delivered as written, judged afterwards", "It left while it was written (streaming: observe)."
        )
    return words.REPLIES[trace["outcome"]]


def _change(trace: Json, attempts: Sequence[Json], delivered: str) -> Change | None:
    texts = [one["text"] for one in attempts if one["text"]]
    if trace["outcome"] in ("fallback", "emergency"):
        return compare(texts[0], delivered, replaced=True) if texts else None
    if len(texts) < 2 or texts[0] == texts[-1]:
        return None
    if trace["filter"] == "shadow":
        return replace(compare(texts[0], texts[-1], replaced=False), in_shadow=True)
    # What follows it there, the line of sources and in a concern the contact, is no change of the words.
    last = texts[-1] if delivered.startswith(texts[-1]) or not delivered else delivered
    return compare(texts[0], last, replaced=False)


def _warning(warning: Mapping[str, Any]) -> ChatbotWarning:
    return ChatbotWarning(warning["rule"], warning["message"], warning["expires"])


def _judge_line(judgement: Mapping[str, Any]) -> JudgeLine:
    return JudgeLine(judgement["judge"], judgement["stage"], judgement["verdict"], judgement["reason"], judgement["ms"])


def _step(call: Mapping[str, Any]) -> Step:
    usage = call["usage"]
    return Step(
        call["step"], call["alias"], usage["prompt_tokens"], usage["completion_tokens"],
        call["ms"], call["cost"], call["error"],
    )  # fmt: skip

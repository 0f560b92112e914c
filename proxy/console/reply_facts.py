"""Collects what the playground shows below a reply, from its `caf` object and, if available, its trace. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from proxy.console import words
from proxy.console.word_diff import Piece, diff_words, join_islands
from proxy.traces.redaction import is_redacted
from proxy.traces.trace import Outcome

Json = dict[str, Any]


class _Part(BaseModel):
    """A part of a `caf` object or a trace. A field whose names differ there has both as aliases."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Citation(_Part):
    id: str
    title: str


class ChatbotWarning(_Part):
    """A warning for the chatbot."""

    rule: str
    message: str
    until: int | None = Field(None, validation_alias="expires")
    """The last turn of the conversation with this warning; None: unknown."""


class JudgeLine(_Part):
    judge: str = Field(validation_alias=AliasChoices("name", "judge"))
    stage: str
    verdict: str
    reason: str
    ms: float


class Step(_Part):
    """A call of a model."""

    name: str = Field(validation_alias="step")
    model: str = Field(validation_alias=AliasChoices("model", "alias"))
    prompt_tokens: int
    completion_tokens: int
    ms: float | None = None
    cost: float | None = None
    error: str | None = None


class Concern(_Part):
    kind: str


class Caf(_Part):
    """The `caf` object of a reply."""

    outcome: Outcome
    citations: tuple[Citation, ...] = ()
    warnings: tuple[ChatbotWarning, ...] = ()
    judges: tuple[JudgeLine, ...] = ()
    concern: Concern | None = None
    usage: tuple[Step, ...] = ()
    ms: float
    draft: str | None = None
    """Only for keys with the permission `trace`."""


class DeliveredReply(BaseModel):
    """A delivered reply, sent back by the playground to get its facts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    chatbot: str
    text: Annotated[str, Field(max_length=2_000_000)] = ""
    """The delivered text."""
    caf: Caf | None = None
    """None: the proxy omits it."""


@dataclass(frozen=True, slots=True)
class Change:
    """The first draft compared with the delivered text."""

    draft: str
    pieces: Sequence[Piece] | None
    """None: the delivered text replaces the draft."""
    in_shadow: bool = False
    """Whether the draft was delivered, and the filter would have made this change."""

    @property
    def whole(self) -> bool:
        """Whether no word of the draft is left."""
        return all(piece.kind != "same" for piece in self.pieces or ())


@dataclass(frozen=True, slots=True)
class ReplyFacts:
    """The facts of a reply."""

    outcome: str
    wording: words.Wording
    ms: float
    concern: str | None
    change: Change | None
    citations: Sequence[Citation]
    warnings: Sequence[ChatbotWarning]
    """New warnings for the next turns."""
    judgings: Mapping[str, Sequence[JudgeLine]]
    """Verdicts by the judged text, such as `User message` or `Draft`."""
    steps: Sequence[Step]
    checks: Sequence[str] = ()
    """Problems from the hard checks."""
    shown: Sequence[ChatbotWarning] = ()
    """Warnings shown to the chatbot before the draft."""
    number: int | None = None
    """The number of the turn in the conversation, from 1; None: unknown."""
    redacted: bool = False
    """Whether the trace has no texts."""


def facts_of_caf(caf: Caf, delivered: str) -> ReplyFacts:
    """Return the facts of a reply from its `caf` object.

    Args:
        caf: The `caf` object of the reply.
        delivered: The delivered text of the reply.
    """
    judgings = {
        "User message": [judge for judge in caf.judges if judge.judge == "emergency"],
        "Reply": [judge for judge in caf.judges if judge.judge != "emergency"],
    }
    return ReplyFacts(
        outcome=caf.outcome,
        wording=words.OUTCOMES[caf.outcome],
        ms=caf.ms,
        concern=caf.concern.kind if caf.concern else None,
        change=None if caf.draft is None else compare(caf.draft, delivered, replaced=caf.outcome == "fallback"),
        citations=caf.citations,
        warnings=caf.warnings,
        judgings={subject: lines for subject, lines in judgings.items() if lines},
        steps=caf.usage,
    )


def facts_of_trace(trace: Json, caf: Caf | None, delivered: str, titles: Mapping[str, str]) -> ReplyFacts:
    """Return the facts of a reply from the trace of its turn. If the trace has no texts, they come from the `caf` object.

    Args:
        trace: The trace of the turn.
        caf: The `caf` object of the reply; None: the reply has none.
        delivered: The delivered text of the reply.
        titles: Titles of the chatbot's sections, by id.
    """
    base = facts_of_caf(caf or _caf_of(trace, titles), delivered)
    numbered = replace(
        base,
        number=trace["turn"],
        redacted=is_redacted(trace),
        ms=trace["ms"],
        steps=[Step.model_validate(call["usage"] | call) for call in trace["calls"]],
    )
    if numbered.redacted:
        ends = {one["rule"]: one["expires"] for one in trace["warnings_added"]}
        return replace(
            numbered, warnings=[one.model_copy(update={"until": ends.get(one.rule)}) for one in base.warnings]
        )
    attempts = [one for one in trace["attempts"] if one["choice"] == 0]
    judgings: dict[str, list[JudgeLine]] = {}
    for subject, judgements in (
        ("User message", trace["emergency"]),
        *((words.say(words.ATTEMPTS, one["kind"]), one["judgements"]) for one in attempts),
    ):
        if judgements:
            judgings.setdefault(subject, []).extend(map(JudgeLine.model_validate, judgements))
    return replace(
        numbered,
        wording=_wording(trace, attempts),
        change=_change(trace, attempts, delivered),
        checks=[problem for attempt in attempts for problem in attempt["problems"]],
        warnings=[ChatbotWarning.model_validate(one) for one in trace["warnings_added"]],
        shown=[ChatbotWarning.model_validate(one) for one in trace["warnings_shown"]],
        judgings=judgings,
    )


def compare(draft: str, delivered: str, *, replaced: bool) -> Change:
    """Compare a draft with the delivered text.

    Args:
        draft: The first draft.
        delivered: The delivered text.
        replaced: Whether the delivered text is a fallback message or an emergency text. Then nothing is compared.
    """
    return Change(draft, None if replaced else join_islands(diff_words(draft, delivered)))


def proving_quotes(trace: Json, source: str) -> list[str]:
    """Return the passages of a section or document that judges quoted as support for the reply or as a contradiction."""
    judged = [one for one in trace["attempts"] if one["choice"] == 0 and one["judgements"]]
    observations = [one["observation"] or {} for attempt in judged[-1:] for one in attempt["judgements"]]
    quotes = [
        one.get(quote)
        for observation in observations
        for part, quote in (("assertions", "quote"), ("denials", "source_quote"))
        for one in observation.get(part) or ()
        if one.get("source_id") == source
    ]
    return list(dict.fromkeys(quote for quote in quotes if quote))


def _caf_of(trace: Json, titles: Mapping[str, str]) -> Caf:
    """Return the `caf` object of a trace, without the fields that the trace gives in more detail."""
    outcome, concern = trace["outcome"], trace["concern"]
    is_own = outcome not in ("fallback", "emergency") and trace["attempts"]
    cited = trace["attempts"][-1]["citations"] if is_own else ()
    all_titles = {**titles, **{one["id"]: one["title"] for one in trace["documents"]}}
    return Caf(
        outcome=outcome,
        concern=Concern(kind=concern) if concern else None,
        citations=tuple(Citation(id=one, title=all_titles[one]) for one in cited if one in all_titles),
        ms=trace["ms"],
    )


def _wording(trace: Json, attempts: Sequence[Json]) -> words.Wording:
    if trace["outcome"] == "refined" and attempts:
        return words.MENDED if attempts[-1]["kind"] == "mended" else words.REWRITTEN
    if would := trace.get("would"):  # older traces have none
        return words.Wording(
            words.OUTCOMES["unfiltered"].short,
            "Delivered unchanged and judged afterwards (shadow mode). "
            f"Outcome with the filter on: {words.OUTCOMES[would].short}.",
        )
    if trace["outcome"] == "unfiltered" and any(one["judgements"] for one in attempts):
        return words.Wording(
            words.OUTCOMES["unfiltered"].short,
            "Delivered while it was written and judged afterwards (streaming: observe).",
        )
    return words.OUTCOMES[trace["outcome"]]


def _change(trace: Json, attempts: Sequence[Json], delivered: str) -> Change | None:
    texts = [one["text"] for one in attempts if one["text"]]
    if trace["outcome"] in ("fallback", "emergency"):
        return compare(texts[0], delivered, replaced=True) if texts else None
    if len(texts) < 2 or texts[0] == texts[-1]:
        return None
    if trace["filter"] == "shadow":
        return replace(compare(texts[0], texts[-1], replaced=False), in_shadow=True)
    # The appended line of sources and emergency contact do not count as changes.
    last = texts[-1] if delivered.startswith(texts[-1]) or not delivered else delivered
    return compare(texts[0], last, replaced=False)

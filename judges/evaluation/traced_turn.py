"""A traced turn as a scenario: the draft that was judged, what the judges saw beside it, and what a person says they should
have made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from judges.quotes import is_verbatim_quote
from knowledge_base.library import Library, Source
from proxy.config.blueprint import Blueprint
from proxy.protocol.canonical import without_citation_lines
from proxy.traces.backend import TraceBackend
from proxy.traces.judged_draft import TracedTurnError, check_choice, cited_ids, documents_of, judged_draft, no_draft
from proxy.traces.labels import Label, RightVerdict, labels
from proxy.traces.query import earlier_traces, show
from proxy.traces.redaction import is_redacted
from proxy.turn.turn import HISTORY_FOR_JUDGES
from scenarios.scenario import Earlier, Family, InlineSource, Scenario
from scenarios.scenario_files import FamilyFile

Json = dict[str, Any]
TO_FILL = "`expect` is to be filled: for each judge accept, warn or reject, as it would be right"


@dataclass(frozen=True, slots=True)
class TracedTurn:
    """A turn, and what belongs to it."""

    trace: Json
    before: Sequence[Json] = ()
    """The traces of its conversation that are older."""
    labels: Sequence[Label] = ()
    library: Library | None = None
    """The chatbot's knowledge base as it is now."""

    @property
    def effective_labels(self) -> list[Label]:
        """The labels that count: of the emergency judge, who reads the message that all choices share, only the last."""
        last = [label for label in self.labels if label.judge == "emergency"][-1:]
        return [label for label in self.labels if label.judge != "emergency"] + last

    @property
    def choices(self) -> list[int]:
        """The choices that somebody has labelled."""
        return sorted({label.choice for label in self.effective_labels})


def scenario_of(
    traced: TracedTurn, choice: int = 0, expect: Mapping[str, frozenset[RightVerdict]] | None = None
) -> tuple[Scenario, list[str]]:
    """Make a scenario of one choice of a turn.

    Args:
        expect: Verdicts that are right, by judge; they go before those of the labels. What the judges said is no label.

    Returns:
        The scenario, and in which points it may differ from what the judges saw.

    Raises:
        TracedTurnError: The trace holds no texts, no such choice, or a section that it cites is gone.
    """
    trace = traced.trace
    check_choice(trace, choice)
    if is_redacted(trace):
        raise TracedTurnError(
            f"the trace of the turn {trace['turn_id']} is redacted: its texts were never stored, so no scenario can be made of "
            "it; `privacy.store: full` keeps those of later turns"
        )
    choice_labels = [one for one in traced.effective_labels if one.choice == choice]
    expected = {one.judge: frozenset([one.verdict]) for one in choice_labels} | dict(expect or {})
    draft = judged_draft(trace, choice)
    if draft is None and (trace["attempts"] or set(expected) - {"emergency"}):
        raise no_draft(trace, choice)
    sections = {source.id: source for one in choice_labels for source in one.sections}
    ids = cited_ids(trace, draft, traced.library, sections) if draft else ()
    sections |= documents_of(trace, choice)
    history, doubts = _history(traced)
    current, inline = _split_sections(trace, ids, sections, traced.library)
    if draft:
        doubts += [
            f"the section {source.id} has changed since the turn: a passage that was found in it then is not there"
            for source in (*current, *inline)
            if _has_changed(draft, source)
        ]
    remarks = [*(one.note for one in choice_labels if one.note), *([] if expected else [TO_FILL]), *doubts]
    scenario = Scenario(
        id=f"trace-{trace['turn_id'][:12]}" + (f"-{choice}" if choice else ""),
        user_message=trace["user_message"],
        history=history,
        response=draft["text"] if draft else "",
        citations=tuple(source.id for source in current),
        sources=tuple(InlineSource(id=one.id, title=one.title, text=one.text, trusted=one.trusted) for one in inline),
        expect=expected,
        tags=("trace",),
        note="; ".join(remarks),
    )
    return scenario, doubts


def labelled_turns(place: TraceBackend, bot: Blueprint) -> tuple[list[FamilyFile], list[str]]:
    """Return the labelled turns of a chatbot as families of scenarios, one for each conversation, and what had to be left out.

    Raises:
        TraceError: The traces are not there or not readable.
    """
    conversations: dict[str, list[Scenario]] = {}
    problems: list[str] = []
    for turn_id, turn_labels in labels(place).items():
        trace = show(place, turn_id)
        if trace["chatbot"] != bot.name:
            continue
        traced = TracedTurn(trace, earlier_traces(place, trace), turn_labels, bot.library)
        for choice in traced.choices:
            try:
                scenario, _ = scenario_of(traced, choice)
            except TracedTurnError as error:
                problems.append(str(error))
            else:
                conversations.setdefault(_family_name(trace), []).append(scenario)
    families = [Family(family=name, scenarios=tuple(one)) for name, one in conversations.items()]
    return [FamilyFile(family, Path(str(place))) for family in families], problems


def _split_sections(
    trace: Json, ids: Sequence[str], sections: Mapping[str, Source], library: Library | None
) -> tuple[list[Source], list[Source]]:
    """Return what can be cited from the knowledge base, and what has to be given in full because it is no longer there."""
    current, inline = [], []
    for id in ids:
        stored, now = sections.get(id), library.get(id) if library else None
        if now is not None and (stored is None or stored.text == now.text):
            current.append(now)
        elif stored is not None:
            inline.append(stored)
        else:
            raise TracedTurnError(
                f"the turn {trace['turn_id']} cites the section {id!r}, which is no longer in the knowledge base of "
                f"{trace['chatbot']!r}; its text was not kept, since nobody had labelled the turn before"
            )
    return current, inline


def _history(traced: TracedTurn) -> tuple[tuple[Earlier, ...], list[str]]:
    """Return the history, assembled from the traces of earlier turns, and doubts about its completeness.

    A trace holds its own turn alone, so that purging a turn purges its words. Where a conversation was branched, the latest
    turn of each number is taken.
    """
    number, before = traced.trace["turn"], list(traced.before)
    messages: list[Earlier] = []
    while before and number > 1 and len(messages) < HISTORY_FOR_JUDGES:
        turn = before.pop()
        reply = next((reply for reply in turn["replies"] if reply), None)
        if turn["turn"] != number - 1 or turn["error"] or reply is None:
            continue
        if is_redacted(turn):
            break
        messages = [
            *([Earlier(role="user", content=turn["user_message"])] if turn["user_message"] else []),
            Earlier(role="assistant", content=without_citation_lines(reply)),
            *messages,
        ]
        number -= 1
    doubts = []
    if number > 1 and len(messages) < HISTORY_FOR_JUDGES:
        doubts.append("the history is not whole: earlier turns are no longer kept")
    if traced.trace["memory"] in ("missed", "pair"):
        doubts.append(
            "the client sent a history that the proxy did not know as a whole: it may have differed from this one"
        )
    return tuple(messages[-HISTORY_FOR_JUDGES:]), doubts


def _has_changed(draft: Json, source: Source) -> bool:
    """Tell whether the local judges, who quote verbatim, quoted from this section what it does not say."""
    return any(
        assertion["source_id"] == source.id
        and assertion["quote"]
        and not is_verbatim_quote(assertion["quote"], source.text)
        for judgement in draft["judgements"]
        if judgement["stage"] == "local"
        for assertion in (judgement["observation"] or {}).get("assertions", ())
    )


def _family_name(trace: Json) -> str:
    # Not the id itself: one that a client chose may say who somebody is.
    return "conversation-" + blake2b(trace["conversation_id"].encode(), digest_size=6).hexdigest()
